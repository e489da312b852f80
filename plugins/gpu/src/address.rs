//! PCI addresses: `0000:01:00.0` is one function, `0000:01:00` all functions of a slot.

/// The full form: people and Proxmox leave out domain 0000.
pub fn full(address: &str) -> String {
    let address = address.trim().to_ascii_lowercase();
    if address.split(':').count() < 3 { format!("0000:{address}") } else { address }
}

/// The slot of an address.
pub fn slot(address: &str) -> &str {
    address.split_once('.').map_or(address, |(slot, _)| slot)
}

/// Whether an address is this function, or all functions of its slot.
pub fn covers(address: &str, function: &str) -> bool {
    address == function || (!address.contains('.') && address == slot(function))
}

/// Whether two addresses of one host have a function in common.
pub fn clash(one: &str, other: &str) -> bool {
    covers(one, other) || covers(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_all_of_its_functions() {
        assert_eq!((full("01:00.0"), full(" 0000:0A:00 ")), ("0000:01:00.0".to_owned(), "0000:0a:00".to_owned()));
        assert!(covers("0000:01:00", "0000:01:00.1") && covers("0000:01:00.1", "0000:01:00.1"));
        assert!(!covers("0000:01:00.0", "0000:01:00.1") && !covers("0000:01:00.0", "0000:01:00"));
        assert!(clash("0000:01:00.0", "0000:01:00") && !clash("0000:01:00.0", "0000:01:00.1") && !clash("0000:01:00", "0000:02:00"));
    }
}
