//! All Talos nodes of one site, and the clusters they form.

mod api;
mod clusters;
mod directory;
mod kubernetes;
mod parts;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use emhost_sim_kit::certificates::Authority;
use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Drive, Interface};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::apid;
use crate::etcd::Etcd;
use crate::node::Node;
use crate::node::power_button;
use crate::wire::{Serving, Status};

pub(crate) use api::Client;
pub use parts::{Boot, Ground, Link, NodeView, Parts};

/// The port of the Talos API.
const APID: u16 = 50000;

/// All Talos nodes of one site.
pub struct Fleet {
    me: Weak<Fleet>,
    pub(crate) parts: Parts,
    runtime: tokio::runtime::Handle,
    nodes: Mutex<BTreeMap<MachineId, Arc<Node>>>,
    /// By their own id.
    etcd: Mutex<BTreeMap<String, Etcd>>,
    /// By the id of the etcd they are kept in.
    kubernetes: Mutex<HashMap<String, kubernetes::Kubernetes>>,
    changes: watch::Sender<u64>,
    writing: Mutex<()>,
    /// Clusters in which a node is being checked before its upgrade.
    upgrading: Mutex<Vec<String>>,
    settler: Mutex<Option<AbortHandle>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    /// Opens the fleet of a site, with the clusters it had. Must be called inside a runtime, on which nodes then run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open(parts: Parts) -> io::Result<Arc<Self>> {
        emhost_sim_kit::tls::provider();
        let etcd = parts.store.all::<Etcd>("etcd/")?.into_iter().collect();
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let fleet = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            parts,
            runtime,
            nodes: Mutex::default(),
            etcd: Mutex::new(etcd),
            kubernetes: Mutex::default(),
            changes: watch::Sender::new(0),
            writing: Mutex::default(),
            upgrading: Mutex::default(),
            settler: Mutex::default(),
        });
        let settler = fleet.spawn(settle::run(fleet.me.clone(), fleet.changes.subscribe()));
        *lock(&fleet.settler) = Some(settler);
        Ok(fleet)
    }

    /// A machine has booted Talos. A node of the same machine that still runs is gone with this.
    pub fn start(&self, boot: Boot) {
        let id = boot.machine.id;
        let node = Node::new(self.me.clone(), boot);
        let before = lock(&self.nodes).insert(id, node.clone());
        if let Some(before) = before {
            before.stop();
        }
        let living = node.clone();
        let handle = node.spawn(living.live());
        node.state().runner = handle;
        self.poke();
    }

    /// Power is off, or the reset button was pressed: connections die at once.
    pub fn stop(&self, id: MachineId) {
        if let Some(node) = lock(&self.nodes).remove(&id) {
            node.stop();
        }
        self.poke();
    }

    /// A node is about to reboot or to switch itself off: it is not there any more, whatever comes.
    pub(crate) fn part_with(&self, node: &Node) {
        let id = node.id();
        {
            let mut nodes = lock(&self.nodes);
            if nodes.get(&id).is_some_and(|known| std::ptr::eq(Arc::as_ptr(known), node)) {
                nodes.remove(&id);
            }
        }
        node.stop();
        self.poke();
    }

    /// The power button. Says whether a node is there that shuts itself down.
    pub fn shutdown(&self, id: MachineId) -> bool {
        let Some(node) = self.node(id) else { return false };
        power_button(&node);
        true
    }

    /// What the guest agent says, where its extension is installed and runs.
    pub fn agent(&self, id: MachineId) -> Option<Vec<Interface>> {
        self.node(id)?.agent()
    }

    /// The machine runs on another host now. Its addresses may be reachable there or not.
    pub fn moved(&self, id: MachineId, host: &str) {
        let _ = host;
        self.recheck(id);
    }

    /// A CD was changed. Talos looks at CDs only while it boots.
    pub fn media_changed(&self, id: MachineId, drive: &Drive) {
        let _ = (id, drive);
    }

    /// Something about the networks changed: looks again which addresses of this machine can be reached.
    pub fn recheck(&self, id: MachineId) {
        let Some(node) = self.node(id) else { return };
        let again = node.clone();
        node.spawn(async move {
            if !again.state().serving.is_empty() || !again.state().unreachable.is_empty() {
                again.answer_on_all().await;
            }
        });
    }

    /// Every node that runs.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.all().iter().map(|node| node.view()).collect()
    }

    /// Stops everything, as when the whole site loses power.
    pub fn close(&self) {
        if let Some(settler) = lock(&self.settler).take() {
            settler.abort();
        }
        let nodes = std::mem::take(&mut *lock(&self.nodes));
        for node in nodes.into_values() {
            node.stop();
        }
        lock(&self.kubernetes).clear();
    }

    pub(crate) fn node(&self, id: MachineId) -> Option<Arc<Node>> {
        lock(&self.nodes).get(&id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Node>> {
        lock(&self.nodes).values().cloned().collect()
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.runtime.spawn(work).abort_handle()
    }

    /// Something is different: whoever waits looks again.
    pub(crate) fn poke(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Held while a disk is read and written again.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        lock(&self.writing)
    }

    /// Serves a node's API on a dialled address.
    pub(crate) async fn serve(&self, address: Ipv4Addr, node: &Arc<Node>) -> io::Result<Serving> {
        let directory = Arc::new(directory::Directory(self.me.clone()));
        apid::serve(SocketAddr::from((address, APID)), node.clone(), directory).await
    }

    /// The authority with this certificate, as a running control plane of the same cluster has it.
    pub(crate) fn authority(&self, certificate: &[u8]) -> Option<Authority> {
        self.all().iter().find_map(|node| {
            let state = node.state();
            let settings = state.settings.as_ref().filter(|_| state.alive && state.services.running("trustd"))?;
            let (own, key) = &settings.machine_ca;
            let key = key.as_ref().filter(|_| own == certificate)?;
            Authority::from_pem(own, key).ok()
        })
    }

    /// Takes the right to check a node before its upgrade; only one in a cluster has it.
    pub(crate) fn upgrading(&self, node: &Node) -> Result<Upgrading<'_>, Status> {
        let cluster = node.settings().map(|settings| settings.cluster_id.clone()).unwrap_or_default();
        let mut taken = lock(&self.upgrading);
        if taken.contains(&cluster) {
            return Err(Status::unknown(
                "failed to acquire upgrade mutex: error trying to lock etcd upgrade mutex: mutex: Locked by another session",
            ));
        }
        taken.push(cluster.clone());
        Ok(Upgrading { fleet: self, cluster })
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.close();
    }
}

/// The right to check a node before its upgrade.
pub(crate) struct Upgrading<'a> {
    fleet: &'a Fleet,
    cluster: String,
}

impl Drop for Upgrading<'_> {
    fn drop(&mut self) {
        lock(&self.fleet.upgrading).retain(|cluster| *cluster != self.cluster);
    }
}
