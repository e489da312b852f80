//! What the pipeline needs of an inventory and plugins do not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::machines::Machine;
use super::site::Site;
use super::values;
use super::written::{Addon, ClusterFile, Cni, VipBy};

/// The typed parts of `cluster.yaml` beside the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The cluster's network plugin.
    pub cni: Cni,
    /// Who holds the shared address, if there is one.
    pub vip_by: Option<VipBy>,
    /// Whether nodes get their addresses by DHCP: no gateway is named.
    pub dhcp: bool,
    /// The hosts that machines may run on, as `proxmox.node` or `proxmox.nodes` name them.
    pub hosts: Vec<String>,
    /// The numbers that machines may get, both ends included.
    pub vmid_range: Option<(u32, u32)>,
    /// System extensions on every node.
    pub extensions: Vec<String>,
    /// Additional arguments of the kernel on every node.
    pub kernel_args: Vec<String>,
    /// How nodes join a tailnet, as written.
    pub tailscale: Option<Value>,
    /// What is installed, in order: one object with at least `name` each.
    pub addons: Vec<Value>,
    boot: String,
    boots: BTreeMap<String, String>,
}

impl Options {
    pub(super) fn of(cluster: &ClusterFile, machines: &[Machine], site: &Site) -> Self {
        let network = &cluster.network;
        let site_boot = || site.plugins.boot_source.clone();
        let boot = cluster.boot.clone().or_else(site_boot).unwrap_or_else(|| "image-factory".to_owned());
        let boots = machines.iter().filter_map(|machine| Some((machine.name.clone()?, machine.keys.boot.clone()?))).collect();
        let addon = |addon: &Addon| match addon {
            Addon::Name(name) => json!({ "name": name }),
            Addon::Full(keys) => serde_json::to_value(keys).unwrap_or_default(),
        };
        Self {
            cni: network.cni,
            vip_by: network.vip.as_ref().map(|_| network.vip_by.unwrap_or(VipBy::Talos)),
            dhcp: network.gateway.is_none(),
            hosts: hosts(cluster),
            vmid_range: cluster.proxmox.vmid_range.as_deref().and_then(values::number_range),
            extensions: cluster.extensions.clone(),
            kernel_args: cluster.kernel_args.clone(),
            tailscale: cluster.tailscale.as_ref().and_then(|keys| serde_json::to_value(keys).ok()),
            addons: cluster.addons.iter().map(addon).collect(),
            boot,
            boots,
        }
    }

    /// Whether anything is to be installed into the cluster: what is listed, and what the network needs.
    pub fn has_addons(&self) -> bool {
        !self.addons.is_empty() || self.cni == Cni::Cilium || self.vip_by == Some(VipBy::KubeVip)
    }

    /// Whether the cluster has a network without addons.
    pub fn has_own_network(&self) -> bool {
        self.cni == Cni::Flannel
    }

    /// The plugin that decides what a node boots from: the node's, else the cluster's, else the site's, else the built-in one.
    pub fn boot_of(&self, node: &str) -> &str {
        self.boots.get(node).unwrap_or(&self.boot)
    }
}

/// The hosts that machines are spread over.
pub(super) fn hosts(cluster: &ClusterFile) -> Vec<String> {
    let proxmox = &cluster.proxmox;
    if proxmox.nodes.is_empty() { proxmox.node.iter().cloned().collect() } else { proxmox.nodes.clone() }
}
