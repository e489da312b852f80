//! How a node says which device it wants.

use std::fmt;

use emhost_sdk::Failure;

use crate::address::full;

/// Who makes devices that a selector can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Intel.
    Intel,
}

impl Vendor {
    /// The vendor of this PCI id.
    pub fn of(id: u16) -> Option<Self> {
        match id {
            0x10de => Some(Self::Nvidia),
            0x1002 => Some(Self::Amd),
            0x8086 => Some(Self::Intel),
            _ => None,
        }
    }

    /// In the inventory's words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
        }
    }
}

/// Which device a node wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// This one, or all functions of this slot.
    Address(String),
    /// One of this mapping.
    Mapping(String),
    /// Any of this vendor.
    Vendor(Vendor),
}

impl Selector {
    /// Reads one.
    ///
    /// # Errors
    /// Something else.
    pub fn parse(text: &str, node: &str) -> Result<Self, Failure> {
        if let Some(mapping) = text.strip_prefix("mapping:") {
            return Ok(Self::Mapping(mapping.trim().to_owned()));
        }
        if let Some((key, value)) = text.split_once('=') {
            let known = [Vendor::Nvidia, Vendor::Amd, Vendor::Intel].into_iter().find(|vendor| vendor.word() == value.trim());
            return known.filter(|_| key.trim() == "vendor").map(Self::Vendor).ok_or_else(|| {
                Failure::invalid("gpu/selector", format!("{node} asks for a GPU with `{text}`, which names no vendor that is known"))
                    .help("write `gpu: {vendor: nvidia}`, `amd` or `intel`; or name the device by `bdf` or `mapping`")
            });
        }
        Ok(Self::Address(full(text)))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "device {address}"),
            Self::Mapping(mapping) => write!(f, "a device of mapping `{mapping}`"),
            Self::Vendor(vendor) => write!(f, "a GPU of vendor {}", vendor.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_device_is_named_in_three_ways() {
        let parse = |text: &str| Selector::parse(text, "gpu-1").unwrap();
        assert_eq!(parse("01:00.0"), Selector::Address("0000:01:00.0".to_owned()));
        assert_eq!(parse("mapping:gpu0"), Selector::Mapping("gpu0".to_owned()));
        assert_eq!(parse("vendor=amd"), Selector::Vendor(Vendor::Amd));
        for wrong in ["vendor=matrox", "colour=red"] {
            assert!(Selector::parse(wrong, "gpu-1").is_err(), "{wrong}");
        }
    }
}
