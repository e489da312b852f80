//! `emhost generate`: the configuration of every node as files, for people who keep Terraform.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::diagnostic::Diagnostic;
use emhost::inventory::Node;
use emhost::pipeline::rendering::Rendered;
use emhost::state::State;
use serde::Serialize;
use serde_json::json;

use super::files::Folder;
use super::{Exit, Failed, Session, opening};

/// The folder in the cluster's, where nobody names another.
const FOLDER: &str = "generated";
/// The file that Terraform reads by itself.
const VARIABLES: &str = "talos-machines.auto.tfvars.json";

/// Write the machine configuration of every node, and variables for Terraform
///
/// Needs no site.yaml and looks at no machine. Missing secrets of the cluster are made and stored (`secrets.sops.yaml`). The same inventory, secrets
/// and state give the same bytes.
#[derive(clap::Args)]
pub struct Arguments {
    /// Write into this folder instead of `generated` in the cluster's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What Terraform is told of one machine.
#[derive(Serialize)]
struct Machine {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vmid: Option<u32>,
    node: Option<String>,
    ip: Option<String>,
    mac: Option<String>,
    cpu: u32,
    ram: u64,
    disk: Option<String>,
    config: String,
}

#[derive(Serialize)]
struct Variables {
    talos_machines: BTreeMap<String, Machine>,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let watch = session.ui.watch("generate");
    let drafting = opening::draft(session, "generate", Arc::clone(&watch) as _)?;
    let rendered = session.tokio.block_on(Arc::clone(&drafting.scribes).render(&drafting.boot_of));
    let rendered = rendered.map_err(|diagnostics| Failed { exit: opening::exit_of(&diagnostics), diagnostics })?;
    watch.end();
    for note in drafting.notes.iter().chain(&drafting.scribes.notes).cloned().chain(drafting.secrets.take_notes()) {
        session.ui.diagnostic(&note);
    }
    let made = drafting.secrets.made();
    if !made.is_empty() {
        session.ui.event("secrets", json!({ "made": made }));
        session.ui.line(&format!("secrets were made and are in secrets.sops.yaml: {}", made.join(", ")));
    }
    let (folder, named) = if let Some(path) = &arguments.out {
        (Folder::named(path)?, path.display().to_string())
    } else {
        let cluster = Folder::of_cluster(session)?;
        cluster.ignore(session, FOLDER)?;
        (cluster.inner(FOLDER)?, FOLDER.to_owned())
    };
    let state = drafting.store.state();
    write(session, &folder, &named, &rendered, &state)?;
    drafting.store.close()?;
    Ok(())
}

fn write(session: &Session<'_>, folder: &Folder, named: &str, rendered: &[Rendered], state: &State) -> Result<(), Failed> {
    let mut files: BTreeSet<String> = BTreeSet::from([VARIABLES.to_owned()]);
    let mut machines = BTreeMap::new();
    for one in rendered {
        let file = format!("{}.yaml", one.node.name);
        let texts: Vec<&str> = one.documents.iter().map(|document| document.body.as_str()).collect();
        folder.keep(&file, joined(&texts).as_bytes())?;
        machines.insert(one.node.name.clone(), machine(&one.node, state, format!("{}/{file}", named.trim_end_matches('/'))));
        files.insert(file);
    }
    let variables = serde_json::to_string_pretty(&Variables { talos_machines: machines });
    let variables = variables.map_err(|error| Failed::new(Exit::Bug, "host/json", error.to_string()))?;
    folder.keep(VARIABLES, format!("{variables}\n").as_bytes())?;
    for file in &files {
        session.ui.success(&format!("{} written (0600)", folder.shown(file)));
        session.ui.event("written", json!({ "file": folder.shown(file) }));
    }
    for old in folder.names().into_iter().filter(|name| name.strip_suffix(".yaml").is_some() && !files.contains(name)) {
        let summary = format!("{} is of no node of this cluster, and was left as it is", folder.shown(&old));
        session.ui.diagnostic(&Diagnostic::note("generate/left", summary).help(Some("remove it if it is of a node that is gone")));
    }
    Ok(())
}

/// Several documents as one stream.
fn joined(texts: &[&str]) -> String {
    let ended = |text: &str| if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let mut whole = String::new();
    for text in texts {
        if !whole.is_empty() && !text.trim_start().starts_with("---") {
            whole.push_str("---\n");
        }
        whole.push_str(&ended(text));
    }
    whole
}

fn machine(node: &Node, state: &State, config: String) -> Machine {
    let applied = state.nodes.get(&node.name);
    let known = applied.and_then(|applied| applied.node.machine_id.as_deref()).and_then(|id| id.parse().ok());
    let card = node.cards.first();
    let host = applied.and_then(|applied| applied.host.clone());
    Machine {
        role: if node.role == NodeRole::ControlPlane { "controlplane" } else { "worker" },
        vmid: known.or(node.machine_number),
        node: host.or_else(|| node.placement.clone()),
        ip: node.address().map(str::to_owned),
        mac: card.map(|card| card.mac.clone()),
        cpu: node.cores,
        ram: node.memory_mib,
        disk: node.disks.iter().find(|disk| disk.system).map(|disk| format!("{}G", disk.size_gib)),
        config,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_become_one_stream() {
        assert_eq!(joined(&["a: 1\n"]), "a: 1\n");
        assert_eq!(joined(&["a: 1", "---\nb: 2\n", "c: 3"]), "a: 1\n---\nb: 2\n---\nc: 3\n");
    }

    #[test]
    fn terraform_is_told_what_is_known() {
        let mut node = Node::new("dev-cp-1", NodeRole::ControlPlane);
        node.placement = Some("pve1".to_owned());
        let text = |node: &Node| {
            let machine = machine(node, &State::new("dev", ""), "generated/dev-cp-1.yaml".to_owned());
            serde_json::to_string(&machine).expect("json")
        };
        let without = r#"{"role":"controlplane","node":"pve1","ip":null,"mac":null,"cpu":2,"ram":4096,"disk":null,"config":"generated/dev-cp-1.yaml"}"#;
        assert_eq!(text(&node), without);
        node.machine_number = Some(300);
        assert_eq!(text(&node), without.replace(r#""node":"#, r#""vmid":300,"node":"#));
    }
}
