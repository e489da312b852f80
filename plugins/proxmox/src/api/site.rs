//! What there is at a site: hosts, storages, bridges, pools, and what the credential may do with them.

use std::collections::{BTreeMap, BTreeSet};

use emhost_sdk::http::{encode, query};
use serde::Deserialize;

use super::answers::switch;
use super::{Answer, Api, Meaning};

/// The release that answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Version {
    /// Such as `9.0.3`.
    #[serde(default)]
    pub version: String,
}

impl Version {
    /// Its first two numbers.
    pub fn release(&self) -> (u32, u32) {
        let mut numbers = self.version.split(['.', '-']).map(|text| text.parse().unwrap_or_default());
        (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
    }
}

/// A host. What it has is only told to those who may know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Host {
    /// Its name.
    pub node: String,
    /// `online`, `offline` or `unknown`.
    #[serde(default)]
    pub status: String,
    /// Its processors.
    #[serde(default)]
    pub maxcpu: Option<u32>,
    /// Its memory, in bytes.
    #[serde(default)]
    pub maxmem: Option<u64>,
    /// What of it is in use.
    #[serde(default)]
    pub mem: Option<u64>,
}

/// A storage as one host has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Storage {
    /// Its name.
    pub storage: String,
    /// Such as `lvmthin`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// What it may hold, between commas.
    #[serde(default)]
    pub content: String,
    /// Whether it can be used now.
    #[serde(default, deserialize_with = "switch")]
    pub active: bool,
    /// Whether it may be used at all.
    #[serde(default, deserialize_with = "switch")]
    pub enabled: bool,
    /// Whether all hosts have the same one.
    #[serde(default, deserialize_with = "switch")]
    pub shared: bool,
    /// Bytes that are free.
    #[serde(default)]
    pub avail: Option<u64>,
}

impl Storage {
    /// Whether it may hold this kind of content.
    pub fn holds(&self, content: &str) -> bool {
        self.content.split(',').any(|word| word.trim() == content)
    }

    /// Whether a disk takes only the room that is written to.
    pub fn is_thin(&self) -> bool {
        !matches!(self.kind.as_str(), "lvm" | "iscsi" | "iscsidirect" | "zfs")
    }
}

#[derive(Deserialize)]
struct Interface {
    iface: String,
}

impl Api {
    /// The release that answers.
    ///
    /// # Errors
    /// No answer.
    pub fn version(&self) -> Answer<Version> {
        self.get("/version")
    }

    /// Every host.
    ///
    /// # Errors
    /// No answer.
    pub fn hosts(&self) -> Answer<Vec<Host>> {
        self.get("/nodes")
    }

    /// The storages of a host that the credential may see.
    ///
    /// # Errors
    /// No answer.
    pub fn storages(&self, host: &str) -> Answer<Vec<Storage>> {
        self.get(&format!("/nodes/{}/storage", encode(host)))
    }

    /// The bridges of a host that the credential may see.
    ///
    /// # Errors
    /// No answer.
    pub fn bridges(&self, host: &str) -> Answer<Vec<String>> {
        let all: Vec<Interface> = self.get(&format!("/nodes/{}/network?type=any_bridge", encode(host)))?;
        Ok(all.into_iter().map(|interface| interface.iface).collect())
    }

    /// Whether there is a pool; `None` where the credential may not know.
    ///
    /// # Errors
    /// No answer.
    pub fn has_pool(&self, pool: &str) -> Answer<Option<bool>> {
        match self.get::<serde_json::Value>(&format!("/pools/{}", encode(pool))) {
            Ok(_) => Ok(Some(true)),
            Err(trouble) if trouble.meaning() == Some(Meaning::Denied) => Ok(None),
            Err(super::Trouble::Refused(refusal)) if refusal.text.contains("does not exist") || refusal.text.contains("no such pool") => {
                Ok(Some(false))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// What the credential may do on a path.
    ///
    /// # Errors
    /// No answer.
    pub fn privileges(&self, path: &str) -> Answer<BTreeSet<String>> {
        let all: BTreeMap<String, BTreeMap<String, serde_json::Value>> =
            self.get(&format!("/access/permissions?{}", query(&[("path", path)])))?;
        Ok(all.into_values().flat_map(BTreeMap::into_keys).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        let release = |text: &str| Version { version: text.to_owned() }.release();
        assert_eq!(release("8.4.1"), (8, 4));
        assert_eq!(release("9.0~beta"), (9, 0));
        assert!(release("8.10.2") > release("8.4.1"));
        assert_eq!(release(""), (0, 0));
    }
}
