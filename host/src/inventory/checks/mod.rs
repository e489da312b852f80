//! What no file can tell by itself: whether the parts of an inventory go together.

mod network;
mod nodes;
mod simulated;
mod versions;

use std::collections::BTreeMap;

use super::findings::Findings;
use super::machines::{Machine, endpoint};
use super::options::Options;
use super::sources::Sources;
use super::written::{Addon, ClusterFile, VipBy};
use crate::diagnostic::{Diagnostic, Place};

/// What the checks look at.
pub struct Context<'a> {
    pub cluster: &'a ClusterFile,
    pub machines: &'a [Machine],
    pub options: &'a Options,
    /// Whether the site is a simulated one.
    pub simulated: bool,
    pub sources: &'a Sources,
}

impl Context<'_> {
    /// Where a value of `cluster.yaml` is written.
    fn cluster_value(&self, pointer: &str) -> Option<Place> {
        self.sources.value("cluster.yaml", pointer)
    }

    /// Where the value of a node's key is written, else the node.
    fn node_value(&self, machine: &Machine, key: &str) -> Option<Place> {
        let entry = &machine.entry;
        let own = self.sources.value(entry.file, &entry.key(key));
        let address = || entry.address.as_deref().filter(|_| key == "ip").and_then(|pointer| self.sources.value(entry.file, pointer));
        own.or_else(address).or_else(|| self.sources.value(entry.file, &entry.pointer))
    }

    /// A node for a sentence.
    fn called(machine: &Machine) -> String {
        machine.name.as_ref().map_or_else(|| "a node".to_owned(), |name| format!("node {name}"))
    }
}

/// Every check.
pub fn all(context: &Context<'_>, findings: &mut Findings) {
    // Without the files there is nothing to compare.
    let written = |file: &str| context.sources.documents.get(file).is_some_and(|document| !document.spots.is_empty());
    if written("cluster.yaml") {
        versions::check(context, findings);
        hosts(context, findings);
        addons(context, findings);
        network::cluster(context, findings);
    }
    if written("nodes.yaml") {
        nodes::check(context, findings);
    }
    if written("cluster.yaml") && written("nodes.yaml") {
        network::nodes(context, findings);
        if context.simulated {
            simulated::addresses(context, findings);
        }
        if endpoint(context.cluster, context.machines).is_none() && !findings.has_errors() {
            let finding = Diagnostic::error("network/endpoint", "nothing says where the Kubernetes API will be");
            let help = "give the first control plane an `ip`, or set `network.vip` or `network.endpoint`";
            findings.push(finding.help(Some(help)).at(context.cluster_value("/network").or_else(|| context.cluster_value(""))));
        }
    }
}

fn hosts(context: &Context<'_>, findings: &mut Findings) {
    let node = context.sources.key("cluster.yaml", "/proxmox/node");
    let nodes = context.sources.key("cluster.yaml", "/proxmox/nodes");
    match (node, nodes) {
        (Some(first), Some(second)) => {
            let finding = Diagnostic::error("inventory/two-spellings", "`node` and `nodes` exclude each other");
            findings.push(finding.detail(format!("`node` is at {first}")).help(Some("keep `nodes` for several hosts")).at(Some(second)));
        }
        (None, Some(place)) if context.cluster.proxmox.nodes.is_empty() && !context.sources.broken("cluster.yaml", "/proxmox/nodes") => {
            let finding = Diagnostic::error("inventory/missing", "`nodes` names no host");
            findings.push(finding.help(Some("add for example `node: pve1` instead")).at(Some(place)));
        }
        _ => {}
    }
    let mut seen: BTreeMap<&str, Option<Place>> = BTreeMap::new();
    for (index, host) in context.cluster.proxmox.nodes.iter().enumerate() {
        let place = context.cluster_value(&format!("/proxmox/nodes/{index}"));
        if let Some(first) = seen.insert(host, place.clone()) {
            findings.push(twice(&format!("host {host} is named twice"), first, place));
        }
    }
}

fn addons(context: &Context<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<&str, Option<Place>> = BTreeMap::new();
    for (index, addon) in context.cluster.addons.iter().enumerate() {
        let pointer = format!("/addons/{index}");
        let place = |key: &str| context.cluster_value(&format!("{pointer}/{key}")).or_else(|| context.cluster_value(&pointer));
        let Some(name) = addon.name() else { continue };
        if let Some(first) = seen.insert(name, place("name")) {
            findings.push(twice(&format!("addon {name} is named twice"), first, place("name")));
        }
        let Addon::Full(keys) = addon else { continue };
        if keys.chart.is_some() && keys.version.is_none() {
            let finding = Diagnostic::error("addon/version", format!("addon {name} does not say which version of the chart"));
            findings.push(finding.help(Some("add for example `version: 1.2.3`")).at(place("chart")));
        }
        if let Some(manifests) = &keys.manifests {
            if keys.chart.is_some() || keys.version.is_some() || !keys.values.is_empty() {
                let finding = Diagnostic::error("addon/kind", format!("addon {name} is made of manifests and of a chart"));
                findings.push(finding.help(Some("keep `manifests`, or `chart`, `version` and `values`")).at(place("manifests")));
            }
            if manifests.starts_with('/') || manifests.split('/').any(|part| part == "..") {
                let finding = Diagnostic::error("addon/path", format!("the manifests of addon {name} are not in the cluster's folder"));
                findings.push(finding.help(Some("write a path below the cluster's folder, such as `./mine/`")).at(place("manifests")));
            }
        }
    }
    if let Some(place) = seen.get("kube-vip")
        && context.options.vip_by == Some(VipBy::Talos)
    {
        let finding = Diagnostic::error("network/vip-twice", "Talos and kube-vip would both hold the shared address");
        let help = "set `network.vip_by: kube-vip`, or remove the addon kube-vip";
        let said = context.cluster_value("/network/vip_by").or_else(|| context.cluster_value("/network/vip"));
        let detail = said.map(|said| format!("the shared address is Talos's by what {said} says"));
        let finding = detail.map_or_else(|| finding.clone(), |detail| finding.clone().detail(detail));
        findings.push(finding.help(Some(help)).at(place.clone()));
    }
}

/// Something that may be there once is there twice.
fn twice(summary: &str, first: Option<Place>, second: Option<Place>) -> Diagnostic {
    let finding = Diagnostic::error("inventory/duplicate", summary);
    let finding = match first {
        Some(first) => finding.detail(format!("the first one is at {first}")),
        None => finding,
    };
    finding.help(Some("change one of them")).at(second)
}
