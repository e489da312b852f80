//! What the texts of an inventory mean: sizes, addresses, versions.

use std::net::Ipv4Addr;

/// Whether a text can be a host's name without a dot.
pub fn dns_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// A version, with or without the `v`.
pub fn release(text: &str) -> Option<semver::Version> {
    semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// The six bytes of a MAC address.
pub fn mac(text: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}

/// A PCI address in its full form, with domain: `0000:01:00.0`, or without function for all of a slot.
pub fn pci_device(text: &str) -> Option<String> {
    let hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (address, function) = match text.split_once('.') {
        Some((address, function)) => (address, Some(function)),
        None => (text, None),
    };
    let parts: Vec<&str> = address.split(':').collect();
    let (domain, bus, slot) = match parts[..] {
        [bus, slot] => ("0000", bus, slot),
        [domain, bus, slot] => (domain, bus, slot),
        _ => return None,
    };
    let right = hex(domain, 4) && hex(bus, 2) && hex(slot, 2) && u8::from_str_radix(slot, 16).is_ok_and(|slot| slot < 0x20);
    let function = match function {
        None => String::new(),
        Some(function) if hex(function, 1) && function.bytes().all(|digit| digit < b'8') => format!(".{function}"),
        Some(_) => return None,
    };
    right.then(|| format!("{domain}:{bus}:{slot}{function}").to_ascii_lowercase())
}

/// The number and the unit of a size.
pub fn split_size(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].strip_prefix(' ').unwrap_or(&text[end..])))
}

/// A text such as `8GiB` in MiB.
pub fn memory_mib(text: &str) -> Option<u64> {
    let (number, unit) = split_size(text)?;
    match unit {
        "M" | "MiB" => Some(number),
        "G" | "GiB" => number.checked_mul(1024),
        "T" | "TiB" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}

/// A text such as `40G` in GiB.
pub fn disk_gib(text: &str) -> Option<u64> {
    let (number, unit) = split_size(text)?;
    match unit {
        "G" | "GiB" => Some(number),
        "T" | "TiB" => number.checked_mul(1024),
        _ => None,
    }
}

/// Both ends of a range such as `300-399`.
pub fn number_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-')?;
    let number = |text: &str| if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
    Some((number(first.trim())?, number(last.trim())?))
}

/// The part of a label's name after the `/`, or a label's value.
pub fn qualified(text: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    (1..=63).contains(&text.len())
        && ends(text.bytes().next())
        && ends(text.bytes().next_back())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether Kubernetes takes this as a label's name.
pub fn label_name(text: &str) -> bool {
    match text.split_once('/') {
        None => qualified(text),
        Some((prefix, name)) => prefix.len() <= 253 && prefix.split('.').all(dns_label) && qualified(name),
    }
}

/// Whether Kubernetes takes this as a taint.
pub fn taint(text: &str) -> bool {
    let Some((rest, "NoSchedule" | "PreferNoSchedule" | "NoExecute")) = text.rsplit_once(':') else { return false };
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    label_name(key) && (value.is_empty() || qualified(value))
}

/// A range of IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    pub first: Ipv4Addr,
    pub prefix: u8,
}

impl Network {
    /// The network that an address with this prefix length is in.
    pub fn around(address: Ipv4Addr, prefix: u8) -> Self {
        Self { first: Ipv4Addr::from(u32::from(address) & Self::mask(prefix)), prefix }
    }

    /// Reads `ADDRESS/PREFIX`, whatever the bits behind the prefix.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let prefix = if prefix.bytes().all(|byte| byte.is_ascii_digit()) { prefix.parse().ok()? } else { return None };
        (prefix <= 32).then_some(())?;
        Some(Self::around(address.parse().ok()?, prefix))
    }

    fn mask(prefix: u8) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0)
    }

    pub fn last(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first) | !Self::mask(self.prefix))
    }

    pub fn contains(self, address: Ipv4Addr) -> bool {
        Self::around(address, self.prefix) == self
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.contains(other.first) || other.contains(self.first)
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(
            [memory_mib("8GiB"), memory_mib("8192MiB"), memory_mib("8G"), memory_mib("8GB")],
            [Some(8192), Some(8192), Some(8192), None]
        );
        assert_eq!(
            [disk_gib("40G"), disk_gib("1TiB"), disk_gib("40M"), disk_gib("99999999999999999999G")],
            [Some(40), Some(1024), None, None]
        );
        assert_eq!(memory_mib("18446744073709551615T"), None);
    }

    #[test]
    fn devices_get_their_domain() {
        assert_eq!(pci_device("01:00.0").as_deref(), Some("0000:01:00.0"));
        assert_eq!(pci_device("0000:0A:1f").as_deref(), Some("0000:0a:1f"));
        for wrong in ["1:00.0", "0000:01:20.0", "0000:01:00.8", "0000:01:00.", "a:b:c:d", ""] {
            assert_eq!(pci_device(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn networks_know_their_ends() {
        let network = Network::parse("10.0.3.7/16").expect("a network");
        assert_eq!((network.to_string().as_str(), network.last()), ("10.0.0.0/16", Ipv4Addr::new(10, 0, 255, 255)));
        assert!(Network::parse("0.0.0.0/0").expect("all").contains(Ipv4Addr::BROADCAST));
        assert!(!Network::parse("10.0.0.1/32").expect("one").contains(Ipv4Addr::new(10, 0, 0, 2)));
        assert!(Network::parse("10.96.0.0/12").expect("a").overlaps(Network::parse("10.100.0.0/16").expect("b")));
        assert_eq!(Network::parse("10.0.0.0/33"), None);
    }
}
