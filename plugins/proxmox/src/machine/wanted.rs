//! What the inventory and the contributions want of a machine.

use std::collections::BTreeMap;

use emhost_sdk::types::{Attribute, Passthrough};
use emhost_sdk::{Failure, Unit};
use serde_json::Value;

use crate::mappings::Wish;
use crate::placement;
use crate::property::Properties;

/// The first and the last number where nobody gives a range.
const NUMBERS: (u32, u32) = (100, 999_999);
/// The system extension that answers as guest agent.
const AGENT: &str = "qemu-guest-agent";

/// The firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// UEFI.
    Ovmf,
    /// The old kind.
    Seabios,
}

impl Firmware {
    /// As Proxmox writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ovmf => "ovmf",
            Self::Seabios => "seabios",
        }
    }
}

/// A disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its size.
    pub gib: u32,
    /// The storage it is on.
    pub storage: String,
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its address.
    pub mac: String,
    /// The bridge it is plugged into.
    pub bridge: String,
    /// The VLAN.
    pub vlan: Option<u16>,
    /// Where the machine is expected, with a prefix length if it is put there.
    pub address: Option<String>,
    /// The router.
    pub gateway: Option<String>,
}

/// What is wanted of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The cluster's id.
    pub cluster: String,
    /// The node's name, which is the machine's.
    pub node: String,
    /// The host to make it on.
    pub host: String,
    /// The number that the inventory fixes.
    pub number: Option<u32>,
    /// The numbers to choose from.
    pub numbers: (u32, u32),
    /// The node's place among all nodes: where it begins to look for a number.
    pub turn: u32,
    /// Number of cores.
    pub cores: u32,
    /// Memory.
    pub memory_mib: u64,
    /// The type of the processor.
    pub cpu: String,
    /// The type of the machine.
    pub machine: String,
    /// The firmware.
    pub firmware: Firmware,
    /// Whether it has a TPM.
    pub tpm: bool,
    /// The least memory that ballooning leaves; 0 switches ballooning off.
    pub balloon: u64,
    /// Whether it starts with its host.
    pub onboot: bool,
    /// The pool it is put into.
    pub pool: Option<String>,
    /// Whether its image has the guest agent.
    pub agent: bool,
    /// Its disks, the system's first.
    pub disks: Vec<Disk>,
    /// Its network cards.
    pub cards: Vec<Card>,
    /// Devices of the host that it gets, as property strings.
    pub devices: Vec<String>,
    /// Mappings of those devices that are to be made for it.
    pub mappings: Vec<Wish>,
    /// Further options that contributions ask for.
    pub more: Vec<(String, String)>,
    /// The storage of images and media.
    pub images: String,
    /// DNS servers.
    pub resolvers: Vec<String>,
}

/// Attributes by name, the values read as JSON.
pub fn values(attributes: Vec<Attribute>) -> BTreeMap<String, Value> {
    let read = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
    attributes.into_iter().map(|one| (one.key, read(one.value))).collect()
}

fn text<'a>(values: &'a BTreeMap<String, Value>, key: &str) -> Option<&'a str> {
    values.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

impl Wanted {
    /// Reads everything about one node.
    ///
    /// # Errors
    /// Something that no machine can be.
    pub fn of(unit: Unit<'_>) -> Result<Self, Failure> {
        let (cluster, node) = (unit.cluster, unit.node);
        let name = node.name();
        let of_cluster = values(cluster.attributes());
        let of_node = values(node.attributes());
        let contribution = node.contribution();
        let names: Vec<String> = cluster.nodes().iter().map(emhost_sdk::Node::name).collect();
        let turn = names.iter().position(|other| *other == name).unwrap_or_default();
        let host = placement::host(
            &name,
            contribution.devices.iter().map(|device| device.host.as_str()),
            node.placement().as_deref(),
            &placement::hosts(&of_cluster),
            turn,
        )?;
        let flag = |key: &str, otherwise: bool| of_cluster.get(key).and_then(Value::as_bool).unwrap_or(otherwise);
        let word = |key: &str, otherwise: &str| text(&of_cluster, key).unwrap_or(otherwise).to_owned();
        let disks = node.disks();
        let (system, others): (Vec<_>, Vec<_>) = disks.into_iter().partition(|disk| disk.system);
        if system.len() != 1 {
            return Err(Failure::invalid("proxmox/disk", format!("{name} has {} system disks", system.len()))
                .pointer("/disk")
                .help("give the node one `disk`"));
        }
        let disk = |disk: emhost_sdk::inventory::Disk| Disk { gib: disk.size_gib, storage: disk.storage };
        let mut wanted = Self {
            cluster: cluster.id(),
            host,
            number: node.machine_number(),
            numbers: numbers(text(&of_cluster, "proxmox.vmid_range"))?,
            turn: u32::try_from(turn).unwrap_or_default(),
            cores: node.cores(),
            memory_mib: node.memory_mib(),
            cpu: word("proxmox.cpu", "host"),
            machine: word("proxmox.machine", "q35"),
            firmware: firmware(&word("proxmox.bios", "ovmf"))?,
            tpm: flag("proxmox.tpm", false),
            balloon: 0,
            onboot: of_node.get("onboot").and_then(Value::as_bool).unwrap_or_else(|| flag("proxmox.onboot", true)),
            pool: text(&of_cluster, "proxmox.pool").map(str::to_owned),
            agent: has_agent(&contribution.extensions),
            disks: system.into_iter().chain(others).map(disk).collect(),
            cards: node.cards().into_iter().map(card).collect(),
            devices: Vec::new(),
            mappings: contribution.devices.iter().filter_map(mapping).collect(),
            more: Vec::new(),
            images: word("proxmox.iso_datastore", "local"),
            resolvers: cluster.resolvers(),
            node: name,
        };
        wanted.contributed(&contribution.machine)?;
        let by_token = text(&of_cluster, "slot.pve.credential") == Some("token");
        wanted.devices = contribution.devices.iter().map(|device| wanted.device(device, by_token)).collect::<Result<_, _>>()?;
        // Only UEFI checks signatures.
        if node.secure_boot() {
            wanted.firmware = Firmware::Ovmf;
        }
        Ok(wanted)
    }

