//! What volumes hold: the bytes of files, and what is on the disks.

use std::io;
use std::path::PathBuf;

use emhost_sim_kit::{Disk, Store};
use emhost_sim_machines::image;

use super::{Place, Storages, key};

/// The file with the bytes of a volume.
pub(super) fn file(store: &Store, place: &Place) -> io::Result<PathBuf> {
    let host = if place.host.is_empty() { "shared" } else { &place.host };
    store.file(&format!("pve/{host}/{}", place.volid.replacen(':', "/", 1)))
}

impl Storages {
    /// What a disk holds; nothing where it is empty or unknown.
    pub fn read_disk(store: &Store, place: &Place) -> Disk {
        store.get(&key("disk", place)).ok().flatten().unwrap_or_default()
    }

    /// Writes what a disk holds.
    ///
    /// # Errors
    /// The volume is gone, or it cannot be kept.
    pub fn write_disk(&self, store: &Store, place: &Place, disk: &Disk) -> io::Result<()> {
        if !self.volumes.contains_key(place) {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("volume '{}' does not exist", place.volid)));
        }
        store.put(&key("disk", place), disk)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// It is gone.
    pub fn read_file(store: &Store, place: &Place) -> io::Result<Vec<u8>> {
        std::fs::read(file(store, place)?)
    }

    /// Puts bytes where the file of a volume belongs.
    ///
    /// # Errors
    /// The disk of this computer said no.
    pub fn write_file(store: &Store, place: &Place, bytes: &[u8]) -> io::Result<()> {
        let path = file(store, place)?;
        let beside = path.with_extension("new");
        std::fs::write(&beside, bytes)?;
        std::fs::rename(beside, path)
    }
}

/// What a disk holds that an image was written to. Bytes that are no image are there and boot nothing.
pub(super) fn imported(bytes: &[u8]) -> Disk {
    match image::decode(bytes) {
        Ok(image) => Disk { meta: image.meta.clone(), boot: Some(image), ..Disk::default() },
        Err(_) => Disk::default(),
    }
}

/// What `qemu-img info` says of a file: the size a guest would see.
///
/// # Errors
/// The text of `qemu-img` for a file that is not of the format its name says, or that refers to other files.
pub(crate) fn virtual_size(bytes: &[u8], format: &str, path: &str) -> Result<u64, String> {
    let sectors = |length: u64| length.div_ceil(512) * 512;
    match format {
        "qcow2" => {
            let wrong = || format!("qemu-img: Could not open '{path}': Image is not in qcow2 format");
            if !bytes.starts_with(b"QFI\xfb") {
                return Err(wrong());
            }
            let number = |at: usize| bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes).ok_or_else(wrong);
            if number(8)? != 0 {
                return Err(format!("backing file not allowed for untrusted image '{path}'!"));
            }
            number(24)
        }
        "vmdk" => {
            let wrong = || format!("qemu-img: Could not open '{path}': Image is not in vmdk format");
            if !bytes.starts_with(b"KDMV") {
                return Err(wrong());
            }
            let capacity = bytes.get(12..20).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes).ok_or_else(wrong)?;
            Ok(capacity.saturating_mul(512))
        }
        _ => Ok(sectors(u64::try_from(bytes.len()).unwrap_or(u64::MAX - 512))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn qcow2(backing: u64, size: u64) -> Vec<u8> {
        let mut bytes = b"QFI\xfb\0\0\0\x03".to_vec();
        bytes.extend(backing.to_be_bytes());
        bytes.extend([0; 8]);
        bytes.extend(size.to_be_bytes());
        bytes
    }

    #[test]
    fn sizes_are_those_a_guest_sees() {
        assert_eq!(virtual_size(&qcow2(0, 10 << 30), "qcow2", "x"), Ok(10 << 30));
        assert_eq!(virtual_size(b"abc", "raw", "x"), Ok(512));
        assert_eq!(virtual_size(&[0; 1024], "iso", "x"), Ok(1024));
    }

    #[test]
    fn files_that_are_not_what_their_name_says_are_refused() {
        assert!(virtual_size(b"abc", "qcow2", "/x.qcow2").unwrap_err().contains("not in qcow2 format"));
        assert!(virtual_size(b"QFI\xfb", "qcow2", "/x.qcow2").unwrap_err().contains("not in qcow2 format"));
        assert!(virtual_size(&qcow2(512, 1), "qcow2", "/x.qcow2").unwrap_err().contains("backing file not allowed"));
        assert!(virtual_size(b"abc", "vmdk", "/x.vmdk").is_err());
    }
}
