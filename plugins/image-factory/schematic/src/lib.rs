//! What a Talos image is made of, and the id the Image Factory gives that (facts/talos.md §5.2).
//!
//! An id is the hash of the schematic as the factory writes it down, so [`document`] writes YAML
//! byte for byte as the factory's library does.

mod canonical;
mod scalars;

use sha2::{Digest, Sha256};

pub use canonical::{Node, document};

/// A schematic. Lists keep the order they were given in: another order is another schematic.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schematic {
    /// For boards; the options are kept as they came.
    pub overlay: Option<Overlay>,
    /// A machine configuration within the image, for Talos 1.12 and later.
    pub embedded: String,
    /// Kernel arguments beyond the platform's own.
    pub kernel_args: Vec<String>,
    /// Values for META.
    pub meta: Vec<(u8, String)>,
    /// Official extensions.
    pub extensions: Vec<String>,
    /// `sd-boot`, `grub`, `dual-boot`; none is the factory's choice.
    pub bootloader: String,
    /// How keys are enrolled.
    pub enroll_keys: String,
    /// Whether Microsoft's certificates are among the enrolled.
    pub well_known_certificates: bool,
    /// Of a disk image; 0 is 512.
    pub sector_size: u64,
}

/// What a board needs beside Talos itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// The image it comes in.
    pub image: String,
    /// Which one of that image.
    pub name: String,
    /// Its options, keys in order.
    pub options: Vec<(String, Node)>,
}

impl Schematic {
    /// The text whose hash is the id.
    pub fn canonical(&self) -> String {
        let text = |text: &String| (!text.is_empty()).then(|| Node::Text(text.clone()));
        let texts = |list: &[String]| (!list.is_empty()).then(|| Node::List(list.iter().cloned().map(Node::Text).collect()));
        let meta = |(key, value): &(u8, String)| {
            Node::Table(vec![("key".into(), Node::Plain(key.to_string())), ("value".into(), Node::Text(value.clone()))])
        };
        let secure_boot = table([
            ("enrollKeys", text(&self.enroll_keys)),
            ("includeWellKnownCertificates", self.well_known_certificates.then(|| Node::Plain("true".into()))),
        ]);
        let sector_size = (self.sector_size != 0).then(|| Node::Plain(self.sector_size.to_string()));
        let customization = table([
            ("embeddedMachineConfiguration", text(&self.embedded)),
            ("extraKernelArgs", texts(&self.kernel_args)),
            ("meta", (!self.meta.is_empty()).then(|| Node::List(self.meta.iter().map(meta).collect()))),
            ("systemExtensions", filled(table([("officialExtensions", texts(&self.extensions))]))),
            ("bootloader", text(&self.bootloader)),
            ("secureboot", filled(secure_boot)),
            ("diskImage", filled(table([("sectorSize", sector_size)]))),
        ]);
        let overlay = self.overlay.as_ref().map(|overlay| {
            let options = (!overlay.options.is_empty()).then(|| Node::Table(overlay.options.clone()));
            let known = [
                ("image", Some(Node::Text(overlay.image.clone()))),
                ("name", Some(Node::Text(overlay.name.clone()))),
                ("options", options),
            ];
            table(known)
        });
        document(&table([("overlay", overlay), ("customization", Some(customization))]))
    }

    /// The id: 64 hexadecimal digits.
    pub fn id(&self) -> String {
        let hash = Sha256::digest(self.canonical());
        hash.iter().fold(String::new(), |id, byte| format!("{id}{byte:02x}"))
    }
}

fn table<const N: usize>(entries: [(&str, Option<Node>); N]) -> Node {
    Node::Table(entries.into_iter().filter_map(|(key, node)| node.map(|node| (key.to_owned(), node))).collect())
}

/// Nothing where there is nothing in it.
fn filled(node: Node) -> Option<Node> {
    Some(node).filter(|node| !matches!(node, Node::Table(entries) if entries.is_empty()))
}

#[cfg(test)]
mod tests;
