//! Which PCI devices of the host a machine gets when it starts, and why it may get none.

use std::collections::{BTreeMap, BTreeSet};

use emhost_sim_kit::hardware::PciDevice;

use crate::settings::Settings;
use crate::{HostSpec, PciSpec};

use super::{Config, Vm};

/// Why a machine with PCI devices does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unpluggable {
    /// What QEMU writes to the log of the task before the error.
    pub log: Option<String>,
    /// The error.
    pub error: String,
}

impl From<String> for Unpluggable {
    fn from(error: String) -> Self {
        Self { log: None, error }
    }
}

/// A `hostpciN` and the devices that would do.
struct Wish<'a> {
    key: String,
    pcie: bool,
    alternatives: Vec<Vec<&'a PciSpec>>,
}

/// Chooses the devices for a configuration. `running` are the other machines that run on the host.
pub(crate) fn choose<'a>(
    config: &Config,
    host: &HostSpec,
    settings: &Settings,
    running: impl Iterator<Item = &'a Vm>,
) -> Result<Vec<PciDevice>, Unpluggable> {
    let q35 = config.get("machine").is_some_and(|machine| machine.contains("q35"));
    let held: BTreeMap<String, u32> =
        running.flat_map(|vm| vm.power.iter().flat_map(|power| &power.pci).map(|bdf| (bdf.clone(), vm.id))).collect();
    let mut wishes = Vec::new();
    for number in 0..16 {
        let key = format!("hostpci{number}");
        let Some(text) = config.get(&key).filter(|text| !text.trim().is_empty()) else { continue };
        let wish = wish(key, text, host, settings)?;
        if wish.pcie && !q35 {
            return Err("q35 machine model is not enabled".to_owned().into());
        }
        wishes.push(wish);
    }
    let mut used = BTreeSet::new();
    let mut chosen = Vec::new();
    for wish in &wishes {
        let devices = pick(wish, &used, &held)?;
        for device in devices.iter().copied() {
            if !used.insert(device.bdf.clone()) {
                return Err(format!("device '{}' assigned more than once", device.bdf).into());
            }
            chosen.push((device, wish.pcie));
        }
    }
    for (device, _) in &chosen {
        prepare(device, host, &held)?;
    }
    let handed = |(device, pcie): (&PciSpec, bool)| PciDevice {
        bdf: device.bdf.clone(),
        vendor: device.vendor.clone(),
        device: device.device.clone(),
        pcie,
    };
    Ok(chosen.into_iter().map(handed).collect())
}

fn wish<'a>(key: String, text: &str, host: &'a HostSpec, settings: &Settings) -> Result<Wish<'a>, String> {
    let mut options = BTreeMap::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or(("host", part));
        options.insert(name, value);
    }
    let paths: Vec<String> = match (options.get("mapping"), options.get("host")) {
        (Some(_), Some(_)) => return Err("Cannot set both 'host' and 'mapping'.".to_owned()),
        (Some(mapping), None) => mapped(mapping, host, settings)?,
        (None, Some(path)) => vec![(*path).to_owned()],
        (None, None) => return Err("Either 'host' or 'mapping' must be set.".to_owned()),
    };
    let mut alternatives = Vec::new();
    for path in paths {
        let mut devices = Vec::new();
        for id in path.split(';') {
            let found = functions(host, id);
            if found.is_empty() {
                return Err(format!("no PCI device found for '{id}'"));
            }
            devices.extend(found);
        }
        alternatives.push(devices);
    }
    let pcie = options.get("pcie").is_some_and(|value| matches!(*value, "1" | "on" | "yes" | "true"));
    Ok(Wish { key, pcie, alternatives })
}

/// The paths of a mapping on this host, checked against what is really there.
fn mapped(mapping: &str, host: &HostSpec, settings: &Settings) -> Result<Vec<String>, String> {
    let entries = settings.pci.get(mapping).map(|mapping| mapping.on(&host.name)).unwrap_or_default();
    if entries.is_empty() {
        return Err(format!("PCI device mapping not found for '{mapping}'"));
    }
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.get("path").cloned().unwrap_or_default();
        let first = path.split(';').next().unwrap_or_default();
        let invalid = |why: String| format!("PCI device mapping invalid (hardware probably changed): {why}\n");
        let device = functions(host, first).into_iter().next().ok_or_else(|| invalid(format!("pci device '{first}' not found")))?;
        let bare = |text: &str| text.trim_start_matches("0x").to_owned();
        let id = format!("{}:{}", bare(&device.vendor), bare(&device.device));
        let group = device.iommu_group.to_string();
        for (key, real) in [("id", id), ("iommugroup", group)] {
            if let Some(said) = entry.get(key).filter(|said| **said != real) {
                return Err(invalid(format!("'{key}' does not match for '{mapping}' ({real} ne {said})")));
            }
        }
        paths.push(path);
    }
    Ok(paths)
}

/// The device, or all functions of it where none is named. Domain 0000 may be left out.
fn functions<'a>(host: &'a HostSpec, id: &str) -> Vec<&'a PciSpec> {
    let full = if id.split(':').count() < 3 { format!("0000:{id}") } else { id.to_owned() };
    let all = format!("{full}.");
    host.pci.iter().filter(|device| device.bdf == full || device.bdf.starts_with(&all)).collect()
}

