//! Machines for the tests of this part.

use emhost_sim_kit::{Drive, DriveKind, Firmware, Image, Machine, Medium, Nic, Platform};

use crate::fleet::{Boot, Link};

pub(crate) fn machine(id: u32) -> Machine {
    let drive = |slot: &str, kind, volume: Option<String>| Drive { slot: slot.to_owned(), volume, kind, size: 32 << 30, serial: None };
    Machine {
        id,
        host: "pve1".to_owned(),
        name: format!("vm{id}"),
        uuid: format!("00000000-0000-4000-8000-{id:012}"),
        serial: None,
        cores: 4,
        memory_mib: 4096,
        cpu: "host".to_owned(),
        chipset: "q35".to_owned(),
        firmware: Firmware::Uefi { secure_boot: false },
        tpm: false,
        drives: vec![
            drive("scsi0", DriveKind::Disk, Some(format!("local-lvm:vm-{id}-disk-0"))),
            drive("ide2", DriveKind::Cdrom, Some("local:iso/talos.iso".to_owned())),
        ],
        nics: vec![Nic {
            slot: "net0".to_owned(),
            mac: format!("BC:24:11:00:00:{id:02X}"),
            model: "virtio".to_owned(),
            bridge: Some("vmbr0".to_owned()),
            vlan: None,
            link_down: false,
        }],
        boot_order: vec!["scsi0".to_owned(), "ide2".to_owned()],
        pci: Vec::new(),
        agent: true,
    }
}

pub(crate) fn image() -> Image {
    Image {
        version: "v1.11.5".to_owned(),
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

pub(crate) fn boot(machine: Machine) -> Boot {
    let link = Link { name: "eth0".to_owned(), mac: machine.nics[0].mac.clone(), addresses: Vec::new(), gateway: None, dhcp: true };
    let system_disk = machine.drives[0].volume.clone();
    Boot {
        machine,
        image: image(),
        from_iso: false,
        system_disk,
        config: None,
        why_source: String::new(),
        hostname: None,
        links: vec![link],
    }
}
