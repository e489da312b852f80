//! What addons depend on in the inventory, as plain values.

use emhost_sdk::inventory::GpuRequest;
use emhost_sdk::{Attribute, Cluster, Failure, Node, NodeRole};
use serde_json::Value;

/// Who connects the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cni {
    /// Talos brings Flannel.
    Flannel,
    /// Somebody else.
    None,
    /// The addon cilium.
    Cilium,
}

/// The cluster, as far as addons depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The minor version of Talos 1.
    pub talos: u16,
    pub cni: Cni,
    /// The address that the control planes share.
    pub vip: Option<String>,
    /// Whether that address is kube-vip's to hold.
    pub by_kube_vip: bool,
    /// Whether the nodes join a tailnet.
    pub tailnet: bool,
    pub machines: Vec<Machine>,
}

/// A node, as far as addons depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    pub controls: bool,
    /// Whether it has a GPU that may be one of NVIDIA.
    pub nvidia: bool,
    /// Whether it has a disk beside the system's.
    pub data_disk: bool,
}

impl Site {
    /// Reads the inventory.
    pub fn of(cluster: &Cluster) -> Result<Self, Failure> {
        let attributes = cluster.attributes();
        let version = cluster.os_version();
        let talos = minor(&version).ok_or_else(|| {
            Failure::invalid("addons/version", format!("`{version}` is not a version of Talos 1"))
                .pointer("cluster.yaml talos_version")
                .help("set `talos_version` in cluster.yaml to a release such as v1.11.5")
        })?;
        Ok(Self {
            talos,
            cni: match text(&attributes, "network.cni").as_deref() {
                Some("cilium") => Cni::Cilium,
                Some("none") => Cni::None,
                _ => Cni::Flannel,
            },
            vip: cluster.vip(),
            by_kube_vip: text(&attributes, "network.vip_by").as_deref() == Some("kube-vip"),
            tailnet: attributes.iter().any(|attribute| attribute.key.starts_with("tailscale")),
            machines: cluster.nodes().iter().map(Machine::of).collect(),
        })
    }
}

impl Machine {
    /// Reads the inventory.
    pub fn of(node: &Node) -> Self {
        Self {
            name: node.name(),
            controls: node.role() == NodeRole::ControlPlane,
            nvidia: node.gpus().iter().any(may_be_nvidia),
            data_disk: node.disks().iter().any(|disk| !disk.system),
        }
    }
}

/// A device's address does not tell who made it; only what says otherwise is none of NVIDIA.
fn may_be_nvidia(gpu: &GpuRequest) -> bool {
    gpu.selector.strip_prefix("vendor=").is_none_or(|vendor| vendor == "nvidia")
}

fn minor(version: &str) -> Option<u16> {
    let mut numbers = version.strip_prefix('v').unwrap_or(version).split('.');
    (numbers.next()? == "1").then(|| numbers.next()?.parse().ok()).flatten()
}

fn text(attributes: &[Attribute], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    serde_json::from_str::<Value>(&found.value).ok()?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_by_its_minor_one() {
        assert_eq!((minor("v1.11.5"), minor("1.13.0-beta.1"), minor("v2.0.0"), minor("new")), (Some(11), Some(13), None, None));
    }

    #[test]
    fn a_gpu_is_one_of_nvidia_unless_it_says_otherwise() {
        let gpu = |selector: &str| may_be_nvidia(&GpuRequest { selector: selector.to_owned(), count: 1, attributes: Vec::new() });
        assert!(gpu("0000:01:00.0") && gpu("mapping:gpu0") && gpu("vendor=nvidia"));
        assert!(!gpu("vendor=amd"));
    }
}
