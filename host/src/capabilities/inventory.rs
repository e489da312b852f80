//! The inventory as guests read it: getters on what the host was given, and no way to change it.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::call::Guest;
use crate::bindings::emhost::plugin::inventory::{self, Architecture, Disk, GpuRequest, HostCluster, HostNode, InterfaceCard, NodeRole};
use crate::bindings::emhost::plugin::types::{Attribute, Contribution};
use crate::inventory::{Cluster, Node};

/// A guest's handle on the cluster.
pub struct ClusterHandle(pub(crate) Arc<Cluster>);

/// A guest's handle on one node.
pub struct NodeHandle(pub(crate) Arc<Node>);

/// Getters that copy the field of the same name.
macro_rules! getters {
    ($handle:ty: $($name:ident -> $type:ty),* $(,)?) => {
        $(
            async fn $name(&mut self, handle: Resource<$handle>) -> wasmtime::Result<$type> {
                Ok(self.table.get(&handle)?.0.$name.clone())
            }
        )*
    };
}

impl inventory::Host for Guest {}

impl HostNode for Guest {
    getters! { NodeHandle:
        name -> String,
        role -> NodeRole,
        architecture -> Architecture,
        cores -> u32,
        memory_mib -> u64,
        disks -> Vec<Disk>,
        cards -> Vec<InterfaceCard>,
        gpus -> Vec<GpuRequest>,
        secure_boot -> bool,
        machine_number -> Option<u32>,
        template -> Option<String>,
        placement -> Option<String>,
        placement_pinned -> bool,
        addresses -> Vec<String>,
        machine_id -> Option<String>,
        machine_identity -> Option<String>,
        contribution -> Contribution,
        labels -> Vec<Attribute>,
        patches -> Vec<String>,
        attributes -> Vec<Attribute>,
    }

    async fn drop(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<()> {
        self.table.delete(node)?;
        Ok(())
    }
}

impl HostCluster for Guest {
    getters! { ClusterHandle:
        name -> String,
        id -> String,
        endpoint -> String,
        vip -> Option<String>,
        os_version -> String,
        kubernetes_version -> String,
        pod_subnets -> Vec<String>,
        service_subnets -> Vec<String>,
        resolvers -> Vec<String>,
        time_servers -> Vec<String>,
        attributes -> Vec<Attribute>,
    }

    async fn nodes(&mut self, cluster: Resource<ClusterHandle>) -> wasmtime::Result<Vec<Resource<NodeHandle>>> {
        let nodes = self.table.get(&cluster)?.0.nodes.clone();
        nodes.into_iter().map(|node| Ok(self.table.push(NodeHandle(node))?)).collect()
    }

    async fn drop(&mut self, cluster: Resource<ClusterHandle>) -> wasmtime::Result<()> {
        self.table.delete(cluster)?;
        Ok(())
    }
}
