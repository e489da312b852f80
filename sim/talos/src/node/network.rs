//! Which addresses a node has: what its configuration says, else its platform.

use std::net::{IpAddr, Ipv4Addr};

use emhost_sim_kit::{Nic, Platform};

use crate::config::{Link as Wanted, LinkFacts, LinkKind};
use crate::fleet::{Boot, Link};

/// A network card as it is set up now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkState {
    /// Such as `eth0`.
    pub name: String,
    /// What the configuration calls it, where that is another name.
    pub alias: Option<String>,
    /// Lower case, with colons.
    pub mac: String,
    pub addresses: Vec<(Ipv4Addr, u8)>,
    pub gateway: Option<Ipv4Addr>,
    pub up: bool,
    pub driver: String,
    /// Counted as Linux does; 1 is the loopback.
    pub index: u32,
}

/// What a DHCP server gives.
pub(crate) type Lease = (Ipv4Addr, u8, Option<Ipv4Addr>);

/// The cards of a node. `lease` asks the DHCP server behind a card.
pub(crate) fn links(boot: &Boot, wanted: &[Wanted], lease: impl Fn(&str) -> Option<Lease>) -> Vec<LinkState> {
    let mut all: Vec<LinkState> = boot.machine.nics.iter().enumerate().map(|(at, nic)| card(boot, wanted, at, nic, &lease)).collect();
    // What is made of cards (VLANs, bonds, bridges) is reached through the first card it stands on.
    for want in wanted {
        let below = match &want.kind {
            LinkKind::Vlan { parent, .. } => vec![parent.clone()],
            LinkKind::Bond(members) | LinkKind::Bridge(members) | LinkKind::Vrf(members) => members.clone(),
            LinkKind::Existing | LinkKind::Dummy | LinkKind::Wireguard => continue,
        };
        let under = |link: &&LinkState| below.contains(&link.name) || link.alias.as_ref().is_some_and(|alias| below.contains(alias));
        let Some(base) = all.iter().find(under).cloned() else { continue };
        let (mut addresses, mut gateway) = fixed(want);
        if want.dhcp4 && base.up {
            take(lease(&base.mac.to_uppercase()), &mut addresses, &mut gateway);
        }
        let index = u32::try_from(all.len()).unwrap_or_default() + 2;
        let name = want.name().unwrap_or_default().to_owned();
        all.push(LinkState { name, alias: None, addresses, gateway, index, driver: String::new(), ..base });
    }
    all
}

fn card(boot: &Boot, wanted: &[Wanted], at: usize, nic: &Nic, lease: &impl Fn(&str) -> Option<Lease>) -> LinkState {
    let mac = nic.mac.to_lowercase();
    let platform = boot.links.iter().find(|link| link.mac.eq_ignore_ascii_case(&mac));
    let name = platform.map_or_else(|| named(boot.image.platform, at), |link| link.name.clone());
    let driver = if nic.model == "virtio" { "virtio_net" } else { nic.model.as_str() }.to_owned();
    let index = u32::try_from(at).unwrap_or_default() + 2;
    let facts = LinkFacts {
        name: name.clone(),
        mac: mac.clone(),
        driver: driver.clone(),
        bus_path: bus_path(index),
        pci_id: if nic.model == "virtio" { "1AF4:1000" } else { "8086:100E" }.to_owned(),
        physical: true,
        kind: String::new(),
    };
    let mut found = wanted.iter().filter(|want| want.kind == LinkKind::Existing && want.selector.matches(&facts)).peekable();
    let alias = found.peek().and_then(|want| want.name()).filter(|alias| *alias != name && !alias.is_empty()).map(str::to_owned);
    let said = found.peek().is_some_and(|want| want.dhcp4 || want.ignore || !want.addresses.is_empty());
    let (addresses, gateway) = if said {
        let (mut addresses, mut gateway) = (Vec::new(), None);
        for want in found.filter(|want| !want.ignore) {
            let (own, router) = fixed(want);
            addresses.extend(own);
            gateway = gateway.or(router);
            if want.dhcp4 && !nic.link_down {
                take(lease(&nic.mac), &mut addresses, &mut gateway);
            }
        }
        (addresses, gateway)
    } else {
        of_platform(platform, boot.image.platform, nic.link_down, || lease(&nic.mac))
    };
    LinkState { name, alias, mac, addresses, gateway, up: !nic.link_down, driver, index }
}

/// Where a card hangs.
pub(crate) fn bus_path(index: u32) -> String {
    format!("0000:00:{:02x}.0", 0x10 + index)
}

/// The fixed addresses of a link, and where everything else goes.
fn fixed(want: &Wanted) -> (Vec<(Ipv4Addr, u8)>, Option<Ipv4Addr>) {
    let four = |address: IpAddr| if let IpAddr::V4(address) = address { Some(address) } else { None };
    let addresses = want.addresses.iter().filter_map(|(address, length)| Some((four(*address)?, *length))).collect();
    let mut default = want.routes.iter().filter(|route| route.destination.is_none_or(|(_, length)| length == 0));
    let gateway = default.find_map(|route| four(route.gateway?));
    (addresses, gateway)
}

