//! A site for tests: machines with disks, without a hypervisor.

#![allow(dead_code)]

pub mod talosctl;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Audit, Dials, Disk, Drive, DriveKind, Firmware, Image, Machine, Medium, Network, Nic, Platform, Store};
use emhost_sim_talos::{Boot, Fleet, Ground, Link, NodeView, Parts};

/// What the nodes stand on.
pub struct Earth {
    disks: Mutex<HashMap<String, Disk>>,
    machines: Mutex<HashMap<MachineId, (Machine, String)>>,
    boots: Mutex<HashMap<MachineId, u32>>,
    iso: Mutex<HashMap<MachineId, Image>>,
    /// What a machine finds on its cloud-init drive.
    pub user_data: Mutex<HashMap<MachineId, Vec<u8>>>,
    fleet: Mutex<Weak<Fleet>>,
}

/// A site that ends with the test.
pub struct Site {
    pub fleet: Arc<Fleet>,
    pub earth: Arc<Earth>,
    network: Network,
    folder: Option<tempfile::TempDir>,
}

/// An image of this version.
pub fn image(version: &str, platform: Platform, medium: Medium) -> Image {
    Image {
        version: version.to_owned(),
        platform,
        arch: "amd64".to_owned(),
        medium,
        secure_boot: false,
        schematic: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba".to_owned(),
        customization: "customization: {}\n".to_owned(),
        extensions: vec!["siderolabs/qemu-guest-agent".to_owned()],
        kernel_args: Vec::new(),
        meta: BTreeMap::new(),
    }
}

fn volume(id: MachineId) -> String {
    format!("local-lvm:vm-{id}-disk-0")
}

/// The last number of a machine's address is its id.
fn address(id: MachineId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 10, u8::try_from(id).unwrap())
}

#[allow(dead_code)]
impl Site {
    /// Pulls the plug of a machine.
    pub fn pull_plug(&self, id: MachineId) {
        self.fleet.stop(id);
    }

    /// What is on the disk of a machine.
    pub fn disk(&self, id: MachineId) -> Disk {
        self.earth.read_disk(&volume(id))
    }
}

/// A folder with a network that nobody on this computer uses, as long as the folder is there.
fn network() -> (tempfile::TempDir, Network) {
    let folder = tempfile::tempdir().unwrap();
    let network = emhost_sim_kit::addresses::claim(&emhost_sim_kit::addresses::claims_of_tests(), folder.path(), None).unwrap();
    (folder, network)
}

impl Ground for Earth {
    fn read_disk(&self, volume: &str) -> Disk {
        self.disks.lock().unwrap().get(volume).cloned().unwrap_or_default()
    }

    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()> {
        self.disks.lock().unwrap().insert(volume.to_owned(), disk.clone());
        Ok(())
    }

    fn restart(&self, id: MachineId) {
        self.power_on(id);
    }

    fn power_off(&self, id: MachineId) {
        if let Some(fleet) = self.fleet.lock().unwrap().upgrade() {
            fleet.stop(id);
        }
    }

    fn reachable(&self, _: &Machine, _: &str, _: Ipv4Addr) -> Result<(), String> {
        Ok(())
    }

    fn lease(&self, machine: &Machine, _: &str) -> Option<(Ipv4Addr, u8, Option<Ipv4Addr>)> {
        Some((address(machine.id), 24, Some(Ipv4Addr::new(10, 0, 10, 1))))
    }

    fn installer(&self, reference: &str) -> Option<Image> {
        let (name, version) = reference.rsplit_once(':')?;
        let platform = if name.contains("nocloud-installer") { Platform::Nocloud } else { Platform::Metal };
        let known = name.starts_with("ghcr.io/siderolabs/installer") || name.starts_with("factory.talos.dev/");
        known.then(|| image(version, platform, Medium::Disk))
    }
}

impl Earth {
    /// What firmware does: boots the disk if there is a system on it, else the CD.
    pub fn power_on(&self, id: MachineId) {
        let Some(fleet) = self.fleet.lock().unwrap().upgrade() else { return };
        let (machine, hostname) = self.machines.lock().unwrap()[&id].clone();
        *self.boots.lock().unwrap().entry(id).or_default() += 1;
        let installed = self.read_disk(&volume(id)).boot;
        let iso = self.iso.lock().unwrap().get(&id).cloned();
        let from_iso = installed.is_none();
        let Some(image) = installed.or(iso) else {
            fleet.stop(id);
            return;
        };
        let name = if image.platform == Platform::Nocloud { "eth0" } else { "ens18" };
        let link = Link { name: name.to_owned(), mac: machine.nics[0].mac.clone(), addresses: Vec::new(), gateway: None, dhcp: true };
        fleet.start(Boot {
            system_disk: (!from_iso).then(|| volume(id)),
            machine,
            image,
            from_iso,
            config: self.user_data.lock().unwrap().get(&id).cloned(),
            why_source: "nocloud".to_owned(),
            hostname: Some(hostname),
            links: vec![link],
        });
    }
}

