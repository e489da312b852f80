//! `nodes.yaml`.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Size, Template, device, ipv4, label, mac, memory, plugin, size, taint_list, template, word, word_list};
use crate::inventory::formats;

fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": formats::of("label-value") })
}

/// The nodes of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "nodes.yaml", extend("required" = ["controlplane"]))]
pub struct NodesFile {
    /// The nodes that run the Kubernetes API and etcd; an odd number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub controlplane: Vec<NodeKeys>,
    /// The nodes that run everything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<NodeKeys>,
}

/// One node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["name"]))]
pub struct NodeKeys {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label")]
    pub name: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ipv4")]
    pub ip: Option<String>,
    /// Number of cores; 2 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024), extend("x-spellings" = ["cores"]))]
    pub cpu: Option<u32>,
    /// Memory: MiB as a number, or a size such as `8GiB`; 4096 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "memory", extend("x-spellings" = ["memory_mb"]))]
    pub ram: Option<Size>,
    /// The system disk: a size such as `40G`; 40G where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "size", extend("x-spellings" = ["disk_gb"]))]
    pub disk: Option<Size>,
    /// Its number at Proxmox VE.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 999_999_999))]
    pub vmid: Option<u32>,
    /// The address of its card; made from the names of cluster and node where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "mac")]
    pub mac: Option<String>,
    /// The Proxmox VE host it should run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word", extend("x-spellings" = ["node"]))]
    pub host: Option<String>,
    /// Whether it must run on that host, rather than should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_pinned: Option<bool>,
    /// The storage of its disks; the cluster's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word", extend("x-spellings" = ["disk_pool"]))]
    pub datastore: Option<String>,
    /// The bridge of its card; the cluster's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word", extend("x-spellings" = ["network_bridge"]))]
    pub bridge: Option<String>,
    /// The VLAN of its card; the cluster's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// The address it has before its own one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ipv4")]
    pub dhcp: Option<String>,
    /// Disks beside the system disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskKeys>,
    /// Labels of the Kubernetes node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "taint_list")]
    pub taints: Vec<String>,
    /// The plugin that decides what it boots from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "plugin")]
    pub boot: Option<String>,
    /// The template to clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "template")]
    pub template: Option<Template>,
    /// System extensions beside those of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub extensions: Vec<String>,
    /// Whether the firmware checks signatures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure_boot: Option<bool>,
    /// Whether it starts with its host; as the cluster says where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onboot: Option<bool>,
    /// The GPU that it gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuKeys>,
    /// Another spelling of `gpu.bdf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "device")]
    pub gpu_pci_bdf: Option<String>,
    /// Another spelling of `gpu.pcie`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_pcie_mode: Option<bool>,
    /// Another spelling of `gpu.rombar`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_rombar: Option<bool>,
}

/// A disk beside the system disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["size"]))]
pub struct DiskKeys {
    /// Its name; `data-1` and so on where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label")]
    pub name: Option<String>,
    /// Its size, such as `100G`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "size")]
    pub size: Option<Size>,
    /// Its storage; the node's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub datastore: Option<String>,
}

/// The GPU that a node gets: a device of its host, a mapping of the cluster, or any one of a vendor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GpuKeys {
    /// The device's PCI address on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "device")]
    pub bdf: Option<String>,
    /// The resource mapping of Proxmox VE.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub mapping: Option<String>,
    /// Any device of this vendor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub vendor: Option<String>,
    /// Whether the device is shown as a PCI Express one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie: Option<bool>,
    /// Whether the guest sees the device's ROM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rombar: Option<bool>,
}
