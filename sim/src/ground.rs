//! Where hypervisor, firmware, network and operating systems meet.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Dials, Disk, Drive, DriveKind, Guests, Hypervisor, Image, Interface, Machine};
use emhost_sim_machines::acquire::acquire;
use emhost_sim_machines::factory::Factory;
use emhost_sim_machines::firmware::{self, Start};
use emhost_sim_machines::lan::Lans;
use emhost_sim_proxmox::Pve;
use emhost_sim_talos::{Boot, Fleet, Ground, Link, NodeView};

/// How long firmware and kernel take on a small server.
const BOOT: Duration = Duration::from_secs(12);

/// What runs where.
pub struct Grounds {
    me: Weak<Self>,
    factory: Arc<Factory>,
    lans: Lans,
    dials: Arc<Dials>,
    /// Both know us, so they are let go when the site ends.
    inside: Mutex<Option<Inside>>,
    on: Mutex<HashMap<MachineId, On>>,
}

/// What is above and below.
#[derive(Clone)]
struct Inside {
    pve: Arc<Pve>,
    fleet: Arc<Fleet>,
}

/// A machine that is switched on.
struct On {
    machine: Machine,
    /// Counts the boots, so that a boot which was overtaken notices.
    boots: u64,
    /// What its firmware said, where nothing booted.
    silent: Option<String>,
}

impl Grounds {
    pub fn new(factory: Arc<Factory>, lans: Lans, dials: Arc<Dials>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { me: me.clone(), factory, lans, dials, inside: Mutex::default(), on: Mutex::default() })
    }

    /// Says what is above and below. Until then nothing boots.
    pub fn settle(&self, pve: Arc<Pve>, fleet: Arc<Fleet>) {
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = Some(Inside { pve, fleet });
    }

    fn inside(&self) -> Option<Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Switches every node off, because the site ends.
    pub fn leave(&self) {
        self.on().clear();
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(inside) = inside {
            inside.fleet.close();
        }
    }

    pub fn nodes(&self) -> Vec<NodeView> {
        self.inside().map(|inside| inside.fleet.nodes()).unwrap_or_default()
    }

    pub fn silent(&self) -> BTreeMap<MachineId, String> {
        self.on().iter().filter_map(|(id, on)| Some((*id, on.silent.clone()?))).collect()
    }

    fn on(&self) -> MutexGuard<'_, HashMap<MachineId, On>> {
        self.on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a machine, and lets go of its addresses.
    fn switch_off(&self, id: MachineId) {
        let gone = self.on().remove(&id);
        for nic in gone.iter().flat_map(|on| &on.machine.nics) {
            self.lans.release(&nic.mac);
        }
    }

    /// Lets a machine that is on boot again, after the time that takes.
    fn boot(&self, id: MachineId) {
        let Some(me) = self.me.upgrade() else { return };
        let mine = {
            let mut on = self.on();
            let Some(on) = on.get_mut(&id) else { return };
            on.boots += 1;
            on.silent = None;
            on.machine.nics.iter().for_each(|nic| self.lans.release(&nic.mac));
            on.boots
        };
        tokio::spawn(async move {
            me.dials.wait(&format!("boot {id}"), BOOT).await;
            me.run(id, mine);
        });
    }

    /// What a machine shows that nothing booted on.
    fn say(&self, id: MachineId, boot: u64, why: String) {
        if let Some(on) = self.on().get_mut(&id).filter(|on| on.boots == boot) {
            on.silent = Some(why);
        }
    }

    /// What the firmware does, and what the operating system finds.
    fn run(&self, id: MachineId, boot: u64) {
        let Some(machine) = self.on().get(&id).filter(|on| on.boots == boot).map(|on| on.machine.clone()) else { return };
        let Some(Inside { pve, fleet }) = self.inside() else { return };
        match firmware::start(&machine, &*pve) {
            Start::Nothing { why } => {
                if falls_back(&pve, &machine) {
                    self.boot(id);
                } else {
                    self.say(id, boot, why);
                }
            }
            Start::Talos { image, from, system_disk } => {
                let installed = system_disk.as_ref().map(|volume| pve.read_disk(volume));
                let found = acquire(&machine, &image, installed.as_ref(), &*pve);
                if let Some(why) = found.waits {
                    self.say(id, boot, why);
                    return;
                }
                let links = found.links.iter().map(|link| Link {
                    name: link.name.clone(),
                    mac: link.mac.clone(),
                    addresses: link.addresses.clone(),
                    gateway: link.gateway,
                    dhcp: link.dhcp,
                });
                let start = Boot {
                    links: links.collect(),
                    from_iso: from.kind == DriveKind::Cdrom,
                    system_disk,
                    config: found.config,
                    why_source: found.source.unwrap_or_default().to_owned(),
                    hostname: found.hostname,
                    image: *image,
                    machine,
                };
                fleet.start(start);
            }
        }
    }
}

