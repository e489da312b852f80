//! `cluster.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Size, Template, address_list, device_list, endpoint, ipv4, ipv4_list, is_default, label, memory, network, plugin, range, release,
    secret, size, template, web, word, word_list,
};

/// What the cluster is: its versions, its network and where its machines run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "cluster.yaml", extend("required" = ["cluster_name", "talos_version", "kubernetes_version", "proxmox"]))]
pub struct ClusterFile {
    /// The cluster's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label")]
    pub cluster_name: Option<String>,
    /// The version of Talos Linux that the nodes run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "release")]
    pub talos_version: Option<String>,
    /// The version of Kubernetes that the nodes run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "release")]
    pub kubernetes_version: Option<String>,
    /// Addresses, and who answers at them.
    pub network: NetworkKeys,
    /// Where at Proxmox VE the machines are made, and how they look.
    pub proxmox: ProxmoxKeys,
    /// The plugin that decides what machines boot from; a node's own wins, and this one wins over the site's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "plugin")]
    pub boot: Option<String>,
    /// The templates to clone, by role; `talos-VERSION-base` where none is named.
    #[serde(skip_serializing_if = "is_default")]
    pub templates: TemplateKeys,
    /// System extensions on every node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub extensions: Vec<String>,
    /// Additional arguments of the kernel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_args: Vec<String>,
    /// One GPU worker for each of these devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "device_list")]
    pub gpu_worker_pci_bdfs: Vec<String>,
    /// How the workers of `gpu_worker_pci_bdfs` look.
    #[serde(skip_serializing_if = "is_default")]
    pub gpu_worker: GpuWorkerKeys,
    /// How nodes join a tailnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tailscale: Option<TailscaleKeys>,
    /// What is installed into the cluster, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addons: Vec<Addon>,
}

/// Addresses, and who answers at them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkKeys {
    /// The addresses of pods.
    #[schemars(schema_with = "network")]
    pub pod_cidr: String,
    /// The addresses of services.
    #[schemars(schema_with = "network")]
    pub svc_cidr: String,
    /// The nodes' router. Without one, nodes get their addresses by DHCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ipv4")]
    pub gateway: Option<String>,
    /// How many bits of a node's address name its network.
    #[schemars(range(min = 8, max = 30))]
    pub prefix: u8,
    /// DNS servers of the nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "address_list")]
    pub nameservers: Vec<String>,
    /// Time servers of the nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub ntp: Vec<String>,
    /// The VLAN of the nodes' cards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// The address that all control planes share for the Kubernetes API.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ipv4")]
    pub vip: Option<String>,
    /// Who holds the shared address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_by: Option<VipBy>,
    /// The URL of the Kubernetes API. Without one, the shared address or the first control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "endpoint")]
    pub endpoint: Option<String>,
    /// The cluster's network plugin.
    pub cni: Cni,
}

impl Default for NetworkKeys {
    fn default() -> Self {
        Self {
            pod_cidr: "10.244.0.0/16".to_owned(),
            svc_cidr: "10.96.0.0/12".to_owned(),
            gateway: None,
            prefix: 24,
            nameservers: Vec::new(),
            ntp: Vec::new(),
            vlan: None,
            vip: None,
            vip_by: None,
            endpoint: None,
            cni: Cni::Flannel,
        }
    }
}

/// Who holds the shared address of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VipBy {
    /// Talos itself.
    Talos,
    /// The addon kube-vip.
    KubeVip,
}

/// The cluster's network plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cni {
    /// The one that Talos brings.
    #[default]
    Flannel,
    /// None: something else installs one.
    None,
    /// Cilium, through the addons.
    Cilium,
}

