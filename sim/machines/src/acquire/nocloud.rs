//! cloud-init's `NoCloud`: the volume `cidata`, and what SMBIOS says.

use std::net::IpAddr;

use emhost_sim_kit::Machine;

use super::Acquired;
use super::links::{LinkConfig, Links, cidr, mask};
use crate::iso::Volume;
use crate::yaml::{self, Tree};

/// Looks at SMBIOS and the volume; gives the configuration there is.
pub(super) fn look(machine: &Machine, volumes: &[Volume], links: &mut Links, found: &mut Acquired) -> Option<Vec<u8>> {
    let serial = Serial::read(machine.serial.as_deref().unwrap_or_default());
    if let Some(url) = serial.from_network {
        // The volume is not looked at then, and nobody serves on the networks of a site.
        found.waits = Some(format!("failed to fetch the nocloud configuration from {url:?}"));
        return None;
    }
    // Lower case wins where both are there.
    let volume = ["cidata", "CIDATA"].iter().find_map(|label| volumes.iter().find(|volume| volume.label == *label))?;
    let file = |name: &str| volume.files.get(name).map(Vec::as_slice);
    let user_data = file("user-data");

    if let Some(text) = file("network-config") {
        match network(text, links, found) {
            // Without a network there is nothing for the name to come with.
            Ok(()) => found.hostname = hostname(serial.hostname, file("meta-data"), user_data).or(found.hostname.take()),
            Err(problem) => found.problems.push(format!("nocloud: {problem}")),
        }
    }

    let user_data = user_data?;
    let first = user_data.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    match first {
        b"#cloud-config" => None,
        b"#include" => {
            found.problems.push("nocloud: #include is not followed: nobody serves on the networks of a site".to_owned());
            None
        }
        _ => Some(user_data.to_vec()),
    }
}

/// What the SMBIOS serial number says: `ds=nocloud-net;s=http://…;h=HOST;i=ID`.
#[derive(Default)]
struct Serial<'a> {
    from_network: Option<&'a str>,
    hostname: Option<&'a str>,
}

impl<'a> Serial<'a> {
    fn read(text: &'a str) -> Self {
        let value =
            |name: &str| text.split(';').filter_map(|option| option.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value);
        let url = value("s").filter(|url| url.starts_with("http"));
        Self { from_network: url.filter(|_| value("ds") == Some("nocloud-net")), hostname: value("h").filter(|name| !name.is_empty()) }
    }
}

/// SMBIOS before `meta-data` before `user-data`, where Proxmox writes it. Talos keeps the domain apart.
fn hostname(serial: Option<&str>, meta_data: Option<&[u8]>, user_data: Option<&[u8]>) -> Option<String> {
    let named = |bytes: Option<&[u8]>| {
        let tree = yaml::parse(std::str::from_utf8(bytes?).ok()?).ok()??;
        let name = |key: &str| tree.text_of(key).filter(|name| !name.is_empty()).map(str::to_owned);
        name("hostname").or_else(|| name("local-hostname"))
    };
    let name = serial.map(str::to_owned).or_else(|| named(meta_data)).or_else(|| named(user_data))?;
    name.split('.').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Applies a `network-config` of version 1 or 2. One mistake spoils all of it.
fn network(bytes: &[u8], links: &mut Links, found: &mut Acquired) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "network-config is not text".to_owned())?;
    let tree = yaml::parse(text)?.ok_or("failed to decode network configuration, keys: []")?;
    let config = tree.get("network").unwrap_or(&tree);
    let keys = || tree.entries().map(|(key, _)| key.to_owned()).collect::<Vec<_>>().join(" ");
    let version = config.text_of("version").ok_or_else(|| format!("failed to decode network configuration, keys: [{}]", keys()))?;
    // Read everything before anything is applied.
    let (settings, resolvers) = match version {
        "1" => version_1(config)?,
        "2" => version_2(config)?,
        other => return Err(format!("network-config metadata version={other} is not supported")),
    };
    for setting in settings {
        let by_mac = setting.mac.as_deref().is_some_and(|mac| links.by_mac(mac).is_some());
        let link = if by_mac { setting.mac.as_deref().and_then(|mac| links.by_mac(mac)) } else { links.by_name(&setting.name) };
        match link {
            Some(link) => setting.apply(link),
            None => found.problems.push(format!("nocloud: no link is called {:?} or has the MAC address {:?}", setting.name, setting.mac)),
        }
    }
    if !resolvers.is_empty() {
        found.resolvers = resolvers;
    }
    Ok(())
}

