//! What a simulated site consists of.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use emhost_sim_kit::Profile;
use emhost_sim_kit::dials::Faults;
use emhost_sim_proxmox::{PciSpec, Release, StorageSpec};
use serde::{Deserialize, Serialize};

/// Everything there is at a site. Two plans of one site add up: what one cluster needs does not go because another does not name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Which Proxmox is simulated.
    pub release: Release,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Names of the bridges, on every host.
    pub bridges: Vec<String>,
    /// The storages.
    pub storages: Vec<StorageSpec>,
    /// Devices that can be handed through.
    pub gpus: Vec<Gpu>,
    /// Whether the hosts have their IOMMU off, so that no device can be.
    pub without_iommu: bool,
    /// Templates that are there from the beginning.
    pub templates: Vec<Template>,
    /// The networks that machines are plugged into.
    pub networks: Vec<Lan>,
    /// Names of the pools.
    pub pools: Vec<String>,
    /// Which card gets which address by DHCP: upper-case MAC to address.
    pub reservations: BTreeMap<String, Ipv4Addr>,
    /// How long things take.
    pub profile: Profile,
    /// How many times faster than the profile says.
    pub speed: u32,
    /// What goes wrong and when comes from this number.
    pub seed: u64,
    /// How often each fault happens, in thousandths.
    pub faults: Faults,
}

/// A device of a host that can be handed through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// The host it is in.
    pub host: String,
    /// The device.
    pub pci: PciSpec,
    /// The mapping that names it.
    pub mapping: Option<String>,
}

/// A template that is there from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// Its VMID; the next free one from 9000 where none is given.
    pub vmid: Option<u32>,
    /// The host it is on; the first where none is given.
    pub host: Option<String>,
    /// The storage its disk is on.
    pub storage: String,
    /// The Talos release on its disk.
    pub version: String,
    /// Extensions of the image on its disk.
    pub extensions: Vec<String>,
}

/// A machine that somebody wants to have made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its VMID; a free one where none is given.
    pub vmid: Option<u32>,
    /// The first and the last VMID to choose from.
    pub vmids: (u32, u32),
    /// The host to make it on.
    pub host: String,
    /// The storage of its disk.
    pub storage: String,
    /// Number of cores.
    pub cores: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The size of its disk.
    pub disk_gib: u64,
    /// The address of its card.
    pub mac: String,
    /// The bridge its card is plugged into.
    pub bridge: String,
    /// The VLAN of its card.
    pub vlan: Option<u16>,
    /// The Talos release it boots.
    pub version: String,
    /// Extensions of the image it boots.
    pub extensions: Vec<String>,
    /// Where it is expected.
    pub address: Option<Ipv4Addr>,
    /// Whether it is to be a control plane.
    pub control_plane: bool,
}

/// A network that machines are plugged into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lan {
    /// The bridge.
    pub bridge: String,
    /// The VLAN on it.
    pub vlan: Option<u16>,
    /// An address of the network and its prefix length.
    pub network: (Ipv4Addr, u8),
    /// The router.
    pub gateway: Option<Ipv4Addr>,
}

impl Plan {
    /// What there is with both plans. The settings (release, profile, seed, faults) are the newer one's.
    #[must_use]
    pub fn and(self, newer: Self) -> Self {
        fn union<T, K: PartialEq>(older: Vec<T>, newer: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
            let kept = older.into_iter().filter(|old| newer.iter().all(|new| key(new) != key(old))).collect::<Vec<_>>();
            kept.into_iter().chain(newer).collect()
        }
        let mut reservations = self.reservations;
        reservations.extend(newer.reservations);
        Self {
            hosts: union(self.hosts, newer.hosts, String::clone),
            bridges: union(self.bridges, newer.bridges, String::clone),
            storages: union(self.storages, newer.storages, |storage| storage.id.clone()),
            gpus: union(self.gpus, newer.gpus, |gpu| (gpu.host.clone(), gpu.pci.bdf.clone())),
            templates: union(self.templates, newer.templates, |template| template.name.clone()),
            networks: union(self.networks, newer.networks, |lan| (lan.bridge.clone(), lan.vlan)),
            pools: union(self.pools, newer.pools, String::clone),
            reservations,
            without_iommu: newer.without_iommu,
            release: newer.release,
            profile: newer.profile,
            speed: newer.speed,
            seed: newer.seed,
            faults: newer.faults,
        }
    }
}