/// Whether a boot loader went back to the system before an upgrade that does not come up.
fn falls_back(pve: &Pve, machine: &Machine) -> bool {
    machine.drives.iter().filter(|drive| drive.kind == DriveKind::Disk).filter_map(|drive| drive.volume.as_ref()).any(|volume| {
        let mut disk = pve.read_disk(volume);
        emhost_sim_talos::fall_back(&mut disk) && pve.write_disk(volume, &disk).is_ok()
    })
}

impl Guests for Grounds {
    fn power_on(&self, machine: Machine) {
        let id = machine.id;
        self.on().insert(id, On { machine, boots: 0, silent: None });
        self.boot(id);
    }

    fn power_off(&self, id: MachineId) {
        self.switch_off(id);
        if let Some(inside) = self.inside() {
            inside.fleet.stop(id);
        }
    }

    fn reset(&self, id: MachineId) {
        if let Some(inside) = self.inside() {
            inside.fleet.stop(id);
        }
        self.boot(id);
    }

    fn shutdown(&self, id: MachineId) -> bool {
        self.inside().is_some_and(|inside| inside.fleet.shutdown(id))
    }

    fn moved(&self, id: MachineId, host: &str) {
        if let Some(on) = self.on().get_mut(&id) {
            host.clone_into(&mut on.machine.host);
        }
    }

    fn media_changed(&self, id: MachineId, drive: Drive) {
        if let Some(on) = self.on().get_mut(&id) {
            on.machine.drives.retain(|known| known.slot != drive.slot);
            on.machine.drives.push(drive);
        }
    }

    fn agent(&self, id: MachineId) -> Option<Vec<Interface>> {
        self.inside()?.fleet.agent(id)
    }
}

impl Ground for Grounds {
    fn read_disk(&self, volume: &str) -> Disk {
        self.inside().map(|inside| inside.pve.read_disk(volume)).unwrap_or_default()
    }

    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()> {
        let inside = self.inside().ok_or_else(|| io::Error::other("the site has ended"))?;
        inside.pve.write_disk(volume, disk)
    }

    fn restart(&self, id: MachineId) {
        if let Some(inside) = self.inside() {
            inside.pve.restarted(id);
        }
        self.boot(id);
    }

    fn power_off(&self, id: MachineId) {
        self.switch_off(id);
        if let Some(inside) = self.inside() {
            inside.pve.powered_off(id);
        }
    }

    fn reachable(&self, machine: &Machine, mac: &str, address: Ipv4Addr) -> Result<(), String> {
        let nic = machine.nics.iter().find(|nic| nic.mac.eq_ignore_ascii_case(mac)).ok_or("no such network card")?;
        self.lans.hold(nic, address)
    }

    fn lease(&self, machine: &Machine, mac: &str) -> Option<(Ipv4Addr, u8, Option<Ipv4Addr>)> {
        let nic = machine.nics.iter().find(|nic| nic.mac.eq_ignore_ascii_case(mac))?;
        // A server that cannot remember what it gave gives nothing.
        let lease = self.lans.lease(nic.bridge.as_deref()?, nic.vlan, &nic.mac).ok().flatten()?;
        Some((lease.address, lease.prefix, lease.gateway))
    }

    fn installer(&self, reference: &str) -> Option<Image> {
        self.factory.installer(reference).ok()
    }
}
