//! What the kinds of storages can do, and how they name and place volumes.

use crate::StorageSpec;

/// What a volume may be asked for, as Proxmox's storage plugins call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    /// A linked clone of it.
    Clone,
    /// A full copy of it.
    Copy,
    /// It can become a base volume.
    Template,
    /// A snapshot of it.
    Snapshot,
}

/// Rules that depend on the kind of a storage.
pub(crate) trait Kind {
    /// Whether volumes are files.
    fn has_path(&self) -> bool;
    /// Whether the whole size is taken at once.
    fn is_thick(&self) -> bool;
    /// Whether a volume's name carries the name of its base.
    fn names_base(&self) -> bool;
    /// The format of a new disk where nobody says.
    fn default_format(&self) -> &'static str;
    /// Whether disks can have this format.
    fn takes_format(&self, format: &str) -> bool;
    /// Sizes are rounded up to this many bytes.
    fn extent(&self) -> u64;
    /// Whether a volume can do it.
    fn has_feature(&self, feature: Feature, format: &str, is_base: bool) -> bool;
    /// Where a volume is on the host.
    fn path(&self, volname: &str, content: &str) -> String;
    /// Where the files are.
    fn root(&self) -> String;
}

impl Kind for StorageSpec {
    fn has_path(&self) -> bool {
        matches!(self.kind.as_str(), "dir" | "nfs" | "cifs" | "btrfs" | "glusterfs" | "cephfs")
    }

    fn is_thick(&self) -> bool {
        matches!(self.kind.as_str(), "lvm" | "zfspool" | "iscsi" | "iscsidirect")
    }

    fn names_base(&self) -> bool {
        self.has_path() || matches!(self.kind.as_str(), "zfspool" | "rbd" | "zfs")
    }

    fn default_format(&self) -> &'static str {
        "raw"
    }

    fn takes_format(&self, format: &str) -> bool {
        format == "raw" || self.has_path() && matches!(format, "qcow2" | "vmdk")
    }

    fn extent(&self) -> u64 {
        match self.kind.as_str() {
            "lvm" | "lvmthin" => 4 << 20,
            "zfspool" | "zfs" => 1 << 20,
            _ => 1,
        }
    }

    fn has_feature(&self, feature: Feature, format: &str, is_base: bool) -> bool {
        let links = self.names_base() || self.kind == "lvmthin";
        match feature {
            Feature::Copy => true,
            Feature::Clone => links && is_base,
            Feature::Template => links && !is_base,
            Feature::Snapshot => !is_base && if self.has_path() { format == "qcow2" } else { links },
        }
    }

    fn path(&self, volname: &str, content: &str) -> String {
        let root = self.root();
        let file = volname.rsplit('/').next().unwrap_or(volname);
        match (self.kind.as_str(), content) {
            ("lvm" | "lvmthin", _) => format!("/dev/{root}/{file}"),
            ("zfspool" | "zfs", _) => format!("/dev/zvol/{root}/{file}"),
            ("rbd", _) => format!("/dev/rbd-pve/{root}/{file}"),
            (_, "images") => {
                let mut parts: Vec<&str> = volname.rsplit('/').take(2).collect();
                parts.reverse();
                format!("{root}/images/{}", parts.join("/"))
            }
            (_, "iso") => format!("{root}/template/iso/{file}"),
            (_, "vztmpl") => format!("{root}/template/cache/{file}"),
            (_, "backup") => format!("{root}/dump/{file}"),
            (_, other) => format!("{root}/{other}/{file}"),
        }
    }

    fn root(&self) -> String {
        match self.kind.as_str() {
            "lvm" | "lvmthin" => "pve".to_owned(),
            "rbd" => "rbd".to_owned(),
            "zfspool" | "zfs" => self.id.clone(),
            "dir" if self.id == "local" => "/var/lib/vz".to_owned(),
            _ => format!("/mnt/pve/{}", self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(kind: &str) -> StorageSpec {
        StorageSpec::new(if kind == "dir" { "local" } else { "tank" }, kind, &["images"])
    }

    #[test]
    fn thick_lvm_has_no_linked_clones_and_no_templates() {
        let lvm = storage("lvm");
        assert!(!lvm.has_feature(Feature::Clone, "raw", true));
        assert!(!lvm.has_feature(Feature::Template, "raw", false));
        assert!(lvm.has_feature(Feature::Copy, "raw", false));
        for kind in ["dir", "lvmthin", "zfspool", "rbd"] {
            assert!(storage(kind).has_feature(Feature::Clone, "raw", true), "{kind}");
            assert!(!storage(kind).has_feature(Feature::Clone, "raw", false), "{kind}");
        }
    }

    #[test]
    fn volumes_are_where_proxmox_puts_them() {
        let local = storage("dir");
        assert_eq!(local.path("iso/talos.iso", "iso"), "/var/lib/vz/template/iso/talos.iso");
        assert_eq!(local.path("import/x.qcow2", "import"), "/var/lib/vz/import/x.qcow2");
        let linked = "9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2";
        assert_eq!(local.path(linked, "images"), "/var/lib/vz/images/101/vm-101-disk-0.qcow2");
        assert_eq!(storage("lvmthin").path("vm-100-disk-0", "images"), "/dev/pve/vm-100-disk-0");
        assert_eq!(storage("zfspool").path("base-9-disk-0/vm-100-disk-0", "images"), "/dev/zvol/tank/vm-100-disk-0");
    }
}
