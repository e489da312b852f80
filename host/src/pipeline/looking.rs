//! How the cluster is: looks at every machine and node, and changes nothing.

use std::sync::Arc;

use serde::Serialize;
use tokio::task::JoinSet;

use super::accelerators::give;
use super::configuration::contributed;
use super::events::Event;
use super::run::{Run, Turn};
use super::unit::UnitId;
use crate::bindings::exports::emhost::plugin::distro::Stage;
use crate::bindings::exports::emhost::plugin::provisioner::Power;
use crate::diagnostic::Diagnostic;

/// How one node is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The node.
    pub node: String,
    /// `control-plane` or `worker`; `removed` if the inventory does not name it any more.
    pub role: &'static str,
    /// Its machine's id at the hypervisor, if there is one.
    pub machine: Option<String>,
    /// The host it is on.
    pub host: Option<String>,
    /// Whether it runs.
    pub power: Option<&'static str>,
    /// How far its operating system is.
    pub stage: Option<&'static str>,
    /// Its version.
    pub os_version: Option<String>,
    /// Its version of Kubernetes.
    pub kubernetes_version: Option<String>,
    /// Where it is reached.
    pub address: Option<String>,
    /// Whether it has joined the cluster.
    pub joined: bool,
    /// Whether its member of the control plane is healthy, for one that votes.
    pub member: Option<bool>,
    /// What kept it from being looked at.
    pub trouble: Option<String>,
}

/// How the whole cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The cluster.
    pub cluster: String,
    /// Whether its control plane was bootstrapped.
    pub bootstrapped: bool,
    /// Voting members, healthy ones among them, and how many are needed.
    pub quorum: Option<(usize, usize, usize)>,
    /// Why members cannot be told.
    pub trouble: Option<String>,
    /// Every node.
    pub nodes: Vec<Seen>,
}

/// What is to be said about the accelerators that nodes ask for; nothing where none does. What nodes need for theirs is known from then
/// on, so that the provisioner judges machines as they are to be.
pub async fn accelerators(run: &Arc<Run>) -> Option<Vec<Diagnostic>> {
    let given = match give(run).await {
        Ok(given) => given?,
        Err(problems) => return Some(problems),
    };
    let mut findings = given.findings.clone();
    if let Err(problems) = contributed(run, Some(&given)).await {
        findings.extend(problems);
    }
    Some(findings)
}

/// Looks at everything at once.
pub async fn look(run: &Arc<Run>) -> Status {
    let cluster = run.now.get();
    run.watch.event(Event::Planning { what: format!("looking at {} machines", cluster.nodes.len() + run.removed.len()) });
    let mut tasks = JoinSet::new();
    let names = cluster.nodes.iter().map(|node| node.name.clone()).chain(run.removed.keys().cloned());
    for (index, name) in names.enumerate() {
        let run = Arc::clone(run);
        tasks.spawn(async move { (index, look_at(&run, &name).await) });
    }
    let mut nodes: Vec<(usize, Seen)> = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        nodes.extend(ended.ok());
    }
    nodes.sort_by_key(|(index, _)| *index);
    let mut nodes: Vec<Seen> = nodes.into_iter().map(|(_, seen)| seen).collect();
    let bootstrapped = run.store.bootstrapped();
    let (mut quorum, mut trouble) = (None, None);
    let blind = !nodes.is_empty() && nodes.iter().all(|seen| seen.trouble.is_some());
    if bootstrapped && !blind {
        match run.quorum().await {
            Ok(members) => {
                quorum = Some((members.members.len(), members.healthy(), members.majority()));
                for seen in &mut nodes {
                    seen.member = members.members.iter().find(|(node, _)| *node == seen.node).map(|(_, healthy)| *healthy);
                }
            }
            Err(error) => trouble = Some(error.to_string()),
        }
    }
    Status { cluster: cluster.name.clone(), bootstrapped, quorum, trouble, nodes }
}

async fn look_at(run: &Run, name: &str) -> Seen {
    let unit = UnitId::Machine(name.to_owned());
    let removed = run.removed.contains_key(name);
    let role = if removed {
        "removed"
    } else if run.votes(name) {
        "control-plane"
    } else {
        "worker"
    };
    let mut seen = Seen {
        node: name.to_owned(),
        role,
        machine: None,
        host: None,
        power: None,
        stage: None,
        os_version: None,
        kubernetes_version: None,
        address: None,
        joined: false,
        member: None,
        trouble: None,
    };
    match run.observe(Turn::Take, &unit, name).await {
        Err(error) => {
            seen.trouble = Some(error.to_string());
            return seen;
        }
        Ok(None) => return seen,
        Ok(Some(machine)) => {
            seen.machine = Some(machine.id);
            seen.host = Some(machine.host);
            seen.power = Some(match machine.power {
                Power::On => "on",
                Power::Off => "off",
            });
        }
    }
    let Some(node) = run.node(name) else { return seen };
    seen.address = node.address().map(str::to_owned);
    seen.joined = run.joined(&node);
    let unit = UnitId::Os(name.to_owned());
    let state = run.state(&unit);
    let distro = &run.crew.distro;
    let status = {
        let _turn = run.turns.acquire().await;
        distro.plugin.observe_node(&distro.looks(Some(&unit)), &node, state.as_ref()).await
    };
    match status {
        Err(error) => seen.trouble = Some(error.to_string()),
        Ok(status) => {
            seen.stage = Some(match status.stage {
                Stage::Unreachable => "unreachable",
                Stage::Maintenance => "maintenance",
                Stage::Installing => "installing",
                Stage::Booting => "booting",
                Stage::Running => "running",
            });
            (seen.os_version, seen.kubernetes_version) = (status.os_version, status.kubernetes_version);
        }
    }
    seen
}
