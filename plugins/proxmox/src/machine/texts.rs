//! Disks, cards and devices as Proxmox writes them, and when two ways to write them mean the same.

use super::wanted::Card;
use crate::property::Properties;

/// A new disk with nothing on it.
pub fn empty_disk(storage: &str, gib: u32) -> String {
    format!("{storage}:{gib},discard=on,ssd=1")
}

/// A new card.
pub fn new_card(card: &Card) -> String {
    let tag = card.vlan.map(|vlan| format!(",tag={vlan}")).unwrap_or_default();
    format!("virtio={},bridge={}{tag}", card.mac, card.bridge)
}

/// Only an address with a prefix is one to be put on the card.
pub fn ip_config(card: &Card) -> String {
    match card.address.as_deref().filter(|address| address.contains('/')) {
        Some(address) => {
            let gateway = card.gateway.as_deref().map(|gateway| format!("gw={gateway},")).unwrap_or_default();
            format!("{gateway}ip={address}")
        }
        None => "ip=dhcp".to_owned(),
    }
}

/// The same entries in any order.
pub fn same_entries(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let read = Properties::parse(text, "");
        let mut entries: Vec<(String, String)> = read.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        entries.sort();
        entries
    };
    sorted(one) == sorted(other)
}

/// Proxmox writes the version of a machine type behind it.
pub fn same_machine(wanted: &str, has: &str) -> bool {
    let old = |text: &str| matches!(text, "pc" | "i440fx") || text.starts_with("pc-i440fx");
    wanted == has || wanted == "q35" && has.starts_with("pc-q35-") || matches!(wanted, "pc" | "i440fx") && old(has)
}

/// The same device, whatever of it is written out.
pub fn same_device(one: &str, other: &str) -> bool {
    let canonical = |text: &str| {
        let read = Properties::parse(text, "host");
        let host = read.get("host").map(|host| if host.matches(':').count() < 2 { format!("0000:{host}") } else { host.to_owned() });
        let (pcie, rombar) = (read.is_on("pcie", false), read.is_on("rombar", true));
        let vga = read.is_on("x-vga", false);
        (host, read.get("mapping").map(str::to_owned), read.get("mdev").map(str::to_owned), pcie, rombar, vga)
    };
    canonical(one) == canonical(other)
}
