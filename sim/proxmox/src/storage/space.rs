//! How full storages are.

use crate::StorageSpec;

use super::{Kind, Storages};

/// Bytes of a storage on one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// All.
    pub total: u64,
    /// Taken.
    pub used: u64,
}

impl Space {
    /// What is left.
    pub fn free(self) -> u64 {
        self.total.saturating_sub(self.used)
    }
}

impl Storages {
    /// How full a storage is, seen from a host.
    pub fn space(&self, host: &str, storage: &StorageSpec) -> Space {
        let taken: u64 = self.on(host, &storage.id).map(|(_, volume)| volume.used).sum();
        // A directory lives on the file system of the host, which is never empty.
        let system = if storage.has_path() && !storage.shared { storage.size / 20 } else { 0 };
        Space { total: storage.size, used: (taken + system).min(storage.size) }
    }

    /// Refuses what does not fit, in the words of the tool that would fail.
    pub(super) fn fits(&self, host: &str, storage: &StorageSpec, name: &str, bytes: u64) -> Result<(), String> {
        let free = self.space(host, storage).free();
        if bytes <= free {
            return Ok(());
        }
        let root = storage.root();
        Err(match storage.kind.as_str() {
            "lvm" => {
                let (have, need) = (free >> 22, bytes.div_ceil(4 << 20));
                format!(
                    "lvcreate '{root}/{name}' error:   Volume group \"{root}\" has insufficient free space ({have} extents): {need} required."
                )
            }
            "lvmthin" => format!("Thin pool {root}-data-tpool (253:4) needs more space: {bytes} bytes required, no space left on device"),
            "zfspool" | "zfs" => format!("zfs error: cannot create '{root}/{name}': out of space"),
            "rbd" => format!("rbd create '{name}' error: rbd: create error: (28) No space left on device"),
            _ => format!("unable to create image: qemu-img: {root}/{name}: No space left on device"),
        })
    }
}