/// Where at Proxmox VE the machines are made, and how they look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("anyOf" = [{ "required": ["node"] }, { "required": ["nodes"] }]))]
pub struct ProxmoxKeys {
    /// The host that machines run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word", extend("examples" = ["pve1"]))]
    pub node: Option<String>,
    /// The hosts that machines are spread over, control planes apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "word_list")]
    pub nodes: Vec<String>,
    /// The storage of the machines' disks.
    #[schemars(schema_with = "word")]
    pub datastore: String,
    /// The storage of images.
    #[schemars(schema_with = "word")]
    pub iso_datastore: String,
    /// The bridge of the machines' cards.
    #[schemars(schema_with = "word")]
    pub bridge: String,
    /// The numbers that machines may get.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "range")]
    pub vmid_range: Option<String>,
    /// The type of the machines.
    #[schemars(schema_with = "word")]
    pub machine: String,
    /// The firmware of the machines.
    pub bios: Bios,
    /// The type of the machines' processor.
    #[schemars(schema_with = "word")]
    pub cpu: String,
    /// Whether machines have a TPM.
    pub tpm: bool,
    /// Whether machines start with their host.
    pub onboot: bool,
    /// The pool that machines are put into.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub pool: Option<String>,
}

impl Default for ProxmoxKeys {
    fn default() -> Self {
        Self {
            node: None,
            nodes: Vec::new(),
            datastore: "local-lvm".to_owned(),
            iso_datastore: "local".to_owned(),
            bridge: "vmbr0".to_owned(),
            vmid_range: None,
            machine: "q35".to_owned(),
            bios: Bios::Ovmf,
            cpu: "host".to_owned(),
            tpm: false,
            onboot: true,
            pool: None,
        }
    }
}

/// The firmware of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bios {
    /// UEFI.
    Ovmf,
    /// The old kind.
    Seabios,
}

/// The templates to clone, by role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TemplateKeys {
    /// For control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "template")]
    pub controlplane: Option<Template>,
    /// For workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "template")]
    pub worker: Option<Template>,
    /// For workers with a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "template")]
    pub gpu: Option<Template>,
}

/// How the workers of `gpu_worker_pci_bdfs` look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GpuWorkerKeys {
    /// Number of cores; 2 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024), extend("x-spellings" = ["cores"]))]
    pub cpu: Option<u32>,
    /// Memory: MiB as a number, or a size such as `16GiB`; 4096 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "memory", extend("x-spellings" = ["memory_mb"]))]
    pub ram: Option<Size>,
    /// The system disk: a size such as `80G`; 40G where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "size", extend("x-spellings" = ["disk_gb"]))]
    pub disk: Option<Size>,
    /// Their addresses, in the order of the devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "ipv4_list")]
    pub ips: Vec<String>,
    /// Whether the device is shown as a PCI Express one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_pcie_mode: Option<bool>,
    /// Whether the guest sees the device's ROM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_rombar: Option<bool>,
}

/// How nodes join a tailnet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["auth_key"]))]
pub struct TailscaleKeys {
    /// The server to log in to, for Headscale.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "web")]
    pub login_server: Option<String>,
    /// The key to log in with: `secret:` and the name of a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "secret")]
    pub auth_key: Option<String>,
}

/// Something that is installed into the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Addon {
    /// One that emhost knows, by its name.
    Name(#[schemars(schema_with = "label")] String),
    /// One with more to say.
    Full(AddonKeys),
}

impl Addon {
    /// Its name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Full(keys) => keys.name.as_deref(),
        }
    }
}

/// Something that is installed into the cluster: a chart, or a folder of manifests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["name"]))]
pub struct AddonKeys {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label")]
    pub name: Option<String>,
    /// The version of the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub version: Option<String>,
    /// Where the chart is, for charts that emhost does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub chart: Option<String>,
    /// The chart's values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// A file or a folder with manifests, in the cluster's folder, or an address that begins with `https://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "word")]
    pub manifests: Option<String>,
    /// The namespace of a chart that emhost does not know; the addon's name where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label")]
    pub namespace: Option<String>,
    /// Whether pods in that namespace may use paths, ports and devices of their node.
    #[serde(skip_serializing_if = "is_default")]
    pub privileged: bool,
}
