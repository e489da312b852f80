//! The Kubernetes cluster a machine belongs to.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::yaml::{Content, Node};
use super::super::{Config, values};
use super::{Pem, defaults};

/// Who connects pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cni {
    /// Flannel, which Talos installs.
    Flannel,
    /// Somebody else, later.
    None,
    /// Manifests at these URLs.
    Custom(Vec<String>),
}

/// A manifest inside of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineManifest {
    /// The name, once per configuration.
    pub name: String,
    /// YAML of one or several objects.
    pub contents: String,
}

/// Parts of Kubernetes that run as static pods or are deployed by Talos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kube-proxy.
    Proxy,
    /// The kubelet.
    Kubelet,
}

impl Component {
    fn section(self) -> [&'static str; 2] {
        match self {
            Self::ApiServer => ["cluster", "apiServer"],
            Self::ControllerManager => ["cluster", "controllerManager"],
            Self::Scheduler => ["cluster", "scheduler"],
            Self::Proxy => ["cluster", "proxy"],
            Self::Kubelet => ["machine", "kubelet"],
        }
    }

    fn image(self) -> &'static str {
        match self {
            Self::ApiServer => "registry.k8s.io/kube-apiserver",
            Self::ControllerManager => "registry.k8s.io/kube-controller-manager",
            Self::Scheduler => "registry.k8s.io/kube-scheduler",
            Self::Proxy => "registry.k8s.io/kube-proxy",
            Self::Kubelet => "ghcr.io/siderolabs/kubelet",
        }
    }
}

impl Config {
    pub(crate) fn cluster_text(&self, way: &[&str]) -> Option<&str> {
        self.at(&["cluster"])?.at(way)?.text().filter(|text| !text.is_empty())
    }

    /// The name of the cluster.
    pub fn cluster_name(&self) -> Option<&str> {
        self.cluster_text(&["clusterName"])
    }

    /// What the cluster is known by in discovery.
    pub fn cluster_id(&self) -> Option<&str> {
        self.cluster_text(&["id"])
    }

    /// The secret that members share.
    pub fn cluster_secret(&self) -> Option<&str> {
        self.cluster_text(&["secret"])
    }

    /// The URL of the Kubernetes API.
    pub fn cluster_endpoint(&self) -> Option<&str> {
        self.cluster_text(&["controlPlane", "endpoint"])
    }

    /// The host of the Kubernetes API's URL, and its port.
    pub fn cluster_endpoint_host(&self) -> Option<(String, u16)> {
        let url = values::Url::read(self.cluster_endpoint()?).ok()?;
        Some((url.hostname().to_owned(), url.port().parse().unwrap_or(443)))
    }

