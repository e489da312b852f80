//! What a cluster has set: options, mappings of hardware, what is highly available.

use std::collections::BTreeMap;
use std::io;

use emhost_sim_kit::Store;
use serde::{Deserialize, Serialize};

use crate::call::Fail;

const KEY: &str = "pve/settings";

/// Everything the cluster has set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// `datacenter.cfg`.
    pub options: BTreeMap<String, String>,
    /// By name.
    pub pci: BTreeMap<String, Mapping>,
    /// By name.
    pub usb: BTreeMap<String, Mapping>,
    /// By name.
    pub dir: BTreeMap<String, Mapping>,
    /// By `vm:100`.
    pub ha_resources: BTreeMap<String, BTreeMap<String, String>>,
    /// Groups (8) by name.
    pub ha_groups: BTreeMap<String, BTreeMap<String, String>>,
    /// Rules (9) by name.
    pub ha_rules: BTreeMap<String, BTreeMap<String, String>>,
}

/// A name for hardware, and what it stands for on each host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Mapping {
    /// Such as `node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=14`.
    pub map: Vec<String>,
    /// `description`, `mdev`, `live-migration-capable`.
    pub details: BTreeMap<String, String>,
}

impl Mapping {
    /// The entries for one host, each as its keys and values.
    pub fn on(&self, node: &str) -> Vec<BTreeMap<String, String>> {
        let parsed = self.map.iter().map(|entry| {
            let pairs = entry.split(',').filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>()
        });
        parsed.filter(|entry| entry.get("node").is_some_and(|of| of == node)).collect()
    }
}

impl Settings {
    /// Reads what is kept.
    pub fn open(store: &Store) -> io::Result<Self> {
        Ok(store.get(KEY)?.unwrap_or_default())
    }

    /// The file of the cluster in which two differ, as locks name it.
    pub fn file_of_difference(&self, other: &Self) -> &'static str {
        match () {
            () if self.pci != other.pci => "file-mapping_pci_cfg",
            () if self.usb != other.usb => "file-mapping_usb_cfg",
            () if self.dir != other.dir => "file-mapping_directory_cfg",
            () if self.options != other.options => "file-datacenter_cfg",
            () => "domain-ha",
        }
    }

    /// Keeps it.
    pub fn keep(&self, store: &Store) -> Result<(), Fail> {
        Ok(store.put(KEY, self)?)
    }
}
