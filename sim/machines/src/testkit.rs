//! A hypervisor without one, for the tests of this crate.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use emhost_sim_kit::{Disk, Drive, DriveKind, Firmware, Hypervisor, Image, Machine, Medium, Nic, Platform};

/// Disks and media in memory.
#[derive(Default)]
pub(crate) struct Bench {
    pub(crate) disks: Mutex<BTreeMap<String, Disk>>,
    pub(crate) media: BTreeMap<String, Vec<u8>>,
}

impl Bench {
    pub(crate) fn with_disk(self, volume: &str, disk: Disk) -> Self {
        self.disks.lock().unwrap().insert(volume.into(), disk);
        self
    }

    pub(crate) fn with_media(mut self, volume: &str, bytes: Vec<u8>) -> Self {
        self.media.insert(volume.into(), bytes);
        self
    }
}

impl Hypervisor for Bench {
    fn read_disk(&self, volume: &str) -> Disk {
        self.disks.lock().unwrap().get(volume).cloned().unwrap_or_default()
    }
    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()> {
        self.disks.lock().unwrap().insert(volume.into(), disk.clone());
        Ok(())
    }
    fn read_media(&self, volume: &str) -> io::Result<Vec<u8>> {
        self.media.get(volume).cloned().ok_or_else(|| io::Error::other("no such volume"))
    }
    fn powered_off(&self, _: u32) {}
    fn restarted(&self, _: u32) {}
}

pub(crate) fn drive(slot: &str, kind: DriveKind, volume: Option<&str>) -> Drive {
    Drive { slot: slot.into(), volume: volume.map(str::to_owned), kind, size: 10 << 30, serial: None }
}

/// A machine with an empty disk in `scsi0`, a CD drive `ide2` and one network card.
pub(crate) fn machine() -> Machine {
    Machine {
        id: 100,
        host: "pve1".into(),
        name: "cp-1".into(),
        uuid: "5f0c3c1e-0000-4000-8000-000000000001".into(),
        serial: None,
        cores: 2,
        memory_mib: 4096,
        cpu: "host".into(),
        chipset: "i440fx".into(),
        firmware: Firmware::Uefi { secure_boot: false },
        tpm: false,
        drives: vec![
            drive("scsi0", DriveKind::Disk, Some("local-lvm:vm-100-disk-0")),
            drive("ide2", DriveKind::Cdrom, Some("local:iso/talos.iso")),
        ],
        nics: vec![nic(0, "BC:24:11:00:00:01")],
        boot_order: vec!["scsi0".into(), "ide2".into(), "net0".into()],
        pci: Vec::new(),
        agent: true,
    }
}

pub(crate) fn nic(number: u32, mac: &str) -> Nic {
    Nic {
        slot: format!("net{number}"),
        mac: mac.into(),
        model: "virtio".into(),
        bridge: Some("vmbr0".into()),
        vlan: None,
        link_down: false,
    }
}

pub(crate) fn talos(platform: Platform, medium: Medium) -> Image {
    Image {
        version: "v1.12.1".into(),
        platform,
        arch: "amd64".into(),
        medium,
        secure_boot: false,
        schematic: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba".into(),
        customization: "customization: {}\n".into(),
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        meta: BTreeMap::new(),
    }
}
