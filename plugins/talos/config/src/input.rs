//! What is said about one machine.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::Contract;

/// What a machine is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs the Kubernetes API and etcd.
    ControlPlane,
    /// It runs everything else.
    Worker,
}

/// How Talos came onto the machine, which decides what it checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// It installs itself to a disk.
    Metal,
    /// It was on the disk from the start.
    Nocloud,
}

/// Who connects the pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cni {
    /// Talos brings Flannel.
    #[default]
    Flannel,
    /// Somebody else.
    Other,
}

/// One network card. Cards are told apart by their address, because their names depend on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The card's own address, such as `02:00:00:00:00:01`.
    pub mac: String,
    /// Addresses with their prefix; none: by DHCP.
    pub addresses: Vec<String>,
    /// The router.
    pub gateway: Option<String>,
    /// The VLAN that the machine itself tags; none where the hypervisor does.
    pub vlan: Option<u16>,
    /// The largest packet.
    pub mtu: Option<u32>,
}

/// The machine joins a tailnet, for which its image has the extension.
#[derive(Clone, PartialEq, Eq)]
pub struct Tailscale {
    /// What it joins with.
    pub auth_key: Zeroizing<String>,
    /// The server, where it is not Tailscale's own.
    pub login_server: Option<String>,
}

impl std::fmt::Debug for Tailscale {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tailscale").field("login_server", &self.login_server).finish_non_exhaustive()
    }
}

/// Everything a configuration is made of, beside the secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The Talos that will read it.
    pub contract: Contract,
    /// The version of Kubernetes, such as `1.34.1`.
    pub kubernetes: String,
    /// The name of the cluster.
    pub cluster: String,
    /// The URL of the Kubernetes API.
    pub endpoint: String,
    /// What the machine is.
    pub role: Role,
    /// Its name; none: Talos makes one up.
    pub hostname: Option<String>,
    /// The disk that is installed to.
    pub disk: String,
    /// The installer's image.
    pub installer: Option<String>,
    /// Kernel arguments, for versions whose installer does not carry them.
    pub kernel_args: Vec<String>,
    /// Names and addresses that the machine's certificates are also for.
    pub names: Vec<String>,
    /// Pod address ranges; none: Talos's own.
    pub pod_subnets: Vec<String>,
    /// Service address ranges; none: Talos's own.
    pub service_subnets: Vec<String>,
    /// Who connects the pods.
    pub cni: Cni,
    /// Network cards; none: all of them by DHCP.
    pub links: Vec<Link>,
    /// The address that the control planes share, on the first link; nothing on workers.
    pub vip: Option<String>,
    /// Ranges that the node's own address is in, where it has others.
    pub node_subnets: Vec<String>,
    /// DNS servers.
    pub resolvers: Vec<String>,
    /// NTP servers.
    pub time_servers: Vec<String>,
    /// Labels of the Kubernetes node.
    pub labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes node, such as `dedicated=gpu:NoSchedule`.
    pub taints: Vec<String>,
    /// The tailnet.
    pub tailscale: Option<Tailscale>,
}

impl Input {
    /// What Talos's generator makes of the same arguments, and nothing more.
    pub fn new(contract: Contract, kubernetes: &str, cluster: &str, endpoint: &str, role: Role) -> Self {
        Self {
            contract,
            kubernetes: kubernetes.strip_prefix('v').unwrap_or(kubernetes).to_owned(),
            cluster: cluster.to_owned(),
            endpoint: endpoint.to_owned(),
            role,
            hostname: None,
            disk: "/dev/sda".to_owned(),
            installer: None,
            kernel_args: Vec::new(),
            names: Vec::new(),
            pod_subnets: Vec::new(),
            service_subnets: Vec::new(),
            cni: Cni::Flannel,
            links: Vec::new(),
            vip: None,
            node_subnets: Vec::new(),
            resolvers: Vec::new(),
            time_servers: Vec::new(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            tailscale: None,
        }
    }

    /// Whether it is a control plane.
    pub(crate) fn controls(&self) -> bool {
        self.role == Role::ControlPlane
    }
}
