//! Plain values behind the read-only `inventory` interface.
//!
//! They are serialisable because a cassette carries the inputs of the call it recorded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bindings::emhost::plugin::inventory::{Architecture, Disk, GpuRequest, InterfaceCard, NodeRole};
use crate::bindings::emhost::plugin::types::{Attribute, Contribution};

/// A contribution that asks for nothing.
pub fn nothing() -> Contribution {
    Contribution {
        devices: Vec::new(),
        machine: Vec::new(),
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        patches: Vec::new(),
        labels: Vec::new(),
        attributes: Vec::new(),
    }
}

/// One node of the inventory; for removals, as it was last applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, unique in the cluster.
    pub name: String,
    /// Control plane or worker.
    pub role: NodeRole,
    /// The processor's architecture.
    pub architecture: Architecture,
    /// Number of cores.
    pub cores: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Disks, the system disk among them.
    pub disks: Vec<Disk>,
    /// Network cards; the first one carries the node's address.
    pub cards: Vec<InterfaceCard>,
    /// Accelerators asked for.
    pub gpus: Vec<GpuRequest>,
    /// Whether the firmware checks signatures.
    pub secure_boot: bool,
    /// The number fixed for it at the hypervisor.
    pub machine_number: Option<u32>,
    /// The template to clone.
    pub template: Option<String>,
    /// The hypervisor host the site names.
    pub placement: Option<String>,
    /// Whether `placement` is a pin rather than a wish.
    pub placement_pinned: bool,
    /// Addresses observed so far.
    pub addresses: Vec<String>,
    /// The provisioner's `machine.id`, once known.
    pub machine_id: Option<String>,
    /// The provisioner's `machine.identity`, once known.
    pub machine_identity: Option<String>,
    /// What earlier phases asked for, merged.
    pub contribution: Contribution,
    /// Labels for the Kubernetes node.
    pub labels: Vec<Attribute>,
    /// Configuration patches, strongest first.
    pub patches: Vec<String>,
    /// Everything else the inventory says.
    pub attributes: Vec<Attribute>,
}

impl Node {
    /// A node with the documented defaults.
    pub fn new(name: impl Into<String>, role: NodeRole) -> Self {
        Self {
            name: name.into(),
            role,
            architecture: Architecture::Amd64,
            cores: 2,
            memory_mib: 4096,
            disks: Vec::new(),
            cards: Vec::new(),
            gpus: Vec::new(),
            secure_boot: false,
            machine_number: None,
            template: None,
            placement: None,
            placement_pinned: false,
            addresses: Vec::new(),
            machine_id: None,
            machine_identity: None,
            contribution: nothing(),
            labels: Vec::new(),
            patches: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// Where the node is reached: an observed address before the expected one.
    pub fn address(&self) -> Option<&str> {
        let observed = self.addresses.first().map(String::as_str);
        let expected = || {
            let card = self.cards.first()?;
            let address = card.address.as_deref()?;
            Some(address.split_once('/').map_or(address, |(host, _)| host))
        };
        observed.or_else(expected)
    }
}

/// A cluster and its nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Random, made once, never reused.
    pub id: String,
    /// The Kubernetes API URL in the configuration.
    pub endpoint: String,
    /// The shared API address.
    pub vip: Option<String>,
    /// The version of the operating system.
    pub os_version: String,
    /// The version of Kubernetes.
    pub kubernetes_version: String,
    /// Pod address ranges.
    pub pod_subnets: Vec<String>,
    /// Service address ranges.
    pub service_subnets: Vec<String>,
    /// DNS servers.
    pub resolvers: Vec<String>,
    /// NTP servers.
    pub time_servers: Vec<String>,
    /// Every node. Shared, so that a cluster in which one node changed is cheap to make.
    #[serde(with = "shared")]
    pub nodes: Vec<Arc<Node>>,
    /// Everything else `cluster.yaml` says.
    pub attributes: Vec<Attribute>,
}

impl Cluster {
    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.iter().find(|node| node.name == name)
    }
}

/// Shared nodes are written like plain ones.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Node;

    pub fn serialize<S: Serializer>(nodes: &[Arc<Node>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(nodes.iter().map(|node| &**node))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Arc<Node>>, D::Error> {
        Ok(Vec::<Node>::deserialize(from)?.into_iter().map(Arc::new).collect())
    }
}
