//! Brings everything that nodes of a cluster have in common in line with the
//! nodes that run: etcd and its leader, Kubernetes and its addresses, members.
//!
//! It runs whenever something changed, and once more from time to time, because
//! what happens inside of Kubernetes is not told to anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::clusters::new_id;
use super::{Fleet, lock};
use crate::etcd::Etcd;
use crate::node::Node;
use crate::node::disks::EtcdData;
use crate::node::resources::{self, MemberCard};
use crate::node::services::ServiceState;
use crate::node::settings::Settings;

/// How often Kubernetes is looked at while something is not as it should be.
const SOON: Duration = Duration::from_millis(250);
/// How often otherwise.
const LATER: Duration = Duration::from_secs(5);

/// Settles again and again until the fleet is gone.
pub(super) async fn run(fleet: Weak<Fleet>, mut changes: watch::Receiver<u64>) {
    loop {
        changes.mark_unchanged();
        let pending = match fleet.upgrade() {
            Some(fleet) => fleet.settle().await,
            None => return,
        };
        let pause = match pending {
            Pending::Nothing => None,
            Pending::Later => Some(LATER),
            Pending::Soon => Some(SOON),
        };
        let woken = match pause {
            Some(pause) => tokio::time::timeout(pause, changes.changed()).await.unwrap_or(Ok(())),
            None => changes.changed().await,
        };
        if woken.is_err() {
            return;
        }
    }
}

/// When to look again without being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pending {
    Nothing,
    Later,
    Soon,
}

/// A node with what it is set to.
pub(super) type Set = (Arc<Node>, Arc<Settings>);

impl Fleet {
    async fn settle(&self) -> Pending {
        let nodes: Vec<Set> = self
            .all()
            .into_iter()
            .filter_map(|node| {
                let settings = node.settings().filter(|_| node.state().alive)?;
                Some((node, settings))
            })
            .collect();
        let mut pending = self.settle_ports().await;
        self.settle_etcd(&nodes);
        self.settle_members(&nodes);
        let ids: Vec<String> = lock(&self.etcd).keys().cloned().collect();
        for id in ids {
            pending = pending.max(self.settle_kubernetes(&id, &nodes).await);
        }
        pending.max(self.settle_virtual_addresses(&nodes).await)
    }

    /// Asks again for ports that were not free.
    async fn settle_ports(&self) -> Pending {
        let mut pending = Pending::Nothing;
        for node in self.all() {
            if !node.state().wants_port {
                continue;
            }
            node.answer_on_all().await;
            if node.state().wants_port {
                pending = Pending::Soon;
            }
        }
        pending
    }

    /// Which members of etcd run, and who joins.
    fn settle_etcd(&self, nodes: &[Set]) {
        let mut all = lock(&self.etcd);
        let mut running: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (node, _) in nodes {
            let data = node.state().etcd.clone();
            let Some(data) = data.filter(|_| wants_etcd(node)) else { continue };
            match all.get(&data.cluster).map(|etcd| etcd.member(data.member).is_some()) {
                Some(true) => {
                    running.entry(data.cluster).or_default().insert(data.member);
                }
                Some(false) => {
                    node.service("etcd", ServiceState::Failed, "the member has been permanently removed from the cluster");
                    resources::etcd_member(node, None);
                }
                None => node.service("etcd", ServiceState::Failed, "failed to read the data directory: no such cluster"),
            }
        }
        for etcd in all.values_mut() {
            etcd.set_running(running.remove(&etcd.id).unwrap_or_default());
        }
        for (node, settings) in nodes {
            let waits = node.state().etcd.is_none() && wants_etcd(node);
            if waits && let Some(etcd) = all.values_mut().find(|etcd| etcd.cluster == settings.cluster_id && etcd.quorum()) {
                self.join(node, etcd);
            }
        }
        for etcd in all.values() {
            if let Err(error) = self.parts.store.put(&format!("etcd/{}", etcd.id), etcd) {
                for (node, _) in nodes {
                    node.journal.talos(&format!("etcd: {error}"));
                }
            }
        }
        let states: Vec<(Arc<Node>, u64, bool)> = nodes
            .iter()
            .filter_map(|(node, _)| {
                let data = node.state().etcd.clone()?;
                let etcd = all.get(&data.cluster)?;
                etcd.runs(data.member).then(|| (node.clone(), data.member, etcd.quorum()))
            })
            .collect();
        drop(all);
        for (node, member, quorum) in states {
            if !node.state().services.running("etcd") {
                node.service(
                    "etcd",
                    ServiceState::Running,
                    &format!("Started task etcd (PID {}) for container etcd", resources::pid("etcd")),
                );
                node.journal.service(
                    "etcd",
                    &format!("{{\"level\":\"info\",\"msg\":\"ready to serve client requests\",\"member\":\"{member:016x}\"}}"),
                );
            }
            node.check("etcd", if quorum { None } else { Some("context deadline exceeded") });
            resources::etcd_member(&node, Some(member));
        }
    }

