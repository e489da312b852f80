//! A simulated node on a bed of its own.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Audit, Dials, Disk, Drive, DriveKind, Firmware, Image, Machine, Medium, Network, Nic, Platform, Store};
use emhost_sim_talos::{Boot, Fleet, Ground, Link, Parts};

use super::client::network;
use super::oracle::{HOSTNAME, Secrets, Target, WORKER, ready};

/// The last numbers of the addresses.
const CONTROL_PLANE: u8 = 11;
const BESIDE: u8 = 21;

/// A node that runs; it ends with this.
pub struct Simulated {
    network: Network,
    fleet: Arc<Fleet>,
    _folder: tempfile::TempDir,
}

impl Drop for Simulated {
    fn drop(&mut self) {
        self.fleet.close();
    }
}

impl Simulated {
    /// Boots one from a disk, with a configuration or without.
    pub async fn start(version: &str, secrets: Option<&Secrets>) -> Self {
        let (folder, network) = network();
        let disks = [CONTROL_PLANE, BESIDE].map(|number| (volume(number), Disk { boot: Some(image(version)), ..Disk::default() }));
        let parts = Parts {
            store: Arc::new(Store::open(&folder.path().join("store")).unwrap()),
            dials: Arc::new(Dials::default()),
            audit: Arc::new(Audit::open(&folder.path().join("audit")).unwrap()),
            network,
            ground: Arc::new(Bed { disks: Mutex::new(HashMap::from(disks)) }),
        };
        let fleet = Fleet::open(parts).unwrap();
        fleet.start(boot(CONTROL_PLANE, HOSTNAME, version, secrets.map(|secrets| secrets.config.as_str())));
        let simulated = Self { network, fleet, _folder: folder };
        ready(&simulated.target(), secrets).await;
        simulated
    }

    /// Boots a worker beside it.
    pub async fn worker(&self, version: &str, secrets: &Secrets) -> Target {
        self.fleet.start(boot(BESIDE, WORKER, version, Some(&secrets.worker)));
        let target = self.at(BESIDE);
        ready(&target, Some(secrets)).await;
        target
    }

    pub fn target(&self) -> Target {
        self.at(CONTROL_PLANE)
    }

    fn at(&self, number: u8) -> Target {
        Target { address: SocketAddr::from((self.network.dial(address(number)), 50_000)) }
    }
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 10, number)
}

fn volume(number: u8) -> String {
    format!("local-lvm:vm-{number}-disk-0")
}

fn image(version: &str) -> Image {
    Image {
        version: version.to_owned(),
        platform: Platform::Nocloud,
        arch: "amd64".to_owned(),
        medium: Medium::Disk,
        secure_boot: false,
        schematic: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba".to_owned(),
        customization: "customization: {}\n".to_owned(),
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        meta: std::collections::BTreeMap::new(),
    }
}

fn boot(number: u8, hostname: &str, version: &str, config: Option<&str>) -> Boot {
    let drive = Drive { slot: "scsi0".to_owned(), volume: Some(volume(number)), kind: DriveKind::Disk, size: 32 << 30, serial: None };
    let mac = format!("BC:24:11:00:00:{number:02}");
    let nic = Nic {
        slot: "net0".to_owned(),
        mac: mac.clone(),
        model: "virtio".to_owned(),
        bridge: Some("vmbr0".to_owned()),
        vlan: None,
        link_down: false,
    };
    let machine = Machine {
        id: number.into(),
        host: "pve1".to_owned(),
        name: hostname.to_owned(),
        uuid: format!("11111111-2222-3333-4444-5555555555{number:02}"),
        serial: None,
        cores: 2,
        memory_mib: 4096,
        cpu: "host".to_owned(),
        chipset: "q35".to_owned(),
        firmware: Firmware::Uefi { secure_boot: false },
        tpm: false,
        drives: vec![drive],
        nics: vec![nic],
        boot_order: vec!["scsi0".to_owned()],
        pci: Vec::new(),
        agent: false,
    };
    let link = Link { name: "eth0".to_owned(), mac, addresses: vec![(address(number), 24)], gateway: None, dhcp: false };
    Boot {
        machine,
        image: image(version),
        from_iso: false,
        system_disk: Some(volume(number)),
        config: config.map(|config| config.as_bytes().to_vec()),
        why_source: "cidata".to_owned(),
        hostname: Some(hostname.to_owned()),
        links: vec![link],
    }
}

/// Disks, and nothing else.
struct Bed {
    disks: Mutex<HashMap<String, Disk>>,
}

impl Ground for Bed {
    fn read_disk(&self, volume: &str) -> Disk {
        self.disks.lock().unwrap().get(volume).cloned().unwrap_or_default()
    }

    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()> {
        self.disks.lock().unwrap().insert(volume.to_owned(), disk.clone());
        Ok(())
    }

    fn restart(&self, _: MachineId) {}

    fn power_off(&self, _: MachineId) {}

    fn reachable(&self, _: &Machine, _: &str, _: Ipv4Addr) -> Result<(), String> {
        Ok(())
    }

    fn lease(&self, _: &Machine, _: &str) -> Option<(Ipv4Addr, u8, Option<Ipv4Addr>)> {
        None
    }

    fn installer(&self, _: &str) -> Option<Image> {
        None
    }
}