fn pick<'a, 'w>(wish: &'w Wish<'a>, used: &BTreeSet<String>, held: &BTreeMap<String, u32>) -> Result<&'w Vec<&'a PciSpec>, String> {
    if let [only] = wish.alternatives.as_slice() {
        let taken = only.iter().find_map(|device| held.get(&device.bdf).map(|by| (&device.bdf, by)));
        return taken.map_or(Ok(only), |(bdf, by)| Err(format!("PCI device '{bdf}' already in use by VMID '{by}'")));
    }
    let free = |devices: &&Vec<&PciSpec>| devices.iter().all(|device| !used.contains(&device.bdf) && !held.contains_key(&device.bdf));
    wish.alternatives.iter().find(free).ok_or_else(|| format!("could not find a free device for '{}'", wish.key))
}

/// Binds the device to VFIO: with it goes its whole group.
fn prepare(device: &PciSpec, host: &HostSpec, held: &BTreeMap<String, u32>) -> Result<(), Unpluggable> {
    if !host.iommu {
        return Err("cannot prepare PCI pass-through, IOMMU not present".to_owned().into());
    }
    if device.iommu_group < 0 {
        return Err(format!("can't unbind/bind PCI group to VFIO '{}'", device.bdf).into());
    }
    let group = host.pci.iter().filter(|other| other.iommu_group == device.iommu_group);
    let taken = group.filter(|other| other.bdf != device.bdf).any(|other| held.contains_key(&other.bdf));
    if taken {
        let (bdf, group) = (&device.bdf, device.iommu_group);
        return Err(Unpluggable {
            log: Some(format!("kvm: -device vfio-pci,host={bdf}: vfio {bdf}: failed to open /dev/vfio/{group}: Device or resource busy")),
            error: "start failed: QEMU exited with code 1".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::Mapping;
    use crate::vm::Power;

    fn host(iommu: bool) -> HostSpec {
        let device = PciSpec::graphics;
        HostSpec {
            name: "pve1".to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            cores: 8,
            memory: 1 << 36,
            bridges: vec!["vmbr0".to_owned()],
            pci: vec![device("0000:01:00.0", 14), device("0000:01:00.1", 14), device("0000:02:00.0", 15), device("0000:03:00.0", 16)],
            iommu,
        }
    }

    fn settings(map: &[&str]) -> Settings {
        let mapping = Mapping { map: map.iter().map(|entry| (*entry).to_owned()).collect(), ..Mapping::default() };
        Settings { pci: [("gpu0".to_owned(), mapping)].into(), ..Settings::default() }
    }

    fn config(options: &[(&str, &str)]) -> Config {
        options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn running(bdf: &str) -> Vm {
        Vm { id: 105, power: Some(Power { pci: vec![bdf.to_owned()], ..Power::default() }), ..Vm::default() }
    }

    fn try_choose(options: &[(&str, &str)], map: &[&str], others: &[Vm], iommu: bool) -> Result<Vec<String>, String> {
        let chosen = choose(&config(options), &host(iommu), &settings(map), others.iter());
        chosen.map(|devices| devices.into_iter().map(|device| device.bdf).collect()).map_err(|refused| refused.error)
    }

    #[test]
    fn a_mapping_gives_the_first_device_that_is_free() {
        let map = ["node=pve1,path=0000:02:00.0,id=10de:2204,iommugroup=15", "node=pve1,path=0000:03:00.0,id=10de:2204"];
        let wish = [("hostpci0", "mapping=gpu0,pcie=1"), ("machine", "q35")];
        assert_eq!(try_choose(&wish, &map, &[], true), Ok(vec!["0000:02:00.0".to_owned()]));
        assert_eq!(try_choose(&wish, &map, &[running("0000:02:00.0")], true), Ok(vec!["0000:03:00.0".to_owned()]));
        let both = [running("0000:02:00.0"), running("0000:03:00.0")];
        assert_eq!(try_choose(&wish, &map, &both, true), Err("could not find a free device for 'hostpci0'".to_owned()));
    }

    #[test]
    fn a_device_is_never_in_two_running_machines_nor_is_its_group_split() {
        let wish = [("hostpci0", "0000:02:00.0")];
        assert_eq!(
            try_choose(&wish, &[], &[running("0000:02:00.0")], true),
            Err("PCI device '0000:02:00.0' already in use by VMID '105'".to_owned())
        );
        let sibling = [("hostpci0", "0000:01:00.0")];
        assert_eq!(try_choose(&sibling, &[], &[running("0000:01:00.1")], true), Err("start failed: QEMU exited with code 1".to_owned()));
        assert_eq!(try_choose(&[("hostpci0", "0000:01:00")], &[], &[], true).unwrap().len(), 2, "all functions");
        let twice = [("hostpci0", "0000:02:00.0"), ("hostpci1", "02:00.0")];
        assert_eq!(try_choose(&twice, &[], &[], true), Err("device '0000:02:00.0' assigned more than once".to_owned()));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let unmapped = [("hostpci0", "mapping=other")];
        assert_eq!(try_choose(&unmapped, &[], &[], true), Err("PCI device mapping not found for 'other'".to_owned()));
        assert_eq!(try_choose(&[("hostpci0", "0000:09:00.0")], &[], &[], true), Err("no PCI device found for '0000:09:00.0'".to_owned()));
        assert_eq!(try_choose(&[("hostpci0", "0000:02:00.0,pcie=1")], &[], &[], true), Err("q35 machine model is not enabled".to_owned()));
        let off = try_choose(&[("hostpci0", "0000:02:00.0")], &[], &[], false);
        assert_eq!(off, Err("cannot prepare PCI pass-through, IOMMU not present".to_owned()));
        let moved = try_choose(&[("hostpci0", "mapping=gpu0")], &["node=pve1,path=0000:02:00.0,id=10de:1111"], &[], true);
        assert!(moved.unwrap_err().starts_with("PCI device mapping invalid (hardware probably changed): 'id' does not match"));
    }
}
