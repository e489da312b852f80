//! The nodes, from where they are written to the model.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::files::Files;
use super::findings::Findings;
use super::model::{Cluster, Node};
use super::options::{self, Options};
use super::sources::{Document, Entry, Sources};
use super::values::{self, disk_gib, memory_mib};
use super::words::nearest;
use super::written::{ClusterFile, GpuKeys, NodeKeys, NodesFile, Size, Template};
use super::{flaws, yaml};
use crate::bindings::emhost::plugin::inventory::{Disk, GpuRequest, InterfaceCard, NodeRole};
use crate::bindings::emhost::plugin::types::Attribute;
use crate::diagnostic::Diagnostic;

/// A node as it is written, wherever that is, and what follows from it.
#[derive(Debug, Clone)]
pub struct Machine {
    pub name: Option<String>,
    pub role: NodeRole,
    pub keys: NodeKeys,
    pub gpu: Option<GpuKeys>,
    pub template: Option<Template>,
    /// The host it is meant for.
    pub host: Option<String>,
    pub mac: String,
    pub entry: Entry,
}

impl Machine {
    /// Where the machine is expected: at its own address, or at the one that it gets by DHCP.
    pub fn address(&self) -> Option<Ipv4Addr> {
        self.keys.ip.as_ref().or(self.keys.dhcp.as_ref())?.parse().ok()
    }

    /// The device of its GPU, if the inventory names one.
    pub fn device(&self) -> Option<String> {
        self.gpu.as_ref()?.bdf.as_deref().and_then(values::pci_device)
    }
}

/// Everything that is written as a node: control planes, workers, and one GPU worker for each device of the cluster.
pub fn of(cluster: &ClusterFile, nodes: &NodesFile, sources: &mut Sources, findings: &mut Findings) -> Vec<Machine> {
    let mut machines = Vec::new();
    let lists = [("controlplane", NodeRole::ControlPlane, &nodes.controlplane), ("workers", NodeRole::Worker, &nodes.workers)];
    for (list, role, written) in lists {
        for (index, keys) in written.iter().enumerate() {
            let mut entry = entry("nodes.yaml", format!("/{list}/{index}"));
            let gpu = gpu(keys, &entry, sources, findings);
            entry.template = match (role, &gpu) {
                (NodeRole::ControlPlane, _) => "controlplane",
                (NodeRole::Worker, Some(_)) => "gpu",
                (NodeRole::Worker, None) => "worker",
            };
            machines.push(Machine { gpu, ..machine(keys.name.clone(), role, keys.clone(), entry) });
        }
    }
    for (index, device) in cluster.gpu_worker_pci_bdfs.iter().enumerate() {
        let shape = &cluster.gpu_worker;
        let name = cluster.cluster_name.as_ref().map(|cluster| format!("{cluster}-gpu-{}", index + 1));
        let keys = NodeKeys {
            ip: shape.ips.get(index).cloned(),
            cpu: shape.cpu,
            ram: shape.ram.clone(),
            disk: shape.disk.clone(),
            ..NodeKeys::default()
        };
        let gpu = GpuKeys { bdf: Some(device.clone()), pcie: shape.gpu_pcie_mode, rombar: shape.gpu_rombar, ..GpuKeys::default() };
        let mut entry = entry("cluster.yaml", format!("/gpu_worker_pci_bdfs/{index}"));
        entry.shaped_by = Some("/gpu_worker");
        entry.address = Some(format!("/gpu_worker/ips/{index}"));
        entry.template = "gpu";
        machines.push(Machine { gpu: Some(gpu), ..machine(name, NodeRole::Worker, keys, entry) });
    }
    let hosts = options::hosts(cluster);
    for (index, machine) in machines.iter_mut().enumerate() {
        // Control planes come first, so going round keeps them apart.
        let round = hosts.get(index % hosts.len().max(1)).cloned();
        machine.host = machine.keys.host.clone().or(round);
        let templates = &cluster.templates;
        let shared = match machine.entry.template {
            "controlplane" => templates.controlplane.as_ref(),
            "gpu" => templates.gpu.as_ref(),
            _ => templates.worker.as_ref(),
        };
        machine.template = machine.keys.template.clone().or_else(|| shared.cloned());
        machine.mac = match machine.keys.mac.as_deref().and_then(values::mac) {
            Some(bytes) => mac_text(bytes),
            None => derived_mac(cluster.cluster_name.as_deref().unwrap_or_default(), machine.name.as_deref().unwrap_or_default()),
        };
        machine.entry.name = machine.name.clone().unwrap_or_default();
        sources.entries.push(machine.entry.clone());
    }
    machines
}

