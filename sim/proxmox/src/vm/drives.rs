//! The drives of a configuration.

use std::collections::BTreeMap;

use super::Config;

/// A drive as it is written in a configuration: the volume, and options by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drive {
    /// A volume, `none`, `cdrom`, a path, or a wish such as `local-lvm:32`.
    pub file: String,
    /// Everything else.
    pub options: BTreeMap<String, String>,
}

impl Drive {
    /// One option.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// Sets one option.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        self.options.insert(key.to_owned(), value.into());
    }

    /// As Proxmox writes it.
    pub fn print(&self) -> String {
        self.options.iter().fold(self.file.clone(), |text, (key, value)| format!("{text},{key}={value}"))
    }

    /// The size in bytes, where it is written.
    pub fn size(&self) -> Option<u64> {
        self.get("size").and_then(crate::schema::size::parse)
    }
}

/// Buses and how many drives each has, in the order in which they are tried for booting.
const BUSES: &[(&str, u32)] = &[("ide", 4), ("scsi", 31), ("virtio", 16), ("sata", 6)];

/// Whether an option is a drive.
pub(crate) fn is_drive(key: &str) -> bool {
    if matches!(key, "efidisk0" | "tpmstate0") {
        return true;
    }
    BUSES.iter().any(|(bus, count)| index(key, bus).is_some_and(|number| number < *count))
}

/// N of `busN`.
pub(crate) fn index(key: &str, bus: &str) -> Option<u32> {
    let digits = key.strip_prefix(bus)?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| plain)
}

/// Reads a drive as it is stored, also `unusedN`.
pub(crate) fn parse(key: &str, text: &str) -> Option<Drive> {
    if !is_drive(key) && index(key, "unused").is_none() {
        return None;
    }
    let mut drive = Drive { file: String::new(), options: BTreeMap::new() };
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.split_once('=') {
            None => part.clone_into(&mut drive.file),
            Some(("file", value)) => value.clone_into(&mut drive.file),
            Some((key, value)) => drive.set(key, value),
        }
    }
    (!drive.file.is_empty()).then_some(drive)
}

/// Every drive of a configuration that is attached.
pub(crate) fn attached(config: &Config) -> impl Iterator<Item = (&str, Drive)> {
    config.iter().filter(|(key, _)| is_drive(key)).filter_map(|(key, text)| Some((key.as_str(), parse(key, text)?)))
}

/// Every drive of a configuration, unused volumes too.
pub(crate) fn every(config: &Config) -> impl Iterator<Item = (&str, Drive)> {
    config.iter().filter_map(|(key, text)| Some((key.as_str(), parse(key, text)?)))
}

/// Whether it is a CD drive, the cloud-init drive included.
pub(crate) fn is_cdrom(drive: &Drive) -> bool {
    drive.get("media") == Some("cdrom")
}

