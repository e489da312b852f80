//! What is known of a device beyond the contract's fields, and for whom it is meant: attributes that only this plugin reads.

use emhost_sdk::gpu::Device;
use emhost_sdk::{Attribute, Failure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const FACTS: &str = "facts";
const CLAIM: &str = "claim";

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The cluster's id.
    pub cluster: String,
    /// The node's name.
    pub node: String,
}

impl Owner {
    /// The owner that a description claims: `emhost cluster=ID node=NAME …`, as the provisioner marks machines and mappings.
    pub fn find(description: &str) -> Option<Self> {
        let read = |line: &str| {
            let mut words = line.trim().split(' ').filter(|word| !word.is_empty());
            let mut value =
                |key: &str| words.next()?.strip_prefix(key)?.strip_prefix('=').filter(|value| !value.is_empty()).map(str::to_owned);
            Some(Self { cluster: value("cluster")?, node: value("node")? })
        };
        description.lines().find_map(|line| read(line.trim().strip_prefix("emhost ")?))
    }
}

/// A mapping that names the device on its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapped {
    /// Its name.
    pub id: String,
    /// The address it has there.
    pub path: String,
    /// Whether it names nothing else on this host: otherwise Proxmox may hand out another device.
    pub alone: bool,
    /// The node that emhost made it for.
    pub owner: Option<Owner>,
    /// What it says of the device and is not so.
    pub wrong: Option<String>,
}

/// A machine whose configuration has the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number.
    pub vmid: u32,
    /// Its name.
    pub name: String,
    /// Whether it runs.
    pub running: bool,
    /// The node it was made for, if emhost made it.
    pub owner: Option<Owner>,
}

/// What is known of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its class, such as `0x030000`.
    pub class: String,
    /// Vendor and device of its board, such as `10de:1467`.
    pub subsystem: Option<String>,
    /// Devices of other slots in its IOMMU group, for people.
    pub shares: Vec<String>,
    /// The mappings that name it.
    pub mappings: Vec<Mapped>,
    /// The machines that have it.
    pub holders: Vec<Holder>,
    /// Whether only a mapping tells of it, because its host's devices may not be listed.
    pub unlisted: bool,
}

impl Facts {
    /// Whether it draws or computes: a display controller, or a processing accelerator.
    pub fn is_accelerator(&self) -> bool {
        let class = self.class.trim_start_matches("0x");
        // Who may not list devices knows no classes; what is mapped is meant to be handed out.
        class.starts_with("03") || class.starts_with("12") || self.unlisted
    }

    /// As an attribute.
    pub fn attribute(&self) -> Attribute {
        attribute(FACTS, self)
    }

    /// Those of a device.
    ///
    /// # Errors
    /// A device that this plugin did not find.
    pub fn of(device: &Device) -> Result<Self, Failure> {
        read(device, FACTS)
    }
}

/// How a device comes to its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// By a mapping that is there.
    Mapping(String),
    /// By a mapping that emhost makes for it.
    Make(String),
    /// By its address, which only `root@pam` with a password may.
    Raw,
}

/// For whom a device is meant, and how it gets there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Whose it is.
    pub owner: Owner,
    /// The address that is handed over: the device, or all of its slot.
    pub address: String,
    /// How.
    pub way: Way,
}

impl Claim {
    /// As an attribute.
    pub fn attribute(&self) -> Attribute {
        attribute(CLAIM, self)
    }

    /// That of a device which was assigned.
    ///
    /// # Errors
    /// A device that nobody assigned.
    pub fn of(device: &Device) -> Result<Self, Failure> {
        read(device, CLAIM)
    }
}

fn attribute<T: Serialize>(key: &str, value: &T) -> Attribute {
    // Plain data: it is JSON.
    Attribute { key: key.to_owned(), value: serde_json::to_string(value).unwrap_or_default() }
}

fn read<T: DeserializeOwned>(device: &Device, key: &str) -> Result<T, Failure> {
    let wrong = |why: &str| {
        Failure::internal("gpu/attribute", format!("device {} {why} attribute `{key}` of this plugin", device.id))
            .help("report it: the host hands devices back as they were given")
    };
    let found = device.attributes.iter().find(|one| one.key == key).ok_or_else(|| wrong("has no"))?;
    serde_json::from_str(&found.value).map_err(|_| wrong("has an unreadable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_from_what_the_provisioner_writes() {
        let owner = |text: &str| Owner::find(text).map(|owner| format!("{}/{}", owner.cluster, owner.node));
        assert_eq!(owner("ask Ann\n emhost cluster=c0ffee node=dev-gpu-1 identity=1-2\n").as_deref(), Some("c0ffee/dev-gpu-1"));
        assert_eq!(owner("emhost cluster=c0ffee node=dev-gpu-1").as_deref(), Some("c0ffee/dev-gpu-1"));
        for other in ["", "emhost", "emhost image=local:import/a", "emhost cluster= node=b", "see emhost cluster=a node=b"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