/// A machine that boots from a template which nobody names boots from the one that is called after the version.
pub(super) fn name_templates(cluster: &ClusterFile, machines: &mut [Machine], options: &Options) {
    let Some(version) = &cluster.talos_version else { return };
    for machine in machines.iter_mut().filter(|machine| machine.template.is_none()) {
        if machine.name.as_deref().is_some_and(|name| options.boot_of(name) == "template") {
            machine.template = Some(Template::Name(format!("talos-v{}-base", version.trim_start_matches('v'))));
        }
    }
}

fn entry(file: &'static str, pointer: String) -> Entry {
    Entry { name: String::new(), file, pointer, shaped_by: None, address: None, template: "worker" }
}

fn machine(name: Option<String>, role: NodeRole, keys: NodeKeys, entry: Entry) -> Machine {
    Machine { name, role, keys, gpu: None, template: None, host: None, mac: String::new(), entry }
}

/// The GPU of a node, in whichever of the two ways it is written.
fn gpu(keys: &NodeKeys, entry: &Entry, sources: &Sources, findings: &mut Findings) -> Option<GpuKeys> {
    let place = |key: &str| sources.key(entry.file, &entry.key(key));
    let written = |key: &str| sources.written(entry.file, &entry.key(key));
    let old = ["gpu_pci_bdf", "gpu_pcie_mode", "gpu_rombar"].into_iter().find(|key| written(key));
    if let Some(old) = old.filter(|_| written("gpu")) {
        let first = place("gpu").map(|first| first.to_string()).unwrap_or_default();
        let finding = Diagnostic::error("inventory/two-spellings", format!("`gpu` and `{old}` say the same"))
            .detail(format!("`gpu` is at {first}"))
            .help(Some(format!("move `{old}` into `gpu`")));
        findings.push(finding.at(place(old)));
        return keys.gpu.clone();
    }
    let Some(gpu) = &keys.gpu else {
        if keys.gpu_pci_bdf.is_none() {
            if let Some(old) = old.filter(|old| *old != "gpu_pci_bdf") {
                let finding = Diagnostic::warning("node/gpu", format!("`{old}` has no GPU to act on"));
                findings.push(finding.help(Some("add `gpu_pci_bdf`, or remove it")).at(place(old)));
            }
            return None;
        }
        return Some(GpuKeys { bdf: keys.gpu_pci_bdf.clone(), pcie: keys.gpu_pcie_mode, rombar: keys.gpu_rombar, ..GpuKeys::default() });
    };
    let mut named: Vec<_> = ["bdf", "mapping", "vendor"].into_iter().filter(|key| written(&format!("gpu/{key}"))).collect();
    if named.len() > 1 {
        named.sort_by_key(|key| place(&format!("gpu/{key}")));
    }
    match &named[..] {
        [_] => {}
        [] => {
            let finding = Diagnostic::error("node/gpu", "`gpu` does not say which");
            findings.push(finding.help(Some("add one of `bdf`, `mapping` and `vendor`")).at(place("gpu")));
        }
        [first, second, ..] => {
            let finding = Diagnostic::error("node/gpu", format!("`gpu` says which by `{first}` and by `{second}`"));
            findings.push(finding.help(Some("keep one of them")).at(place(&format!("gpu/{second}"))));
        }
    }
    Some(gpu.clone())
}

