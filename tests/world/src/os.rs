//! What runs on the machines: an operating system that polls move on, and a consensus between control planes.

use prost::Message;
use sha2::{Digest, Sha256};

use crate::proto;
use crate::state::{Answer, Consensus, Power, Refusal, Stage, State, refuse};

/// gRPC codes.
const INVALID: u16 = 3;
const EXISTS: u16 = 6;
const PRECONDITION: u16 = 9;
pub(crate) const UNAVAILABLE: u16 = 14;

fn done() -> Vec<u8> {
    proto::Done {}.encode_to_vec()
}

fn down<T>(node: &str) -> Result<T, Refusal> {
    refuse(UNAVAILABLE, format!("node {node} does not answer"))
}

fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

impl State {
    /// Changes a consensus and notes when that cost it its majority.
    pub(crate) fn judged(&mut self, cluster: &str, why: &str, change: impl FnOnce(&mut Consensus)) {
        let Some(consensus) = self.clusters.get_mut(cluster) else { return };
        let (voters, healthy) = consensus.count();
        change(consensus);
        let (voters_now, healthy_now) = consensus.count();
        let worse = healthy_now < healthy || quorum(voters_now) > quorum(voters);
        if voters == 0 || self.teardown || !worse || healthy_now >= quorum(voters_now) {
            return;
        }
        let text = format!("quorum lost: {healthy_now} of {voters_now} healthy after {why}");
        // With one or two members every restart is an outage, and nobody can do better.
        if voters >= 3 { self.violations.push(text) } else { self.outages.push(text) }
    }

    /// A running machine goes down and comes back by itself.
    pub(crate) fn interrupt(&mut self, id: u32, what: &str) {
        let ticks = self.dials.restart_ticks;
        let Some(machine) = self.machines.get_mut(&id) else { return };
        machine.stage = if machine.digest.is_some() { Stage::Restarting } else { Stage::Booting };
        machine.left = ticks;
        let (cluster, name) = (machine.cluster.clone(), machine.name.clone());
        self.moving.entry(cluster.clone()).or_default().insert(name.clone());
        self.judged(&cluster, &format!("{what} {name}"), |consensus| {
            if let Some(healthy) = consensus.members.get_mut(&name) {
                *healthy = false;
            }
        });
    }

    /// One poll: a node that is between two stages comes nearer to the next.
    fn poll(&mut self, cluster: &str, node: &str) {
        let Some(machine) = self.find(cluster, node).and_then(|id| self.machines.get_mut(&id)) else { return };
        if !matches!(machine.stage, Stage::Booting | Stage::Installing | Stage::Restarting) {
            return;
        }
        if machine.left > 0 {
            machine.left -= 1;
            return;
        }
        machine.stage = if machine.digest.is_some() { Stage::Running } else { Stage::Maintenance };
        let joins = machine.stage == Stage::Running && machine.control_plane;
        if let Some(moving) = self.moving.get_mut(cluster) {
            moving.remove(node);
        }
        if let Some(consensus) = self.clusters.get_mut(cluster).filter(|consensus| joins && consensus.bootstrapped.is_some()) {
            consensus.members.insert(node.to_owned(), true);
        }
    }

    fn poll_all(&mut self, cluster: &str) {
        let moving: Vec<String> = self.moving.get(cluster).into_iter().flatten().cloned().collect();
        for node in moving {
            self.poll(cluster, &node);
        }
    }

    /// The number of a node's machine, if its operating system answers.
    fn up(&self, node: &proto::Node) -> Result<u32, Refusal> {
        let machine = self.find(&node.cluster, &node.node).and_then(|id| self.machines.get(&id));
        let answers = |stage| matches!(stage, Stage::Maintenance | Stage::Installing | Stage::Running);
        match machine.filter(|machine| machine.status == Power::Running && answers(machine.stage)) {
            Some(machine) => Ok(machine.id),
            None => down(&node.node),
        }
    }

    pub(crate) fn status(&mut self, node: &proto::Node) -> Answer {
        self.poll(&node.cluster, &node.node);
        let machine = &self.machines[&self.up(node)?];
        let stage = match machine.stage {
            Stage::Maintenance => "maintenance",
            Stage::Installing => "installing",
            _ => "running",
        };
        let status = proto::Status { stage: stage.to_owned(), digest: machine.digest.clone(), identity: machine.identity.clone() };
        Ok(status.encode_to_vec())
    }

    pub(crate) fn members(&mut self, cluster: &proto::Cluster) -> Answer {
        self.poll_all(&cluster.cluster);
        let consensus = self.clusters.get(&cluster.cluster);
        let members = consensus.map(|consensus| &consensus.members);
        if members.is_some_and(|members| !members.is_empty() && !members.values().any(|healthy| *healthy)) {
            return refuse(UNAVAILABLE, "no member answers");
        }
        let members = members.into_iter().flatten().map(|(node, healthy)| proto::Member { node: node.clone(), healthy: *healthy });
        Ok(proto::Members { members: members.collect() }.encode_to_vec())
    }

