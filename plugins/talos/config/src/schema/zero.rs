//! What Talos has where nothing is set.

use crate::tree::{Meaning, Scalar};

/// The leaves that are whole numbers.
pub(crate) const NUMBERS: [&str; 7] = ["int", "uint", "uint8", "uint16", "uint32", "uint64", "v1alpha1.FileMode"];

/// Whether a scalar is the same as none, unless a pointer tells the two apart.
pub(crate) fn is_zero(scalar: &Scalar, leaf: &str) -> bool {
    if scalar.text.is_empty() {
        return true;
    }
    match leaf {
        "bool" => scalar.truth() == Some(false),
        "duration" => !scalar.text.bytes().any(|byte| matches!(byte, b'1'..=b'9')),
        "nethelpers.DefaultAction" => scalar.text == "accept",
        "nethelpers.RoutingTable" | "nethelpers.RoutingRuleAction" => scalar.text == "unspec",
        "block.EncryptionProviderType" | "block.FilesystemType" => scalar.text == "none",
        leaf if leaf == "v1alpha1.DiskSize" || NUMBERS.contains(&leaf) => scalar.meaning() == Meaning::Int(0),
        _ => false,
    }
}