fn mac_text(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

/// An address of its own for every node of every cluster, the same each time: locally administered, and not a group's.
fn derived_mac(cluster: &str, node: &str) -> String {
    let hash = Sha256::digest(format!("emhost/{cluster}/{node}"));
    mac_text([0x02, hash[0], hash[1], hash[2], hash[3], hash[4]])
}

/// The patches by name: `all`, a role, or a node.
pub fn patches(files: &Files, machines: &[Machine], findings: &mut Findings) -> BTreeMap<String, String> {
    let mut patches = BTreeMap::new();
    for (file, bytes) in &files.texts {
        let Some(name) = file.strip_prefix("patches/").and_then(|file| file.strip_suffix(".yaml")) else { continue };
        let document = Document::new(file, bytes);
        flaws::tell(&document, yaml::check(bytes), findings);
        let names = || machines.iter().filter_map(|machine| machine.name.as_deref()).chain(["all", "controlplane", "worker"]);
        if !names().any(|known| known == name) {
            let finding = Diagnostic::warning("inventory/patch", format!("{file} is for no node of this cluster"));
            let near = nearest(name, names()).map(|near| format!("did you mean patches/{near}.yaml?"));
            findings
                .push(finding.help(near.or_else(|| Some("patches are named after a node, or `all`, `controlplane`, `worker`".to_owned()))));
        }
        patches.insert(name.to_owned(), String::from_utf8_lossy(bytes).into_owned());
    }
    patches
}

/// The model, as far as the inventory is whole.
pub fn cluster(cluster: &ClusterFile, machines: &[Machine], patches: &BTreeMap<String, String>) -> Option<Cluster> {
    let network = &cluster.network;
    let release = |text: &Option<String>| text.as_deref().and_then(values::release).map(|version| format!("v{version}"));
    let nodes = machines.iter().map(|machine| node(machine, cluster, patches).map(Arc::new)).collect::<Option<Vec<_>>>()?;
    Some(Cluster {
        name: cluster.cluster_name.clone()?,
        id: String::new(),
        endpoint: endpoint(cluster, machines)?,
        vip: network.vip.clone(),
        os_version: release(&cluster.talos_version)?,
        kubernetes_version: release(&cluster.kubernetes_version)?,
        pod_subnets: vec![network.pod_cidr.clone()],
        service_subnets: vec![network.svc_cidr.clone()],
        resolvers: network.nameservers.clone(),
        time_servers: network.ntp.clone(),
        nodes,
        attributes: cluster_attributes(cluster),
    })
}

/// The URL of the API: as written, else at the shared address, else at the first control plane.
pub fn endpoint(cluster: &ClusterFile, machines: &[Machine]) -> Option<String> {
    let network = &cluster.network;
    if let Some(endpoint) = &network.endpoint {
        return Some(endpoint.clone());
    }
    let first = || machines.iter().find(|machine| machine.role == NodeRole::ControlPlane)?.address().map(|address| address.to_string());
    let address = network.vip.clone().or_else(first)?;
    Some(format!("https://{address}:6443"))
}

fn node(machine: &Machine, cluster: &ClusterFile, patches: &BTreeMap<String, String>) -> Option<Node> {
    let keys = &machine.keys;
    let network = &cluster.network;
    let mut node = Node::new(machine.name.clone()?, machine.role);
    node.cores = keys.cpu.unwrap_or(node.cores);
    node.memory_mib = match &keys.ram {
        None => node.memory_mib,
        Some(Size::Number(number)) => *number,
        Some(Size::Text(text)) => memory_mib(text)?,
    };
    let storage = keys.datastore.as_ref().unwrap_or(&cluster.proxmox.datastore);
    let disk = |name: &str, size: Option<&Size>, storage: &str, system| {
        let gib = match size {
            None => 40,
            Some(Size::Number(number)) => *number,
            Some(Size::Text(text)) => disk_gib(text)?,
        };
        Some(Disk {
            name: name.to_owned(),
            size_gib: u32::try_from(gib).ok()?,
            storage: storage.to_owned(),
            system,
            attributes: Vec::new(),
        })
    };
    node.disks.push(disk("system", keys.disk.as_ref(), storage, true)?);
    for (index, more) in keys.disks.iter().enumerate() {
        let name = more.name.clone().unwrap_or_else(|| format!("data-{}", index + 1));
        node.disks.push(disk(&name, Some(more.size.as_ref()?), more.datastore.as_ref().unwrap_or(storage), false)?);
    }
    // Only a static address carries its prefix: without a router, the machine is expected there and not put there.
    let address = machine.address().map(|address| match network.gateway {
        Some(_) => format!("{address}/{}", network.prefix),
        None => address.to_string(),
    });
    node.cards.push(InterfaceCard {
        name: "eth0".to_owned(),
        bridge: keys.bridge.as_ref().unwrap_or(&cluster.proxmox.bridge).clone(),
        vlan: keys.vlan.or(network.vlan),
        mac: machine.mac.clone(),
        address,
        gateway: network.gateway.clone(),
        attributes: Vec::new(),
    });
    if let Some(gpu) = &machine.gpu {
        node.gpus.push(request(gpu)?);
    }
    node.secure_boot = keys.secure_boot.unwrap_or(false);
    node.machine_number = keys.vmid;
    node.template = machine.template.as_ref().map(Template::to_string);
    node.placement.clone_from(&machine.host);
    // A device is at one host and nowhere else; where nobody says at which, it is looked for.
    node.placement_pinned = keys.host_pinned.unwrap_or(machine.device().is_some() && keys.host.is_some());
    node.labels = keys.labels.iter().map(|(key, value)| Attribute { key: key.clone(), value: value.clone() }).collect();
    let role = if machine.role == NodeRole::ControlPlane { "controlplane" } else { "worker" };
    node.patches = [node.name.as_str(), role, "all"].iter().filter_map(|name| patches.get(*name).cloned()).collect();
    node.attributes = node_attributes(keys);
    // What the inventory asks of the image is merged with what plugins ask of it.
    node.contribution.extensions = cluster.extensions.iter().chain(&keys.extensions).cloned().collect();
    node.contribution.kernel_args.clone_from(&cluster.kernel_args);
    Some(node)
}

fn request(gpu: &GpuKeys) -> Option<GpuRequest> {
    let device = gpu.bdf.as_deref().and_then(values::pci_device);
    let mapping = gpu.mapping.as_ref().map(|mapping| format!("mapping:{mapping}"));
    let vendor = gpu.vendor.as_ref().map(|vendor| format!("vendor={vendor}"));
    let attribute = |key: &str, value: Option<bool>| Attribute { key: key.to_owned(), value: value.unwrap_or(true).to_string() };
    let attributes = vec![attribute("pcie", gpu.pcie), attribute("rombar", gpu.rombar)];
    Some(GpuRequest { selector: device.or(mapping).or(vendor)?, count: 1, attributes })
}

/// The keys of a node that no getter gives.
fn node_attributes(keys: &NodeKeys) -> Vec<Attribute> {
    const GIVEN: [&str; 19] = [
        "name",
        "ip",
        "cpu",
        "ram",
        "disk",
        "vmid",
        "mac",
        "host",
        "host_pinned",
        "datastore",
        "bridge",
        "vlan",
        "disks",
        "labels",
        "template",
        "secure_boot",
        "gpu",
        "gpu_pci_bdf",
        "gpu_pcie_mode",
    ];
    attributes(serde_json::to_value(keys).unwrap_or_default(), &|key| GIVEN.contains(&key) || key == "gpu_rombar")
}

/// The keys of the cluster that no getter gives, those with a default among them.
fn cluster_attributes(cluster: &ClusterFile) -> Vec<Attribute> {
    const GIVEN: [&str; 9] = [
        "cluster_name",
        "talos_version",
        "kubernetes_version",
        "network.pod_cidr",
        "network.svc_cidr",
        "network.nameservers",
        "network.ntp",
        "network.vip",
        "network.endpoint",
    ];
    attributes(serde_json::to_value(cluster).unwrap_or_default(), &|key| GIVEN.contains(&key))
}

/// Leaves by their dotted names, as JSON.
fn attributes(value: Value, given: &dyn Fn(&str) -> bool) -> Vec<Attribute> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((name, value)) = open.pop() {
        match value {
            _ if given(&name) => {}
            Value::Null => {}
            Value::Object(object) if name.split('.').count() < 3 => {
                let dotted = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
                open.extend(object.into_iter().map(|(key, value)| (dotted(&key), value)));
            }
            other => found.push(Attribute { key: name, value: other.to_string() }),
        }
    }
    found.sort_by(|one, other| one.key.cmp(&other.key));
    found
}
