//! What guests ask of the hypervisor, and what the hypervisor tells them.

use std::collections::BTreeMap;
use std::io;

use emhost_sim_kit::hardware::PciDevice;
use emhost_sim_kit::{Disk, Hypervisor, Machine};

use crate::pve::{Pve, State};
use crate::storage::{Place, Storages};

use super::machine;
use super::{Power, Vm, drives};

impl Pve {
    /// The machine of a running process, and by which names it knows its volumes.
    pub(crate) fn machine(state: &State, vm: &Vm, pci: Vec<PciDevice>) -> (Machine, BTreeMap<String, String>) {
        let config = vm.power.as_ref().map_or(&vm.config, |power| &power.config);
        let known = vm.power.as_ref().map(|power| power.volumes.clone()).unwrap_or_default();
        let name = |volid: &str| {
            let kept = known.iter().find(|(_, now)| *now == volid).map(|(name, _)| name.clone());
            kept.unwrap_or_else(|| handle(state, &vm.host, volid))
        };
        let volumes = drives::attached(config).filter(|(_, drive)| drive.file.contains(':'));
        let volumes = volumes.map(|(_, drive)| (name(&drive.file), drive.file.clone())).collect();
        (machine::machine(vm, config, pci, &name), volumes)
    }

    /// Tells the guest that another disc is in a drive.
    pub(crate) fn change_disc(&self, host: &str, id: u32, slot: &str) {
        let changed = {
            let mut state = self.state();
            let Ok(vm) = state.vm(host, id) else { return };
            let Some(drive) = vm.config.get(slot).and_then(|text| drives::parse(slot, text)) else { return };
            let name = handle(&state, host, &drive.file);
            let mut vm = vm.clone();
            if let Some(power) = &mut vm.power {
                power.volumes.insert(name.clone(), drive.file.clone());
            }
            // The disc is in the drive either way; only a restart of the site would not find it by this name.
            let _ = self.keep_vm(&mut state, vm);
            machine::one(slot, &drive, &|_| name.clone())
        };
        self.guests().media_changed(id, changed);
    }

    /// Switches everything on again that ran when the site was closed.
    pub(crate) fn power_on_again(&self) {
        let machines: Vec<Machine> = {
            let state = self.state();
            let running = state.vms.values().filter(|vm| vm.power.is_some());
            running.map(|vm| Self::machine(&state, vm, self.held_devices(vm)).0).collect()
        };
        for machine in machines {
            self.guests().power_on(machine);
        }
    }

    fn held_devices(&self, vm: &Vm) -> Vec<PciDevice> {
        let host = self.spec.hosts.iter().find(|host| host.name == vm.host);
        let held = vm.power.as_ref().map(|power| power.pci.clone()).unwrap_or_default();
        let found = |bdf: String| host?.pci.iter().find(|device| device.bdf == bdf);
        let pcie = vm.config.get("machine").is_some_and(|machine| machine.contains("q35"));
        held.into_iter()
            .filter_map(found)
            .map(|device| PciDevice { bdf: device.bdf.clone(), vendor: device.vendor.clone(), device: device.device.clone(), pcie })
            .collect()
    }

    /// Where the volume is that a guest knows by this name.
    fn place_of(&self, name: &str) -> Place {
        let state = self.state();
        for vm in state.vms.values() {
            if let Some(volid) = vm.power.as_ref().and_then(|power: &Power| power.volumes.get(name)) {
                return state.storages.place(&vm.host, volid);
            }
        }
        match name.rsplit_once('@') {
            Some((volid, host)) => state.storages.place(host, volid),
            None => state.storages.places(name).into_iter().next().unwrap_or_else(|| state.storages.place("", name)),
        }
    }
}

/// The name a guest gets for a volume: with the host where several hosts have one of this name.
fn handle(state: &State, host: &str, volid: &str) -> String {
    if state.storages.places(volid).len() > 1 { format!("{volid}@{host}") } else { volid.to_owned() }
}

impl Hypervisor for Pve {
    fn read_disk(&self, volume: &str) -> Disk {
        Storages::read_disk(&self.parts.store, &self.place_of(volume))
    }

    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()> {
        let place = self.place_of(volume);
        self.state().storages.write_disk(&self.parts.store, &place, disk)
    }

    fn read_media(&self, volume: &str) -> io::Result<Vec<u8>> {
        let place = self.place_of(volume);
        let owner = drives::owner(&place.volid).filter(|_| place.volid.contains("-cloudinit"));
        if let Some(owner) = owner {
            return self.cloudinit_volume(owner).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no cloud-init drive"));
        }
        Storages::read_file(&self.parts.store, &place)
    }

    fn powered_off(&self, id: u32) {
        let mut state = self.state();
        if let Some(mut vm) = state.vms.get(&id).cloned() {
            vm.power = None;
            // Kept or not, the machine is off; a machine that seems to run is found out by its next start.
            let _ = self.keep_vm(&mut state, vm);
        }
        drop(state);
        self.locks.power.notify_waiters();
    }

    fn restarted(&self, _: u32) {
        // The process goes on, and so does its uptime.
    }
}
