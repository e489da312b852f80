//! How new volumes are named.

use crate::StorageSpec;

use super::{Kind, Storages};

impl Storages {
    /// The first free name of a disk for a machine. Numbers are shared by all formats, base volumes included.
    pub fn free_name(&self, host: &str, storage: &StorageSpec, owner: u32, format: &str) -> String {
        let taken: Vec<u32> = self.on(host, &storage.id).filter_map(|(volid, _)| disk_number(volid, owner)).collect();
        // One of one more numbers than are taken is free.
        let number = (0..=u32::try_from(taken.len()).unwrap_or(u32::MAX)).find(|number| !taken.contains(number)).unwrap_or(0);
        if storage.has_path() { format!("vm-{owner}-disk-{number}.{format}") } else { format!("vm-{owner}-disk-{number}") }
    }
}

/// The name behind the storage's, for a disk of a machine.
pub(super) fn volname(storage: &StorageSpec, owner: u32, name: &str) -> String {
    if storage.has_path() { format!("{owner}/{name}") } else { name.to_owned() }
}

/// The name behind the storage's, for a linked clone.
pub(super) fn linked(storage: &StorageSpec, base: &str, owner: u32, name: &str) -> String {
    if !storage.names_base() {
        return name.to_owned();
    }
    // The base of a base is not repeated: only the last volume counts.
    let depth = if storage.has_path() { 2 } else { 1 };
    let mut parts: Vec<&str> = base.rsplit('/').take(depth).collect();
    parts.reverse();
    format!("{}/{}", parts.join("/"), volname(storage, owner, name))
}

/// The name a volume has as a base.
pub(super) fn as_base(volname: &str) -> Option<String> {
    let (front, name) = volname.rsplit_once('/').map_or(("", volname), |(front, name)| (front, name));
    let rest = name.strip_prefix("vm-")?;
    Some(if front.is_empty() { format!("base-{rest}") } else { format!("{front}/base-{rest}") })
}

/// N of `vm-OWNER-disk-N` or `base-OWNER-disk-N`, whatever comes behind.
fn disk_number(volid: &str, owner: u32) -> Option<u32> {
    let name = volid.rsplit(['/', ':']).next()?;
    let rest = name.strip_prefix("vm-").or_else(|| name.strip_prefix("base-"))?;
    let rest = rest.strip_prefix(&format!("{owner}-disk-"))?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(kind: &str) -> StorageSpec {
        StorageSpec::new("s", kind, &[])
    }

    #[test]
    fn a_linked_clone_names_its_base_where_the_storage_does() {
        assert_eq!(linked(&storage("lvmthin"), "base-9000-disk-0", 101, "vm-101-disk-0"), "vm-101-disk-0");
        assert_eq!(linked(&storage("zfspool"), "base-9000-disk-0", 101, "vm-101-disk-0"), "base-9000-disk-0/vm-101-disk-0");
        let name = linked(&storage("dir"), "9000/base-9000-disk-0.qcow2", 101, "vm-101-disk-0.qcow2");
        assert_eq!(name, "9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2");
        assert_eq!(linked(&storage("dir"), &name, 102, "vm-102-disk-0.qcow2"), "101/vm-101-disk-0.qcow2/102/vm-102-disk-0.qcow2");
    }

    #[test]
    fn a_base_is_renamed_and_its_number_stays_taken() {
        assert_eq!(as_base("9000/vm-9000-disk-0.qcow2").as_deref(), Some("9000/base-9000-disk-0.qcow2"));
        assert_eq!(as_base("vm-9000-disk-1").as_deref(), Some("base-9000-disk-1"));
        assert_eq!(as_base("base-9000-disk-1"), None);
        assert_eq!(disk_number("local:9000/base-9000-disk-3.raw", 9000), Some(3));
        assert_eq!(disk_number("local-lvm:vm-100-disk-12", 100), Some(12));
        assert_eq!(disk_number("local-lvm:vm-100-cloudinit", 100), None);
        assert_eq!(disk_number("local-lvm:vm-1001-disk-0", 100), None);
    }
}