    /// What counts for looking at a machine, or for taking it away: an inventory that no machine can be made of must not keep one.
    pub fn for_looking(unit: Unit<'_>) -> Self {
        let node = unit.node;
        let host = node.placement().unwrap_or_default();
        let cards = node.cards().into_iter().map(card).collect();
        let agent = has_agent(&node.contribution().extensions);
        Self { agent, cards, ..Self::of_orphan(unit.cluster, &node.name(), &host) }
    }

    /// A machine that no node claims: nothing is wanted of it, but where its media are counts.
    pub fn of_orphan(cluster: &emhost_sdk::Cluster, node: &str, host: &str) -> Self {
        let of_cluster = values(cluster.attributes());
        Self {
            cluster: cluster.id(),
            node: node.to_owned(),
            host: host.to_owned(),
            number: None,
            numbers: NUMBERS,
            turn: 0,
            cores: 1,
            memory_mib: 0,
            cpu: String::new(),
            machine: String::new(),
            firmware: Firmware::Ovmf,
            tpm: false,
            balloon: 0,
            onboot: false,
            pool: None,
            agent: false,
            disks: Vec::new(),
            cards: Vec::new(),
            devices: Vec::new(),
            mappings: Vec::new(),
            more: Vec::new(),
            images: text(&of_cluster, "proxmox.iso_datastore").unwrap_or("local").to_owned(),
            resolvers: Vec::new(),
        }
    }

    /// What other phases ask of the machine wins over the cluster's defaults.
    fn contributed(&mut self, asked: &[Attribute]) -> Result<(), Failure> {
        for Attribute { key, value } in asked {
            let wrong = || {
                Failure::invalid("proxmox/machine", format!("a contribution asks for {key}={value} on {}, which cannot be", self.node))
                    .help("report it to the author of the plugin that asks for it")
            };
            match key.as_str() {
                "bios" => self.firmware = firmware(value)?,
                "machine" => self.machine.clone_from(value),
                "cpu" => self.cpu.clone_from(value),
                "balloon" => self.balloon = value.parse().map_err(|_| wrong())?,
                "tpm" => self.tpm = crate::property::is_on(value),
                "rng" if crate::property::is_on(value) => self.more.push(("rng0".to_owned(), "source=/dev/urandom".to_owned())),
                "rng" => {}
                "vga" | "numa" | "hotplug" => self.more.push((key.clone(), value.clone())),
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }

    /// A device as Proxmox writes it.
    fn device(&self, device: &Passthrough, by_token: bool) -> Result<String, Failure> {
        let attribute = |key: &str| attribute(device, key);
        let mapping = attribute("mapping").or_else(|| device.address.strip_prefix("mapping:"));
        let mut properties = Properties::parse("", "host");
        match mapping {
            Some(mapping) => properties.set("mapping", mapping),
            None if by_token => {
                let summary =
                    format!("{} gets device {} of {}, which Proxmox refuses to every token", self.node, device.address, device.host);
                return Err(Failure::denied("proxmox/raw-device", summary).pointer("/gpu").help(
                    "make a mapping for the device (Datacenter, Resource Mappings) and write `gpu: {mapping: NAME}`, or bind slot `pve` with the password of root@pam",
                ));
            }
            None => properties.set("host", device.address.clone()),
        }
        if let Some(mdev) = attribute("mdev") {
            properties.set("mdev", mdev);
        }
        // PCI Express slots are there on q35 only.
        if self.is_q35() && attribute("pcie").is_none_or(crate::property::is_on) {
            properties.set("pcie", "1");
        }
        if attribute("rombar").is_some_and(|value| !crate::property::is_on(value)) {
            properties.set("rombar", "0");
        }
        if attribute("x-vga").is_some_and(crate::property::is_on) {
            properties.set("x-vga", "1");
        }
        Ok(properties.print())
    }

    /// Whether the machine type is q35, of any version.
    pub fn is_q35(&self) -> bool {
        self.machine.contains("q35")
    }

    /// The system disk.
    pub fn system(&self) -> Option<&Disk> {
        self.disks.first()
    }
}

fn attribute<'a>(device: &'a Passthrough, key: &str) -> Option<&'a str> {
    device.attributes.iter().find(|one| one.key == key).map(|one| one.value.trim_matches('"'))
}