/// Whether it is the cloud-init drive, or the wish for one.
pub(crate) fn is_cloudinit(drive: &Drive) -> bool {
    let Some(name) = drive.file.rsplit([':', '/']).next().filter(|name| name.len() < drive.file.len()) else { return false };
    let name = [".raw", ".qcow2", ".qed", ".vmdk", ".cloop"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let numbered = |name: &str| {
        let number = name.strip_prefix("vm-").and_then(|rest| rest.strip_suffix("-cloudinit"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name == "cloudinit" || numbered(name)
}

/// Whether it is a CD drive that is not the cloud-init drive.
pub(crate) fn is_plain_cdrom(drive: &Drive) -> bool {
    is_cdrom(drive) && !is_cloudinit(drive)
}

/// A wish for a new disk, such as `local-lvm:32`: the storage, where it is named, and GiB as written.
pub(crate) fn wish(file: &str) -> Option<(Option<&str>, &str)> {
    let (storage, size) = match file.split_once(':') {
        Some((storage, size)) => (Some(storage), size),
        None => (None, file),
    };
    if storage.is_some_and(|id| id.is_empty() || id.contains('/') || id.contains(char::is_whitespace)) {
        return None;
    }
    let (whole, rest) = size.split_once('.').unwrap_or((size, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(rest)).then_some((storage, size))
}

/// The machine a disk belongs to, by its name.
pub(crate) fn owner(volid: &str) -> Option<u32> {
    let (_, volname) = volid.split_once(':')?;
    let mut parts = volname.rsplit('/');
    let name = parts.next()?;
    if let Some(number) = parts.next().and_then(|folder| folder.parse().ok()) {
        return Some(number);
    }
    let rest = ["vm-", "base-"].iter().find_map(|front| name.strip_prefix(front))?;
    rest.split('-').next()?.parse().ok()
}

/// The order in which devices boot where nobody says: the first disk, the first CD drive, the first card.
pub(crate) fn default_boot(config: &Config) -> Vec<String> {
    let slots = || BUSES.iter().flat_map(|(bus, count)| (0..*count).map(move |number| format!("{bus}{number}")));
    let first = |cdrom: bool| {
        slots().find(|slot| config.get(slot).and_then(|text| parse(slot, text)).is_some_and(|drive| is_cdrom(&drive) == cdrom))
    };
    let card = (0..32).map(|number| format!("net{number}")).find(|card| config.contains_key(card));
    first(false).into_iter().chain(first(true)).chain(card).collect()
}

/// The devices of a `boot` option; none where it is the old form.
pub(crate) fn boot_order(boot: &str) -> Vec<String> {
    let order = boot.split(',').find_map(|part| part.strip_prefix("order="));
    order.map(crate::schema::list::split).unwrap_or_default()
}

/// A `boot` option with these devices.
pub(crate) fn print_boot(devices: &[String]) -> String {
    if devices.is_empty() { " ".to_owned() } else { format!("order={}", devices.join(";")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(text: &str) -> Drive {
        parse("scsi0", text).unwrap_or(Drive { file: String::new(), options: BTreeMap::new() })
    }

    #[test]
    fn drives_are_told_from_other_options() {
        for key in ["ide0", "ide3", "scsi30", "virtio15", "sata5", "efidisk0", "tpmstate0"] {
            assert!(is_drive(key), "{key}");
        }
        for key in ["ide4", "scsi31", "scsi01", "scsi", "scsihw", "efidisk1", "net0", "unused0", "virtiofs0"] {
            assert!(!is_drive(key), "{key}");
        }
    }

    #[test]
    fn the_cloud_init_drive_is_known_by_its_name() {
        for file in ["local:cloudinit", "local-lvm:vm-100-cloudinit", "local:100/vm-100-cloudinit.qcow2"] {
            assert!(is_cloudinit(&drive(file)), "{file}");
        }
        for file in ["none", "cloudinit", "local:iso/cloudinit.iso", "local-lvm:vm-100-disk-0"] {
            assert!(!is_cloudinit(&drive(file)), "{file}");
        }
    }

    #[test]
    fn new_disks_and_owners_are_read_from_names() {
        assert_eq!(wish("local-lvm:32"), Some((Some("local-lvm"), "32")));
        assert_eq!(wish("local:0.5"), Some((Some("local"), "0.5")));
        assert_eq!(wish("32"), Some((None, "32")));
        assert_eq!(wish("local-lvm:vm-100-disk-0"), None);
        assert_eq!(owner("local:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2"), Some(101));
        assert_eq!(owner("zfs:base-9000-disk-0/vm-101-disk-0"), Some(101));
        assert_eq!(owner("local-lvm:vm-100-cloudinit"), Some(100));
        assert_eq!(owner("local:iso/talos.iso"), None);
    }

    #[test]
    fn the_default_order_is_disk_then_cd_then_card() {
        let config = [("scsi0", "a:vm-1-disk-0"), ("ide2", "none,media=cdrom"), ("net1", "virtio"), ("net0", "virtio")];
        let config = config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(default_boot(&config), ["scsi0", "ide2", "net0"]);
        assert_eq!(boot_order("order=scsi0;net0"), ["scsi0", "net0"]);
        assert_eq!(boot_order("legacy=cdn"), Vec::<String>::new());
    }
}
