//! Whether hosts are there and have processors, memory and bridges for the machines.

use std::collections::BTreeMap;

use emhost_sdk::Diagnostic;

use super::machines::Planned;
use super::survey::Survey;
use crate::api::site::Host;

const MIB: u64 = 1 << 20;

/// Everything that is wrong with hosts.
pub fn judge(planned: &[Planned], survey: &Survey) -> Vec<Diagnostic> {
    let mut by_host: BTreeMap<&str, Vec<&Planned>> = BTreeMap::new();
    for one in planned {
        by_host.entry(one.wanted.host.as_str()).or_default().push(one);
    }
    let mut found = Vec::new();
    for (name, planned) in &by_host {
        match survey.hosts.iter().find(|host| host.node == *name) {
            None => {
                let have: Vec<&str> = survey.hosts.iter().map(|host| host.node.as_str()).collect();
                let summary = format!("there is no host `{name}`; there are {}", have.join(", "));
                found.push(
                    Diagnostic::error("proxmox/host", summary).help("correct proxmox.node, proxmox.nodes or `host` in the inventory"),
                );
            }
            Some(host) if host.status != "online" => {
                let summary = format!("host {name} is {}", if host.status.is_empty() { "not online" } else { &host.status });
                found.push(
                    Diagnostic::error("proxmox/host", summary).help("start it, and see that the cluster has quorum (`pvecm status`)"),
                );
            }
            Some(host) => {
                found.extend(capacity(host, planned));
                found.extend(bridges(name, planned, survey));
            }
        }
    }
    if found.is_empty() && !by_host.is_empty() {
        let names: Vec<&str> = by_host.keys().copied().collect();
        found.push(Diagnostic::note("proxmox/host", format!("hosts are online and have room: {}", names.join(", "))));
    }
    found
}

fn capacity(host: &Host, planned: &[&Planned]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let name = &host.node;
    if let Some(most) = host.maxcpu {
        for one in planned.iter().filter(|one| one.wanted.cores > most) {
            let summary = format!(
                "{} is to have {} cores, and {name} has {most}: Proxmox does not start such a machine",
                one.wanted.node, one.wanted.cores
            );
            found.push(
                Diagnostic::error("proxmox/cores", summary).pointer("/cpu").help("give it fewer cores, or place it on a larger host"),
            );
        }
    }
    let Some(total) = host.maxmem.map(|bytes| bytes / MIB) else { return found };
    let new: u64 = planned.iter().filter(|one| !one.made).map(|one| one.wanted.memory_mib).sum();
    let all: u64 = planned.iter().map(|one| one.wanted.memory_mib).sum();
    let free = total.saturating_sub(host.mem.unwrap_or_default() / MIB);
    let help = "give machines less memory, or spread them over more hosts (proxmox.nodes)";
    if all > total {
        let summary = format!("the machines on {name} are to have {all} MiB of memory together, and it has {total} MiB");
        found.push(Diagnostic::error("proxmox/memory", summary).help(help));
    } else if new > free {
        let summary = format!("{name} has {free} MiB of memory left, and {new} MiB are to be given to new machines");
        found.push(Diagnostic::warning("proxmox/memory", summary).help(help));
    }
    found
}

fn bridges(host: &str, planned: &[&Planned], survey: &Survey) -> Vec<Diagnostic> {
    let Some(known) = survey.bridges.get(host) else { return Vec::new() };
    let mut missing: Vec<&str> = Vec::new();
    for card in planned.iter().filter(|one| !one.made).flat_map(|one| &one.wanted.cards) {
        // What may not be used is not listed either, and was told.
        let may = survey.rights.iter().any(|(path, rights)| {
            path.strip_prefix("/sdn/zones/localnetwork/").is_some_and(|rest| rest.split('/').next() == Some(&card.bridge))
                && rights.contains("SDN.Use")
        });
        if may && !known.contains(&card.bridge) && !missing.contains(&card.bridge.as_str()) {
            missing.push(&card.bridge);
        }
    }
    let tell = |bridge: &str| {
        let have = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let help = "correct proxmox.bridge or the node's `bridge`, or make the bridge (Node > System > Network)";
        Diagnostic::error("proxmox/bridge", format!("{host} has no bridge `{bridge}`; it has {have}")).help(help)
    };
    missing.into_iter().map(tell).collect()
}