/// What is said about one link.
#[derive(Debug, Default)]
struct Setting {
    name: String,
    mac: Option<String>,
    addresses: Vec<(IpAddr, u8)>,
    gateways: Vec<IpAddr>,
    dhcp: bool,
}

impl Setting {
    fn apply(self, link: &mut LinkConfig) {
        for (address, prefix) in self.addresses {
            link.add(address, prefix);
        }
        for gateway in self.gateways {
            link.route(gateway);
        }
        link.dhcp |= self.dhcp;
    }
}

type Settings = (Vec<Setting>, Vec<IpAddr>);

fn version_1(config: &Tree) -> Result<Settings, String> {
    let (mut settings, mut resolvers) = (Vec::new(), Vec::new());
    for item in config.get("config").map(Tree::items).unwrap_or_default() {
        match item.text_of("type").unwrap_or_default() {
            "nameserver" => {
                let list = item.get("address").filter(|list| !list.is_null());
                if list.is_some_and(|list| list.text().is_some()) {
                    return Err("the address of a nameserver is a list".to_owned());
                }
                for address in list.map(Tree::items).unwrap_or_default() {
                    resolvers.push(self::address(address.text().unwrap_or_default())?);
                }
            }
            "physical" => {
                let name = item.text_of("name").unwrap_or_default().to_owned();
                let mac = item.text_of("mac_address").map(str::to_owned);
                let mut setting = Setting { name, mac, ..Setting::default() };
                for subnet in item.get("subnets").map(Tree::items).unwrap_or_default() {
                    add_subnet(subnet, &mut setting)?;
                }
                settings.push(setting);
            }
            // Bonds and VLANs within the guest are not simulated.
            _ => {}
        }
    }
    Ok((settings, resolvers))
}

fn add_subnet(subnet: &Tree, setting: &mut Setting) -> Result<(), String> {
    match subnet.text_of("type").unwrap_or_default() {
        "dhcp" | "dhcp4" => setting.dhcp = true,
        "static" | "static6" => {
            let text = subnet.text_of("address").unwrap_or_default();
            let place = cidr(text).map_or_else(|| masked(text, subnet.text_of("netmask").unwrap_or_default()), Ok)?;
            setting.addresses.push(place);
            if let Some(gateway) = subnet.text_of("gateway").filter(|text| !text.is_empty()) {
                setting.gateways.push(address(gateway)?);
            }
        }
        _ => {}
    }
    Ok(())
}

/// An address whose prefix length is written as a mask.
fn masked(text: &str, netmask: &str) -> Result<(IpAddr, u8), String> {
    let prefix = mask(netmask).filter(|_| netmask.contains('.')).ok_or_else(|| format!("unable to parse IP: {netmask:?}"));
    Ok((address(text)?, prefix?))
}

fn version_2(config: &Tree) -> Result<Settings, String> {
    let (mut settings, mut resolvers) = (Vec::new(), Vec::new());
    let mut ethernets: Vec<(&str, &Tree)> = config.get("ethernets").map(|tree| tree.entries().collect()).unwrap_or_default();
    ethernets.sort_by_key(|(name, _)| *name);
    for (name, item) in ethernets {
        let mac = item.get("match").and_then(|matching| matching.text_of("macaddress")).map(str::to_owned);
        let dhcp = matches!(item.text_of("dhcp4"), Some("true" | "True" | "TRUE" | "yes" | "on"));
        let mut setting = Setting { name: name.to_owned(), mac, dhcp, ..Setting::default() };
        for place in item.get("addresses").map(Tree::items).unwrap_or_default() {
            let text = place.text().unwrap_or_default();
            setting.addresses.push(cidr(text).ok_or_else(|| format!("netip.ParsePrefix({text:?}): no '/'"))?);
        }
        for key in ["gateway4", "gateway6"] {
            if let Some(gateway) = item.text_of(key).filter(|text| !text.is_empty()) {
                setting.gateways.push(address(gateway)?);
            }
        }
        for route in item.get("routes").map(Tree::items).unwrap_or_default() {
            let via =
                address(route.text_of("via").unwrap_or_default()).map_err(|error| format!("failed to parse route gateway: {error}"))?;
            if matches!(route.text_of("to"), Some("default" | "0.0.0.0/0" | "::/0")) {
                setting.gateways.push(via);
            }
        }
        let servers = item.get("nameservers").and_then(|servers| servers.get("addresses"));
        for server in servers.map(Tree::items).unwrap_or_default() {
            resolvers.push(address(server.text().unwrap_or_default())?);
        }
        settings.push(setting);
    }
    Ok((settings, resolvers))
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("ParseAddr({text:?}): unable to parse IP"))
}
