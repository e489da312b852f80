//! The drives of a machine: disks, CD-ROMs, the EFI disk and the state of the TPM.

use std::collections::BTreeMap;

use super::machine;
use super::perl;
use super::property::{self, Properties};
use super::size;
use crate::Release;

pub use super::size::{parse as parse_size, print as format_size};

/// A drive of a machine's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drive {
    /// `scsi`, `virtio`, `sata`, `ide`, `efidisk`, `tpmstate` or `unused`.
    pub interface: String,
    /// The number behind it.
    pub index: u32,
    /// The volume, a path, `none` or `cdrom`.
    pub file: String,
    /// Everything else, `size` in bytes.
    pub options: BTreeMap<String, String>,
}

impl Drive {
    /// The key in the configuration, such as `scsi0`.
    pub fn key(&self) -> String {
        format!("{}{}", self.interface, self.index)
    }

    /// An option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The size in bytes, where one is written down.
    pub fn size(&self) -> Option<u64> {
        self.option("size")?.parse().ok()
    }

    /// Writes a size down.
    pub fn set_size(&mut self, bytes: u64) {
        self.options.insert("size".to_owned(), bytes.to_string());
    }

    /// Whether it is a CD-ROM, and be it the one of cloud-init.
    pub fn is_cdrom(&self) -> bool {
        self.option("media") == Some("cdrom")
    }

    /// Whether it is the drive that cloud-init reads.
    pub fn is_cloudinit(&self) -> bool {
        perl::matches(r".*[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow2|qed|qcow|vmdk|cloop))?", &self.file)
    }

    /// Every property, the file among them.
    pub fn properties(&self) -> Properties {
        let mut all = self.options.clone();
        all.insert("file".to_owned(), self.file.clone());
        all
    }
}

/// The names of all drives, in the order in which the first one to boot from is looked for.
pub fn names() -> impl Iterator<Item = String> {
    let of = |interface: &'static str, count: u32| (0..count).map(move |index| format!("{interface}{index}"));
    of("ide", 4).chain(of("scsi", 31)).chain(of("virtio", 16)).chain(of("sata", 6)).chain(["efidisk0".to_owned(), "tpmstate0".to_owned()])
}

/// Whether a key of the configuration is a drive that can be used; `unusedN` is not.
pub fn is_name(key: &str) -> bool {
    names().any(|name| name == key)
}

/// Reads a drive; none where Proxmox would not take it for one. `import-from` is read too.
pub fn parse(release: Release, key: &str, text: &str) -> Option<Drive> {
    let digits = key.find(|letter: char| letter.is_ascii_digit())?;
    let (interface, index) = key.split_at(digits);
    let known = is_name(key) || interface == "unused";
    let format = machine::format_of(release, key).filter(|_| known && !interface.is_empty())?;
    // 9 passes over what it no longer knows, so that old configurations can be read.
    let dropped: &[&str] = if release == Release::V9 { &["cyls", "heads", "secs", "trans"] } else { &[] };
    let mut found = property::parse_at(format, text, "", dropped).ok()?;
    limits(&mut found)?;
    if found.get("media").is_some_and(|media| media == "cdrom") {
        let set = |name: &&str| found.get(*name).is_some_and(|value| perl::truthy(value));
        if ["snapshot", "trans", "format", "heads", "secs", "cyls"].iter().any(set) || interface == "virtio" {
            return None;
        }
    }
    if let Some(text) = found.get("size").filter(|text| perl::truthy(text)) {
        let bytes = size::parse(text)?;
        found.insert("size".to_owned(), bytes.to_string());
    }
    let file = found.remove("file").unwrap_or_default();
    Some(Drive { interface: interface.to_owned(), index: index.parse().ok()?, file, options: found })
}

/// The limits of throughput: old names become new ones, bursts need the limit they exceed, and there is one for both directions or one for each.
fn limits(found: &mut Properties) -> Option<()> {
    for old in ["bps", "bps_rd", "bps_wr"] {
        if found.remove(old).is_some() {
            let new = format!("m{old}");
            if found.contains_key(&new) {
                return None;
            }
            // Proxmox divides whether there was a value, not the value.
            found.insert(new, "0.000".to_owned());
        }
    }
    let set = |name: &str| found.get(name).is_some_and(|value| perl::truthy(value));
    for direction in ["", "_rd", "_wr"] {
        let lacking = |what: String, needs: String| set(&what) && !set(&needs);
        if lacking(format!("mbps{direction}_max"), format!("mbps{direction}"))
            || lacking(format!("bps{direction}_max_length"), format!("mbps{direction}_max"))
            || lacking(format!("iops{direction}_max_length"), format!("iops{direction}_max"))
        {
            return None;
        }
    }
    let both = |limit: &str| set(limit) && (set(&format!("{limit}_rd")) || set(&format!("{limit}_wr")));
    (!both("mbps") && !both("iops")).then_some(())
}

/// Prints a drive as it is written into the configuration, without `import-from`, which is only an instruction.
pub fn print(drive: &Drive) -> String {
    let mut properties = drive.properties();
    properties.remove("import-from");
    property::print(machine::any_drive(Release::V8), &properties)
}

/// Prints a drive; none where it has what cannot be written into the configuration.
pub fn try_print(release: Release, drive: &Drive) -> Option<String> {
    property::try_print(machine::any_drive(release), &drive.properties())
}
