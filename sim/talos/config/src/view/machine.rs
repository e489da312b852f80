//! The machine itself: its role, its certificates, its labels.

use std::collections::BTreeMap;
use std::fmt;

use super::super::cel::{Environment, Expression, Type};
use super::super::yaml::Node;
use super::super::{Config, Document, values};
use super::DiskFacts;

/// The role of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineType {
    /// The first control plane, from the days when it was marked.
    Init,
    /// A control plane.
    ControlPlane,
    /// A worker.
    Worker,
    /// A word no machine is called by.
    Unknown,
}

impl MachineType {
    /// Whether etcd and the control plane of Kubernetes run here.
    pub fn is_control_plane(self) -> bool {
        matches!(self, Self::Init | Self::ControlPlane)
    }

    fn read(text: &str) -> Self {
        match text {
            "init" => Self::Init,
            "controlplane" => Self::ControlPlane,
            "" | "worker" | "join" => Self::Worker,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for MachineType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Init => "init",
            Self::ControlPlane => "controlplane",
            Self::Worker => "worker",
            Self::Unknown => "unknown",
        })
    }
}

/// A certificate and, where the configuration has it, its key; both are the text of a PEM file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pem {
    /// The certificate; empty where only a key is kept.
    pub crt: Vec<u8>,
    /// The key.
    pub key: Option<Vec<u8>>,
}

impl Pem {
    pub(super) fn read(node: &Node) -> Self {
        let part =
            |key: &str| node.get(key).and_then(Node::text).and_then(|text| values::base64(text).ok()).filter(|bytes| !bytes.is_empty());
        Self { crt: part("crt").unwrap_or_default(), key: part("key") }
    }
}

/// What an extension's service is configured with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionService {
    /// Such as `tailscale`.
    pub name: String,
    /// Where a file is mounted, and what is in it.
    pub files: Vec<(String, String)>,
    /// `NAME=value`.
    pub environment: Vec<String>,
}

/// Where images of a registry are fetched from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// The registry, such as `ghcr.io`, or `*`.
    pub registry: String,
    /// URLs in the order they are tried.
    pub endpoints: Vec<String>,
    /// Whether the registry itself is left alone.
    pub skip_fallback: bool,
}

/// A volume for data of workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserVolume {
    /// The name; it is mounted at `/var/mnt/<name>`.
    pub name: String,
    /// `partition`, `disk` or `directory`.
    pub volume_type: String,
    /// The expression that finds its disk.
    pub disk: Option<String>,
    /// Bytes it needs.
    pub min_size: Option<u64>,
    /// Bytes it may take.
    pub max_size: Option<u64>,
    /// `xfs` or `ext4`.
    pub filesystem: String,
}

impl UserVolume {
    /// Whether a disk is one it may be on.
    pub fn fits(&self, disk: &DiskFacts) -> bool {
        let expression = self.disk.as_deref().map(|source| Expression::read(source, Environment::Disk, &Type::Bool));
        matches!(expression, Some(Ok(expression)) if expression.holds(disk))
    }
}

impl Config {
    /// The role of the machine; a worker where nothing is said.
    pub fn machine_type(&self) -> MachineType {
        MachineType::read(self.machine_text(&["type"]).unwrap_or_default())
    }

    pub(crate) fn machine_text(&self, way: &[&str]) -> Option<&str> {
        self.at(&["machine"])?.at(way)?.text()
    }

    /// The authority of the Talos API; workers have no key.
    pub fn machine_ca(&self) -> Option<Pem> {
        self.at(&["machine", "ca"]).map(Pem::read)
    }

    /// Certificates of further authorities of the Talos API.
    pub fn machine_accepted_cas(&self) -> Vec<Vec<u8>> {
        self.accepted("machine")
    }

    pub(super) fn accepted(&self, section: &str) -> Vec<Vec<u8>> {
        let all = self.at(&[section, "acceptedCAs"]).map(Node::items).unwrap_or_default();
        all.iter().map(|node| Pem::read(node).crt).filter(|crt| !crt.is_empty()).collect()
    }

    /// The token with which workers ask control planes for certificates.
    pub fn machine_token(&self) -> Option<&str> {
        self.machine_text(&["token"])
    }

    /// Further names of the Talos API's certificate.
    pub fn cert_sans(&self) -> Vec<String> {
        self.texts(&["machine", "certSANs"])
    }

    pub(super) fn texts(&self, way: &[&str]) -> Vec<String> {
        self.at(way).map(Node::texts).unwrap_or_default()
    }

    pub(super) fn text_map(&self, way: &[&str]) -> BTreeMap<String, String> {
        self.at(way).map(Node::text_map).unwrap_or_default()
    }

    pub(crate) fn truth(&self, way: &[&str]) -> Option<bool> {
        self.at(way)?.truth()
    }