    fn join(&self, node: &Node, etcd: &mut Etcd) {
        let Some(address) = node.addresses().first().copied() else { return };
        let data = EtcdData { cluster: etcd.id.clone(), member: new_id() };
        let before = etcd.clone();
        let joined = etcd.join(data.member, &node.hostname(), &self.parts.network.dial(address).to_string());
        if let Err(refusal) = joined {
            *etcd = before;
            node.journal.talos(&format!("error adding member: {refusal}"));
            return;
        }
        if let Err(status) = node.change_ephemeral(|ephemeral| ephemeral.etcd = Some(data.clone())) {
            *etcd = before;
            node.journal.talos(&status.message);
            return;
        }
        let running: BTreeSet<u64> =
            etcd.members.iter().map(|member| member.id).filter(|id| etcd.runs(*id) || *id == data.member).collect();
        etcd.set_running(running);
        if let Err(refusal) = etcd.promote(data.member) {
            node.journal.talos(&format!("error promoting member: {refusal}"));
        }
        node.state().etcd = Some(data);
    }

    /// Shows every node the members of its cluster.
    fn settle_members(&self, nodes: &[Set]) {
        let mut clusters: BTreeMap<&str, Vec<MemberCard>> = BTreeMap::new();
        for (node, settings) in nodes.iter().filter(|(_, settings)| settings.discovery) {
            // The form that is dialled comes first: it is the one that clients outside of the site use.
            let addresses = node.addresses();
            let both: Vec<Ipv4Addr> =
                addresses.iter().map(|address| self.parts.network.dial(*address)).chain(addresses.iter().copied()).collect();
            if !addresses.is_empty()
                && node.state().server.is_some()
                && let Some(card) = MemberCard::new(node, &both)
            {
                clusters.entry(&settings.cluster_id).or_default().push(card);
            }
        }
        for (node, settings) in nodes {
            resources::members(node, clusters.get(settings.cluster_id.as_str()).map(Vec::as_slice).unwrap_or_default());
        }
    }

    /// Gives the virtual addresses of each cluster to the node that leads it.
    async fn settle_virtual_addresses(&self, nodes: &[Set]) -> Pending {
        let mut pending = Pending::Nothing;
        for (node, settings) in nodes.iter().filter(|(_, settings)| settings.control_plane) {
            let leads = {
                let all = lock(&self.etcd);
                let data = node.state().etcd.clone();
                data.is_some_and(|data| all.get(&data.cluster).is_some_and(|etcd| etcd.leader == Some(data.member)))
            };
            let wanted = if leads { settings.vips.clone() } else { Vec::new() };
            let changed = {
                let mut state = node.state();
                let changed = state.vips != wanted;
                state.vips = wanted;
                changed
            };
            let held = |node: &Node| settings.vips.iter().all(|vip| node.state().serving.contains_key(&self.parts.network.dial(*vip)));
            if changed || (leads && !held(node)) {
                node.answer_on_all().await;
                resources::network(node);
            }
            // Who gave it up may not have let go of the port yet.
            if leads && !held(node) {
                pending = Pending::Soon;
            }
        }
        pending
    }
}

/// Whether etcd should run on a node: its service was started and not stopped since.
fn wants_etcd(node: &Node) -> bool {
    let state = node.state();
    let wanted =
        state.services.get("etcd").is_some_and(|service| !matches!(service.state, ServiceState::Finished | ServiceState::Stopping));
    state.alive && wanted && !state.serving.is_empty()
}