fn take(lease: Option<Lease>, addresses: &mut Vec<(Ipv4Addr, u8)>, gateway: &mut Option<Ipv4Addr>) {
    if let Some((address, prefix, router)) = lease {
        addresses.push((address, prefix));
        *gateway = gateway.or(router);
    }
}

fn of_platform(
    link: Option<&Link>,
    platform: Platform,
    down: bool,
    lease: impl Fn() -> Option<Lease>,
) -> (Vec<(Ipv4Addr, u8)>, Option<Ipv4Addr>) {
    let (mut addresses, mut gateway) = link.map(|link| (link.addresses.clone(), link.gateway)).unwrap_or_default();
    // Without a word about a card, metal asks for an address; nocloud does where it is told nothing at all.
    let dhcp = link.map_or(platform == Platform::Metal, |link| link.dhcp || (link.addresses.is_empty() && platform == Platform::Metal));
    if dhcp && !down && addresses.is_empty() {
        take(lease(), &mut addresses, &mut gateway);
    }
    (addresses, gateway)
}

/// The name of a card the platform said nothing about.
fn named(platform: Platform, at: usize) -> String {
    match platform {
        Platform::Nocloud => format!("eth{at}"),
        Platform::Metal => format!("ens{}", at + 18),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::node::tests::{boot, machine};

    const LEASED: Lease = (Ipv4Addr::new(10, 0, 0, 77), 24, Some(Ipv4Addr::new(10, 0, 0, 1)));

    fn at(last: u8) -> (Ipv4Addr, u8) {
        (Ipv4Addr::new(10, 0, 0, last), 24)
    }

    /// The links of a configuration with this network section or these documents.
    fn wanted(documents: &str) -> Vec<Wanted> {
        crate::config::load(documents.as_bytes(), "v1.12.1".parse().unwrap()).unwrap().links()
    }

    #[test]
    fn the_configuration_wins_over_the_platform() {
        let mut boot = boot(machine(1));
        let mac = boot.machine.nics[0].mac.clone();
        boot.links = vec![Link { name: "eth0".to_owned(), mac: mac.clone(), addresses: vec![at(5)], gateway: None, dhcp: false }];
        let own = |documents: &str| links(&boot, &wanted(documents), |_| Some(LEASED)).remove(0);
        let link = |name: &str, last: u8| {
            format!(
                "apiVersion: v1alpha1\nkind: LinkConfig\nname: {name}\naddresses:\n  - address: 10.0.0.{last}/24\nroutes:\n  - gateway: 10.0.0.1\n"
            )
        };
        let fixed = own(&link("eth0", 6));
        assert_eq!((fixed.addresses, fixed.gateway), (vec![at(6)], Some(Ipv4Addr::new(10, 0, 0, 1))));
        let mac = mac.to_lowercase();
        let alias =
            format!("apiVersion: v1alpha1\nkind: LinkAliasConfig\nname: net0\nselector:\n  match: mac(link.permanent_addr) == \"{mac}\"\n");
        let aliased = own(&format!("{}---\n{alias}", link("net0", 7)));
        assert_eq!((aliased.addresses, aliased.alias.as_deref()), (vec![at(7)], Some("net0")));
        assert_eq!(own(&link("eth9", 8)).addresses, [at(5)], "another link's business");
        assert_eq!(own("apiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth0\n").addresses, [at(77)]);
        let vip = "apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.99\nlink: eth0\n";
        assert_eq!(own(vip).addresses, [at(5)], "a virtual address alone changes nothing");
    }

    #[test]
    fn a_vlan_stands_on_its_card() {
        let boot = boot(machine(1));
        let vlan = "apiVersion: v1alpha1\nkind: VLANConfig\nname: eth0.5\nvlanID: 5\nparent: eth0\naddresses:\n  - address: 10.0.0.9/24\n";
        let all = links(&boot, &wanted(vlan), |_| None);
        assert_eq!((all[1].name.as_str(), all[1].addresses.as_slice(), &all[1].mac), ("eth0.5", [at(9)].as_slice(), &all[0].mac));
    }

    #[test]
    fn metal_asks_for_an_address_by_itself() {
        let mut boot = boot(machine(1));
        boot.image.platform = Platform::Metal;
        boot.links.clear();
        let link = links(&boot, &[], |_| Some(LEASED)).remove(0);
        assert_eq!((link.name.as_str(), link.addresses.as_slice(), link.gateway), ("ens18", [at(77)].as_slice(), LEASED.2));
        boot.machine.nics[0].link_down = true;
        assert!(links(&boot, &[], |_| Some(LEASED))[0].addresses.is_empty());
    }
}
