//! The drives of a machine: which slot holds what, and where there is room.

use super::Config;
use crate::property::{Properties, bytes};

/// Slots for CD drives. On q35 there is one drive to each IDE channel, so ide1 and ide3 do not start.
const DISCS: [&str; 8] = ["ide2", "ide0", "sata5", "sata4", "sata3", "sata2", "sata1", "sata0"];
/// Buses with drives, and how many each has.
const BUSES: [(&str, u32); 4] = [("scsi", 31), ("virtio", 16), ("sata", 6), ("ide", 4)];

/// One drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// Its slot, such as `scsi0`.
    pub slot: String,
    /// Its volume, or `none`.
    pub volume: String,
    /// Everything about it.
    pub properties: Properties,
}

impl Drive {
    fn read(slot: &str, text: &str) -> Option<Self> {
        let properties = Properties::parse(text, "file");
        let volume = properties.get("file")?.to_owned();
        Some(Self { slot: slot.to_owned(), volume, properties })
    }

    /// Whether it is a CD drive, the cloud-init drive included.
    pub fn is_disc(&self) -> bool {
        self.properties.get("media") == Some("cdrom")
    }

    /// Whether it is the drive that Proxmox writes cloud-init data to.
    pub fn is_cloud_init(&self) -> bool {
        let name = self.volume.rsplit([':', '/']).next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        self.volume.contains(':') && (name == "cloudinit" || name.starts_with("vm-") && name.ends_with("-cloudinit"))
    }

    /// The storage its volume is on.
    pub fn storage(&self) -> Option<&str> {
        self.volume.split_once(':').map(|(storage, _)| storage)
    }

    /// Its size.
    pub fn bytes(&self) -> Option<u64> {
        self.properties.get("size").and_then(bytes)
    }
}

fn slots() -> impl Iterator<Item = String> {
    BUSES.iter().flat_map(|(bus, count)| (0..*count).map(move |number| format!("{bus}{number}")))
}

/// Every drive, disks of the first bus first.
pub fn all(config: &Config) -> Vec<Drive> {
    slots().filter_map(|slot| Drive::read(&slot, config.get(&slot)?)).collect()
}

/// Every CD drive.
pub fn discs(config: &Config) -> Vec<Drive> {
    all(config).into_iter().filter(Drive::is_disc).collect()
}

/// The volumes that belong to a machine and go with it.
pub fn owned(config: &Config, vmid: u32) -> Vec<String> {
    let special = ["efidisk0", "tpmstate0"].into_iter().filter_map(|slot| at(config, slot));
    let mine = |volume: &str| {
        let name = volume.rsplit([':', '/']).next().unwrap_or_default();
        volume.contains(':') && !volume.contains(":iso/") && name.strip_prefix(&format!("vm-{vmid}-")).is_some()
    };
    let mut all: Vec<String> = all(config).into_iter().chain(special).map(|drive| drive.volume).filter(|volume| mine(volume)).collect();
    all.sort();
    all
}

/// The drive in a slot.
pub fn at(config: &Config, slot: &str) -> Option<Drive> {
    Drive::read(slot, config.get(slot)?)
}

/// The disk that the system is on: the first one that is tried for booting, or else the first one.
pub fn system(config: &Config) -> Option<Drive> {
    let order = config.get("boot").unwrap_or_default();
    let order = order.split(',').find_map(|part| part.trim().strip_prefix("order=")).unwrap_or_default();
    let boots = order.split(';').filter_map(|slot| at(config, slot.trim())).find(|drive| !drive.is_disc());
    boots.or_else(|| all(config).into_iter().find(|drive| !drive.is_disc()))
}

/// A slot without a CD drive in it, which is not among those that are `taken`.
pub fn free_disc_slot(config: &Config, taken: &[String]) -> Option<&'static str> {
    let empty = |slot: &&str| config.get(slot).is_none() && config.now(slot).is_none() && !taken.iter().any(|known| known == slot);
    DISCS.into_iter().find(empty)
}

#[cfg(test)]
mod tests {
    use super::super::samples::config;
    use super::*;

    #[test]
    fn the_system_is_where_it_boots_from() {
        let one = config(&[
            ("scsi0", "a:vm-1-disk-0,size=4G"),
            ("virtio0", "b:vm-1-disk-1,size=40G"),
            ("boot", "order=ide2;virtio0;scsi0"),
            ("ide2", "none,media=cdrom"),
        ]);
        let system = system(&one).expect("a disk");
        assert_eq!((system.slot.as_str(), system.storage(), system.bytes()), ("virtio0", Some("b"), Some(40 << 30)));
        let old = config(&[("sata0", "a:vm-1-disk-0,size=4G"), ("ide2", "none,media=cdrom"), ("boot", "c")]);
        assert_eq!(super::system(&old).map(|drive| drive.slot).as_deref(), Some("sata0"));
    }

    #[test]
    fn what_belongs_to_a_machine_carries_its_number() {
        let one = config(&[
            ("scsi0", "local-lvm:vm-300-disk-1,size=4G"),
            ("efidisk0", "local:300/vm-300-disk-0.qcow2"),
            ("scsi1", "local-lvm:vm-3001-disk-0"),
            ("ide2", "local-lvm:vm-300-cloudinit,media=cdrom"),
            ("sata0", "none,media=cdrom"),
        ]);
        let owned = owned(&one, 300);
        assert!(owned.contains(&"local:300/vm-300-disk-0.qcow2".to_owned()) && owned.contains(&"local-lvm:vm-300-cloudinit".to_owned()));
        assert!(!owned.iter().any(|volume| volume.contains("3001")), "{owned:?}");
    }

    #[test]
    fn cloud_init_is_told_from_other_discs() {
        let one = config(&[
            ("ide2", "local-lvm:vm-300-cloudinit,media=cdrom,size=4M"),
            ("ide0", "local:iso/talos.iso,media=cdrom"),
            ("sata0", "none,media=cdrom"),
        ]);
        let known: Vec<(String, bool)> = discs(&one).iter().map(|drive| (drive.slot.clone(), drive.is_cloud_init())).collect();
        assert_eq!(known, [("sata0".to_owned(), false), ("ide0".to_owned(), false), ("ide2".to_owned(), true)]);
        assert_eq!(free_disc_slot(&one, &["sata5".to_owned()]), Some("sata4"));
    }
}
