//! `sim:` of `site.yaml`: how the simulated site behaves. What is not said is what the inventories name.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Size, device, is_default, release, size, word, word_list};
use crate::inventory::formats;

fn reservations(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [
        { "type": "string", "enum": ["auto", "none"] },
        { "type": "object", "additionalProperties": formats::of("ipv4-address") },
    ] })
}

/// How the simulated site behaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimKeys {
    /// Which Proxmox VE is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pve: Option<Pve>,
    /// The names of hosts, beside those that the inventory names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub hosts: Vec<String>,
    /// The storages by name, beside those that the inventory names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storages: BTreeMap<String, SimStorage>,
    /// Whether the hosts have their IOMMU on, as they have where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iommu: Option<bool>,
    /// Devices that can be handed through, beside those that the inventory names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<SimGpu>,
    /// Templates that are there, beside those that the inventory names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<SimTemplate>,
    /// Which card gets which address by DHCP: `auto` (each node its own), `none`, or addresses by MAC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "reservations")]
    pub reservations: Option<Reservations>,
    /// How long things take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<SimProfile>,
    /// How many times faster than the profile says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub speed: Option<u32>,
    /// Times and faults come from this number: the same one gives the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4_294_967_295_u64))]
    pub seed: Option<u32>,
    /// How often each fault happens, in thousandths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<SimFaults>,
}

/// Which Proxmox VE is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Pve {
    /// Proxmox VE 8.4.
    #[serde(rename = "8.4")]
    V8,
    /// Proxmox VE 9.
    #[serde(rename = "9")]
    V9,
}

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SimProfile {
    /// Nothing takes time.
    Fast,
    /// Believable times of a small server at home.
    Home,
}

/// Which card gets which address by DHCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reservations {
    Word(String),
    Addresses(BTreeMap<String, String>),
}

/// A storage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimStorage {
    /// Its kind; `dir` where nothing is said.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<SimStorageKind>,
    /// What it may hold, such as `images`, `iso`, `import`; what its kind can where nothing is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub content: Vec<String>,
    /// Whether every host sees the same volumes.
    pub shared: bool,
    /// The hosts it is on; all where nothing is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub hosts: Vec<String>,
    /// Its size such as `500G`; 1024G where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "size")]
    pub size: Option<Size>,
}

/// The kind of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimStorageKind {
    /// A folder.
    Dir,
    /// Thin LVM.
    Lvmthin,
    /// Thick LVM.
    Lvm,
    /// ZFS.
    Zfspool,
    /// NFS.
    Nfs,
    /// Ceph.
    Rbd,
}

/// A device that can be handed through.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["bdf"]))]
pub struct SimGpu {
    /// The host it is in; the first where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub host: Option<String>,
    /// Its address there.
    #[schemars(schema_with = "device")]
    pub bdf: String,
    /// Who made it; `nvidia` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<SimVendor>,
    /// The mapping that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub mapping: Option<String>,
    /// Its IOMMU group; one of its own where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub group: Option<u16>,
    /// Whether it is not there, although the inventory names it.
    #[serde(skip_serializing_if = "is_default")]
    pub missing: bool,
}

/// Who made a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimVendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
}

/// A template that is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["name"]))]
pub struct SimTemplate {
    /// Its name.
    #[schemars(schema_with = "word")]
    pub name: String,
    /// Its number; a free one from 9000 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 999_999_999))]
    pub vmid: Option<u32>,
    /// The host it is on; the first where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub host: Option<String>,
    /// The storage of its disk; the cluster's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub storage: Option<String>,
    /// The version of Talos on its disk; the cluster's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "release")]
    pub talos_version: Option<String>,
    /// System extensions in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub extensions: Vec<String>,
}

/// How often each fault happens, in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SimFaults {
    /// The request never arrives.
    #[schemars(range(min = 0, max = 1000))]
    pub request_lost: u16,
    /// It does its work, and no answer comes.
    #[schemars(range(min = 0, max = 1000))]
    pub reply_lost: u16,
    /// An answer of 5xx.
    #[schemars(range(min = 0, max = 1000))]
    pub server_error: u16,
    /// A lock cannot be had in time.
    #[schemars(range(min = 0, max = 1000))]
    pub lock_timeout: u16,
    /// A task fails and has changed nothing.
    #[schemars(range(min = 0, max = 1000))]
    pub task_failed: u16,
    /// A task fails half way.
    #[schemars(range(min = 0, max = 1000))]
    pub task_half_done: u16,
}
