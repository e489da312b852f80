//! Talos images as small files: real containers with the right magic, and in
//! them a sealed note of what a real image would carry.
//!
//! The seal is a SHA-256 over the whole file, so a download that was cut off
//! or changed on its way does not boot.

mod gpt;
mod packed;
mod qcow2;

pub use packed::{Packing, pack, unpack};
pub use qcow2::virtual_size;

use emhost_sim_kit::{Image, Medium};
use sha2::{Digest, Sha256};

/// Begins the note. The real thing has no such bytes anywhere.
const MARK: &[u8; 16] = b"emhost-sim-image";
/// The mark, the seal and the note's length.
const HEAD: usize = MARK.len() + 32 + 4;
/// The file on an ISO that holds the note.
const NOTE: &str = "boot/emhost.img";

/// The container of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// QEMU's own, with a virtual size of a whole disk.
    Qcow2,
    /// The bytes of a disk.
    Raw,
    /// An ISO 9660 volume.
    Iso,
}

/// Why bytes do not boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unbootable {
    /// Nothing at all.
    #[error("it is empty")]
    Empty,
    /// Packed, and nobody unpacked it.
    #[error("it is a compressed file ({0}), not a disk image")]
    Packed(&'static str),
    /// Neither qcow2 nor a partitioned disk nor an ISO.
    #[error("it is neither a qcow2 file, nor a partitioned disk, nor an ISO volume")]
    Unknown,
    /// A good container of something else.
    #[error("there is no Talos in it")]
    Foreign,
    /// The seal is broken.
    #[error("the image is cut off or damaged")]
    Damaged,
}

/// The file of an image.
pub fn encode(image: &Image, format: Format) -> Vec<u8> {
    let image = Image { medium: if format == Format::Iso { Medium::Iso } else { Medium::Disk }, ..image.clone() };
    let note = note(&image);
    let mut bytes = match format {
        Format::Raw => gpt::disk(&note),
        Format::Qcow2 => qcow2::file(&gpt::disk(&note)),
        Format::Iso => iso(&image, &note),
    };
    seal(&mut bytes);
    bytes
}

/// The image in a file that [`encode`] made.
///
/// # Errors
/// Says why the bytes do not boot.
pub fn decode(bytes: &[u8]) -> Result<Image, Unbootable> {
    if bytes.is_empty() {
        return Err(Unbootable::Empty);
    }
    if let Some(packing) = Packing::of(bytes) {
        return Err(Unbootable::Packed(packing.extension()));
    }
    if format(bytes).is_none() {
        return Err(Unbootable::Unknown);
    }
    let at = find(bytes).ok_or(Unbootable::Foreign)?;
    let seal = bytes.get(at + MARK.len()..at + MARK.len() + 32).ok_or(Unbootable::Damaged)?;
    if seal != sum(bytes, at).as_slice() {
        return Err(Unbootable::Damaged);
    }
    let length = bytes.get(at + HEAD - 4..at + HEAD).and_then(|field| field.try_into().ok());
    let length = length.map(u32::from_be_bytes).ok_or(Unbootable::Damaged)?;
    let text = usize::try_from(length).ok().and_then(|length| bytes.get(at + HEAD..)?.get(..length));
    serde_json::from_slice(text.ok_or(Unbootable::Damaged)?).map_err(|_| Unbootable::Damaged)
}

/// Which container bytes are, by their magic.
pub fn format(bytes: &[u8]) -> Option<Format> {
    let has = |at: usize, magic: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(magic));
    if has(0, qcow2::MAGIC) {
        Some(Format::Qcow2)
    } else if has(512, gpt::SIGNATURE) {
        Some(Format::Raw)
    } else if has(32769, b"CD001") {
        Some(Format::Iso)
    } else {
        None
    }
}

fn note(image: &Image) -> Vec<u8> {
    // Every key of the maps in an image is text, which is all that could fail.
    let text = serde_json::to_vec(image).unwrap_or_default();
    let length = u32::try_from(text.len()).unwrap_or_default();
    [MARK.as_slice(), &[0; 32], &length.to_be_bytes(), &text].concat()
}

fn find(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MARK.len()).position(|window| window == MARK)
}

/// The hash of everything, the seal itself left out.
fn sum(bytes: &[u8], at: usize) -> [u8; 32] {
    let seal = at + MARK.len();
    let after = bytes.get(seal + 32..).unwrap_or_default();
    Sha256::new().chain_update(&bytes[..seal]).chain_update([0; 32]).chain_update(after).finalize().into()
}

fn seal(bytes: &mut [u8]) {
    if let Some(at) = find(bytes) {
        let sum = sum(bytes, at);
        bytes[at + MARK.len()..][..32].copy_from_slice(&sum);
    }
}

/// The label Talos gives its ISO: `TALOS_V1_11_5`.
fn label(image: &Image) -> String {
    let kind = if image.secure_boot { "TALOS_SB_" } else { "TALOS_" };
    let text = format!("{kind}{}", image.version).to_uppercase();
    let kept = text.chars().map(|c| if matches!(c, '-' | '.') { '_' } else { c }).filter(|c| c.is_ascii_alphanumeric() || *c == '_');
    // Real labels have up to 32 characters; the writer keeps to what Joliet holds too.
    kept.take(16).collect()
}

fn iso(image: &Image, note: &[u8]) -> Vec<u8> {
    let menu = format!("menuentry \"Talos {} ISO\" {{}}\n", image.version);
    let files: [(&str, &[u8]); 2] = [("boot/grub/grub.cfg", menu.as_bytes()), (NOTE, note)];
    // Names and label are of our own making, and the note is far below 4 GiB.
    emhost_sdk::iso::volume(&label(image), &files).unwrap_or_default()
}

#[cfg(test)]
mod tests;
