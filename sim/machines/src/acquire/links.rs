//! The network cards of a machine as Talos sees them, and what it is told to do with each.

use std::net::{IpAddr, Ipv4Addr};

use emhost_sim_kit::{Machine, Nic};

/// The PCI slot of the first network card on Proxmox.
const FIRST_SLOT: u32 = 18;
/// Cards that sit on the first bus; the others are behind a bridge.
const ON_FIRST_BUS: u32 = 6;

/// One link before any machine configuration says otherwise. The site has IPv4 only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkConfig {
    /// Such as `eth0` or `ens18`.
    pub name: String,
    /// Upper case, as the hypervisor gives it.
    pub mac: String,
    /// Addresses that were set.
    pub addresses: Vec<(Ipv4Addr, u8)>,
    /// The default route.
    pub gateway: Option<Ipv4Addr>,
    /// Whether it asks for an address.
    pub dhcp: bool,
}

/// The name Talos gives each network card, in the order of the slots.
pub fn link_names(machine: &Machine, net_ifnames: bool) -> Vec<String> {
    let name = |(index, nic): (usize, &Nic)| if net_ifnames { placed(machine, nic) } else { format!("eth{index}") };
    ordered(machine).into_iter().enumerate().map(name).collect()
}

fn number(nic: &Nic) -> u32 {
    nic.slot.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or_default()
}

/// Network cards by number; `net10` comes after `net9`.
fn ordered(machine: &Machine) -> Vec<&Nic> {
    let mut nics: Vec<&Nic> = machine.nics.iter().collect();
    nics.sort_by_key(|nic| number(nic));
    nics
}

/// By where the card sits: on q35 the bus of Proxmox's conventional slots is the sixth.
fn placed(machine: &Machine, nic: &Nic) -> String {
    let number = number(nic);
    match (machine.chipset.as_str(), number < ON_FIRST_BUS) {
        ("q35", true) => format!("enp6s{}", FIRST_SLOT + number),
        ("q35", false) => format!("enp7s{}", 1 + number - ON_FIRST_BUS),
        (_, true) => format!("ens{}", FIRST_SLOT + number),
        (_, false) => format!("enp1s{}", 1 + number - ON_FIRST_BUS),
    }
}

/// Links while they are being configured.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<(LinkConfig, bool)>,
}

impl Links {
    pub(super) fn of(machine: &Machine, net_ifnames: bool) -> Self {
        let names = link_names(machine, net_ifnames);
        let link = |(nic, name): (&Nic, String)| (LinkConfig { name, mac: nic.mac.clone(), ..LinkConfig::default() }, false);
        Self { links: ordered(machine).into_iter().zip(names).map(link).collect() }
    }

    /// The link with this MAC address.
    pub(super) fn by_mac(&mut self, mac: &str) -> Option<&mut LinkConfig> {
        self.find(|link| link.mac.eq_ignore_ascii_case(mac))
    }

    /// The link of this name, or of the name `enx` and its MAC address.
    pub(super) fn by_name(&mut self, name: &str) -> Option<&mut LinkConfig> {
        self.find(|link| {
            link.name == name || name.strip_prefix("enx").is_some_and(|mac| mac.eq_ignore_ascii_case(&link.mac.replace(':', "")))
        })
    }

    /// The first by name, which `ip=` means where it names none.
    pub(super) fn first(&mut self) -> Option<&mut LinkConfig> {
        let name = self.links.iter().map(|(link, _)| link.name.clone()).min()?;
        self.by_name(&name)
    }

    /// A link that is asked for is a configured one: it no longer uses DHCP of its own accord.
    fn find(&mut self, is: impl Fn(&LinkConfig) -> bool) -> Option<&mut LinkConfig> {
        let (link, configured) = self.links.iter_mut().find(|(link, _)| is(link))?;
        *configured = true;
        Some(link)
    }

    pub(super) fn finish(self) -> Vec<LinkConfig> {
        let finished = |(link, configured): (LinkConfig, bool)| LinkConfig { dhcp: link.dhcp || !configured, ..link };
        self.links.into_iter().map(finished).collect()
    }
}

impl LinkConfig {
    /// Adds an address; what is not IPv4 is left out.
    pub(super) fn add(&mut self, address: IpAddr, prefix: u8) {
        if let IpAddr::V4(address) = address
            && !self.addresses.contains(&(address, prefix))
        {
            self.addresses.push((address, prefix));
        }
    }

    /// Sets the default route; what is not IPv4 is left out.
    pub(super) fn route(&mut self, gateway: IpAddr) {
        if let IpAddr::V4(gateway) = gateway {
            self.gateway = self.gateway.or(Some(gateway));
        }
    }
}

/// An address with its prefix length.
pub(super) fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let prefix = prefix.parse().ok().filter(|prefix| *prefix <= if address.is_ipv4() { 32 } else { 128 })?;
    Some((address, prefix))
}

/// The prefix length of a mask such as `255.255.0.0`, or of a number.
pub(super) fn mask(text: &str) -> Option<u8> {
    if let Ok(prefix) = text.parse() {
        return Some(prefix).filter(|prefix| *prefix <= 128);
    }
    let bits = u32::from(text.parse::<Ipv4Addr>().ok()?);
    // A mask with holes counts as none, as in Go.
    let prefix = if bits.leading_ones() + bits.trailing_zeros() >= 32 { bits.leading_ones() } else { 0 };
    u8::try_from(prefix).ok()
}
