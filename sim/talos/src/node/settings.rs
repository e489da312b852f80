//! What a node takes out of its machine configuration.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::config::{AutoHostname, Cni, Component, Config, DiskFacts, Install, Link, Pem};
use crate::node::disks::Device;
use crate::node::hex;

/// Settings out of a complete configuration.
#[allow(clippy::struct_excessive_bools, reason = "they are switches")]
pub(crate) struct Settings {
    pub config: Config,
    /// As it was applied.
    pub text: String,
    pub control_plane: bool,
    pub cluster_name: String,
    /// What tells this cluster from others: its id, or the authority where it has none.
    pub cluster_id: String,
    /// Such as `https://10.0.10.10:6443`.
    pub endpoint: String,
    pub hostname: Option<String>,
    /// Whether a name is made up out of the node's identity.
    pub stable_hostname: bool,
    /// The authority of the machine API: certificate as PEM, and the key where the node has it.
    pub machine_ca: (Vec<u8>, Option<Vec<u8>>),
    pub accepted_cas: Vec<Vec<u8>>,
    /// The authority of Kubernetes.
    pub cluster_ca: (Vec<u8>, Option<Vec<u8>>),
    pub accepted_cluster_cas: Vec<Vec<u8>>,
    pub service_account_key: Vec<u8>,
    pub cert_sans: Vec<String>,
    pub api_cert_sans: Vec<String>,
    pub install: Install,
    pub links: Vec<Link>,
    pub vips: Vec<Ipv4Addr>,
    pub nameservers: Vec<String>,
    pub time_servers: Vec<String>,
    pub kubernetes: Kubernetes,
    /// Extension services that have a configuration.
    pub extension_services: Vec<String>,
    pub admin_lifetime: Duration,
    pub discovery: bool,
    pub rbac: bool,
}

/// What Kubernetes is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches")]
pub(crate) struct Kubernetes {
    pub kubelet_image: String,
    pub apiserver_image: String,
    pub controller_manager_image: String,
    pub scheduler_image: String,
    /// The image of kube-proxy where it is enabled.
    pub proxy_image: Option<String>,
    pub flannel: bool,
    /// No network of its own at all.
    pub no_cni: bool,
    pub coredns: bool,
    pub pod_subnets: Vec<String>,
    pub service_subnets: Vec<String>,
    pub dns_domain: String,
    pub manifests: Vec<(String, String)>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// Key, value, effect.
    pub taints: Vec<(String, String, String)>,
    pub schedulable_control_planes: bool,
    pub skip_registration: bool,
}

/// `v1.34.1` of an image reference.
pub(crate) fn tag(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or(image);
    name.rsplit_once(':').map_or("", |(_, tag)| tag)
}

impl Kubernetes {
    /// The version the API tells.
    pub fn version(&self) -> String {
        tag(if self.apiserver_image.is_empty() { &self.kubelet_image } else { &self.apiserver_image }).to_owned()
    }
}

impl Settings {
    /// What a complete configuration says.
    pub fn of(config: Config) -> Self {
        let pair = |pem: Option<Pem>| pem.map(|pem| (pem.crt, pem.key)).unwrap_or_default();
        let machine_ca = pair(config.machine_ca());
        let cluster_id = config.cluster_id().map_or_else(|| fingerprint(&machine_ca.0), str::to_owned);
        let control_plane = config.machine_type().is_control_plane();
        Self {
            text: String::from_utf8_lossy(config.text()).into_owned(),
            control_plane,
            cluster_name: config.cluster_name().unwrap_or("talos").to_owned(),
            cluster_id,
            endpoint: config.cluster_endpoint().unwrap_or_default().to_owned(),
            hostname: config.hostname().map(|name| name.split('.').next().unwrap_or(name).to_owned()),
            stable_hostname: config.auto_hostname() == AutoHostname::Stable,
            accepted_cas: config.machine_accepted_cas(),
            machine_ca,
            cluster_ca: pair(config.cluster_ca()),
            accepted_cluster_cas: config.cluster_accepted_cas(),
            service_account_key: config.service_account_key().unwrap_or_default(),
            cert_sans: config.cert_sans(),
            api_cert_sans: config.api_cert_sans(),
            install: config.install().unwrap_or_default(),
            links: config.links(),
            vips: config
                .vips()
                .into_iter()
                .filter_map(|address| if let std::net::IpAddr::V4(address) = address { Some(address) } else { None })
                .collect(),
            nameservers: config.nameservers().iter().map(ToString::to_string).collect(),
            time_servers: config.time_servers(),
            kubernetes: Kubernetes::of(&config, control_plane),
            extension_services: config.extension_services().into_iter().map(|service| service.name).collect(),
            admin_lifetime: config.admin_kubeconfig_lifetime(),
            discovery: config.discovery_enabled(),
            rbac: config.features().rbac,
            config,
        }
    }

    /// What expressions and selectors may know of a disk.
    pub fn facts(device: &Device) -> DiskFacts {
        DiskFacts {
            dev_path: device.path(),
            symlinks: device.symlinks(),
            size: device.drive.size,
            model: device.model().to_owned(),
            serial: device.drive.serial.clone().unwrap_or_default(),
            bus_path: device.bus_path(),
            transport: device.transport().to_owned(),
            rotational: device.transport() != "virtio",
            readonly: device.drive.kind == emhost_sim_kit::DriveKind::Cdrom,
            cdrom: device.drive.kind == emhost_sim_kit::DriveKind::Cdrom,
            ..DiskFacts::default()
        }
    }
}

impl Kubernetes {
    fn of(config: &Config, control_plane: bool) -> Self {
        let image = |component: Component| {
            let runs = control_plane && !config.component_disabled(component);
            if runs { config.image(component) } else { String::new() }
        };
        Self {
            kubelet_image: config.image(Component::Kubelet),
            apiserver_image: image(Component::ApiServer),
            controller_manager_image: image(Component::ControllerManager),
            scheduler_image: image(Component::Scheduler),
            proxy_image: (!config.proxy_disabled()).then(|| config.image(Component::Proxy)),
            flannel: config.cni() == Cni::Flannel,
            no_cni: config.cni() == Cni::None,
            coredns: !config.coredns_disabled(),
            pod_subnets: config.pod_subnets(),
            service_subnets: config.service_subnets(),
            dns_domain: config.dns_domain(),
            manifests: config.inline_manifests().into_iter().map(|manifest| (manifest.name, manifest.contents)).collect(),
            labels: config.node_labels(),
            annotations: config.node_annotations(),
            taints: config.node_taints().into_iter().chain(config.registered_taints()).collect(),
            schedulable_control_planes: config.allow_scheduling_on_control_planes(),
            skip_registration: config.skip_node_registration(),
        }
    }
}

/// A name for an authority.
fn fingerprint(certificate: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex(&Sha256::digest(certificate))
}
