//! Media of the first boot: small volumes that are built here, brought to a storage, attached, and taken away again.
//!
//! Their names carry the machine's identity, so they are found and deleted whatever else was lost.

use emhost_sdk::{Failure, Medium, iso};

use crate::digest::sha256;
use crate::machine::drives::Drive;

/// A medium that is ready to be brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its file name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Builds a medium.
///
/// # Errors
/// A label or a path that no volume can have.
pub fn build(node: &str, identity: &str, medium: &Medium) -> Result<Volume, Failure> {
    let files: Vec<(&str, &[u8])> = medium.files.iter().map(|file| (file.path.as_str(), file.body.as_slice())).collect();
    let bytes = iso::volume(&medium.label, &files).map_err(|error| {
        Failure::invalid("proxmox/medium", format!("medium `{}` of {node} cannot be written: {error}", medium.label))
            .help("report it to the author of the boot source plugin")
    })?;
    let digest: String = sha256(&bytes).chars().take(8).collect();
    let label: String = medium.label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    Ok(Volume { name: format!("{}{label}-{digest}.iso", stem(node, identity)), bytes })
}

/// What the names of a machine's media begin with.
fn stem(node: &str, identity: &str) -> String {
    format!("emhost-{node}-{identity}-")
}

/// Whether a volume is a medium of this machine.
pub fn is_of(volume: &str, identity: &str) -> bool {
    let name = volume.rsplit(['/', ':']).next().unwrap_or_default();
    name.starts_with("emhost-") && name.contains(&format!("-{identity}-")) && !identity.is_empty()
}

/// The volume of a medium on a storage.
pub fn volume_id(storage: &str, name: &str) -> String {
    format!("{storage}:iso/{name}")
}

/// The CD drives of a joined machine that are to be emptied: those with its media, and the one it installed from.
pub fn to_eject<'a>(discs: &'a [Drive], identity: &str, installer: Option<&str>) -> Vec<&'a Drive> {
    discs.iter().filter(|drive| is_of(&drive.volume, identity) || installer == Some(drive.volume.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use emhost_sdk::MediumFile;

    use super::*;
    use crate::machine::drives;
    use crate::machine::samples::{IDENTITY, config};

    fn medium(body: &[u8]) -> Medium {
        Medium {
            label: "cidata".to_owned(),
            files: vec![MediumFile { path: "user-data".to_owned(), body: body.to_vec() }],
            sensitive: true,
        }
    }

    #[test]
    fn the_name_says_whose_it_is_and_what_is_in_it() {
        let (one, two) =
            (build("dev-cp-1", IDENTITY, &medium(b"a")).expect("fits"), build("dev-cp-1", IDENTITY, &medium(b"b")).expect("fits"));
        assert!(one.name.starts_with(&format!("emhost-dev-cp-1-{IDENTITY}-cidata-")));
        assert_ne!(one.name, two.name);
        assert!(is_of(&volume_id("local", &one.name), IDENTITY));
        assert!(!is_of(&volume_id("local", &one.name), "other") && !is_of("local:iso/talos.iso", IDENTITY) && !is_of("none", ""));
        assert_eq!(&one.bytes[0x8001..0x8006], b"CD001");
    }

    #[test]
    fn only_ours_are_taken_out() {
        let mine = format!("local:iso/emhost-dev-cp-1-{IDENTITY}-cidata-00000000.iso,media=cdrom");
        let one = config(&[
            ("ide2", "local:iso/talos.iso,media=cdrom"),
            ("ide0", mine.as_str()),
            ("sata0", "local:iso/rescue.iso,media=cdrom"),
            ("sata1", "local-lvm:vm-300-cloudinit,media=cdrom"),
        ]);
        let discs = drives::discs(&one);
        let slots: Vec<&str> = to_eject(&discs, IDENTITY, Some("local:iso/talos.iso")).iter().map(|drive| drive.slot.as_str()).collect();
        assert_eq!(slots, ["ide0", "ide2"]);
        assert_eq!(to_eject(&discs, IDENTITY, None).len(), 1);
    }
}
