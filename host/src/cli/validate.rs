//! `emhost validate`: everything that is wrong with an inventory, at once.

use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::inventory::{Cluster, Loaded};
use serde_json::json;

use super::{Exit, Failed, Session};

/// Check the inventory, and show all findings
///
/// Reads cluster.yaml, nodes.yaml, site.yaml and patches/, and needs no network.
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(session: &Session<'_>, _: &Arguments) -> Result<(), Failed> {
    let Loaded { cluster, findings, digest, .. } = emhost::inventory::load(&session.folder);
    let Some(cluster) = cluster else {
        return Err(Failed { exit: Exit::Input, diagnostics: findings });
    };
    for finding in &findings {
        session.ui.diagnostic(finding);
    }
    session.ui.success(&format!("cluster {}: {}: valid", cluster.name, nodes(&cluster)));
    session.ui.event("valid", json!({ "cluster": cluster.name, "nodes": cluster.nodes.len(), "digest": digest }));
    Ok(())
}

/// The number of nodes, by role.
pub fn nodes(cluster: &Cluster) -> String {
    let count = |role| cluster.nodes.iter().filter(|node| node.role == role).count();
    let say = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", say(count(NodeRole::ControlPlane), "control plane"), say(count(NodeRole::Worker), "worker"))
}
