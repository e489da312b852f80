//! What a simulated Proxmox consists of.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Which behaviour is simulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Release {
    /// Proxmox VE 8.4.
    #[serde(rename = "8.4")]
    V8,
    /// Proxmox VE 9.
    #[default]
    #[serde(rename = "9")]
    V9,
}

/// A whole installation: one host, or a cluster of several.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Which behaviour.
    pub release: Release,
    /// The name of the cluster; none for a single host.
    pub cluster: Option<String>,
    /// The hosts.
    pub hosts: Vec<HostSpec>,
    /// The storages.
    pub storages: Vec<StorageSpec>,
    /// The password of `root@pam`.
    pub root_password: String,
    /// Tokens that are there from the beginning: `USER@REALM!ID` and its secret, all of them administrators.
    pub tokens: BTreeMap<String, String>,
    /// Names the hosts can look up, beside addresses on loopback: such as `factory.talos.dev`.
    pub resolve: BTreeMap<String, SocketAddr>,
    /// Authorities the hosts trust when they download, as DER.
    pub trust: Vec<Vec<u8>>,
}

/// One host.
#[derive(Debug, Clone)]
pub struct HostSpec {
    /// Such as `pve1`.
    pub name: String,
    /// Where its API listens.
    pub listen: SocketAddr,
    /// Logical processors.
    pub cores: u32,
    /// Bytes.
    pub memory: u64,
    /// Such as `vmbr0`.
    pub bridges: Vec<String>,
    /// Its PCI devices that could be handed through.
    pub pci: Vec<PciSpec>,
    /// Whether the IOMMU is on.
    pub iommu: bool,
}

/// One PCI device of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciSpec {
    /// Such as `0000:01:00.0`.
    pub bdf: String,
    /// Such as `0x030000`.
    pub class: String,
    /// Such as `0x10de`.
    pub vendor: String,
    /// Such as `0x2204`.
    pub device: String,
    /// Such as `NVIDIA Corporation`.
    pub vendor_name: String,
    /// Such as `GA102 [GeForce RTX 3090]`.
    pub device_name: String,
    /// Devices of one group go to one machine together.
    pub iommu_group: i32,
}

/// One storage, as in `storage.cfg`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSpec {
    /// Such as `local-lvm`.
    pub id: String,
    /// `dir`, `lvmthin`, `lvm`, `zfspool`, `nfs`, `rbd`, …
    pub kind: String,
    /// Such as `images`, `iso`, `import`.
    pub content: Vec<String>,
    /// Whether every host sees the same volumes.
    pub shared: bool,
    /// The hosts it is on; all where empty.
    pub nodes: Vec<String>,
    /// Whether it is switched off.
    pub disabled: bool,
    /// Bytes, on each host where it is not shared.
    pub size: u64,
}

impl StorageSpec {
    /// A storage of 1 TiB on every host.
    pub fn new(id: &str, kind: &str, content: &[&str]) -> Self {
        Self {
            id: id.to_owned(),
            kind: kind.to_owned(),
            content: content.iter().map(|word| (*word).to_owned()).collect(),
            shared: false,
            nodes: Vec::new(),
            disabled: false,
            size: 1 << 40,
        }
    }
}

impl PciSpec {
    /// A graphics card in a group of its own.
    pub fn graphics(bdf: &str, iommu_group: i32) -> Self {
        Self {
            bdf: bdf.to_owned(),
            class: "0x030000".to_owned(),
            vendor: "0x10de".to_owned(),
            device: "0x2204".to_owned(),
            vendor_name: "NVIDIA Corporation".to_owned(),
            device_name: "GA102 [GeForce RTX 3090]".to_owned(),
            iommu_group,
        }
    }
}
