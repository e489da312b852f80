//! The volume with a node's configuration on it (facts/talos.md §5.4). Pure.

use std::net::Ipv4Addr;

use emhost_factory_client::{Card, Node, Platform, Wanted, document};
use emhost_sdk::{Document, Failure, Medium, MediumFile};

/// The label that `nocloud` looks for.
const CIDATA: &str = "cidata";
/// The label that `metal` looks for, and what `talos.config=` has to be for that.
pub(crate) const METAL_ISO: &str = "metal-iso";

/// The volume of a node.
pub(crate) fn of(wanted: &Wanted, cluster: &str, platform: Platform, config: &[Document]) -> Result<Medium, Failure> {
    let config = joined(wanted, config)?;
    let file = |path: &str, text: String| MediumFile { path: path.to_owned(), body: text.into_bytes() };
    let (label, files) = match platform {
        Platform::Nocloud => {
            let card = wanted.card.as_ref();
            let network = card.map(|card| file("network-config", network(card, &wanted.resolvers)));
            let always = [file("meta-data", meta_data(cluster, &wanted.node)), file("user-data", config)];
            (CIDATA, always.into_iter().chain(network).collect())
        }
        Platform::Metal => (METAL_ISO, vec![file("config.yaml", config)]),
    };
    Ok(Medium { label: label.to_owned(), files, sensitive: true })
}

/// The documents of a configuration as one file.
fn joined(wanted: &Wanted, config: &[Document]) -> Result<String, Failure> {
    let node = &wanted.node;
    let mut text = String::new();
    for body in config.iter().map(|document| document.body.trim_start()).filter(|body| !body.is_empty()) {
        if !text.is_empty() && !body.starts_with("---\n") {
            text.push_str("---\n");
        }
        text.push_str(body);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    if text.is_empty() {
        let summary = format!("the configurator rendered nothing for node {node}, so there is nothing to put on its ISO");
        return Err(Failure::invalid("config-iso/empty", summary).help("check `plugins.configurator` in site.yaml"));
    }
    // Talos takes a first line such as `#cloud-config` for something that is not meant for it.
    if text.starts_with('#') {
        text.insert_str(0, "---\n");
    }
    // The volume goes once the machine has joined, and with it the only other place that has the address.
    if let Some(fixed) = wanted.card.as_ref().and_then(|card| card.fixed)
        && !says(&text, fixed.address)
    {
        let summary =
            format!("the configuration of node {node} does not say its address {}, which would be lost with the ISO", fixed.address);
        let help = "use a configurator that writes the addresses of nodes, or choose another boot source with `boot:`";
        return Err(Failure::invalid("config-iso/address", summary).pointer("/ip").help(help));
    }
    Ok(text)
}

/// Whether an address is written somewhere, by itself or with a prefix length.
fn says(text: &str, address: Ipv4Addr) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').any(|word| word.parse() == Ok(address))
}

/// Who the machine is.
fn meta_data(cluster: &str, node: &str) -> String {
    let entry = |key: &str, value: String| (key.to_owned(), Node::Text(value));
    document(&Node::Table(vec![entry("instance-id", format!("emhost-{cluster}-{node}")), entry("local-hostname", node.to_owned())]))
}

/// Where the machine is: version 1, as Proxmox writes it, which Talos has understood for longest.
fn network(card: &Card, resolvers: &[String]) -> String {
    let text = |text: &str| Node::Text(text.to_owned());
    let table = |entries: Vec<(&str, Node)>| Node::Table(entries.into_iter().map(|(key, node)| (key.to_owned(), node)).collect());
    let subnet = match card.fixed {
        None => table(vec![("type", text("dhcp4"))]),
        Some(fixed) => table(vec![
            ("type", text("static")),
            ("address", text(&fixed.address.to_string())),
            ("netmask", text(&fixed.mask().to_string())),
            ("gateway", text(&fixed.gateway.to_string())),
        ]),
    };
    let mut parts = vec![table(vec![
        ("type", text("physical")),
        ("name", text("eth0")),
        ("mac_address", text(&card.mac)),
        ("subnets", Node::List(vec![subnet])),
    ])];
    if !resolvers.is_empty() {
        let servers = resolvers.iter().map(|server| text(server)).collect();
        parts.push(table(vec![("type", text("nameserver")), ("address", Node::List(servers))]));
    }
    document(&table(vec![("version", Node::Plain("1".into())), ("config", Node::List(parts))]))
}

#[cfg(test)]
mod tests;
