//! The configuration of a machine as Proxmox has it, with what waits for its next start.

use std::collections::BTreeMap;

use crate::api::answers::Pending;
use crate::identity::{Claim, tags};
use crate::property::Properties;

/// One option.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    value: Option<String>,
    pending: Option<String>,
    delete: bool,
}

/// Every option of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    options: BTreeMap<String, Known>,
}

impl Config {
    /// Reads an answer.
    pub fn read(answer: Vec<Pending>) -> Self {
        let known = |one: Pending| (one.key, Known { value: one.value, pending: one.pending, delete: one.delete });
        Self { options: answer.into_iter().map(known).collect() }
    }

    /// The value that an option has, or will have after the next start.
    pub fn get(&self, key: &str) -> Option<&str> {
        let known = self.options.get(key)?;
        match &known.pending {
            Some(pending) => Some(pending),
            None if known.delete => None,
            None => known.value.as_deref(),
        }
    }

    /// The value that counts now.
    pub fn now(&self, key: &str) -> Option<&str> {
        self.options.get(key)?.value.as_deref()
    }

    /// Whether an option has a change that waits for the next start.
    pub fn waits(&self, key: &str) -> bool {
        self.options
            .get(key)
            .is_some_and(|known| known.delete || known.pending.as_ref().is_some_and(|value| Some(value) != known.value.as_ref()))
    }

    /// Every option with the value it has or will have.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.keys().filter_map(|key| Some((key.as_str(), self.get(key)?)))
    }

    /// The lock on it.
    pub fn lock(&self) -> Option<&str> {
        self.now("lock").filter(|lock| !lock.is_empty())
    }

    /// What proves that nothing changed since it was read.
    pub fn digest(&self) -> Option<&str> {
        self.now("digest")
    }

    /// The claim in its description.
    pub fn claim(&self) -> Option<Claim> {
        Claim::find(self.get("description")?)
    }

    /// Its SMBIOS UUID.
    pub fn uuid(&self) -> Option<String> {
        Properties::parse(self.get("smbios1")?, "").get("uuid").map(str::to_ascii_lowercase)
    }

    /// Its tags.
    pub fn tags(&self) -> Vec<String> {
        self.get("tags").map(tags).unwrap_or_default()
    }

    /// Whether somebody protected it.
    pub fn is_protected(&self) -> bool {
        self.get("protection").is_some_and(crate::property::is_on)
    }

    /// Whether it is a template.
    pub fn is_template(&self) -> bool {
        self.get("template").is_some_and(crate::property::is_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_what_will_be() {
        let config: Vec<Pending> = serde_json::from_str(
            r#"[{"key":"cores","value":2,"pending":4},{"key":"memory","value":"4096","pending":"4096"},{"key":"ide2","value":"none,media=cdrom","delete":1},
                {"key":"smbios1","value":"uuid=7D3C3AB0-4D60-4C5E-8A8E-0F0F0F0F0F0F"},{"key":"digest","value":"abc"}]"#,
        )
        .expect("reads");
        let config = Config::read(config);
        assert_eq!((config.get("cores"), config.now("cores"), config.waits("cores")), (Some("4"), Some("2"), true));
        assert!(!config.waits("memory") && config.waits("ide2"));
        assert_eq!((config.get("ide2"), config.now("ide2")), (None, Some("none,media=cdrom")));
        assert_eq!(config.uuid().as_deref(), Some("7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f"));
        assert_eq!((config.digest(), config.lock()), (Some("abc"), None));
    }
}
