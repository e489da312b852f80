//! What Proxmox answers, as far as it matters here.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One machine in the list of the whole cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Listed {
    /// `qemu` or `lxc`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Its number.
    pub vmid: u32,
    /// The host it is on.
    pub node: String,
    /// Its name; missing for one that was made a moment ago.
    #[serde(default)]
    pub name: Option<String>,
    /// Its tags.
    #[serde(default)]
    pub tags: Option<String>,
    /// Whether it is a template.
    #[serde(default, deserialize_with = "switch")]
    pub template: bool,
    /// `running`, `stopped` or `unknown`. Up to ten seconds old.
    #[serde(default)]
    pub status: Option<String>,
}

/// One option of a machine, with what waits for its next start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Pending {
    /// The option.
    pub key: String,
    /// Its value.
    #[serde(default, deserialize_with = "text")]
    pub value: Option<String>,
    /// Its value after the next start.
    #[serde(default, deserialize_with = "text")]
    pub pending: Option<String>,
    /// Whether it goes at the next start.
    #[serde(default, deserialize_with = "switch")]
    pub delete: bool,
}

/// How a machine is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Status {
    /// `running` or `stopped`.
    #[serde(default)]
    pub status: String,
}

/// How a task is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TaskStatus {
    /// `running` or `stopped`.
    #[serde(default)]
    pub status: String,
    /// How it ended.
    #[serde(default)]
    pub exitstatus: Option<String>,
}

/// A task in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ListedTask {
    /// Its name.
    pub upid: String,
    /// What it works on.
    #[serde(default)]
    pub id: Option<String>,
    /// Such as `qmclone`.
    #[serde(default, rename = "type")]
    pub kind: String,
}

/// A line of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Line {
    /// The text.
    #[serde(default)]
    pub t: String,
}

/// A volume of a storage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Volume {
    /// Its name, the storage's in front.
    pub volid: String,
}

/// What the guest agent says about network cards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Interfaces {
    /// The cards.
    #[serde(default)]
    pub result: Vec<Interface>,
}

/// One card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Interface {
    /// Its address.
    #[serde(default)]
    pub hardware_address: Option<String>,
    /// Its addresses in the network.
    #[serde(default)]
    pub ip_addresses: Vec<Address>,
}

/// One address of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Address {
    /// The address.
    #[serde(default)]
    pub ip_address: String,
    /// `ipv4` or `ipv6`.
    #[serde(default)]
    pub ip_address_type: String,
}

/// Numbers and texts alike, as Perl sends them.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Bool(on) => Some(u8::from(on).to_string()),
        other => Some(other.to_string()),
    })
}

/// `1`, `"1"`, `2`, `true`.
pub(super) fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Bool(on) => on,
        Value::Number(number) => number.as_u64().unwrap_or_default() > 0,
        Value::String(text) => !matches!(text.as_str(), "" | "0"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_read_alike() {
        let text =
            r#"[{"key":"cores","value":2,"pending":"4"},{"key":"ide2","value":"none","delete":1},{"key":"net1","pending":"virtio"}]"#;
        let read: Vec<Pending> = serde_json::from_str(text).expect("reads");
        assert_eq!((read[0].value.as_deref(), read[0].pending.as_deref(), read[0].delete), (Some("2"), Some("4"), false));
        assert!(read[1].delete && read[2].value.is_none());
        let text = r#"{"id":"qemu/101","vmid":101,"node":"pve1","type":"qemu","status":"unknown"}"#;
        let fresh: Listed = serde_json::from_str(text).expect("reads");
        assert_eq!((fresh.name, fresh.template), (None, false));
    }
}
