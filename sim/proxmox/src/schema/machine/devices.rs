//! Everything else that is plugged into a machine.

use std::sync::Arc;

use super::is_boot_device;
use crate::Release;
use crate::schema::field::{Field, alias, choice, flag, int, list, number, one, text};
use crate::schema::formats;
use crate::schema::property::Format;

type Entries = Vec<(&'static str, Field)>;

const CARDS: [&str; 14] = [
    "e1000",
    "e1000-82540em",
    "e1000-82544gc",
    "e1000-82545em",
    "e1000e",
    "i82551",
    "i82557b",
    "i82559er",
    "ne2k_isa",
    "ne2k_pci",
    "pcnet",
    "rtl8139",
    "virtio",
    "vmxnet3",
];

const RANGES: &str = r"(?:\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*)";

fn format(release: Release, required: Entries, optional: Entries) -> Arc<Format> {
    let optional = optional.into_iter().map(|(name, field)| (name, field.optional()));
    Arc::new(Format::new(release, required.into_iter().chain(optional)))
}

/// `netN`. The model can be the key of the address.
pub(super) fn net(release: Release) -> Arc<Format> {
    let mut required: Entries = CARDS.into_iter().map(|card| (card, alias("macaddr", Some("model")))).collect();
    required.push(("model", choice(&CARDS[..]).default_key()));
    let optional = vec![
        ("bridge", one(formats::bridge_id)),
        ("firewall", flag()),
        ("link_down", flag()),
        ("macaddr", one(formats::mac)),
        ("mtu", int().min(1).max(65520)),
        ("queues", int().min(0).max(64)),
        ("rate", number().min(0)),
        ("tag", int().min(1).max(4094)),
        ("trunks", text().pattern(RANGES)),
    ];
    format(release, required, optional)
}

/// `hostpciN`.
pub(super) fn hostpci(release: Release) -> Arc<Format> {
    let id = || text().pattern("(?:^0x[0-9a-fA-F]{4}$)");
    let host = concat!(
        r"(?:(?:[a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(?:\.[a-f0-9])?",
        r"(;(?:[a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(?:\.[a-f0-9])?)*)",
    );
    let mut optional = vec![
        ("device-id", id()),
        ("host", text().pattern(host).default_key()),
        ("legacy-igd", flag()),
        ("mapping", one(formats::config_id)),
        ("mdev", text().pattern(r"[^/.:]+")),
        ("pcie", flag()),
        ("rombar", flag()),
        ("romfile", text().pattern("[^,;]+")),
        ("sub-device-id", id()),
        ("sub-vendor-id", id()),
        ("vendor-id", id()),
        ("x-vga", flag()),
    ];
    if release == Release::V9 {
        optional.push(("driver", choice(&["vfio", "keep"][..])));
    }
    format(release, vec![], optional)
}

/// `usbN`.
pub(super) fn usb(release: Release) -> Arc<Format> {
    let host = concat!("(?:(?:(0x)?([0-9A-Fa-f]{4}):(0x)?([0-9A-Fa-f]{4}))", r"|(?:(\d+)-(\d+(\.\d+)*))|[Ss][Pp][Ii][Cc][Ee])",);
    let optional = vec![("host", text().pattern(host).default_key()), ("mapping", one(formats::config_id)), ("usb3", flag())];
    format(release, vec![], optional)
}

/// `agent`.
pub(super) fn agent(release: Release) -> Arc<Format> {
    let mut required = vec![("enabled", flag().default_key())];
    let mut optional = vec![("fstrim_cloned_disks", flag()), ("type", choice(&["virtio", "isa"][..]))];
    match release {
        Release::V8 => optional.push(("freeze-fs-on-backup", flag())),
        Release::V9 => {
            optional.push(("freeze-fs", flag()));
            required.extend([("freeze-fs-on-backup", alias("freeze-fs", None)), ("guest-fsfreeze", alias("freeze-fs", None))]);
        }
    }
    format(release, required, optional)
}

/// `audio0`.
pub(super) fn audio(release: Release) -> Arc<Format> {
    let device = choice(&["ich9-intel-hda", "intel-hda", "AC97"][..]);
    format(release, vec![("device", device)], vec![("driver", choice(&["spice", "none"][..]))])
}

/// `boot`.
pub(super) fn boot(release: Release) -> Arc<Format> {
    let order = list(|_, device| if is_boot_device(device) { Ok(()) } else { Err(format!("invalid boot device '{device}'")) });
    let legacy = text().pattern("[acdn]{1,4}").default_key();
    format(release, vec![], vec![("legacy", legacy), ("order", order)])
}

/// `cicustom`.
pub(super) fn cicustom(release: Release) -> Arc<Format> {
    let files = ["meta", "network", "user", "vendor"].map(|name| (name, one(formats::volume_id)));
    format(release, vec![], files.into())
}

/// `ipconfigN`.
pub(super) fn ipconfig(release: Release) -> Arc<Format> {
    let optional = vec![
        ("ip", one(formats::ipv4_config)),
        ("gw", one(formats::ipv4).requires("ip")),
        ("ip6", one(formats::ipv6_config)),
        ("gw6", one(formats::ipv6).requires("ip6")),
    ];
    format(release, vec![], optional)
}

/// `ivshmem`.
pub(super) fn ivshmem(release: Release) -> Arc<Format> {
    format(release, vec![("size", int().min(1))], vec![("name", text().pattern("[a-zA-Z0-9-]+"))])
}

/// `machine`.
pub(super) fn machine(release: Release) -> Arc<Format> {
    let kind = concat!(
        r"(pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?",
        r"|virt(?:-\d+(\.\d+)+)?(\+pve\d+)?)",
    );
    let mut optional = vec![
        ("enable-s3", flag()),
        ("enable-s4", flag()),
        ("type", text().pattern(kind).longest(40).default_key()),
        ("viommu", choice(&["intel", "virtio"][..])),
    ];
    if release == Release::V9 {
        optional.push(("aw-bits", number().min(32).max(64)));
    }
    format(release, vec![], optional)
}

/// `memory`.
pub(super) fn memory(release: Release) -> Arc<Format> {
    format(release, vec![("current", int().min(16).default_key())], vec![])
}

/// `numaN`.
pub(super) fn numa(release: Release) -> Arc<Format> {
    let optional =
        vec![("hostnodes", text().pattern(RANGES)), ("memory", number()), ("policy", choice(&["preferred", "bind", "interleave"][..]))];
    format(release, vec![("cpus", text().pattern(RANGES))], optional)
}

/// `rng0`.
pub(super) fn rng(release: Release) -> Arc<Format> {
    let source = choice(&["/dev/urandom", "/dev/random", "/dev/hwrng"][..]).default_key();
    format(release, vec![("source", source)], vec![("max_bytes", int()), ("period", int())])
}

/// `smbios1`.
pub(super) fn smbios1(release: Release) -> Arc<Format> {
    let texts = ["version", "serial", "manufacturer", "product", "sku", "family"];
    let mut optional: Entries = texts.map(|name| (name, text().pattern("[A-Za-z0-9+/]+={0,2}"))).into();
    optional.push(("uuid", text().pattern("[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}")));
    optional.push(("base64", flag()));
    format(release, vec![], optional)
}

/// `spice_enhancements`.
pub(super) fn spice(release: Release) -> Arc<Format> {
    let streaming = choice(&["off", "all", "filter"][..]);
    format(release, vec![], vec![("foldersharing", flag()), ("videostreaming", streaming)])
}

/// `vga`.
pub(super) fn vga(release: Release) -> Arc<Format> {
    let kinds: &[&str] = &[
        "cirrus",
        "qxl",
        "qxl2",
        "qxl3",
        "qxl4",
        "none",
        "serial0",
        "serial1",
        "serial2",
        "serial3",
        "std",
        "virtio",
        "virtio-gl",
        "vmware",
    ];
    let optional = vec![("clipboard", choice(&["vnc"][..])), ("memory", int().min(4).max(512)), ("type", choice(kinds).default_key())];
    format(release, vec![], optional)
}

/// `virtiofsN`.
pub(super) fn virtiofs(release: Release) -> Arc<Format> {
    let optional = vec![
        ("cache", choice(&["auto", "always", "metadata", "never"][..])),
        ("direct-io", flag()),
        ("expose-acl", flag()),
        ("expose-xattr", flag()),
    ];
    format(release, vec![("dirid", one(formats::config_id).default_key())], optional)
}

/// `watchdog`.
pub(super) fn watchdog(release: Release) -> Arc<Format> {
    let actions: &[&str] = &["reset", "shutdown", "poweroff", "pause", "debug", "none"];
    let model = choice(&["i6300esb", "ib700"][..]).default_key();
    format(release, vec![], vec![("action", choice(actions)), ("model", model)])
}
