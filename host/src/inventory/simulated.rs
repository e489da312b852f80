//! The simulated site that an inventory needs: what `sim:` says, and what cluster and nodes name.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use emhost_sim::{Fault, Gpu, Lan, PciSpec, Plan, Profile, Release, StorageSpec, Template, Wanted};

use super::machines::Machine;
use super::model::{Cluster, Node};
use super::options;
use super::site::Site;
use super::values::{self, disk_gib};
use super::written::{ClusterFile, Pve, Reservations, SimGpu, SimProfile, SimStorage, SimStorageKind, SimVendor, Size};
use crate::bindings::emhost::plugin::inventory::NodeRole;

const GIB: u64 = 1 << 30;
/// The VMIDs of machines where nothing is said.
const VMIDS: (u32, u32) = (100, 8999);
/// The size of a storage where nothing is said.
const STORAGE: u64 = 1024 * GIB;

/// What there has to be at the site. None where no slot is bound to the simulator.
pub fn plan(cluster: &ClusterFile, machines: &[Machine], site: &Site) -> Option<Plan> {
    site.simulator()?;
    let sim = &site.sim;
    let mut hosts = sim.hosts.clone();
    for host in options::hosts(cluster).into_iter().chain(machines.iter().filter_map(|machine| machine.host.clone())) {
        push(&mut hosts, host);
    }
    let first = hosts.first().cloned().unwrap_or_default();
    let mut bridges = vec![cluster.proxmox.bridge.clone()];
    for bridge in machines.iter().filter_map(|machine| machine.keys.bridge.clone()) {
        push(&mut bridges, bridge);
    }
    let faults = sim.faults.unwrap_or_default();
    let faults = [
        (Fault::RequestLost, faults.request_lost),
        (Fault::ReplyLost, faults.reply_lost),
        (Fault::ServerError, faults.server_error),
        (Fault::LockTimeout, faults.lock_timeout),
        (Fault::TaskFailed, faults.task_failed),
        (Fault::TaskHalfDone, faults.task_half_done),
    ];
    Some(Plan {
        release: match sim.pve {
            Some(Pve::V8) => Release::V8,
            Some(Pve::V9) | None => Release::V9,
        },
        storages: storages(cluster, machines, site),
        gpus: gpus(machines, site, &first),
        without_iommu: sim.iommu == Some(false),
        templates: templates(cluster, machines, site),
        networks: networks(cluster, machines),
        pools: cluster.proxmox.pool.iter().cloned().collect(),
        reservations: reservations(machines, site),
        hosts,
        bridges,
        profile: match sim.profile {
            Some(SimProfile::Home) => Profile::Home,
            Some(SimProfile::Fast) | None => Profile::Fast,
        },
        speed: sim.speed.unwrap_or(1),
        seed: sim.seed.unwrap_or(1).into(),
        faults: faults.into_iter().filter(|(_, often)| *often > 0).collect(),
    })
}

/// The machines of the inventory.
pub fn machines(cluster: &Cluster, vmids: Option<(u32, u32)>) -> Vec<Wanted> {
    let wanted = |node: &Arc<Node>| {
        let (card, disk) = (node.cards.first()?, node.disks.iter().find(|disk| disk.system)?);
        Some(Wanted {
            name: node.name.clone(),
            vmid: node.machine_number,
            vmids: vmids.unwrap_or(VMIDS),
            host: node.placement.clone()?,
            storage: disk.storage.clone(),
            cores: node.cores,
            memory_mib: node.memory_mib,
            disk_gib: disk.size_gib.into(),
            mac: card.mac.clone(),
            bridge: card.bridge.clone(),
            vlan: card.vlan,
            version: cluster.os_version.clone(),
            extensions: node.contribution.extensions.clone(),
            address: node.address().and_then(|address| address.parse().ok()),
            control_plane: node.role == NodeRole::ControlPlane,
        })
    };
    cluster.nodes.iter().filter_map(wanted).collect()
}

