//! A little of Kubernetes: nodes register by themselves, pods are evicted, budgets keep them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::state::{Answer, Power, Refusal, Stage, State};

/// A pod of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The node it is on.
    pub node: String,
    /// The kind of its controller: `ReplicaSet`, `DaemonSet`, or `Node` for a static one. Empty: it has none.
    pub owner: String,
    /// The budget that keeps it.
    pub budget: Option<String>,
    /// Once it was told to go: how many looks it stays.
    pub left: Option<u32>,
}

impl Pod {
    /// A pod of a replica set.
    pub fn new(node: &str, name: &str) -> Self {
        let owner = "ReplicaSet".to_owned();
        Self { namespace: "default".to_owned(), name: name.to_owned(), node: node.to_owned(), owner, budget: None, left: None }
    }

    /// The same with another controller.
    #[must_use]
    pub fn of(mut self, owner: &str) -> Self {
        owner.clone_into(&mut self.owner);
        self
    }

    fn must_go(&self) -> bool {
        !matches!(self.owner.as_str(), "DaemonSet" | "Node")
    }

    fn object(&self) -> Value {
        let owner = json!([{"kind": self.owner, "name": "owner", "controller": true}]);
        let mut metadata = json!({"namespace": self.namespace, "name": self.name, "uid": format!("pod-{}", self.name)});
        if !self.owner.is_empty() {
            metadata["ownerReferences"] = owner;
        }
        if self.owner == "Node" {
            metadata["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        }
        if self.left.is_some() {
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        json!({"metadata": metadata, "spec": {"nodeName": self.node}, "status": {"phase": "Running"}})
    }
}

/// What Kubernetes knows: nodes, and whether each is closed to new pods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kubernetes {
    pub nodes: BTreeMap<String, bool>,
    pub pods: Vec<Pod>,
}

fn status(code: u16, message: &str, causes: &Value) -> Refusal {
    let text = json!({"kind": "Status", "status": "Failure", "code": code, "message": message, "details": {"causes": causes}});
    Refusal { code, text: text.to_string() }
}

fn missing<T>(what: &str) -> Result<T, Refusal> {
    Err(status(404, &format!("{what} not found"), &json!([])))
}

impl State {
    /// Nodes that run register, and those that went stay until somebody takes them out.
    fn register(&mut self) {
        let clusters = &self.clusters;
        let member = |cluster: &String| clusters.get(cluster).is_some_and(|consensus| consensus.bootstrapped.is_some());
        if !clusters.values().any(|consensus| consensus.bootstrapped.is_some()) {
            self.kubernetes = Kubernetes::default();
        }
        let running = self.machines.values().filter(|machine| machine.stage == Stage::Running && member(&machine.cluster));
        for machine in running {
            self.kubernetes.nodes.entry(machine.name.clone()).or_insert(false);
        }
    }

    fn runs(&self, node: &str) -> bool {
        self.machines.values().any(|machine| machine.name == node && machine.status == Power::Running)
    }

    pub(crate) fn kube_node(&mut self, name: &str) -> Answer {
        self.register();
        let Some(closed) = self.kubernetes.nodes.get(name) else { return missing(&format!("nodes \"{name}\"")) };
        let ready = if self.runs(name) { "True" } else { "Unknown" };
        let node = json!({"metadata": {"name": name, "uid": format!("node-{name}")}, "spec": {"unschedulable": closed},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}});
        Ok(node.to_string().into_bytes())
    }

    pub(crate) fn kube_pods(&mut self, node: &str) -> Vec<u8> {
        let runs = self.runs(node);
        for pod in self.kubernetes.pods.iter_mut().filter(|pod| pod.node == node && runs) {
            pod.left = pod.left.map(|left| left.saturating_sub(1));
        }
        self.kubernetes.pods.retain(|pod| pod.left != Some(0));
        let pods: Vec<Value> = self.kubernetes.pods.iter().filter(|pod| pod.node == node).map(Pod::object).collect();
        json!({"kind": "PodList", "metadata": {}, "items": pods}).to_string().into_bytes()
    }

    pub(crate) fn cordon(&mut self, number: u64, name: &str) -> Vec<u8> {
        self.register();
        match self.kubernetes.nodes.insert(name.to_owned(), true) {
            Some(false) => {}
            Some(true) => self.twice.push(format!("cordon {name} (change {number})")),
            None => self.violations.push(format!("{name} was cordoned, and is no node")),
        }
        b"{}".to_vec()
    }

    pub(crate) fn evict_pod(&mut self, number: u64, namespace: &str, name: &str) -> Answer {
        let found = self.kubernetes.pods.iter_mut().find(|pod| pod.namespace == namespace && pod.name == name);
        let Some(pod) = found.filter(|pod| pod.left.is_none()) else {
            self.twice.push(format!("evict pod {namespace}/{name} (change {number})"));
            return missing(&format!("pods \"{name}\""));
        };
        if !pod.must_go() {
            self.violations.push(format!("pod {name} was evicted, and belongs to its node"));
        }
        if let Some(budget) = &pod.budget {
            let message = format!("The disruption budget {budget} needs 1 healthy pods and has 1 currently");
            let causes = json!([{"reason": "DisruptionBudget", "message": message}]);
            return Err(status(429, "Cannot evict pod as it would violate the pod's disruption budget.", &causes));
        }
        pod.left = Some(2);
        Ok(b"{}".to_vec())
    }

    pub(crate) fn forget_node(&mut self, number: u64, name: &str) -> Answer {
        if self.kubernetes.nodes.remove(name).is_none() {
            self.twice.push(format!("delete node {name} (change {number})"));
            return missing(&format!("nodes \"{name}\""));
        }
        if self.machines.values().any(|machine| machine.name == name) {
            self.violations.push(format!("node {name} was taken out while its machine was there"));
        }
        self.kubernetes.pods.retain(|pod| pod.node != name);
        Ok(b"{}".to_vec())
    }

    /// A node must not leave with pods on it.
    pub(crate) fn judge_drain(&mut self, what: &str, name: &str) {
        let left = self.kubernetes.pods.iter().find(|pod| pod.node == name && pod.must_go() && pod.left.is_none());
        if let Some(pod) = left.filter(|_| !self.teardown) {
            self.violations.push(format!("{what} {name} with pod {} on it", pod.name));
        }
    }
}
