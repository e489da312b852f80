//! etcd, begun exactly once (facts/talos.md §4.4).
//!
//! A node looks only into its own data directory, so a bootstrap on a second one makes a second cluster. So: one node, written down
//! before anything goes out, never another; and only while every control plane answers and none has etcd.

use emhost_sdk::{Action, Change, Disruption, Failure, Node, Proposal, Site, State, Step};

use super::api::Api;
use super::client::{Answer, Client};
use super::memory::{self, ClusterMemory, patience};
use super::refusal::{self, code, said};

/// What one control plane has of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Etcd {
    /// It runs.
    Runs,
    /// It waits to be bootstrapped or to join.
    Waits,
    /// The node is not as far as that yet.
    NotYet(String),
    /// The node has no configuration, or no machine.
    None,
    /// Nobody knows.
    Unknown(String),
}

fn look(client: &Client<'_>, node: &Node) -> Result<(Etcd, Option<Api>), Failure> {
    if node.machine_identity().is_none() {
        return Ok((Etcd::None, None));
    }
    Ok(match client.reach(node)? {
        Answer::Configured(api, _) => {
            let service = api.service("etcd").map_err(api.failed("ask for its services"))?;
            let state = service.map_or_else(|| "not there".to_owned(), |service| service.state);
            let etcd = match state.as_str() {
                "Running" => Etcd::Runs,
                // After half an hour of waiting it gives up and the node restarts.
                "Preparing" | "Failed" => Etcd::Waits,
                _ => Etcd::NotYet(format!("etcd on {} is {state}", api.node)),
            };
            (etcd, Some(api))
        }
        Answer::Maintenance(_) => (Etcd::None, None),
        Answer::Foreign(why) | Answer::Silent(why) => (Etcd::Unknown(why), None),
    })
}

/// Whether there is etcd, as far as it can be told without asking for more than is there.
fn is_there(seen: &[Etcd], memory: &ClusterMemory, kept: bool) -> bool {
    if seen.contains(&Etcd::Runs) {
        return true;
    }
    // Its data is on the disk of the machine that was bootstrapped. Where a control plane does not answer it may be there too.
    let unknown = seen.iter().any(|one| matches!(one, Etcd::Unknown(_)));
    memory.bootstrapped && (kept || unknown)
}

fn control_planes(client: &Client<'_>) -> Result<Vec<Node>, Failure> {
    let nodes = client.control_planes();
    if nodes.is_empty() {
        return Err(Failure::invalid("talos/control-plane", "the cluster has no control plane")
            .help("add a node under `controlplane:` in nodes.yaml"));
    }
    Ok(nodes)
}

/// The node that was chosen, as long as it is the same machine.
fn kept<'n>(nodes: &'n [Node], memory: &ClusterMemory) -> Option<&'n Node> {
    nodes.iter().find(|node| node.name() == memory.node && node.machine_identity().unwrap_or_default() == memory.identity)
}

/// Says what `apply` would do.
pub fn plan(site: Site<'_>, state: Option<&State>) -> Result<Proposal, Failure> {
    let memory: ClusterMemory = memory::read(state)?;
    let client = Client::new(site.cluster);
    let nodes = control_planes(&client)?;
    let mut seen = Vec::new();
    for node in &nodes {
        let (etcd, _) = look(&client, node)?;
        let runs = etcd == Etcd::Runs;
        seen.push(etcd);
        if runs {
            break;
        }
    }
    let kept = kept(&nodes, &memory);
    if is_there(&seen, &memory, kept.is_some()) {
        return Ok(Proposal::nothing());
    }
    let chosen = kept.or(nodes.first()).map(Node::name).unwrap_or_default();
    let action = Action {
        change: Change::Create,
        subject: format!("cluster {}", site.cluster.name()),
        disruption: Disruption::None,
        reason: format!("etcd is bootstrapped on {chosen}"),
        fields: Vec::new(),
        attributes: Vec::new(),
    };
    Ok(Proposal { actions: vec![action], holds: Vec::new() })
}

/// One step.
pub fn apply(site: Site<'_>, state: Option<&State>) -> Result<Step, Failure> {
    let mut memory: ClusterMemory = memory::read(state)?;
    memory.looks = memory.looks.saturating_add(1);
    let client = Client::new(site.cluster);
    let nodes = control_planes(&client)?;
    let Some(chosen) = kept(&nodes, &memory) else {
        let Some(first) = nodes.first() else { return Ok(Step::finished()) };
        let memory =
            ClusterMemory { node: first.name(), identity: first.machine_identity().unwrap_or_default(), ..ClusterMemory::default() };
        return memory::next(format!("etcd is to be bootstrapped on {}", memory.node), &memory);
    };
    let name = chosen.name();
    let (mut seen, mut api) = (Vec::new(), None);
    for node in &nodes {
        let (etcd, reached) = look(&client, node)?;
        if node.name() == name {
            api = reached;
        } else if etcd == Etcd::Runs
            && let Some(other) = &reached
            && !other.etcd_members().unwrap_or_default().is_empty()
        {
            // Somebody else has it already.
            return memory::done(&memory.bootstrapped());
        }
        seen.push((node.name(), etcd));
    }
    if seen.iter().any(|(_, etcd)| *etcd == Etcd::Runs) {
        return joined(api.as_ref(), memory);
    }
    if let Some(reason) = hindrance(&seen) {
        return memory::wait(memory.looks, reason, &memory);
    }
    if memory.sent && memory.looks < patience(memory.answered) {
        return memory::wait(memory.looks, format!("waiting for etcd on {name}"), &memory);
    }
    let Some(api) = api else { return memory::wait(memory.looks, format!("waiting for {name} to answer"), &memory) };
    send(&api, memory)
}