fn push(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn storages(cluster: &ClusterFile, machines: &[Machine], site: &Site) -> Vec<StorageSpec> {
    let proxmox = &cluster.proxmox;
    let mut storages: BTreeMap<String, StorageSpec> = BTreeMap::new();
    let folder = SimStorage { kind: Some(SimStorageKind::Dir), ..SimStorage::default() };
    let thin = SimStorage { kind: Some(SimStorageKind::Lvmthin), ..SimStorage::default() };
    let own = machines.iter().filter_map(|machine| machine.keys.datastore.clone());
    for name in [proxmox.datastore.clone()].into_iter().chain(own) {
        // By the names that Proxmox's own installer gives.
        let keys = if name == "local" { &folder } else { &thin };
        storages.insert(name.clone(), storage(&name, keys));
    }
    storages.insert(proxmox.iso_datastore.clone(), storage(&proxmox.iso_datastore, &folder));
    for (name, keys) in &site.sim.storages {
        storages.insert(name.clone(), storage(name, keys));
    }
    storages.into_values().collect()
}

fn storage(name: &str, keys: &SimStorage) -> StorageSpec {
    let kind = keys.kind.unwrap_or(SimStorageKind::Dir);
    let (kind, files) = match kind {
        SimStorageKind::Dir => ("dir", true),
        SimStorageKind::Nfs => ("nfs", true),
        SimStorageKind::Lvmthin => ("lvmthin", false),
        SimStorageKind::Lvm => ("lvm", false),
        SimStorageKind::Zfspool => ("zfspool", false),
        SimStorageKind::Rbd => ("rbd", false),
    };
    let usual: &[&str] = if files { &["images", "iso", "vztmpl", "import", "snippets", "backup"] } else { &["images", "rootdir"] };
    let content = if keys.content.is_empty() { usual.iter().map(|word| (*word).to_owned()).collect() } else { keys.content.clone() };
    let size = match &keys.size {
        Some(Size::Number(gib)) => gib.saturating_mul(GIB),
        Some(Size::Text(text)) => disk_gib(text).map_or(STORAGE, |gib| gib.saturating_mul(GIB)),
        None => STORAGE,
    };
    let shared = keys.shared || matches!(kind, "nfs" | "rbd");
    StorageSpec { content, shared, nodes: keys.hosts.clone(), size, ..StorageSpec::new(name, kind, &[]) }
}

fn gpus(machines: &[Machine], site: &Site, first: &str) -> Vec<Gpu> {
    let mut gpus: Vec<Gpu> = Vec::new();
    let mut add = |host: String, bdf: String, vendor: SimVendor, mapping: Option<String>, group: Option<u16>| {
        let missing = |gpu: &SimGpu| gpu.missing && values::pci_device(&gpu.bdf).is_some_and(|named| with_function(named) == bdf);
        if gpus.iter().any(|gpu| gpu.host == host && gpu.pci.bdf == bdf) || site.sim.gpus.iter().any(missing) {
            return;
        }
        let group = group.map_or_else(|| 14 + i32::try_from(gpus.len()).unwrap_or_default(), i32::from);
        gpus.push(Gpu { host, pci: pci(&bdf, vendor, group), mapping });
    };
    for gpu in &site.sim.gpus {
        let Some(bdf) = values::pci_device(&gpu.bdf) else { continue };
        let host = gpu.host.clone().unwrap_or_else(|| first.to_owned());
        add(host, with_function(bdf), gpu.vendor.unwrap_or(SimVendor::Nvidia), gpu.mapping.clone(), gpu.group);
    }
    for machine in machines {
        let Some(gpu) = &machine.gpu else { continue };
        let host = machine.host.clone().unwrap_or_else(|| first.to_owned());
        if let Some(bdf) = machine.device() {
            add(host, with_function(bdf), SimVendor::Nvidia, None, None);
        } else if let Some(mapping) = &gpu.mapping
            && !site.sim.gpus.iter().any(|gpu| gpu.mapping.as_ref() == Some(mapping))
        {
            // A mapping that only the inventory names gets a device somewhere.
            let number = machines.iter().position(|other| std::ptr::eq(other, machine)).unwrap_or_default();
            add(host, format!("0000:{:02x}:00.0", 0x41 + number % 0x80), SimVendor::Nvidia, Some(mapping.clone()), None);
        }
    }
    gpus
}

/// A slot without a function has its first one.
fn with_function(bdf: String) -> String {
    if bdf.contains('.') { bdf } else { bdf + ".0" }
}

fn pci(bdf: &str, vendor: SimVendor, iommu_group: i32) -> PciSpec {
    let nvidia = PciSpec::graphics(bdf, iommu_group);
    let of = |vendor: &str, device: &str, vendor_name: &str, device_name: &str| PciSpec {
        vendor: vendor.to_owned(),
        device: device.to_owned(),
        vendor_name: vendor_name.to_owned(),
        device_name: device_name.to_owned(),
        ..nvidia.clone()
    };
    match vendor {
        SimVendor::Amd => of("0x1002", "0x744c", "Advanced Micro Devices, Inc. [AMD/ATI]", "Navi 31 [Radeon RX 7900 XT]"),
        SimVendor::Intel => of("0x8086", "0x56a0", "Intel Corporation", "DG2 [Arc A770]"),
        SimVendor::Nvidia => nvidia,
    }
}

fn templates(cluster: &ClusterFile, machines: &[Machine], site: &Site) -> Vec<Template> {
    let version = |own: Option<&String>| {
        let text = own.or(cluster.talos_version.as_ref()).map_or("1.11.5", |text| text.trim_start_matches('v'));
        format!("v{text}")
    };
    let mut templates: Vec<Template> = Vec::new();
    for keys in &site.sim.templates {
        templates.push(Template {
            name: keys.name.clone(),
            vmid: keys.vmid,
            host: keys.host.clone(),
            storage: keys.storage.clone().unwrap_or_else(|| cluster.proxmox.datastore.clone()),
            version: version(keys.talos_version.as_ref()),
            extensions: keys.extensions.clone(),
        });
    }
    for machine in machines {
        let Some(named) = &machine.template else { continue };
        let vmid = named.to_string().parse().ok();
        let name = if vmid.is_some() { format!("template-{named}") } else { named.to_string() };
        let same = |known: &Template| known.name == name || (vmid.is_some() && known.vmid == vmid);
        if !templates.iter().any(same) {
            templates.push(Template {
                name,
                vmid,
                host: None,
                storage: cluster.proxmox.datastore.clone(),
                version: version(None),
                extensions: cluster.extensions.clone(),
            });
        }
    }
    templates
}

fn networks(cluster: &ClusterFile, machines: &[Machine]) -> Vec<Lan> {
    let gateway = cluster.network.gateway.as_ref().and_then(|text| text.parse().ok());
    let mut lans: Vec<Lan> = Vec::new();
    for machine in machines {
        let Some(address) = machine.address().or(gateway) else { continue };
        let bridge = machine.keys.bridge.clone().unwrap_or_else(|| cluster.proxmox.bridge.clone());
        let vlan = machine.keys.vlan.or(cluster.network.vlan);
        if !lans.iter().any(|lan| lan.bridge == bridge && lan.vlan == vlan) {
            lans.push(Lan { bridge, vlan, network: (gateway.unwrap_or(address), cluster.network.prefix), gateway });
        }
    }
    lans
}

fn reservations(machines: &[Machine], site: &Site) -> BTreeMap<String, Ipv4Addr> {
    match &site.sim.reservations {
        Some(Reservations::Addresses(addresses)) => addresses
            .iter()
            .filter_map(|(mac, address)| Some((mac.to_ascii_uppercase().replace('-', ":"), address.parse().ok()?)))
            .collect(),
        Some(Reservations::Word(word)) if word == "none" => BTreeMap::new(),
        Some(Reservations::Word(_)) | None => {
            let reserved = |machine: &Machine| {
                let address = machine.keys.dhcp.as_ref().or(machine.keys.ip.as_ref())?.parse().ok()?;
                Some((machine.mac.to_ascii_uppercase(), address))
            };
            machines.iter().filter_map(reserved).collect()
        }
    }
}
