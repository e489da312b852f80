//! Property strings: the `key=value,key=value` texts in which Proxmox keeps drives, cards and the like.

/// One property string, in the order in which it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    entries: Vec<(String, String)>,
    first: &'static str,
}

impl Properties {
    /// Reads a text. A part without a key belongs to `first`, the key that Proxmox leaves out.
    pub fn parse(text: &str, first: &'static str) -> Self {
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        let entries = parts.map(|part| match part.split_once('=') {
            Some((key, value)) => (key.trim().to_owned(), value.trim().to_owned()),
            None => (first.to_owned(), part.trim().to_owned()),
        });
        Self { entries: entries.collect(), first }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The value of a switch, in any of the spellings that Proxmox takes.
    pub fn is_on(&self, key: &str, otherwise: bool) -> bool {
        self.get(key).map_or(otherwise, is_on)
    }

    /// Sets a key, in its place if it is there already.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.entries.iter_mut().find(|(known, _)| known == key) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|(known, _)| known != key);
    }

    /// Every key with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The text, the key that is left out first.
    pub fn print(&self) -> String {
        let of_first = self.entries.iter().filter(|(key, _)| key == self.first).map(|(_, value)| value.clone());
        let others = self.entries.iter().filter(|(key, _)| key != self.first).map(|(key, value)| format!("{key}={value}"));
        of_first.chain(others).collect::<Vec<_>>().join(",")
    }
}

/// A switch in any of the spellings that Proxmox takes.
pub fn is_on(value: &str) -> bool {
    matches!(value, "1" | "on" | "yes" | "true")
}

/// A size such as `40G` or `528K` in bytes.
pub fn bytes(size: &str) -> Option<u64> {
    let (number, unit) = match size.char_indices().last()? {
        (at, unit) if unit.is_ascii_alphabetic() => (&size[..at], unit.to_ascii_uppercase()),
        _ => (size, 'B'),
    };
    let factor: u64 = match unit {
        'B' => 1,
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        'T' => 1 << 40,
        _ => return None,
    };
    if let Some((whole, part)) = number.split_once('.') {
        let scale = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
        let part = part.parse::<u64>().ok()?.checked_mul(factor)?;
        return whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(part / scale);
    }
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_printed_again() {
        for (text, first) in [
            ("virtio=BC:24:11:AA:BB:CC,bridge=vmbr0,firewall=1,tag=5", ""),
            ("local-lvm:vm-100-disk-0,discard=on,iothread=1,size=32G", "file"),
            ("0000:01:00.0,pcie=1,rombar=0", "host"),
            ("uuid=7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f", ""),
        ] {
            assert_eq!(Properties::parse(text, first).print(), text);
        }
        assert_eq!(Properties::parse("size=4M,file=none,media=cdrom,", "file").print(), "none,size=4M,media=cdrom");
    }

    #[test]
    fn a_key_is_changed_in_its_place() {
        let mut card = Properties::parse("virtio=A,bridge=vmbr0,tag=5", "");
        card.set("bridge", "vmbr1");
        card.remove("tag");
        card.set("mtu", "1");
        assert_eq!(card.print(), "virtio=A,bridge=vmbr1,mtu=1");
        assert!(Properties::parse("1", "enabled").is_on("enabled", false));
        assert!(!Properties::parse("enabled=0", "enabled").is_on("enabled", true));
    }

    #[test]
    fn sizes_are_bytes() {
        assert_eq!(bytes("40G"), Some(40 << 30));
        assert_eq!(bytes("528K"), Some(528 << 10));
        assert_eq!(bytes("1.5T"), Some(3 << 39));
        assert_eq!(bytes("4096"), Some(4096));
        for wrong in ["", "G", "4X", "1.xG", "99999999999999999999G"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
