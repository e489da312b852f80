//! Machines for tests.

use super::Config;
use super::wanted::{Card, Disk, Firmware, Wanted};
use crate::api::answers::Pending;
use crate::identity::Claim;

/// A configuration with these options and nothing that waits.
pub fn config(options: &[(&str, &str)]) -> Config {
    let one = |(key, value): &(&str, &str)| Pending { key: (*key).to_owned(), value: Some((*value).to_owned()), ..Pending::default() };
    Config::read(options.iter().map(one).collect())
}

/// The identity of machines in tests.
pub const IDENTITY: &str = "7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f";

/// What a small cluster wants of its first node.
pub fn wanted() -> Wanted {
    Wanted {
        cluster: "c0ffee".to_owned(),
        node: "dev-cp-1".to_owned(),
        host: "pve1".to_owned(),
        number: None,
        numbers: (300, 399),
        turn: 0,
        cores: 4,
        memory_mib: 8192,
        cpu: "host".to_owned(),
        machine: "q35".to_owned(),
        firmware: Firmware::Ovmf,
        tpm: false,
        balloon: 0,
        onboot: true,
        pool: None,
        agent: false,
        disks: vec![Disk { gib: 40, storage: "local-lvm".to_owned() }],
        cards: vec![Card {
            mac: "02:00:00:12:34:56".to_owned(),
            bridge: "vmbr0".to_owned(),
            vlan: None,
            address: Some("10.0.10.11/16".to_owned()),
            gateway: Some("10.0.0.1".to_owned()),
        }],
        devices: Vec::new(),
        mappings: Vec::new(),
        more: Vec::new(),
        images: "local".to_owned(),
        resolvers: vec!["1.1.1.1".to_owned(), "8.8.8.8".to_owned()],
    }
}

/// Its claim.
pub fn claim() -> Claim {
    Claim { cluster: "c0ffee".to_owned(), node: "dev-cp-1".to_owned(), identity: IDENTITY.to_owned() }
}

/// How Proxmox shows that machine once it was made.
pub fn made() -> Vec<(&'static str, String)> {
    vec![
        ("balloon", "0".to_owned()),
        ("bios", "ovmf".to_owned()),
        ("boot", "order=scsi0".to_owned()),
        ("cores", "4".to_owned()),
        ("cpu", "host".to_owned()),
        ("description", format!("{}\n", claim().line())),
        ("efidisk0", "local-lvm:vm-300-disk-0,efitype=4m,pre-enrolled-keys=0,size=4M".to_owned()),
        ("machine", "q35".to_owned()),
        ("memory", "8192".to_owned()),
        ("meta", "creation-qemu=9.2.0,ctime=1700000000".to_owned()),
        ("name", "dev-cp-1".to_owned()),
        ("net0", "virtio=02:00:00:12:34:56,bridge=vmbr0".to_owned()),
        ("onboot", "1".to_owned()),
        ("ostype", "l26".to_owned()),
        ("scsi0", "local-lvm:vm-300-disk-1,discard=on,size=40G,ssd=1".to_owned()),
        ("scsihw", "virtio-scsi-pci".to_owned()),
        ("serial0", "socket".to_owned()),
        ("smbios1", format!("uuid={IDENTITY}")),
        ("tags", "emhost;emhost-c0ffee".to_owned()),
        ("vmgenid", "5a1f".to_owned()),
    ]
}

/// The same with other values.
pub fn made_with(changes: &[(&str, &str)]) -> Config {
    let mut options: Vec<(&str, String)> = made();
    for (key, value) in changes {
        options.retain(|(known, _)| known != key);
        options.push((key, (*value).to_owned()));
    }
    config(&options.iter().map(|(key, value)| (*key, value.as_str())).collect::<Vec<_>>())
}
