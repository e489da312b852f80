//! The etcd clusters of the fleet, and Kubernetes in them.

use std::io;

use serde_json::Value;

use super::{Fleet, lock};
use crate::etcd::{Etcd, Member, Refusal};
use crate::node::Node;
use crate::node::disks::EtcdData;
use crate::node::settings::Settings;
use crate::wire::Status;

/// The size of a database that holds nothing.
const EMPTY_DATABASE: i64 = 20 * 1024 * 1024;

impl Fleet {
    /// Makes a node the first member of a new etcd, with these documents where it is recovered from a snapshot.
    pub(crate) fn bootstrap(&self, node: &Node, settings: &Settings, documents: Option<Vec<(String, String)>>) -> Result<(), Status> {
        let address = node.addresses().first().copied().ok_or_else(|| Status::precondition("no address for etcd yet"))?;
        let member = Member { id: new_id(), name: node.hostname(), address: self.parts.network.dial(address).to_string(), learner: false };
        let data = EtcdData { cluster: format!("{:016x}", new_id()), member: member.id };
        let failed = |error: io::Error| Status::unknown(error.to_string());
        for (key, text) in documents.unwrap_or_default() {
            let value: Value = serde_json::from_str(&text).map_err(|error| failed(error.into()))?;
            self.parts.store.put(&format!("kube/{}/{key}", data.cluster), &value).map_err(failed)?;
        }
        let etcd = Etcd::bootstrap(data.cluster.clone(), settings.cluster_id.clone(), member);
        self.parts.store.put(&format!("etcd/{}", etcd.id), &etcd).map_err(failed)?;
        lock(&self.etcd).insert(etcd.id.clone(), etcd);
        node.change_ephemeral(|ephemeral| ephemeral.etcd = Some(data.clone()))?;
        node.state().etcd = Some(data);
        Ok(())
    }

    /// Asks the etcd of a node: the one that runs on it, or else any running member of its cluster.
    pub(crate) fn with_etcd<T>(
        &self,
        node: &Node,
        local: bool,
        ask: impl FnOnce(&mut Etcd) -> Result<T, Refusal>,
    ) -> Option<Result<T, Refusal>> {
        let (own, cluster, up) = {
            let state = node.state();
            let cluster = state.settings.as_ref().map(|settings| settings.cluster_id.clone())?;
            (state.etcd.clone(), cluster, state.services.running("etcd"))
        };
        let mut all = lock(&self.etcd);
        let here = own.filter(|_| up).map(|data| data.cluster);
        let id = match here {
            Some(id) => id,
            None if local => return None,
            None => all.values().find(|etcd| etcd.cluster == cluster && etcd.members.iter().any(|member| etcd.runs(member.id)))?.id.clone(),
        };
        let etcd = all.get_mut(&id)?;
        let before = etcd.clone();
        let answer = ask(etcd);
        if *etcd != before
            && let Err(error) = self.parts.store.put(&format!("etcd/{id}"), etcd)
        {
            node.journal.talos(&format!("etcd: {error}"));
            *etcd = before;
            return Some(Err(Refusal::NoLeader));
        }
        Some(answer)
    }

    /// What stands against upgrading a control plane.
    pub(crate) fn upgrade_hindrance(&self, node: &Node) -> Result<Option<String>, Status> {
        let asked = self.with_etcd(node, false, |etcd| Ok(etcd.hindrance()));
        match asked {
            Some(Ok(hindrance)) => Ok(hindrance),
            Some(Err(refusal)) => Ok(Some(refusal.to_string())),
            None => Err(Status::unknown(
                "failed to acquire upgrade mutex: error establishing etcd concurrency session: context deadline exceeded",
            )),
        }
    }

    /// The Kubernetes a node belongs to.
    pub(crate) fn kubernetes_of(&self, node: &Node) -> Option<emhost_sim_kubernetes::Cluster> {
        let (own, cluster) = {
            let state = node.state();
            (state.etcd.clone().map(|data| data.cluster), state.settings.as_ref()?.cluster_id.clone())
        };
        let id =
            own.or_else(|| lock(&self.etcd).values().find(|etcd| etcd.cluster == cluster && etcd.quorum()).map(|etcd| etcd.id.clone()))?;
        lock(&self.kubernetes).get(&id).map(|kubernetes| kubernetes.cluster.clone())
    }

    /// Everything Kubernetes keeps in an etcd, by key and as JSON.
    pub(crate) fn kubernetes_documents(&self, etcd: &str) -> io::Result<Vec<(String, String)>> {
        let documents = self.parts.store.all::<Value>(&format!("kube/{etcd}/"))?;
        Ok(documents.into_iter().map(|(key, value)| (key, value.to_string())).collect())
    }

    /// About how large the database is.
    pub(crate) fn database_size(&self, node: &Node) -> i64 {
        let Some(data) = node.state().etcd.clone() else { return 0 };
        let documents = self.parts.store.all::<Value>(&format!("kube/{}/", data.cluster)).map(|all| all.len()).unwrap_or_default();
        EMPTY_DATABASE + i64::try_from(documents).unwrap_or_default() * 4096
    }
}

/// An id that is not zero.
pub(super) fn new_id() -> u64 {
    rand::random::<u64>().max(1)
}
