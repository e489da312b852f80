//! What the world outside tells a cluster: its nodes as their kubelets see
//! them, and what Talos puts into it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A node as its kubelet reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The name it registers under.
    pub name: String,
    /// Its address on the site.
    pub address: Ipv4Addr,
    /// The loopback address that stands for it.
    pub dialled: Ipv4Addr,
    /// Whether it carries the role label of control planes.
    pub control_plane: bool,
    /// Whether the kubelet runs; a node whose kubelet does not run becomes `NotReady`.
    pub kubelet_running: bool,
    /// Labels out of the machine configuration.
    pub labels: BTreeMap<String, String>,
    /// Annotations out of the machine configuration.
    pub annotations: BTreeMap<String, String>,
    /// Taints, that of control planes among them where they take no other pods.
    pub taints: Vec<Taint>,
    /// Such as `v1.34.1`.
    pub kubelet_version: String,
    /// Such as `Talos (v1.11.5)`.
    pub os_image: String,
    /// Such as `6.12.57-talos`.
    pub kernel: String,
    /// Such as `containerd://2.1.5`.
    pub runtime: String,
    /// `amd64` or `arm64`.
    pub arch: String,
    /// Processors.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// NVIDIA GPUs the driver sees; they count once a device plugin runs there.
    pub gpus: u32,
    /// Of the installation.
    pub machine_id: String,
    /// Of SMBIOS.
    pub system_uuid: String,
    /// Of this boot.
    pub boot_id: String,
    /// What the kubelet runs without the API.
    pub static_pods: Vec<StaticPod>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            name: String::new(),
            address: Ipv4Addr::UNSPECIFIED,
            dialled: Ipv4Addr::UNSPECIFIED,
            control_plane: false,
            kubelet_running: true,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            kubelet_version: "v1.34.1".to_owned(),
            os_image: "Talos (v1.11.5)".to_owned(),
            kernel: "6.12.57-talos".to_owned(),
            runtime: "containerd://2.1.5".to_owned(),
            arch: "amd64".to_owned(),
            cpus: 4,
            memory: 8 << 30,
            gpus: 0,
            machine_id: String::new(),
            system_uuid: String::new(),
            boot_id: String::new(),
            static_pods: Vec::new(),
        }
    }
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    /// Such as `node-role.kubernetes.io/control-plane`.
    pub key: String,
    /// May be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A pod that the kubelet runs without the API, and mirrors there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPod {
    /// Such as `kube-apiserver`; the node's name is added.
    pub name: String,
    /// Such as `registry.k8s.io/kube-apiserver:v1.34.1`.
    pub image: String,
    /// The version of its configuration, as `talos.dev/config-version` tells.
    pub config_version: String,
}

/// What Talos puts into a cluster at bootstrap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Builtin {
    /// Flannel as the network.
    pub flannel: bool,
    /// The image of kube-proxy, where it is enabled.
    pub kube_proxy: Option<String>,
    /// `CoreDNS`.
    pub coredns: bool,
    /// Manifests by name, one or several YAML documents each. They are created where missing and never updated.
    pub manifests: Vec<(String, String)>,
    /// The certificate of the Kubernetes authority as PEM, published in every namespace.
    pub authority: String,
    /// The secret that tokens of service accounts are signed with; any bytes.
    pub service_account_key: Vec<u8>,
}
