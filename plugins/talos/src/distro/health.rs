//! Whether the cluster is healthy, in the order in which `talosctl health` checks (facts/talos.md §4.5).
//!
//! A control plane does the checking: it has the clients of etcd and Kubernetes, and the words that people know from talosctl. What
//! it leaves out where Talos brings no network of its own, the nodes say themselves.

use emhost_sdk::types::Again;
use emhost_sdk::{Failure, FailureKind, Node, NodeRole, Site, Step};
use emhost_talos_api::cluster::{ClusterInfo, HealthCheckRequest};
use emhost_talos_api::google::Duration;

use super::api::MachineStatus;
use super::client::{Client, address};

/// How long one call lets the control plane wait: it tells at once when everything is healthy.
const SECONDS: i64 = 10;
/// The pause between two of them.
const PAUSE: u32 = 500;

fn again(reason: String) -> Step {
    Step::Again(Again { after_ms: PAUSE, reason, state: None, holds: Vec::new() })
}

/// One look.
pub fn health(site: Site<'_>, networking: bool) -> Result<Step, Failure> {
    let client = Client::new(site.cluster);
    let mut planes = Vec::new();
    let mut waits = Vec::new();
    for node in site.cluster.nodes() {
        let name = node.name();
        match client.configured(&node)? {
            Err(why) => return Ok(again(format!("waiting for {name} to answer ({why})"))),
            Ok((api, _)) => {
                let status = api.machine_status().map_err(api.failed("ask for the stage"))?;
                waits.extend(waits_for(&name, &status, networking));
                if node.role() == NodeRole::ControlPlane {
                    planes.push(api);
                }
            }
        }
    }
    let Some(asked) = planes.first() else {
        return Err(Failure::invalid("talos/control-plane", "the cluster has no control plane")
            .help("add a node under `controlplane:` in nodes.yaml"));
    };
    let mut last = String::new();
    let checked = asked.health_check(&request(&site.cluster.nodes()), |line| {
        site.operation.progress(&line, None);
        last = line;
    });
    match checked {
        // What is not ready although all checks passed is what they leave out without a network of Talos's own.
        Ok(()) => Ok(waits.into_iter().next().map_or_else(Step::finished, again)),
        Err(failure) if failure.kind == FailureKind::Denied || failure.kind == FailureKind::Invalid => Err(failure),
        Err(failure) if last.is_empty() => {
            let why = failure.diagnostics.into_iter().next().map(|first| first.summary).unwrap_or_default();
            Ok(again(format!("waiting for {} to check the cluster ({why})", asked.node)))
        }
        Err(_) => Ok(again(waited(&last))),
    }
}

/// What a node itself waits for, beyond its services.
fn waits_for(name: &str, status: &MachineStatus, networking: bool) -> Option<String> {
    if status.stage != "running" {
        return Some(format!("waiting for {name}, which is {}", status.stage));
    }
    // Kubernetes calls a node ready once there is a network for pods.
    let unmet = status.unmet().iter().find(|unmet| networking || unmet.name != "nodeReady")?;
    Some(format!("waiting for {name}: {}", unmet.reason))
}

/// The last line that was said, on one line and without the dots.
fn waited(line: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches("...").trim_end_matches([':', ' ']).to_owned()
}

/// Every node by its address: discovery may be off.
fn request(nodes: &[Node]) -> HealthCheckRequest {
    let of = |role: NodeRole| nodes.iter().filter(|node| node.role() == role).filter_map(address).collect();
    let info =
        ClusterInfo { control_plane_nodes: of(NodeRole::ControlPlane), worker_nodes: of(NodeRole::Worker), force_endpoint: String::new() };
    HealthCheckRequest { wait_timeout: Some(Duration { seconds: SECONDS, nanos: 0 }), cluster_info: Some(info) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(stage: &str, unmet: &[&str]) -> MachineStatus {
        let unmet: Vec<_> = unmet.iter().map(|name| serde_json::json!({"name": name, "reason": format!("{name} is missing")})).collect();
        let status = serde_json::json!({"stage": stage, "status": {"ready": unmet.is_empty(), "unmetConditions": unmet}});
        serde_json::from_value(status).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_node_without_a_network_is_well_where_nobody_asks_for_one() {
        assert_eq!(waits_for("n", &status("running", &[]), true), None);
        assert_eq!(waits_for("n", &status("running", &["nodeReady"]), false), None);
        assert_eq!(waits_for("n", &status("running", &["nodeReady"]), true).as_deref(), Some("waiting for n: nodeReady is missing"));
        assert_eq!(
            waits_for("n", &status("running", &["nodeReady", "services"]), false).as_deref(),
            Some("waiting for n: services is missing")
        );
        assert_eq!(waits_for("n", &status("booting", &[]), false).as_deref(), Some("waiting for n, which is booting"));
    }

    #[test]
    fn the_last_line_says_what_is_waited_for() {
        assert_eq!(waited("waiting for etcd to be healthy: ..."), "waiting for etcd to be healthy");
        assert_eq!(
            waited("waiting for all k8s nodes to report ready: some nodes are not ready: [n]"),
            "waiting for all k8s nodes to report ready: some nodes are not ready: [n]"
        );
        assert_eq!(waited("waiting for etcd: 1 error occurred:\n\t* a: b\n\n"), "waiting for etcd: 1 error occurred: * a: b");
    }
}