    /// The port at which a control plane itself serves the Kubernetes API.
    pub fn api_server_port(&self) -> u16 {
        let port = self.at(&["cluster", "controlPlane", "localAPIServerPort"]).and_then(Node::number);
        port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0).unwrap_or(6443)
    }

    /// The token with which kubelets join.
    pub fn cluster_token(&self) -> Option<&str> {
        self.cluster_text(&["token"])
    }

    /// The authority of the Kubernetes API; workers have no key.
    pub fn cluster_ca(&self) -> Option<Pem> {
        self.at(&["cluster", "ca"]).map(Pem::read)
    }

    /// Certificates of further authorities of the Kubernetes API.
    pub fn cluster_accepted_cas(&self) -> Vec<Vec<u8>> {
        self.accepted("cluster")
    }

    /// The authority of etcd.
    pub fn etcd_ca(&self) -> Option<Pem> {
        self.at(&["cluster", "etcd", "ca"]).map(Pem::read)
    }

    /// The authority of aggregated APIs.
    pub fn aggregator_ca(&self) -> Option<Pem> {
        self.at(&["cluster", "aggregatorCA"]).map(Pem::read)
    }

    /// The key that signs tokens of service accounts, as the text of a PEM file.
    pub fn service_account_key(&self) -> Option<Vec<u8>> {
        Pem::read(self.at(&["cluster", "serviceAccount"])?).key
    }

    /// Further names of the Kubernetes API's certificate.
    pub fn api_cert_sans(&self) -> Vec<String> {
        self.texts(&["cluster", "apiServer", "certSANs"])
    }

    /// The image of a component, with the default of the version.
    pub fn image(&self, component: Component) -> String {
        let set = self.at(&component.section()).and_then(|node| node.get("image")?.text()).filter(|image| !image.is_empty());
        set.map_or_else(|| format!("{}:{}", component.image(), defaults::kubernetes(self.version)), str::to_owned)
    }

    /// The version in the tag of a component's image, with the `v`.
    pub fn component_version(&self, component: Component) -> Option<String> {
        let image = self.image(component);
        let tag = &image[image.rfind(":v")? + 1..];
        Some(tag.split('@').next().unwrap_or(tag).to_owned())
    }

    /// Flags of a component; a flag that is given several times has several values.
    pub fn extra_args(&self, component: Component) -> BTreeMap<String, Vec<String>> {
        let entries = self.at(&component.section()).and_then(|node| node.get("extraArgs")).map(Node::entries).unwrap_or_default();
        let value = |node: &Node| match &node.content {
            Content::List(_) => node.texts(),
            _ => vec![node.text().unwrap_or_default().to_owned()],
        };
        entries.iter().filter_map(|(key, node)| Some((key.raw()?.to_owned(), value(node)))).collect()
    }

    /// The image of etcd.
    pub fn etcd_image(&self) -> String {
        self.cluster_text(&["etcd", "image"]).map_or_else(|| defaults::etcd(self.version), str::to_owned)
    }

    /// The image of `CoreDNS`.
    pub fn coredns_image(&self) -> String {
        self.cluster_text(&["coreDNS", "image"]).map_or_else(|| defaults::coredns(self.version), str::to_owned)
    }

    /// Whether the cluster is without the `CoreDNS` of Talos.
    pub fn coredns_disabled(&self) -> bool {
        self.truth(&["cluster", "coreDNS", "disabled"]).unwrap_or(false)
    }

    /// Whether the cluster is without kube-proxy.
    pub fn proxy_disabled(&self) -> bool {
        self.truth(&["cluster", "proxy", "disabled"]).unwrap_or(false)
    }

    /// Whether this control plane is without kube-controller-manager or kube-scheduler.
    pub fn component_disabled(&self, component: Component) -> bool {
        let name = match component {
            Component::ControllerManager => "controllerManager",
            Component::Scheduler => "scheduler",
            Component::Proxy => return self.proxy_disabled(),
            _ => return false,
        };
        self.truth(&["machine", "controlPlane", name, "disabled"]).unwrap_or(false)
    }

    /// Who connects pods.
    pub fn cni(&self) -> Cni {
        match self.cluster_text(&["network", "cni", "name"]) {
            Some("none") => Cni::None,
            Some("custom") => Cni::Custom(self.texts(&["cluster", "network", "cni", "urls"])),
            _ => Cni::Flannel,
        }
    }

    /// The domain of services.
    pub fn dns_domain(&self) -> String {
        self.cluster_text(&["network", "dnsDomain"]).unwrap_or("cluster.local").to_owned()
    }

    /// Networks of pods.
    pub fn pod_subnets(&self) -> Vec<String> {
        Some(self.texts(&["cluster", "network", "podSubnets"]))
            .filter(|subnets| !subnets.is_empty())
            .unwrap_or_else(|| vec!["10.244.0.0/16".to_owned()])
    }

    /// Networks of services.
    pub fn service_subnets(&self) -> Vec<String> {
        Some(self.texts(&["cluster", "network", "serviceSubnets"]))
            .filter(|subnets| !subnets.is_empty())
            .unwrap_or_else(|| vec!["10.96.0.0/12".to_owned()])
    }

    /// Manifests inside of the configuration.
    pub fn inline_manifests(&self) -> Vec<InlineManifest> {
        let all = self.at(&["cluster", "inlineManifests"]).map(Node::items).unwrap_or_default();
        let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        let read = |node: &Node| InlineManifest {
            name: text(node, "name"),
            contents: text(node, "contents").trim_start_matches(['\t', '\n', '\u{b}', '\u{c}', '\r']).to_owned(),
        };
        all.iter().map(read).collect()
    }

    /// URLs of further manifests.
    pub fn extra_manifests(&self) -> Vec<String> {
        let provider = self.truth(&["cluster", "externalCloudProvider", "enabled"]).unwrap_or(false);
        let mut all = if provider { self.texts(&["cluster", "externalCloudProvider", "manifests"]) } else { Vec::new() };
        all.extend(self.texts(&["cluster", "extraManifests"]));
        all
    }

    /// Whether workloads may run on control planes.
    pub fn allow_scheduling_on_control_planes(&self) -> bool {
        let new = self.truth(&["cluster", "allowSchedulingOnControlPlanes"]);
        new.or_else(|| self.truth(&["cluster", "allowSchedulingOnMasters"])).unwrap_or(false)
    }

    /// How long the certificate of the administrator's kubeconfig is good.
    pub fn admin_kubeconfig_lifetime(&self) -> Duration {
        let set = self.cluster_text(&["adminKubeconfig", "certLifetime"]).and_then(values::duration);
        let set = set.and_then(|nanoseconds| u64::try_from(nanoseconds).ok()).filter(|nanoseconds| *nanoseconds != 0);
        set.map_or(Duration::from_hours(8760), Duration::from_nanos)
    }

    /// Whether members find each other through discovery.
    pub fn discovery_enabled(&self) -> bool {
        self.truth(&["cluster", "discovery", "enabled"]).unwrap_or(false)
    }

    /// Networks of which etcd tells its addresses; all where empty.
    pub fn etcd_advertised_subnets(&self) -> Vec<String> {
        let all = self.texts(&["cluster", "etcd", "advertisedSubnets"]);
        if all.is_empty() { self.cluster_text(&["etcd", "subnet"]).map(str::to_owned).into_iter().collect() } else { all }
    }

    /// Networks of which the kubelet takes its address; all where empty.
    pub fn kubelet_subnets(&self) -> Vec<String> {
        self.texts(&["machine", "kubelet", "nodeIP", "validSubnets"])
    }

    /// Whether the kubelet registers with the full name.
    pub fn register_with_fqdn(&self) -> bool {
        self.truth(&["machine", "kubelet", "registerWithFQDN"]).unwrap_or(false)
    }

    /// Whether the kubelet does not register at all.
    pub fn skip_node_registration(&self) -> bool {
        self.truth(&["machine", "kubelet", "skipNodeRegistration"]).unwrap_or(false)
    }
}
