//! What the factory can build from: versions of Talos, official extensions and overlays.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::extensions::{EXTENSIONS, alias};

/// The last patch of each minor version of Talos 1, from 1.8 on.
const RELEASES: [(u64, u64); 6] = [(8, 4), (9, 6), (10, 9), (11, 6), (12, 11), (13, 9)];

/// Overlays for boards: name and image.
const OVERLAYS: [(&str, &str); 6] = [
    ("rpi_generic", "sbc-raspberrypi"),
    ("rpi_5", "sbc-raspberrypi"),
    ("rock4cplus", "sbc-rockchip"),
    ("rockpi4", "sbc-rockchip"),
    ("jetson_nano", "sbc-jetson"),
    ("bananapi_m64", "sbc-allwinner"),
];

/// A version of Talos.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Of 1.11.5 the 1.
    pub major: u64,
    /// Of 1.11.5 the 11.
    pub minor: u64,
    /// Of 1.11.5 the 5.
    pub patch: u64,
}

impl Version {
    /// Reads `v1.11.5` or `1.11.5`. Versions before a release are not built here.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.').map(|part| {
            let digits = part.bytes().all(|byte| byte.is_ascii_digit()) && (part.len() == 1 || !part.starts_with('0'));
            digits.then(|| part.parse().ok()).flatten()
        });
        let (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        Some(Self { major, minor, patch })
    }

    /// Whether there are images of it.
    pub fn is_released(self) -> bool {
        self.major == 1 && RELEASES.iter().any(|(minor, last)| self.minor == *minor && self.patch <= *last)
    }

    /// Whether it is of this minor version or later.
    pub fn at_least(self, minor: u64) -> bool {
        (self.major, self.minor) >= (1, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Every version, oldest first.
pub(super) fn versions() -> Vec<Version> {
    let patches = |(minor, last): &(u64, u64)| {
        let minor = *minor;
        (0..=*last).map(move |patch| Version { major: 1, minor, patch })
    };
    RELEASES.iter().flat_map(patches).collect()
}

/// An extension as the API lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Extension {
    pub(super) name: String,
    #[serde(rename = "ref")]
    pub(super) reference: String,
    pub(super) digest: String,
    pub(super) author: String,
    pub(super) description: String,
}

/// The official extensions for a version.
pub(super) fn extensions(version: Version) -> Vec<Extension> {
    let there = EXTENSIONS.iter().filter(|(_, first, last, _)| (*first..=*last).contains(&version.minor));
    let extension = |(name, _, _, what): &(&str, u64, u64, &str)| {
        // Most extensions carry the version of what is in them; Talos's own stands for that here.
        let reference = format!("ghcr.io/siderolabs/{name}:v{version}");
        Extension {
            name: format!("siderolabs/{name}"),
            digest: digest(&reference),
            reference,
            author: "Sidero Labs".into(),
            description: format!("{what}."),
        }
    };
    there.map(extension).collect()
}

/// The official name of an extension that this version has, under this or an older name.
pub(super) fn extension(name: &str, version: Version) -> Option<String> {
    let short = name.strip_prefix("siderolabs/")?;
    let has = |wanted: &str| EXTENSIONS.iter().any(|(name, first, last, _)| *name == wanted && (*first..=*last).contains(&version.minor));
    let found = if has(short) { short } else { alias(short).filter(|alias| has(alias))? };
    Some(format!("siderolabs/{found}"))
}

/// An overlay as the API lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Overlay {
    pub(super) name: String,
    image: String,
    #[serde(rename = "ref")]
    reference: String,
    digest: String,
}

/// The official overlays for a version.
pub(super) fn overlays(version: Version) -> Vec<Overlay> {
    let overlay = |(name, image): &(&str, &str)| {
        let reference = format!("ghcr.io/siderolabs/{image}:v{version}");
        Overlay { name: (*name).into(), image: format!("siderolabs/{image}"), digest: digest(&reference), reference }
    };
    OVERLAYS.iter().map(overlay).collect()
}

/// A digest that is always the same for the same text.
pub(super) fn digest(text: impl AsRef<[u8]>) -> String {
    let hash = Sha256::digest(text);
    hash.iter().fold("sha256:".to_owned(), |digest, byte| format!("{digest}{byte:02x}"))
}
