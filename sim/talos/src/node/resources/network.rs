//! Links, addresses, routes and names.

use std::net::Ipv4Addr;

use emhost_talos_api::common::{NetIp, NetIpPrefix};
use emhost_talos_api::definitions::{enums, network as facts};
use prost::Message;

use super::yaml::Fields;
use crate::node::Node;
use crate::node::network::{LinkState, bus_path};

const NETWORK: &str = "network";
/// The kernel's flags of a link that is up: up, broadcast, running, multicast, lower layer up.
const UP: u32 = 0x1 | 0x2 | 0x40 | 0x1000 | 0x10000;
const DOWN: u32 = 0x2 | 0x1000;
/// The kernel's flag of an address that stays.
const PERMANENT: u32 = 0x80;

pub(super) fn ip(address: Ipv4Addr) -> NetIp {
    NetIp { ip: address.octets().to_vec() }
}

fn prefix(address: Ipv4Addr, length: u8) -> NetIpPrefix {
    NetIpPrefix { ip: address.octets().to_vec(), prefix_length: i32::from(length) }
}

/// The network of an address.
fn subnet(address: Ipv4Addr, length: u8) -> Ipv4Addr {
    let mask = if length == 0 { 0 } else { u32::MAX << (32 - u32::from(length.min(32))) };
    Ipv4Addr::from(u32::from(address) & mask)
}

fn hardware_address(mac: &str) -> Vec<u8> {
    mac.split(':').filter_map(|part| u8::from_str_radix(part, 16).ok()).collect()
}

/// Everything about the network as it is set up now.
pub(crate) fn network(node: &Node) {
    let (links, vips, hostname, settings) = {
        let state = node.state();
        (state.links.clone(), state.vips.clone(), state.hostname.clone(), state.settings.clone())
    };
    let (mut names, mut addresses, mut routes) = (Vec::new(), Vec::new(), Vec::new());
    for link in &links {
        link_status(node, link);
        names.push(link.name.clone());
        for (address, length) in &link.addresses {
            addresses.push(address_status(node, link, *address, *length));
            routes.push(route(node, link, Some((subnet(*address, *length), *length)), None, *address));
        }
        if let (Some(gateway), Some((address, _))) = (link.gateway, link.addresses.first()) {
            routes.push(route(node, link, None, Some(gateway), *address));
        }
    }
    if let Some(link) = links.first() {
        for vip in &vips {
            addresses.push(address_status(node, link, *vip, 32));
        }
    }
    node.resources.keep_only("LinkStatuses.net.talos.dev", NETWORK, &names);
    node.resources.keep_only("AddressStatuses.net.talos.dev", NETWORK, &addresses);
    node.resources.keep_only("RouteStatuses.net.talos.dev", NETWORK, &routes);
    let own: Vec<(Ipv4Addr, u8)> = links.iter().flat_map(|link| link.addresses.clone()).collect();
    for id in ["current", "default", "accumulative", "current-no-k8s", "accumulative-no-k8s", "routed"] {
        let shown: Vec<_> = if id == "default" { own.iter().take(1).copied().collect() } else { own.clone() };
        let text = Fields::default()
            .with("addresses", shown.iter().map(|(address, length)| format!("{address}/{length}")).collect::<Vec<_>>())
            .with("sortAlgorithm", "v1")
            .text();
        let spec = facts::NodeAddressSpec {
            addresses: shown.iter().map(|(address, length)| prefix(*address, *length)).collect(),
            sort_algorithm: enums::NethelpersAddressSortAlgorithm::V1 as i32,
        };
        node.resources.put("NodeAddresses.net.talos.dev", NETWORK, id, text, spec.encode_to_vec());
    }
    let text = Fields::default().with("hostname", hostname.as_str()).with("domainname", "").text();
    let spec = facts::HostnameStatusSpec { hostname, domainname: String::new() };
    node.resources.put("HostnameStatuses.net.talos.dev", NETWORK, "hostname", text, spec.encode_to_vec());
    let ready = !own.is_empty();
    let spec = facts::StatusSpec { address_ready: ready, connectivity_ready: ready, hostname_ready: true, etc_files_ready: true };
    let text = Fields::default()
        .with("addressReady", ready)
        .with("connectivityReady", ready)
        .with("hostnameReady", true)
        .with("etcFilesReady", true);
    node.resources.put("NetworkStatuses.net.talos.dev", NETWORK, "status", text.text(), spec.encode_to_vec());
    let (servers, clocks) = settings.map(|settings| (settings.nameservers.clone(), settings.time_servers.clone())).unwrap_or_default();
    let servers = if servers.is_empty() { vec!["1.1.1.1".to_owned(), "8.8.8.8".to_owned()] } else { servers };
    let clocks = if clocks.is_empty() { vec!["time.cloudflare.com".to_owned()] } else { clocks };
    let spec = facts::ResolverStatusSpec {
        dns_servers: servers.iter().filter_map(|text| text.parse().ok()).map(ip).collect(),
        search_domains: Vec::new(),
    };
    let text = Fields::default().with("dnsServers", servers).with("searchDomains", Vec::<String>::new()).text();
    node.resources.put("ResolverStatuses.net.talos.dev", NETWORK, "resolvers", text, spec.encode_to_vec());
    let spec = facts::TimeServerStatusSpec { ntp_servers: clocks.clone() };
    let text = Fields::default().with("timeServers", clocks).text();
    node.resources.put("TimeServerStatuses.net.talos.dev", NETWORK, "timeservers", text, spec.encode_to_vec());
}

