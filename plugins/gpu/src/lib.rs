//! GPUs of Proxmox VE: finds them, gives each to the node that asks for it, says what is in the way and what using one takes.
//!
//! It only reads. Machines, and mappings where one is missing, are the provisioner's to make; devices of hosts are never rebound.

mod address;
mod api;
mod assign;
mod check;
mod contribute;
mod drivers;
mod facts;
mod roles;
mod selector;
mod settings;
mod survey;

use emhost_factory_client::Version;
use emhost_sdk::gpu::{Assignment, Device};
use emhost_sdk::{Attribute, Cluster, Contribution, Diagnostic, Failure, Gpu, Lifecycle, Node, Operation, Site, Unit};
use serde_json::Value;

use assign::{Asker, Credential, Request};
use check::Rights;
use contribute::Shown;
use facts::{Claim, Facts, Way};
use selector::Selector;
use settings::Settings;

/// Gives GPUs to nodes.
pub struct Gpus;

impl Lifecycle for Gpus {}

impl Gpu for Gpus {
    fn discover(operation: &Operation) -> Result<Vec<Device>, Failure> {
        let mappings = api::mappings()?;
        let (mut hosts, mut blind) = (Vec::new(), Vec::new());
        for host in api::hosts()? {
            if host.status != "online" {
                let summary = format!("host {} is {}: its devices are not seen", host.node, host.status);
                operation.report(&Diagnostic::warning("gpu/host", summary).help("bring the host up, then plan again"));
                continue;
            }
            let pci = api::devices(&host.node)?;
            let mut machines = Vec::new();
            if survey::matters(&host.node, pci.as_deref(), &mappings) {
                for listed in api::machines(&host.node)?.into_iter().filter(|listed| !listed.is_template()) {
                    if let Some(config) = api::config(&host.node, listed.vmid)? {
                        machines.push((listed, config));
                    }
                }
            }
            if pci.is_none() {
                blind.push(host.node.clone());
            }
            hosts.push(survey::Host { name: host.node, pci, machines });
        }
        let devices = survey::devices(&hosts, &mappings);
        if devices.is_empty() && !blind.is_empty() {
            let summary =
                format!("the credential of slot `pve` may neither list the PCI devices of {} nor see a mapping", blind.join(", "));
            return Err(Failure::denied("gpu/denied", summary).help(roles::give_looking()));
        }
        Ok(devices)
    }

    fn check(_: &Operation, device: Device) -> Result<Vec<Diagnostic>, Failure> {
        let (facts, claim) = (Facts::of(&device)?, Claim::of(&device)?);
        let mut rights = Rights { machines: api::privileges("/vms")?, ..Rights::default() };
        if let Way::Mapping(name) | Way::Make(name) = &claim.way {
            rights.mapping = api::privileges(&format!("/mapping/pci/{name}"))?;
            rights.mappings = api::privileges("/mapping/pci")?;
        }
        Ok(check::judge(&device, &facts, &claim, &rights))
    }

    fn assign(site: Site<'_>, devices: Vec<Device>, kept: Vec<Assignment>) -> Result<Vec<Assignment>, Failure> {
        let (id, attributes) = (site.cluster.id(), site.cluster.attributes());
        let root = text(&attributes, "slot.pve.user").as_deref() == Some("root@pam");
        let asker = Asker { cluster: &id, credential: if root { Credential::Root } else { Credential::Other } };
        let mut requests = Vec::new();
        for node in site.cluster.nodes() {
            for wish in node.gpus() {
                let selector = Selector::parse(&wish.selector, &node.name())?;
                let request = Request { node: node.name(), selector, hosts: hosts(&node, &attributes) };
                requests.extend((0..wish.count).map(|_| request.clone()));
            }
        }
        assign::assign(asker, &requests, &devices, &kept)
    }

    fn contribute(unit: Unit<'_>, devices: Vec<Device>) -> Result<Contribution, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        contribute::contribution(&devices, &version(unit.cluster)?, shown(unit.node), settings)
    }
}

fn version(cluster: &Cluster) -> Result<Version, Failure> {
    Version::wanted(&cluster.os_version())
}

fn value(attributes: &[Attribute], key: &str) -> Option<Value> {
    serde_json::from_str(&attributes.iter().find(|one| one.key == key)?.value).ok()
}

fn text(attributes: &[Attribute], key: &str) -> Option<String> {
    value(attributes, key)?.as_str().map(str::to_owned)
}

/// The hosts where a node may be: its own if it is pinned, else those of the cluster with its own first.
fn hosts(node: &Node, cluster: &[Attribute]) -> Vec<String> {
    let mut all: Vec<String> = node.placement().into_iter().collect();
    if node.placement_pinned() && !all.is_empty() {
        return all;
    }
    let list = value(cluster, "proxmox.nodes");
    let named = list.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    for host in named.chain(text(cluster, "proxmox.node")) {
        if !all.contains(&host) {
            all.push(host);
        }
    }
    all
}

fn shown(node: &Node) -> Shown {
    let flag = |key: &str| !node.gpus().iter().any(|wish| wish.attributes.iter().any(|one| one.key == key && one.value == "false"));
    Shown { pcie: flag("pcie"), rombar: flag("rombar") }
}

emhost_sdk::plugin!(Gpus: gpu; "emhost-plugin.json");
