//! The disks as the node names them, and what it keeps on its own.

use emhost_sim_kit::{Disk, Drive, DriveKind, Machine};
use serde::{Deserialize, Serialize};

/// The partition with the configuration and the identity.
pub(crate) const STATE: &str = "STATE";
/// The partition with everything that may be lost: etcd, the kubelet, images.
pub(crate) const EPHEMERAL: &str = "EPHEMERAL";
/// The partition with small values that outlive a reset.
pub(crate) const META: &str = "META";

/// A disk or a CD drive as the node sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    /// Such as `sda`.
    pub name: String,
    pub drive: Drive,
}

impl Device {
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    pub fn transport(&self) -> &'static str {
        if self.name.starts_with('v') {
            "virtio"
        } else if self.drive.slot.starts_with("sata") || self.drive.slot.starts_with("ide") {
            "sata"
        } else {
            "scsi"
        }
    }

    pub fn model(&self) -> &'static str {
        match (self.drive.kind, self.transport()) {
            (DriveKind::Cdrom, _) => "QEMU DVD-ROM",
            (DriveKind::Disk, "virtio") => "",
            (DriveKind::Disk, _) => "QEMU HARDDISK",
        }
    }

    /// Other paths that lead to it.
    pub fn symlinks(&self) -> Vec<String> {
        let by_path = format!("/dev/disk/by-path/pci-{}", self.bus_path().trim_start_matches('/').replace('/', "-"));
        if self.drive.kind == DriveKind::Cdrom {
            return vec![by_path];
        }
        let serial = self.drive.serial.clone().filter(|serial| !serial.is_empty());
        let id = match (self.transport(), serial) {
            ("virtio", Some(serial)) => format!("virtio-{serial}"),
            ("virtio", None) => return vec![by_path],
            ("sata", Some(serial)) => format!("ata-QEMU_HARDDISK_{serial}"),
            ("sata", None) => format!("ata-QEMU_HARDDISK_{}", self.drive.slot),
            (_, Some(serial)) => format!("scsi-0QEMU_QEMU_HARDDISK_{serial}"),
            (_, None) => format!("scsi-0QEMU_QEMU_HARDDISK_drive-{}", self.drive.slot),
        };
        vec![format!("/dev/disk/by-id/{id}"), by_path]
    }

    /// Where it hangs.
    pub fn bus_path(&self) -> String {
        let number: String = self.drive.slot.chars().filter(char::is_ascii_digit).collect();
        let number = if number.is_empty() { "0".to_owned() } else { number };
        match self.transport() {
            "virtio" => format!("/pci0000:00/0000:00:0{number}.0/virtio{number}"),
            "sata" => format!("/pci0000:00/0000:00:1f.2/ata{number}/host{number}/target{number}:0:0/{number}:0:0:0"),
            _ => format!("/pci0000:00/0000:00:05.0/virtio2/host2/target2:0:{number}/2:0:{number}:0"),
        }
    }
}

/// How many partitions names are made of before they need another letter.
const LETTERS: usize = 26;

/// The devices of a machine, named as Linux does: by kind of controller, in the order of slots.
pub(crate) fn devices(machine: &Machine) -> Vec<Device> {
    let number = |slot: &str| slot.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(u32::MAX);
    let of = |kind: DriveKind, prefixes: &[&str]| {
        let mut found: Vec<&Drive> = Vec::new();
        for prefix in prefixes {
            let mut drives: Vec<&Drive> = machine
                .drives
                .iter()
                .filter(|drive| drive.kind == kind && drive.slot.starts_with(prefix) && drive.slot[prefix.len()..].parse::<u32>().is_ok())
                .collect();
            drives.sort_by_key(|drive| number(&drive.slot));
            found.extend(drives);
        }
        found
    };
    let letters = |at: usize| {
        let last = char::from(b'a' + u8::try_from(at % LETTERS).unwrap_or_default());
        if at < LETTERS {
            last.to_string()
        } else {
            format!("{}{last}", char::from(b'a' + u8::try_from(at / LETTERS - 1).unwrap_or_default()))
        }
    };
    let mut devices = Vec::new();
    for (at, drive) in of(DriveKind::Disk, &["scsi", "sata", "ide"]).into_iter().enumerate() {
        devices.push(Device { name: format!("sd{}", letters(at)), drive: drive.clone() });
    }
    for (at, drive) in of(DriveKind::Disk, &["virtio"]).into_iter().enumerate() {
        devices.push(Device { name: format!("vd{}", letters(at)), drive: drive.clone() });
    }
    for (at, drive) in of(DriveKind::Cdrom, &["ide", "sata", "scsi"]).into_iter().enumerate() {
        devices.push(Device { name: format!("sr{at}"), drive: drive.clone() });
    }
    devices
}

/// What the node keeps on STATE.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StatePartition {
    /// The machine configuration as it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The identity in the cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
}

/// What the node keeps on EPHEMERAL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EphemeralPartition {
    /// The data directory of etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdData>,
    /// Whether the kubelet has its client certificate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub registered: bool,
    /// Whether Talos itself keeps pods away until the node is back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cordoned: bool,
}

/// Which member of which etcd cluster the data on this disk are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EtcdData {
    pub cluster: String,
    pub member: u64,
}

/// Reads a partition; one that is not there or not readable is empty.
pub(crate) fn partition<T: Default + for<'a> Deserialize<'a>>(disk: &Disk, label: &str) -> T {
    disk.partitions.get(label).and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
}

/// Writes a partition.
pub(crate) fn set_partition(disk: &mut Disk, label: &str, contents: &impl Serialize) {
    if let Ok(value) = serde_json::to_value(contents) {
        disk.partitions.insert(label.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::node::tests::machine;

    #[test]
    fn disks_are_named_by_their_controller_and_slot() {
        let mut machine = machine(1);
        let drive = |slot: &str, kind| Drive { slot: slot.to_owned(), volume: None, kind, size: 1, serial: None };
        machine.drives = vec![
            drive("ide2", DriveKind::Cdrom),
            drive("scsi10", DriveKind::Disk),
            drive("scsi2", DriveKind::Disk),
            drive("virtio0", DriveKind::Disk),
            drive("sata0", DriveKind::Disk),
            drive("efidisk0", DriveKind::Disk),
        ];
        let names: Vec<_> = devices(&machine).into_iter().map(|device| (device.name, device.drive.slot)).collect();
        let names: Vec<_> = names.iter().map(|(name, slot)| (name.as_str(), slot.as_str())).collect();
        assert_eq!(names, [("sda", "scsi2"), ("sdb", "scsi10"), ("sdc", "sata0"), ("vda", "virtio0"), ("sr0", "ide2")]);
    }

    #[test]
    fn partitions_come_back() {
        let mut disk = Disk::default();
        let state = StatePartition { config: Some("version: v1alpha1\n".to_owned()), node_id: "abc".to_owned() };
        set_partition(&mut disk, STATE, &state);
        assert_eq!(partition::<StatePartition>(&disk, STATE), state);
        assert_eq!(partition::<EphemeralPartition>(&disk, EPHEMERAL), EphemeralPartition::default());
    }
}
