//! From what Proxmox answers to devices with everything that matters for handing them on. Pure.

use std::collections::BTreeMap;

use emhost_sdk::gpu::Device;
use serde_json::Value;

use crate::address::{covers, full, slot};
use crate::api::{Config, Listed, Mapping, Pci};
use crate::facts::{Facts, Holder, Mapped, Owner};

/// What was seen of one host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its devices; `None` where they may not be listed.
    pub pci: Option<Vec<Pci>>,
    /// Its machines that are no templates, with their configurations.
    pub machines: Vec<(Listed, Config)>,
}

/// One line of a mapping.
struct Entry<'a> {
    mapping: &'a Mapping,
    path: String,
    id: Option<String>,
    group: Option<String>,
    subsystem: Option<String>,
}

impl Entry<'_> {
    fn names(&self, function: &str) -> bool {
        self.path.split(';').any(|path| covers(path, function))
    }
}

fn properties(text: &str) -> BTreeMap<&str, &str> {
    text.split(',').filter_map(|part| part.split_once('=').or(Some(("", part)))).map(|(key, value)| (key.trim(), value.trim())).collect()
}

fn entries<'a>(mappings: &'a [Mapping], host: &str) -> Vec<Entry<'a>> {
    let mut all = Vec::new();
    for mapping in mappings {
        for line in &mapping.map {
            let read = properties(line);
            if read.get("node").copied() != Some(host) {
                continue;
            }
            let path = read.get("path").copied().unwrap_or_default().split(';').map(full).collect::<Vec<_>>().join(";");
            let text = |key: &str| read.get(key).map(|value| (*value).to_owned());
            all.push(Entry { mapping, path, id: text("id"), group: text("iommugroup"), subsystem: text("subsystem-id") });
        }
    }
    all
}

/// Whether somebody has to look at the machines of this host.
pub fn matters(host: &str, pci: Option<&[Pci]>, mappings: &[Mapping]) -> bool {
    let accelerator = |device: &Pci| Facts { class: device.class.clone(), ..Facts::default() }.is_accelerator();
    pci.is_some_and(|all| all.iter().any(accelerator)) || !entries(mappings, host).is_empty()
}

/// Every device of every host, the hosts in their order.
pub fn devices(hosts: &[Host], mappings: &[Mapping]) -> Vec<Device> {
    hosts.iter().flat_map(|host| of_host(host, &entries(mappings, &host.name))).collect()
}