/// The mapping that a device needs and that nobody made.
fn mapping(device: &Passthrough) -> Option<Wish> {
    let (id, map) = (attribute(device, "mapping")?, attribute(device, "mapping.map")?);
    Some(Wish { id: id.to_owned(), map: map.to_owned() })
}

fn card(card: emhost_sdk::inventory::InterfaceCard) -> Card {
    Card { mac: card.mac.to_ascii_uppercase(), bridge: card.bridge, vlan: card.vlan, address: card.address, gateway: card.gateway }
}

fn has_agent(extensions: &[String]) -> bool {
    extensions.iter().any(|extension| extension.rsplit('/').next() == Some(AGENT))
}

/// Reads `300-399`.
fn numbers(range: Option<&str>) -> Result<(u32, u32), Failure> {
    let Some(range) = range else { return Ok(NUMBERS) };
    let read = || {
        let (first, last) = range.split_once('-')?;
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    };
    read().filter(|(first, last)| *first >= 100 && first <= last).ok_or_else(|| {
        Failure::invalid("proxmox/range", format!("`{range}` is no range of machine numbers")).help("write proxmox.vmid_range as 300-399")
    })
}

fn firmware(word: &str) -> Result<Firmware, Failure> {
    match word {
        "ovmf" => Ok(Firmware::Ovmf),
        "seabios" => Ok(Firmware::Seabios),
        _ => {
            Err(Failure::invalid("proxmox/bios", format!("`{word}` is no firmware of Proxmox"))
                .help("write proxmox.bios as ovmf or seabios"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::wanted;
    use super::*;

    fn attributes(pairs: &[(&str, &str)]) -> Vec<Attribute> {
        pairs.iter().map(|(key, value)| Attribute { key: (*key).to_owned(), value: (*value).to_owned() }).collect()
    }

    fn device(pairs: &[(&str, &str)]) -> Passthrough {
        Passthrough {
            device: "pve1/0000:01:00.0".to_owned(),
            host: "pve1".to_owned(),
            address: "0000:01:00.0".to_owned(),
            attributes: attributes(pairs),
        }
    }

    #[test]
    fn ranges_are_read_and_checked() {
        assert_eq!(numbers(None).expect("the default"), (100, 999_999));
        assert_eq!(numbers(Some("300-399")).expect("a range"), (300, 399));
        for wrong in ["300", "399-300", "1-200", "a-b"] {
            assert!(numbers(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn contributions_win_over_defaults_and_unknown_ones_are_refused() {
        let mut one = wanted();
        one.contributed(&attributes(&[("cpu", "x86-64-v3"), ("balloon", "1024"), ("bios", "seabios"), ("rng", "1"), ("vga", "none")]))
            .expect("fits");
        assert_eq!((one.cpu.as_str(), one.balloon, one.firmware), ("x86-64-v3", 1024, Firmware::Seabios));
        assert_eq!(one.more, [("rng0".to_owned(), "source=/dev/urandom".to_owned()), ("vga".to_owned(), "none".to_owned())]);
        assert!(one.contributed(&attributes(&[("args", "-evil")])).is_err());
    }

    #[test]
    fn a_mapped_device_is_preferred_and_a_raw_one_needs_a_password() {
        let one = wanted();
        assert_eq!(
            one.device(&device(&[("mapping", "gpu0"), ("pcie", "true"), ("rombar", "false")]), true).expect("fits"),
            "mapping=gpu0,pcie=1,rombar=0"
        );
        assert_eq!(one.device(&device(&[("pcie", "true"), ("rombar", "true")]), false).expect("fits"), "0000:01:00.0,pcie=1");
        assert!(one.device(&device(&[]), true).is_err());
        let old = Wanted { machine: "pc".to_owned(), ..wanted() };
        assert_eq!(old.device(&device(&[]), false).expect("fits"), "0000:01:00.0");
    }
}