fn link_status(node: &Node, link: &LinkState) {
    let state = if link.up { enums::NethelpersOperationalState::Up } else { enums::NethelpersOperationalState::Down };
    let mac = hardware_address(&link.mac);
    let spec = facts::LinkStatusSpec {
        index: link.index,
        r#type: 1,
        flags: if link.up { UP } else { DOWN },
        permanent_addr: mac.clone(),
        hardware_addr: mac,
        broadcast_addr: vec![0xff; 6],
        mtu: 1500,
        queue_disc: "pfifo_fast".to_owned(),
        operational_state: state as i32,
        bus_path: bus_path(link.index),
        driver: link.driver.clone(),
        link_state: link.up,
        port: enums::NethelpersPort::Other as i32,
        duplex: enums::NethelpersDuplex::Unknown as i32,
        alias: link.alias.clone().unwrap_or_default(),
        ..Default::default()
    };
    let text = Fields::default()
        .maybe("alias", spec.alias.as_str())
        .with("index", link.index)
        .with("type", "ether")
        .with("linkIndex", 0_u32)
        .with("flags", if link.up { "UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP" } else { "BROADCAST,MULTICAST" })
        .with("hardwareAddr", link.mac.as_str())
        .with("permanentAddr", link.mac.as_str())
        .with("broadcastAddr", "ff:ff:ff:ff:ff:ff")
        .with("mtu", 1500_u32)
        .with("queueDisc", "pfifo_fast")
        .with("operationalState", if link.up { "up" } else { "down" })
        .with("kind", "")
        .with("slaveKind", "")
        .with("busPath", spec.bus_path.as_str())
        .with("driver", link.driver.as_str())
        .with("linkState", link.up)
        .with("port", "Other")
        .with("duplex", "Unknown")
        .text();
    node.resources.put("LinkStatuses.net.talos.dev", NETWORK, &link.name, text, spec.encode_to_vec());
}

fn address_status(node: &Node, link: &LinkState, address: Ipv4Addr, length: u8) -> String {
    let id = format!("{}/{address}/{length}", link.name);
    let host = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
    let broadcast = Ipv4Addr::from(u32::from(address) | host);
    let spec = facts::AddressStatusSpec {
        address: Some(prefix(address, length)),
        local: Some(ip(address)),
        broadcast: Some(ip(broadcast)),
        link_index: link.index,
        link_name: link.name.clone(),
        family: enums::NethelpersFamily::FamilyInet4 as i32,
        scope: enums::NethelpersScope::Global as i32,
        flags: PERMANENT,
        ..Default::default()
    };
    let text = Fields::default()
        .with("address", format!("{address}/{length}"))
        .with("local", address.to_string())
        .with("broadcast", broadcast.to_string())
        .with("linkIndex", link.index)
        .with("linkName", link.name.as_str())
        .with("family", "inet4")
        .with("scope", "global")
        .with("flags", "permanent")
        .with("priority", 0_u32)
        .text();
    node.resources.put("AddressStatuses.net.talos.dev", NETWORK, &id, text, spec.encode_to_vec());
    id
}

fn route(node: &Node, link: &LinkState, to: Option<(Ipv4Addr, u8)>, gateway: Option<Ipv4Addr>, source: Ipv4Addr) -> String {
    let destination = to.map(|(address, length)| format!("{address}/{length}")).unwrap_or_default();
    let via = gateway.map(|address| address.to_string()).unwrap_or_default();
    let id = format!("inet4/{via}/{destination}/1024");
    let spec = facts::RouteStatusSpec {
        family: enums::NethelpersFamily::FamilyInet4 as i32,
        destination: Some(to.map_or_else(NetIpPrefix::default, |(address, length)| prefix(address, length))),
        source: Some(ip(source)),
        gateway: Some(gateway.map_or_else(NetIp::default, ip)),
        out_link_index: link.index,
        out_link_name: link.name.clone(),
        table: enums::NethelpersRoutingTable::TableMain as i32,
        priority: 1024,
        scope: if gateway.is_some() { enums::NethelpersScope::Global } else { enums::NethelpersScope::Link } as i32,
        r#type: enums::NethelpersRouteType::Unicast as i32,
        protocol: enums::NethelpersRouteProtocol::Static as i32,
        ..Default::default()
    };
    let text = Fields::default()
        .with("family", "inet4")
        .with("dst", destination)
        .with("src", source.to_string())
        .with("gateway", via)
        .with("outLinkIndex", link.index)
        .with("outLinkName", link.name.as_str())
        .with("table", "main")
        .with("priority", 1024_u32)
        .with("scope", if gateway.is_some() { "global" } else { "link" })
        .with("type", "unicast")
        .with("flags", "")
        .with("protocol", "static")
        .text();
    node.resources.put("RouteStatuses.net.talos.dev", NETWORK, &id, text, spec.encode_to_vec());
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_hardware_addresses_are_read() {
        assert_eq!(subnet(Ipv4Addr::new(10, 0, 10, 11), 24), Ipv4Addr::new(10, 0, 10, 0));
        assert_eq!(subnet(Ipv4Addr::new(10, 0, 10, 11), 0), Ipv4Addr::UNSPECIFIED);
        assert_eq!(subnet(Ipv4Addr::new(10, 0, 10, 11), 32), Ipv4Addr::new(10, 0, 10, 11));
        assert_eq!(hardware_address("bc:24:11:00:00:01"), [0xbc, 0x24, 0x11, 0, 0, 1]);
    }
}
