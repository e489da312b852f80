use std::collections::BTreeMap;

use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::inventory::Node;
use emhost::state::{State, Store};
use serde_json::{Value, json};

use super::{Exit, Failed, Session, opening};

/// Print what other tools want to know of the cluster: addresses, machines
#[derive(clap::Args)]
pub struct Arguments {
    /// Only this one
    name: Option<String>,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let loaded = opening::inventory(session)?;
    let state = Store::read(&session.folder)?;
    let nodes: Vec<Node> = loaded.cluster.iter().flat_map(|cluster| &cluster.nodes).map(|node| as_known(node, state.as_ref())).collect();
    let endpoint = loaded.cluster.as_ref().map(|cluster| cluster.endpoint.clone());
    let outputs = outputs(&nodes, endpoint.as_deref());
    let shown = match &arguments.name {
        None => outputs,
        Some(name) => {
            let names: Vec<&str> = outputs.keys().copied().collect();
            let found = outputs.into_iter().find(|(known, _)| known == name);
            let unknown = || Failed::new(Exit::Input, "output/unknown", format!("there is no output `{name}`"));
            BTreeMap::from([found.ok_or_else(|| unknown().help(format!("there are {}", names.join(", "))))?])
        }
    };
    session.ui.outputs(&shown, arguments.name.is_some());
    Ok(())
}

/// The node with what earlier runs saw of its machine.
fn as_known(node: &Node, state: Option<&State>) -> Node {
    let mut node = node.clone();
    if let Some(applied) = state.and_then(|state| state.nodes.get(&node.name)) {
        node.machine_id.clone_from(&applied.node.machine_id);
        node.machine_identity.clone_from(&applied.node.machine_identity);
        node.addresses.clone_from(&applied.node.addresses);
        // Where it is, rather than where it was to be.
        node.placement = applied.host.clone().or(node.placement);
    }
    node
}

/// The names are those of the Terraform environments that emhost replaces.
fn outputs(nodes: &[Node], endpoint: Option<&str>) -> BTreeMap<&'static str, Value> {
    let addresses =
        |wanted: &dyn Fn(&Node) -> bool| -> Value { nodes.iter().filter(|node| wanted(node)).map(|node| json!(node.address())).collect() };
    let control = |node: &Node| node.role == NodeRole::ControlPlane;
    let machine = |node: &Node| {
        let card = node.cards.first();
        // Proxmox counts its machines; other hypervisors may not.
        let number = node.machine_id.as_deref().and_then(|id| id.parse::<u64>().ok());
        let value = json!({
            "vmid": number.map_or_else(|| json!(node.machine_id), |number| json!(number)),
            "vm_name": node.name,
            "node": node.placement,
            "ip_address": node.address(),
            "mac_address": card.map(|card| card.mac.clone()),
        });
        (node.name.clone(), value)
    };
    BTreeMap::from([
        ("control_plane_ips", addresses(&control)),
        ("worker_ips", addresses(&|node| !control(node) && node.gpus.is_empty())),
        ("gpu_worker_ips", addresses(&|node| !control(node) && !node.gpus.is_empty())),
        ("endpoint", json!(endpoint)),
        ("machines", nodes.iter().map(machine).collect::<serde_json::Map<String, Value>>().into()),
    ])
}
