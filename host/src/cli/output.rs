use std::collections::BTreeMap;

use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::inventory::Node;
use emhost::state::{State, Store};
use serde_json::{Value, json};

use super::{Exit, Failed, Session, opening};

/// Print what other tools want to know of the cluster: addresses, machines
#[derive(clap::Args)]
pub struct Arguments {
    /// Only this output, or this node
    name: Option<String>,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let loaded = opening::inventory(session)?;
    let state = Store::read(&session.folder)?;
    let nodes: Vec<Node> = loaded.cluster.iter().flat_map(|cluster| &cluster.nodes).map(|node| as_known(node, state.as_ref())).collect();
    let endpoint = loaded.cluster.as_ref().map(|cluster| cluster.endpoint.clone());
    let outputs = outputs(&nodes, endpoint.as_deref());
    match &arguments.name {
        None => session.ui.outputs(&outputs, false),
        Some(name) => match of_node(&outputs, name) {
            Some(node) => session.ui.values(&node),
            None => session.ui.outputs(&one(outputs, name)?, true),
        },
    }
    Ok(())
}

/// What is known of one node.
fn of_node(outputs: &BTreeMap<&str, Value>, name: &str) -> Option<Vec<(&'static str, Value)>> {
    let node = outputs.get("machines")?.get(name)?;
    Some(FIELDS.iter().filter_map(|field| Some((*field, node.get(*field)?.clone()))).collect())
}

fn one<'a>(outputs: BTreeMap<&'a str, Value>, name: &str) -> Result<BTreeMap<&'a str, Value>, Failed> {
    let names: Vec<&str> = outputs.keys().copied().collect();
    let help = format!("there are {}, and every node by its name", names.join(", "));
    let found = outputs.into_iter().find(|(known, _)| *known == name);
    let unknown = || Failed::new(Exit::Input, "output/unknown", format!("there is no output `{name}`")).help(help);
    Ok(BTreeMap::from([found.ok_or_else(unknown)?]))
}

/// What is known of one node, by the names of the Terraform module that emhost replaces.
const FIELDS: [&str; 5] = ["vmid", "vm_name", "node", "ip_address", "mac_address"];

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
        // Proxmox counts its machines; other hypervisors may not. Before there is one, the inventory may know its number.
        let number = match node.machine_id.as_deref() {
            Some(id) => id.parse::<u64>().map_or_else(|_| json!(id), |number| json!(number)),
            None => json!(node.machine_number),
        };
        let value = json!({
            "vmid": number,
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