impl Site {
    /// An empty site on a 127.N that nobody else on this computer uses now.
    pub fn open() -> Self {
        let earth = Arc::new(Earth {
            disks: Mutex::default(),
            machines: Mutex::default(),
            boots: Mutex::default(),
            iso: Mutex::default(),
            user_data: Mutex::default(),
            fleet: Mutex::default(),
        });
        let (folder, network) = network();
        Self::with(network, earth, folder)
    }

    fn with(network: Network, earth: Arc<Earth>, folder: tempfile::TempDir) -> Self {
        let store = Arc::new(Store::open(&folder.path().join("store")).unwrap());
        let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
        let parts = Parts { store, dials: Arc::new(Dials::default()), audit, network, ground: earth.clone() };
        let fleet = Fleet::open(parts).unwrap();
        *earth.fleet.lock().unwrap() = Arc::downgrade(&fleet);
        Self { fleet, earth, network, folder: Some(folder) }
    }

    /// Ends the simulator and starts it again: only disks and the store are left.
    pub fn reopen(mut self) -> Self {
        self.fleet.close();
        let (network, earth, folder) = (self.network, self.earth.clone(), self.folder.take().unwrap());
        drop(self);
        let begin = Instant::now();
        // Tasks that were told to end hold the store a little longer.
        while Store::open(&folder.path().join("store")).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(10), "the store is never let go");
            std::thread::yield_now();
        }
        let site = Self::with(network, earth, folder);
        let ids: Vec<MachineId> = site.earth.machines.lock().unwrap().keys().copied().collect();
        for id in ids {
            site.earth.power_on(id);
        }
        site
    }

    /// Switches a machine on whose disk holds an image that was never configured.
    pub fn add_image(&self, id: MachineId, name: &str, version: &str) {
        self.add(id, name);
        let disk = Disk { boot: Some(image(version, Platform::Nocloud, Medium::Disk)), ..Disk::default() };
        self.earth.write_disk(&volume(id), &disk).unwrap();
        self.earth.power_on(id);
    }

    /// Switches a machine on with an empty disk and an ISO image of Talos for metal.
    #[allow(dead_code)]
    pub fn add_iso(&self, id: MachineId, name: &str, version: &str) {
        self.add(id, name);
        self.earth.iso.lock().unwrap().insert(id, image(version, Platform::Metal, Medium::Iso));
        self.earth.power_on(id);
    }

    fn add(&self, id: MachineId, name: &str) {
        let drive =
            |slot: &str, kind, volume: String| Drive { slot: slot.to_owned(), volume: Some(volume), kind, size: 32 << 30, serial: None };
        let machine = Machine {
            id,
            host: "pve1".to_owned(),
            name: name.to_owned(),
            uuid: format!("00000000-0000-4000-8000-{id:012}"),
            serial: None,
            cores: 4,
            memory_mib: 4096,
            cpu: "host".to_owned(),
            chipset: "q35".to_owned(),
            firmware: Firmware::Uefi { secure_boot: false },
            tpm: false,
            drives: vec![drive("scsi0", DriveKind::Disk, volume(id)), drive("ide2", DriveKind::Cdrom, "local:iso/talos.iso".to_owned())],
            nics: vec![Nic {
                slot: "net0".to_owned(),
                mac: format!("BC:24:11:00:{:02X}:{:02X}", id / 256, id % 256),
                model: "virtio".to_owned(),
                bridge: Some("vmbr0".to_owned()),
                vlan: None,
                link_down: false,
            }],
            boot_order: vec!["scsi0".to_owned(), "ide2".to_owned()],
            pci: Vec::new(),
            agent: true,
        };
        self.earth.machines.lock().unwrap().insert(id, (machine, name.to_owned()));
    }

    /// How an address of the site is dialled.
    pub fn dialled(&self, address: &str) -> String {
        self.network.dial(address.parse().unwrap()).to_string()
    }

    /// How often a machine has booted.
    pub fn boots(&self, id: MachineId) -> u32 {
        self.earth.boots.lock().unwrap().get(&id).copied().unwrap_or_default()
    }

    /// Waits until the nodes are so.
    pub fn wait(&self, what: &str, so: impl Fn(&[NodeView]) -> bool) {
        let begin = Instant::now();
        loop {
            let nodes = self.fleet.nodes();
            if so(&nodes) {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "{what} never came true: {nodes:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn close(&self) {
        self.fleet.close();
    }
}
