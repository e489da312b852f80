//! `cluster.yaml` and `nodes.yaml` as people write them. The schema is generated from these types, and the reader follows
//! the schema, so a key exists in all three or in none.
//!
//! Required keys are optional here too: a file with a mistake in it is still read, so that all its mistakes are found.

mod cluster;
mod nodes;
mod sim;

use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

pub use cluster::{Addon, ClusterFile, Cni, VipBy};
pub use nodes::{GpuKeys, NodeKeys, NodesFile};
pub use sim::{Pve, Reservations, SimGpu, SimKeys, SimProfile, SimStorage, SimStorageKind, SimVendor};

use super::formats;

/// Functions that give a field the schema of a format.
macro_rules! formatted {
    ($($function:ident = $format:literal),* $(,)?) => {
        $(
            pub(in crate::inventory) fn $function(_: &mut SchemaGenerator) -> Schema {
                formats::of($format)
            }
        )*
    };
}

/// The same for lists.
macro_rules! lists {
    ($($function:ident = $format:literal),* $(,)?) => {
        $(
            pub(in crate::inventory) fn $function(_: &mut SchemaGenerator) -> Schema {
                formats::list_of($format)
            }
        )*
    };
}

formatted! {
    label = "dns-label", release = "release", ipv4 = "ipv4-address", network = "ipv4-network", mac = "mac-address",
    device = "pci-device", memory = "memory-size", size = "disk-size", range = "number-range", endpoint = "api-endpoint",
    web = "web-address", slot_address = "slot-address", fingerprint = "certificate-fingerprint", secret_name = "secret-name",
    secret = "secret-reference", plugin = "plugin-reference", word = "word", template = "template",
}
lists! {
    ipv4_list = "ipv4-address", address_list = "ip-address", device_list = "pci-device", plugin_list = "plugin-reference",
    taint_list = "taint", word_list = "word",
}

/// Whether a value need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The name or the number of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Template {
    Number(u32),
    Name(String),
}

impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// A size: a number in the unit of the key, or text with a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Size {
    Number(u64),
    Text(String),
}