/// What keeps the request from going out.
fn hindrance(seen: &[(String, Etcd)]) -> Option<String> {
    seen.iter().find_map(|(node, etcd)| match etcd {
        Etcd::Runs | Etcd::Waits => None,
        Etcd::NotYet(why) => Some(why.clone()),
        Etcd::None => Some(format!("waiting for {node} to take its configuration")),
        Etcd::Unknown(why) => Some(format!("waiting for {node} to answer ({why})")),
    })
}

/// etcd runs; it is there once it lists its members.
fn joined(api: Option<&Api>, memory: ClusterMemory) -> Result<Step, Failure> {
    let members = api.map_or_else(|| Ok(Vec::new()), Api::etcd_members);
    match members {
        Ok(members) if !members.is_empty() => memory::done(&memory.bootstrapped()),
        Ok(_) => memory::wait(memory.looks, "waiting for etcd to list its members", &memory),
        Err(status) => memory::wait(memory.looks, format!("waiting for etcd to list its members ({})", said(&status)), &memory),
    }
}

fn send(api: &Api, mut memory: ClusterMemory) -> Result<Step, Failure> {
    let name = &api.node;
    match api.bootstrap() {
        Ok(()) => {
            (memory.sent, memory.answered, memory.looks) = (true, true, 0);
            memory::wait(0, format!("etcd begins on {name}"), &memory)
        }
        Err(status) if status.code == code::EXISTS => {
            (memory.sent, memory.answered, memory.looks) = (true, true, 0);
            memory::wait(0, format!("{name} was bootstrapped before"), &memory)
        }
        // It says itself that it is too early: the container runtime or the time is not there.
        Err(status) if status.code == code::PRECONDITION && !status.message.contains("control plane") => {
            memory::wait(memory.looks, format!("waiting for {name}: {}", said(&status)), &memory)
        }
        // It may have arrived. Whoever looks next knows; never another node.
        Err(status) if refusal::is_passing(&status) => {
            (memory.sent, memory.answered, memory.looks) = (true, false, 0);
            memory::wait(0, format!("looking whether {name} was bootstrapped ({})", said(&status)), &memory)
        }
        Err(status) => Err(refusal::failure(name, "bootstrap etcd", &status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(bootstrapped: bool) -> ClusterMemory {
        ClusterMemory { bootstrapped, ..ClusterMemory::default() }
    }

    #[test]
    fn etcd_that_runs_anywhere_is_there() {
        assert!(is_there(&[Etcd::Waits, Etcd::Runs], &remembered(false), false));
        assert!(!is_there(&[Etcd::Waits, Etcd::None, Etcd::NotYet(String::new())], &remembered(false), true));
    }

    #[test]
    fn what_was_bootstrapped_and_does_not_answer_is_not_bootstrapped_again() {
        let silent = [Etcd::Unknown("no answer".to_owned()), Etcd::Waits];
        assert!(is_there(&silent, &remembered(true), false));
        // It restarts: its data is on its disk.
        assert!(is_there(&[Etcd::Waits], &remembered(true), true));
        // The machine was made anew, and there is no other.
        assert!(!is_there(&[Etcd::Waits], &remembered(true), false));
        assert!(!is_there(&[Etcd::None], &remembered(true), false));
        // Never bootstrapped here: the machines are only just coming up.
        assert!(!is_there(&silent, &remembered(false), true));
    }

    #[test]
    fn nothing_goes_out_while_a_control_plane_is_not_seen() {
        let seen = |etcd: Etcd| vec![("cp-1".to_owned(), Etcd::Waits), ("cp-2".to_owned(), etcd)];
        assert_eq!(hindrance(&seen(Etcd::Waits)), None);
        assert_eq!(hindrance(&seen(Etcd::Unknown("refused".to_owned()))).as_deref(), Some("waiting for cp-2 to answer (refused)"));
        assert_eq!(hindrance(&seen(Etcd::None)).as_deref(), Some("waiting for cp-2 to take its configuration"));
        assert_eq!(hindrance(&seen(Etcd::NotYet("etcd on cp-2 is Waiting".to_owned()))).as_deref(), Some("etcd on cp-2 is Waiting"));
    }
}
