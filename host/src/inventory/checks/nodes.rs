//! Whether the nodes go together with each other.

use std::collections::BTreeMap;

use super::{Context, twice};
use crate::bindings::emhost::plugin::inventory::NodeRole;
use crate::diagnostic::{Diagnostic, Place};
use crate::inventory::findings::Findings;
use crate::inventory::machines::Machine;
use crate::inventory::sources::child;
use crate::inventory::values::{disk_gib, label_name, memory_mib};
use crate::inventory::words::nearest;
use crate::inventory::written::Size;

pub fn check(context: &Context<'_>, findings: &mut Findings) {
    unique(context, findings);
    quorum(context, findings);
    numbers(context, findings);
    devices(context, findings);
    for machine in context.machines {
        one(context, machine, findings);
    }
    let (devices, addresses) = (context.cluster.gpu_worker_pci_bdfs.len(), context.cluster.gpu_worker.ips.len());
    if addresses > devices && !context.sources.broken("cluster.yaml", "/gpu_worker_pci_bdfs") {
        let summary = format!("`gpu_worker.ips` has more addresses ({addresses}) than `gpu_worker_pci_bdfs` has devices ({devices})");
        let finding = Diagnostic::warning("node/gpu", summary).help(Some("remove the addresses that no worker gets"));
        findings.push(finding.at(context.cluster_value(&format!("/gpu_worker/ips/{devices}"))));
    }
}

/// What no two nodes may share.
fn unique(context: &Context<'_>, findings: &mut Findings) {
    for (key, what) in [("name", "the name"), ("ip", "the address"), ("vmid", "the number"), ("mac", "the MAC address")] {
        let mut seen: BTreeMap<String, &Machine> = BTreeMap::new();
        for machine in context.machines {
            let value = match key {
                "name" => machine.name.clone(),
                "ip" => machine.address().map(|address| address.to_string()),
                "vmid" => machine.keys.vmid.map(|number| number.to_string()),
                _ => machine.name.as_ref().map(|_| machine.mac.clone()),
            };
            let Some(value) = value else { continue };
            let Some(first) = seen.get(&value) else {
                seen.insert(value, machine);
                continue;
            };
            // Two nodes of one name have one address by that, and were told.
            if (key == "mac" && machine.name == first.name) || findings.only_count() {
                continue;
            }
            findings.push(twice(
                &format!("two nodes have {what} {value}"),
                context.node_value(first, key),
                context.node_value(machine, key),
            ));
        }
    }
}

fn quorum(context: &Context<'_>, findings: &mut Findings) {
    let Some(at) = context.sources.key("nodes.yaml", "/controlplane") else { return };
    let count = context.machines.iter().filter(|machine| machine.role == NodeRole::ControlPlane).count();
    if count == 0 {
        // A list with a mistake in it is not empty.
        if !context.sources.broken("nodes.yaml", "/controlplane") {
            let finding = Diagnostic::error("node/no-control-plane", "the cluster has no control plane");
            findings.push(finding.help(Some("add a node to `controlplane`")).at(Some(at)));
        }
    } else if count % 2 == 0 {
        let summary = format!("{count} control planes survive the loss of no more nodes than {} do", count - 1);
        let help = format!("make it {} or {}: etcd needs a majority", count - 1, count + 1);
        findings.push(Diagnostic::warning("node/even-control-planes", summary).help(Some(help)).at(Some(at)));
    }
}

fn numbers(context: &Context<'_>, findings: &mut Findings) {
    let Some((first, last)) = context.options.vmid_range else { return };
    let range = context.cluster_value("/proxmox/vmid_range");
    for machine in context.machines {
        let Some(number) = machine.keys.vmid.filter(|number| !(first..=last).contains(number)) else { continue };
        let finding =
            Diagnostic::error("node/number", format!("the number {number} of {} is outside of {first}-{last}", Context::called(machine)));
        let finding = match &range {
            Some(range) => finding.detail(format!("the range is at {range}")),
            None => finding,
        };
        findings.push(finding.help(Some("change `vmid`, or `proxmox.vmid_range`")).at(context.node_value(machine, "vmid")));
    }
    let room = u64::from(last.saturating_sub(first)) + 1;
    if room < context.machines.len() as u64 {
        let finding =
            Diagnostic::error("node/number", format!("{first}-{last} has room for {room} of {} machines", context.machines.len()));
        findings.push(finding.help(Some("make `proxmox.vmid_range` larger")).at(range));
    }
}

/// A host and a slot of it, whose functions are used one by one, or all at once by who names none.
type Slot<'a> = (Option<&'a String>, String);

