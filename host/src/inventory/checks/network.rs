//! Whether addresses and networks go together.

use std::net::Ipv4Addr;

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::inventory::findings::Findings;
use crate::inventory::values::Network;

const AGENT: &str = "siderolabs/qemu-guest-agent";

/// What `cluster.yaml` says by itself.
pub fn cluster(context: &Context<'_>, findings: &mut Findings) {
    let network = &context.cluster.network;
    let (pods, services) = (Network::parse(&network.pod_cidr), Network::parse(&network.svc_cidr));
    let place = |key: &str| context.cluster_value(&format!("/network/{key}"));
    let either = |one: &str, other: &str| place(one).or_else(|| place(other));
    if let (Some(pods), Some(services)) = (pods, services)
        && pods.overlaps(services)
    {
        let finding = Diagnostic::error("network/overlap", format!("the pod network {pods} and the service network {services} overlap"));
        findings.push(finding.help(Some("move one of them")).at(either("svc_cidr", "pod_cidr")));
    }
    if let Some(nodes) = node_network(context) {
        for (key, what, other) in [("pod_cidr", "pod", pods), ("svc_cidr", "service", services)] {
            if let Some(other) = other.filter(|other| other.overlaps(nodes)) {
                let finding =
                    Diagnostic::error("network/overlap", format!("the {what} network {other} and the nodes' network {nodes} overlap"));
                findings.push(finding.help(Some(format!("move the {what} network"))).at(either(key, "gateway")));
            }
        }
        if let Some(gateway) = address(network.gateway.as_ref())
            && (gateway == nodes.first || gateway == nodes.last())
        {
            let finding = Diagnostic::error("network/gateway", format!("the gateway {gateway} is not an address of a machine in {nodes}"));
            findings.push(finding.help(Some("correct `gateway` or `prefix`")).at(place("gateway")));
        }
        if let Some(vip) = address(network.vip.as_ref()) {
            if !nodes.contains(vip) {
                let finding =
                    Diagnostic::error("network/vip", format!("the shared address {vip} is outside of the nodes' network {nodes}"));
                findings.push(finding.help(Some("choose a free address in the nodes' network")).at(place("vip")));
            } else if Some(vip) == address(network.gateway.as_ref()) {
                let finding = Diagnostic::error("network/vip", format!("the shared address {vip} is the gateway's"));
                findings.push(finding.help(Some("choose a free address in the nodes' network")).at(place("vip")));
            }
        }
    }
    if network.vip_by.is_some() && place("vip").is_none() {
        let finding = Diagnostic::warning("network/vip", "`vip_by` without a `vip` does nothing");
        findings.push(finding.help(Some("add `vip`, or remove `vip_by`")).at(place("vip_by")));
    }
}

/// What nodes and network say together.
pub fn nodes(context: &Context<'_>, findings: &mut Findings) {
    let network = &context.cluster.network;
    let known = node_network(context).or_else(|| {
        // A prefix without a router still says how large the network is; the first node says where.
        let said = context.cluster_value("/network/prefix").is_some() && !context.sources.broken("cluster.yaml", "/network/prefix");
        let first = || context.machines.iter().find_map(|machine| machine.keys.ip.as_ref()?.parse().ok());
        if said { first().map(|first| Network::around(first, network.prefix)) } else { None }
    });
    let others = [("pod", Network::parse(&network.pod_cidr)), ("service", Network::parse(&network.svc_cidr))];
    let (gateway, vip) = (address(network.gateway.as_ref()), address(network.vip.as_ref()));
    if network.gateway.is_none()
        && let (Some(known), Some(vip)) = (known, vip.filter(|vip| known.is_some_and(|known| !known.contains(*vip))))
    {
        let finding = Diagnostic::error("network/vip", format!("the shared address {vip} is outside of the nodes' network {known}"));
        findings.push(finding.help(Some("choose a free address in the nodes' network")).at(context.cluster_value("/network/vip")));
    }
    for machine in context.machines {
        let called = Context::called(machine);
        let Some(ip) = machine.keys.ip.as_ref() else {
            absent(context, machine, findings);
            continue;
        };
        let Ok(ip) = ip.parse::<Ipv4Addr>() else { continue };
        let mut say = |summary: String, help: &str| {
            findings.push(Diagnostic::error("network/node", summary).help(Some(help)).at(context.node_value(machine, "ip")));
        };
        if let Some(known) = known {
            if !known.contains(ip) {
                say(format!("the address {ip} of {called} is outside of the nodes' network {known}"), "correct `ip`, or `network.prefix`");
            } else if ip == known.first || ip == known.last() {
                say(format!("the address {ip} of {called} is not an address of a machine in {known}"), "choose another `ip`");
            }
        }
        if Some(ip) == gateway {
            say(format!("the address {ip} of {called} is the gateway's"), "choose another `ip`");
        }
        if Some(ip) == vip {
            say(format!("the address {ip} of {called} is the shared one of the API"), "choose another `ip`, or another `network.vip`");
        }
        for (what, other) in others {
            // When the networks overlap as such, that was said.
            if let Some(other) =
                other.filter(|other| other.contains(ip) && !known.is_some_and(|known| known.overlaps(*other) && gateway.is_some()))
            {
                say(format!("the address {ip} of {called} is in the {what} network {other}"), "move the node, or the network");
            }
        }
    }
}

/// A node without an address of its own.
fn absent(context: &Context<'_>, machine: &super::Machine, findings: &mut Findings) {
    // One with a mistake in it is not absent, and that was said.
    let own = context.sources.broken(machine.entry.file, &machine.entry.key("ip"));
    if own || (machine.entry.shaped_by.is_some() && context.sources.broken("cluster.yaml", "/gpu_worker/ips")) {
        return;
    }
    let called = Context::called(machine);
    let key = if machine.entry.shaped_by.is_some() { "an address in `gpu_worker.ips`" } else { "an `ip`" };
    let at = context.sources.value(machine.entry.file, &machine.entry.pointer);
    if !context.options.dhcp {
        let finding =
            Diagnostic::error("network/no-address", format!("{called} needs {key}: `network.gateway` says that addresses are static"));
        return findings.push(finding.help(Some(format!("add {key}, or remove the gateway for DHCP"))).at(at));
    }
    let agent = context.cluster.extensions.iter().chain(&machine.keys.extensions).any(|extension| extension == AGENT);
    let template = machine.name.as_deref().is_some_and(|name| context.options.boot_of(name) == "template");
    if machine.keys.dhcp.is_none() && !agent && !template {
        let finding = Diagnostic::error("network/no-address", format!("{called} has no address, and no guest agent that could tell one"));
        findings.push(finding.help(Some(format!("add {key}, or `{AGENT}` to `extensions`"))).at(at));
    }
}

/// The network of the nodes, where the router says which.
fn node_network(context: &Context<'_>) -> Option<Network> {
    let network = &context.cluster.network;
    if context.sources.broken("cluster.yaml", "/network/prefix") {
        return None;
    }
    address(network.gateway.as_ref()).map(|gateway| Network::around(gateway, network.prefix))
}

fn address(text: Option<&String>) -> Option<Ipv4Addr> {
    text.and_then(|text| text.parse().ok())
}