    pub(crate) fn health(&mut self, cluster: &proto::Cluster) -> Vec<u8> {
        self.poll_all(&cluster.cluster);
        let id = &cluster.cluster;
        let consensus = self.clusters.get(id).filter(|consensus| consensus.bootstrapped.is_some());
        let waits_for = if let Some(consensus) = consensus {
            let (voters, healthy) = consensus.count();
            let running = self.machines.values().filter(|machine| machine.cluster == *id && machine.stage == Stage::Running).count();
            if healthy < voters {
                format!("{healthy} of {voters} members healthy")
            } else if running < usize::try_from(cluster.nodes).unwrap_or(usize::MAX) {
                format!("{running} of {} nodes running", cluster.nodes)
            } else {
                String::new()
            }
        } else {
            "the bootstrap".to_owned()
        };
        proto::Health { waits_for }.encode_to_vec()
    }

    pub(crate) fn configure(&mut self, number: u64, configure: proto::Configure) -> Answer {
        let proto::Configure { cluster, node, identity, digest, config, control_plane } = configure;
        let id = self.up(&proto::Node { cluster: cluster.clone(), node: node.clone() })?;
        if crate::digest(config.as_bytes()) != digest {
            return refuse(INVALID, "the digest is not that of the configuration");
        }
        let meant: Option<String> =
            serde_json::from_str::<serde_json::Value>(&config).ok().and_then(|config| Some(config.get("node")?.as_str()?.to_owned()));
        if meant.as_ref() != Some(&node) {
            self.violations.push(format!("{node} was given the configuration of {}", meant.as_deref().unwrap_or("nobody")));
            return refuse(INVALID, "this configuration is for another node");
        }
        let ticks = self.dials.config_ticks;
        let Some(machine) = self.machines.get_mut(&id) else { return down(&node) };
        if machine.identity != identity {
            return refuse(PRECONDITION, "this is another machine");
        }
        if machine.digest.as_ref() == Some(&digest) {
            self.twice.push(format!("configure {node} (change {number}): it has this configuration"));
            return refuse(EXISTS, "it has this configuration");
        }
        match machine.stage {
            Stage::Maintenance => {
                machine.digest = Some(digest);
                machine.control_plane = control_plane;
                machine.stage = Stage::Installing;
                machine.left = ticks;
                self.clusters.entry(cluster.clone()).or_default();
                self.moving.entry(cluster).or_default().insert(node);
            }
            Stage::Running => {
                machine.digest = Some(digest);
                machine.control_plane = control_plane;
                self.interrupt(id, "a new configuration of");
            }
            _ => return down(&node),
        }
        Ok(done())
    }

    /// The node leaves its cluster and forgets everything.
    pub(crate) fn reset(&mut self, number: u64, node: &proto::Node) -> Answer {
        let ticks = self.dials.boot_ticks;
        let id = self.up(node)?;
        let Some(machine) = self.machines.get_mut(&id) else { return down(&node.node) };
        if machine.stage == Stage::Maintenance {
            self.twice.push(format!("reset {} (change {number}): it has no configuration", node.node));
            return refuse(PRECONDITION, "it has no configuration");
        }
        machine.digest = None;
        machine.control_plane = false;
        machine.stage = Stage::Booting;
        machine.left = ticks;
        self.moving.entry(node.cluster.clone()).or_default().insert(node.node.clone());
        self.leave(node, "the reset of");
        Ok(done())
    }

    /// Removes a member whose machine does not answer any more.
    pub(crate) fn evict(&mut self, number: u64, node: &proto::Node) -> Answer {
        let consensus = self.clusters.get(&node.cluster);
        let Some(healthy) = consensus.and_then(|consensus| consensus.members.get(&node.node)) else {
            self.twice.push(format!("evict {} (change {number}): it is no member", node.node));
            return refuse(PRECONDITION, "it is no member");
        };
        if *healthy {
            return refuse(PRECONDITION, "a healthy member leaves by itself");
        }
        self.leave(node, "the eviction of");
        Ok(done())
    }

    fn leave(&mut self, node: &proto::Node, what: &str) {
        self.judged(&node.cluster, &format!("{what} {}", node.node), |consensus| {
            consensus.members.remove(&node.node);
            // The last one takes the cluster with it.
            if consensus.members.is_empty() {
                consensus.bootstrapped = None;
            }
        });
    }

    pub(crate) fn bootstrap(&mut self, number: u64, node: &proto::Node) -> Answer {
        let id = self.up(node)?;
        let machine = &self.machines[&id];
        if machine.stage != Stage::Running || !machine.control_plane {
            return refuse(PRECONDITION, "it is no running control plane");
        }
        let consensus = self.clusters.entry(node.cluster.clone()).or_default();
        if let Some(first) = &consensus.bootstrapped {
            self.twice.push(format!("bootstrap {} (change {number})", node.node));
            self.violations.push(format!("bootstrapped twice: {} after {first}", node.node));
            return refuse(EXISTS, "the cluster was bootstrapped before");
        }
        consensus.bootstrapped = Some(node.node.clone());
        for machine in self.machines.values() {
            if machine.cluster == node.cluster && machine.control_plane && machine.stage == Stage::Running {
                consensus.members.insert(machine.name.clone(), true);
            }
        }
        Ok(done())
    }
}

/// `sha256:` and the digest.
pub fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