    /// Labels of the Kubernetes node.
    pub fn node_labels(&self) -> BTreeMap<String, String> {
        self.text_map(&["machine", "nodeLabels"])
    }

    /// Annotations of the Kubernetes node.
    pub fn node_annotations(&self) -> BTreeMap<String, String> {
        self.text_map(&["machine", "nodeAnnotations"])
    }

    /// Taints of the Kubernetes node: key, value, effect. The one that keeps workloads off control planes is not among them.
    pub fn node_taints(&self) -> Vec<(String, String, String)> {
        let split = |(key, text): (String, String)| match text.split_once(':') {
            Some((value, effect)) => (key, value.to_owned(), effect.to_owned()),
            None => (key, String::new(), text),
        };
        self.text_map(&["machine", "nodeTaints"]).into_iter().map(split).collect()
    }

    /// Taints that the kubelet registers the node with, which is how a worker gets its own: key, value, effect.
    pub fn registered_taints(&self) -> Vec<(String, String, String)> {
        let taints = self.at(&["machine", "kubelet", "extraConfig", "registerWithTaints"]).map(Node::items).unwrap_or_default();
        let text = |taint: &Node, key: &str| taint.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        taints.iter().map(|taint| (text(taint, "key"), text(taint, "value"), text(taint, "effect"))).collect()
    }

    /// Kernel parameters below `/proc/sys`.
    pub fn sysctls(&self) -> BTreeMap<String, String> {
        self.text_map(&["machine", "sysctls"])
    }

    /// The environment of the machine's services.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut all = self.text_map(&["machine", "env"]);
        for document in self.of_kind("EnvironmentConfig") {
            all.extend(document.root.get("variables").map(Node::text_map).unwrap_or_default());
        }
        all
    }

    /// Modules the kernel loads.
    pub fn kernel_modules(&self) -> Vec<String> {
        let modules = self.at(&["machine", "kernel", "modules"]).map(Node::items).unwrap_or_default();
        modules.iter().filter_map(|module| module.get("name")?.text().map(str::to_owned)).collect()
    }

    /// Files written at boot, by path.
    pub fn files(&self) -> BTreeMap<String, String> {
        let files = self.at(&["machine", "files"]).map(Node::items).unwrap_or_default();
        let file = |node: &Node| {
            Some((node.get("path")?.text()?.to_owned(), node.get("content").and_then(Node::text).unwrap_or_default().to_owned()))
        };
        files.iter().filter_map(file).collect()
    }

    /// What services of extensions are configured with.
    pub fn extension_services(&self) -> Vec<ExtensionService> {
        let read = |document: &Document| {
            let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
            let files = document.root.get("configFiles").map(Node::items).unwrap_or_default();
            ExtensionService {
                name: document.name.clone().unwrap_or_default(),
                files: files.iter().map(|file| (text(file, "mountPath"), text(file, "content"))).collect(),
                environment: document.root.get("environment").map(Node::texts).unwrap_or_default(),
            }
        };
        self.of_kind("ExtensionServiceConfig").map(read).collect()
    }

    /// Mirrors of registries, of the machine's section and of documents.
    pub fn registry_mirrors(&self) -> Vec<Mirror> {
        let skip = |node: &Node| node.get("skipFallback").and_then(Node::truth).unwrap_or(false);
        let old = self.at(&["machine", "registries", "mirrors"]).map(Node::entries).unwrap_or_default();
        let old = old.iter().map(|(name, node)| Mirror {
            registry: name.raw().unwrap_or_default().to_owned(),
            endpoints: node.get("endpoints").map(Node::texts).unwrap_or_default(),
            skip_fallback: skip(node),
        });
        let new = self.of_kind("RegistryMirrorConfig").map(|document| Mirror {
            registry: document.name.clone().unwrap_or_default(),
            endpoints: document
                .root
                .get("endpoints")
                .map(Node::items)
                .unwrap_or_default()
                .iter()
                .filter_map(|node| node.get("url")?.text().map(str::to_owned))
                .collect(),
            skip_fallback: skip(&document.root),
        });
        old.chain(new).collect()
    }

    /// Volumes for data of workloads.
    pub fn user_volumes(&self) -> Vec<UserVolume> {
        let read = |document: &Document| {
            let root = &document.root;
            let text = |way: &[&str]| root.at(way).and_then(Node::text);
            let size = |key: &str| text(&["provisioning", key]).and_then(|text| values::bytes(text).ok());
            UserVolume {
                name: document.name.clone().unwrap_or_default(),
                volume_type: text(&["volumeType"]).unwrap_or("partition").to_owned(),
                disk: text(&["provisioning", "diskSelector", "match"]).map(str::to_owned),
                min_size: size("minSize"),
                max_size: size("maxSize"),
                filesystem: text(&["filesystem", "type"]).unwrap_or("xfs").to_owned(),
            }
        };
        self.of_kind("UserVolumeConfig").map(read).collect()
    }
}