fn of_host(host: &Host, entries: &[Entry<'_>]) -> Vec<Device> {
    let unlisted = host.pci.is_none();
    let seen = host.pci.clone().unwrap_or_else(|| told_by(entries));
    let holders = holders(host, entries, &seen);
    let shown = |one: &Pci| format!("{} ({})", one.id, model(one));
    let device = |one: &Pci| {
        let address = full(&one.id);
        let group = u32::try_from(one.iommugroup).ok();
        // Bridges of the group are not listed and do not count (facts/proxmox.md §9).
        let neighbour = |other: &&Pci| group.is_some() && other.iommugroup == one.iommugroup && slot(&full(&other.id)) != slot(&address);
        let facts = Facts {
            class: one.class.clone(),
            subsystem: one.subsystem_vendor.as_deref().zip(one.subsystem_device.as_deref()).map(|(vendor, board)| pair(vendor, board)),
            shares: seen.iter().filter(neighbour).map(shown).collect(),
            mappings: entries.iter().filter(|entry| entry.names(&address)).map(|entry| mapped(entry, entries, one, unlisted)).collect(),
            holders: holders.get(&address).cloned().unwrap_or_default(),
            unlisted,
        };
        Device {
            id: format!("{}/{address}", host.name),
            host: host.name.clone(),
            vendor_id: hex(&one.vendor),
            device_id: hex(&one.device),
            model: model(one),
            iommu_group: group,
            attributes: vec![facts.attribute()],
            address,
        }
    };
    seen.iter().map(device).collect()
}

/// The devices that mappings tell of, for who may not list devices.
fn told_by(entries: &[Entry<'_>]) -> Vec<Pci> {
    let mut all: Vec<Pci> = Vec::new();
    for entry in entries {
        let first = entry.path.split(';').next().unwrap_or_default();
        let id = if first.contains('.') { first.to_owned() } else { format!("{first}.0") };
        let (vendor, device) = entry.id.as_deref().and_then(|id| id.split_once(':')).unwrap_or_default();
        let group = entry.group.as_deref().and_then(|group| group.parse().ok()).unwrap_or(-1);
        if !all.iter().any(|known| known.id == id) {
            let (vendor, device) = (vendor.to_owned(), device.to_owned());
            all.push(Pci { id, vendor, device, iommugroup: group, ..Pci::default() });
        }
    }
    all
}

fn hex(text: &str) -> u16 {
    u16::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_default()
}

/// Vendor and device as mappings write them.
fn pair(vendor: &str, device: &str) -> String {
    let bare = |text: &str| text.trim_start_matches("0x").to_ascii_lowercase();
    format!("{}:{}", bare(vendor), bare(device))
}

fn model(device: &Pci) -> String {
    let name = |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    match (name(&device.vendor_name), name(&device.device_name)) {
        (Some(vendor), Some(device)) => format!("{vendor} {device}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => format!("PCI device {}", pair(&device.vendor, &device.device)),
    }
}

fn mapped(entry: &Entry<'_>, entries: &[Entry<'_>], device: &Pci, unlisted: bool) -> Mapped {
    let mapping = entry.mapping;
    let of_same = |other: &&Entry<'_>| other.mapping.id == mapping.id;
    let same_slot = |other: &Entry<'_>| other.path.split(';').all(|path| slot(path) == slot(&full(&device.id)));
    Mapped {
        id: mapping.id.clone(),
        path: entry.path.clone(),
        alone: entries.iter().filter(of_same).all(same_slot),
        owner: Owner::find(&mapping.description),
        wrong: if unlisted { None } else { wrong(entry, device) },
    }
}

/// What a mapping says of a device and is not so: Proxmox then does not start the machine.
fn wrong(entry: &Entry<'_>, device: &Pci) -> Option<String> {
    let id = Some(pair(&device.vendor, &device.device));
    let board = device.subsystem_vendor.as_deref().zip(device.subsystem_device.as_deref()).map(|(vendor, board)| pair(vendor, board));
    // Where the IOMMU is off, that is what has to be told.
    let group = Some(device.iommugroup).filter(|group| *group >= 0).map(|group| group.to_string());
    let pairs = [("id", &entry.id, id), ("iommugroup", &entry.group, group), ("subsystem-id", &entry.subsystem, board)];
    pairs.into_iter().find_map(|(key, said, real)| {
        let (said, real) = (said.as_deref()?, real?);
        (!said.eq_ignore_ascii_case(&real)).then(|| format!("{key} {said}, and it is {real}"))
    })
}

/// Which machines have which device.
fn holders(host: &Host, entries: &[Entry<'_>], seen: &[Pci]) -> BTreeMap<String, Vec<Holder>> {
    let mut held: BTreeMap<String, Vec<Holder>> = BTreeMap::new();
    // A mapping of several devices gives its first that is free: those who name one come first.
    let mut open: Vec<(Holder, Vec<&Entry<'_>>)> = Vec::new();
    let mut machines: Vec<&(Listed, Config)> = host.machines.iter().collect();
    machines.sort_by_key(|(listed, _)| listed.vmid);
    let give = |held: &mut BTreeMap<String, Vec<Holder>>, holder: &Holder, paths: &str| {
        for function in seen.iter().map(|one| full(&one.id)) {
            if paths.split(';').any(|path| covers(&full(path), &function)) {
                held.entry(function).or_default().push(holder.clone());
            }
        }
    };
    for (listed, config) in machines {
        let text = |key: &str| config.get(key).and_then(Value::as_str);
        let holder = Holder {
            vmid: listed.vmid,
            name: listed.name.clone(),
            running: listed.status == "running",
            owner: text("description").and_then(Owner::find),
        };
        for number in 0..16 {
            let Some(options) = text(&format!("hostpci{number}")).map(properties) else { continue };
            let raw = options.get("host").or_else(|| options.get(""));
            if let Some(mapping) = options.get("mapping") {
                let of: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.mapping.id == *mapping).collect();
                match of[..] {
                    [only] => give(&mut held, &holder, &only.path),
                    [] => {}
                    _ => open.push((holder.clone(), of)),
                }
            } else if let Some(raw) = raw {
                give(&mut held, &holder, raw);
            }
        }
    }
    for (holder, of) in open {
        let free = |entry: &&&Entry<'_>| !held.keys().any(|function| entry.names(function));
        if let Some(entry) = of.iter().find(free).or_else(|| of.first()) {
            let path = entry.path.clone();
            give(&mut held, &holder, &path);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn pci(id: &str, vendor: &str, device: &str, class: &str, group: i64) -> Pci {
        let text = |text: &str| text.to_owned();
        Pci { id: text(id), class: text(class), vendor: text(vendor), device: text(device), iommugroup: group, ..Pci::default() }
    }

    fn host() -> Host {
        let all = vec![
            pci("0000:01:00.0", "0x10de", "0x2204", "0x030000", 14),
            pci("0000:01:00.1", "0x10de", "0x1aef", "0x040300", 14),
            pci("0000:02:00.0", "0x10de", "0x2204", "0x030000", 15),
            pci("0000:03:00.0", "0x8086", "0x15f3", "0x020000", 15),
        ];
        Host { name: "pve1".to_owned(), pci: Some(all), machines: Vec::new() }
    }

    fn mapping(id: &str, map: &[&str]) -> Mapping {
        Mapping { id: id.to_owned(), map: map.iter().map(|line| (*line).to_owned()).collect(), ..Mapping::default() }
    }

    fn machine(vmid: u32, config: Value) -> (Listed, Config) {
        let listed = json!({"vmid": vmid, "name": format!("vm-{vmid}"), "status": "running"});
        (serde_json::from_value(listed).unwrap(), serde_json::from_value(config).unwrap())
    }

    fn facts(host: &Host, mappings: &[Mapping], address: &str) -> Facts {
        let all = devices(std::slice::from_ref(host), mappings);
        Facts::of(all.iter().find(|device| device.address == address).unwrap()).unwrap()
    }

    #[test]
    fn functions_of_one_slot_share_their_group_and_others_are_neighbours() {
        assert_eq!(facts(&host(), &[], "0000:01:00.0").shares, [] as [&str; 0]);
        assert_eq!(facts(&host(), &[], "0000:02:00.0").shares, ["0000:03:00.0 (PCI device 8086:15f3)"]);
        let off = Host { pci: host().pci.map(|all| all.into_iter().map(|one| Pci { iommugroup: -1, ..one }).collect()), ..host() };
        assert_eq!(facts(&off, &[], "0000:02:00.0").shares, [] as [&str; 0]);
        let device = devices(&[host()], &[]).remove(0);
        assert_eq!(
            (device.id.as_str(), device.vendor_id, device.device_id, device.iommu_group),
            ("pve1/0000:01:00.0", 0x10de, 0x2204, Some(14))
        );
    }

    #[test]
    fn a_mapping_is_judged_by_what_is_there() {
        let one = mapping("gpu0", &["node=pve1,path=0000:01:00,id=10de:2204,iommugroup=14", "node=pve2,path=0000:41:00.0,id=10de:2204"]);
        let known = facts(&host(), &[one], "0000:01:00.0").mappings;
        assert_eq!(known.len(), 1);
        assert_eq!((known[0].path.as_str(), known[0].alone, &known[0].wrong), ("0000:01:00", true, &None));
        let two = mapping("any", &["node=pve1,path=0000:01:00.0,id=10de:2204", "node=pve1,path=0000:02:00.0,id=10de:2684"]);
        let both = [two];
        assert!(!facts(&host(), &both, "0000:01:00.0").mappings[0].alone);
        assert_eq!(facts(&host(), &both, "0000:02:00.0").mappings[0].wrong.as_deref(), Some("id 10de:2684, and it is 10de:2204"));
    }

    #[test]
    fn machines_hold_by_address_by_slot_and_by_mapping() {
        let mut host = host();
        let ours = "emhost cluster=c0ffee node=dev-gpu-1 identity=x\n";
        host.machines = vec![
            machine(102, json!({"hostpci0": "mapping=any,pcie=1"})),
            machine(101, json!({"hostpci0": "mapping=any,pcie=1", "description": ours})),
            machine(100, json!({"hostpci0": "01:00,pcie=1"})),
        ];
        let any = [mapping("any", &["node=pve1,path=0000:01:00.0,id=10de:2204", "node=pve1,path=0000:02:00.0,id=10de:2204"])];
        let holders = |address: &str| facts(&host, &any, address).holders.iter().map(|holder| holder.vmid).collect::<Vec<_>>();
        assert_eq!((holders("0000:01:00.0"), holders("0000:01:00.1")), (vec![100, 102], vec![100]));
        assert_eq!(holders("0000:02:00.0"), [101]);
        let owner = facts(&host, &any, "0000:02:00.0").holders[0].owner.clone().unwrap();
        assert_eq!((owner.cluster.as_str(), owner.node.as_str()), ("c0ffee", "dev-gpu-1"));
    }

    #[test]
    fn who_may_not_list_devices_knows_what_is_mapped() {
        let blind = Host { pci: None, ..host() };
        let one = [mapping("gpu0", &["node=pve1,path=0000:01:00,id=10de:2204,iommugroup=14"])];
        let seen = devices(std::slice::from_ref(&blind), &one);
        assert_eq!((seen.len(), seen[0].address.as_str(), seen[0].vendor_id, seen[0].device_id), (1, "0000:01:00.0", 0x10de, 0x2204));
        let known = Facts::of(&seen[0]).unwrap();
        assert!(known.unlisted && known.is_accelerator() && known.mappings[0].wrong.is_none());
        assert!(devices(&[blind], &[]).is_empty());
    }
}
