//! The network of bare metal in META: Talos's own resources as YAML.

use std::net::IpAddr;

use super::Acquired;
use super::links::{Links, cidr};
use crate::yaml;

/// Applies `{addresses, links, routes, operators, hostnames, resolvers}`.
pub(super) fn network(text: &str, links: &mut Links, found: &mut Acquired) -> Result<(), String> {
    let Some(tree) = yaml::parse(text)? else { return Ok(()) };
    let list = |key: &str| tree.get(key).map(yaml::Tree::items).unwrap_or_default();
    for item in list("links") {
        if let Some(name) = item.text_of("name") {
            links.by_name(name);
        }
    }
    for item in list("addresses") {
        let address = item.text_of("address").unwrap_or_default();
        let (address, prefix) = cidr(address).ok_or_else(|| format!("no prefix: {address:?}"))?;
        if let Some(link) = item.text_of("linkName").and_then(|name| links.by_name(name)) {
            link.add(address, prefix);
        }
    }
    for item in list("routes") {
        let everywhere = item.text_of("destination").is_none_or(|to| to.is_empty() || to == "0.0.0.0/0" || to == "::/0");
        let gateway =
            item.text_of("gateway").map(|text| text.parse::<IpAddr>().map_err(|_| format!("no address: {text:?}"))).transpose()?;
        if let (true, Some(gateway), Some(link)) = (everywhere, gateway, item.text_of("outLinkName").and_then(|name| links.by_name(name))) {
            link.route(gateway);
        }
    }
    for item in list("operators") {
        if let (Some("dhcp4"), Some(link)) = (item.text_of("operator"), item.text_of("linkName").and_then(|name| links.by_name(name))) {
            link.dhcp = true;
        }
    }
    if let Some(hostname) = list("hostnames").iter().find_map(|item| item.text_of("hostname")) {
        found.hostname = Some(hostname.to_owned());
    }
    let resolvers: Vec<IpAddr> = list("resolvers")
        .iter()
        .flat_map(|item| item.get("dnsServers").map(yaml::Tree::items).unwrap_or_default())
        .filter_map(|item| item.text()?.parse().ok())
        .collect();
    if !resolvers.is_empty() {
        found.resolvers = resolvers;
    }
    Ok(())
}
