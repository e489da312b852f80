//! Network cards of a machine.

use super::machine;
use super::property::{self, Properties};
use crate::Release;

/// A network card of a machine's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Net {
    /// Such as `virtio`.
    pub model: String,
    /// In upper case; none where one is yet to be made up.
    pub mac: Option<String>,
    /// Everything else: `bridge`, `tag`, `firewall`, …
    pub options: Properties,
}

impl Net {
    /// An option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The bridge it is plugged into.
    pub fn bridge(&self) -> Option<&str> {
        self.option("bridge")
    }

    /// The VLAN.
    pub fn tag(&self) -> Option<u16> {
        self.option("tag")?.parse().ok()
    }
}

/// Reads a network card; none where Proxmox would not take it for one.
pub fn parse(release: Release, text: &str) -> Option<Net> {
    let mut options = property::parse(machine::format_of(release, "net0")?, text).ok()?;
    let model = options.remove("model")?;
    let mac = options.remove("macaddr").map(|mac| mac.to_ascii_uppercase());
    Some(Net { model, mac, options })
}

/// Prints a network card as it is written into the configuration.
pub fn print(net: &Net) -> String {
    let mut properties = net.options.clone();
    properties.insert("model".to_owned(), net.model.clone());
    if let Some(mac) = &net.mac {
        properties.insert("macaddr".to_owned(), mac.to_ascii_uppercase());
    }
    machine::format_of(Release::V8, "net0").map(|format| property::print(format, &properties)).unwrap_or_default()
}