/// One device cannot be in two machines.
fn devices(context: &Context<'_>, findings: &mut Findings) {
    let place = |machine: &Machine| -> Option<Place> {
        if machine.entry.shaped_by.is_some() {
            return context.sources.value(machine.entry.file, &machine.entry.pointer);
        }
        context.node_value(machine, if machine.keys.gpu.is_some() { "gpu/bdf" } else { "gpu_pci_bdf" })
    };
    let mut seen: BTreeMap<Slot<'_>, Vec<(Option<String>, &Machine)>> = BTreeMap::new();
    for machine in context.machines {
        let Some(device) = machine.device() else { continue };
        if context.options.hosts.len() > 1 && machine.keys.host.is_none() {
            let summary = format!("{} names a device, but not the host that has it", Context::called(machine));
            let help = if machine.entry.shaped_by.is_some() { "write the node into nodes.yaml with a `host`" } else { "add `host`" };
            findings.push(Diagnostic::warning("node/gpu-host", summary).help(Some(help)).at(place(machine)));
        }
        let (slot, function) = match device.split_once('.') {
            Some((slot, function)) => (slot.to_owned(), Some(function.to_owned())),
            None => (device.clone(), None),
        };
        let host = machine.host.as_ref();
        let users = seen.entry((host, slot)).or_default();
        match users.iter().find(|(other, _)| other.is_none() || function.is_none() || *other == function) {
            Some(_) if findings.only_count() => {}
            Some((_, first)) => {
                let where_ = host.map(|host| format!(" of {host}")).unwrap_or_default();
                findings.push(twice(&format!("two nodes get the device {device}{where_}"), place(first), place(machine)));
            }
            None => users.push((function, machine)),
        }
    }
}

/// What can be wrong with a node by itself.
fn one(context: &Context<'_>, machine: &Machine, findings: &mut Findings) {
    let called = Context::called(machine);
    let value = |key: &str| context.node_value(machine, key);
    if let Some(name @ ("all" | "controlplane" | "worker")) = machine.name.as_deref() {
        let finding = Diagnostic::error("node/name", format!("a node cannot be called `{name}`: patches/{name}.yaml is for several nodes"));
        findings.push(finding.help(Some("choose another name")).at(value("name")));
    }
    let hosts = &context.options.hosts;
    if let Some(host) = machine.keys.host.as_ref().filter(|host| hosts.len() > 1 && !hosts.contains(host)) {
        let finding = Diagnostic::warning("node/host", format!("{called} is meant for {host}, which is not among `proxmox.nodes`"));
        let near = nearest(host, hosts.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        findings.push(finding.help(near).at(value("host")));
    }
    if machine.keys.host_pinned == Some(true) && machine.host.is_none() {
        let finding = Diagnostic::error("node/host", format!("{called} is pinned to a host that nobody names"));
        findings.push(finding.help(Some("add `host`")).at(value("host_pinned")));
    }
    for name in machine.keys.labels.keys().filter(|name| !label_name(name)) {
        let finding =
            Diagnostic::error("node/label", format!("Kubernetes does not take the label `{}`", crate::redact::one_line(name, 80)));
        let help = "use letters, digits, `-`, `_` and `.`, and at most one `/` after a domain";
        findings.push(finding.help(Some(help)).at(context.sources.key(machine.entry.file, &child(&machine.entry.key("labels"), name))));
    }
    let mut disks: BTreeMap<&str, Option<Place>> = BTreeMap::new();
    if !machine.keys.disks.is_empty() {
        disks.insert("system", value("disk"));
    }
    for (index, disk) in machine.keys.disks.iter().enumerate() {
        let place = value(&format!("disks/{index}/name"));
        if let Some(first) = disk.name.as_deref().and_then(|name| disks.insert(name, place.clone())) {
            findings.push(twice(&format!("two disks of {called} have one name"), first, place));
        }
    }
    large(context, machine, findings);
}

/// Sizes that no machine has: most likely a wrong unit.
fn large(context: &Context<'_>, machine: &Machine, findings: &mut Findings) {
    const MEMORY_MIB: u64 = 64 << 20;
    const DISK_GIB: u64 = 1 << 20;
    let keys = &machine.keys;
    let read = |size: &Option<Size>, text: fn(&str) -> Option<u64>| match size {
        Some(Size::Number(number)) => Some(*number),
        Some(Size::Text(words)) => text(words),
        None => None,
    };
    let disks =
        keys.disks.iter().enumerate().map(|(index, disk)| (format!("disks/{index}/size"), read(&disk.size, disk_gib), DISK_GIB, "GiB"));
    let own = [
        ("ram".to_owned(), read(&keys.ram, memory_mib), MEMORY_MIB, "MiB"),
        ("disk".to_owned(), read(&keys.disk, disk_gib), DISK_GIB, "GiB"),
    ];
    for (key, size, most, unit) in own.into_iter().chain(disks) {
        if let Some(size) = size.filter(|size| *size > most) {
            let finding =
                Diagnostic::error("node/size", format!("`{key}` of {} is {size} {unit}, which no machine has", Context::called(machine)));
            findings.push(finding.help(Some(format!("a plain number means {unit}"))).at(context.node_value(machine, &key)));
        }
    }
    let memory = read(&keys.ram, memory_mib);
    if let Some(memory) = memory.filter(|memory| (1..1024).contains(memory)) {
        let finding =
            Diagnostic::warning("node/size", format!("{} has {memory} MiB of memory; Talos wants 1024 or more", Context::called(machine)));
        findings.push(finding.help(Some("a plain number means MiB: write `8192` or `8GiB`")).at(context.node_value(machine, "ram")));
    }
}
