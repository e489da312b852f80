//! The section of the machine.

use std::collections::BTreeSet;

use super::super::values::{self, quoted};
use super::super::view::MachineType;
use super::super::yaml::{Content, Node};
use super::super::{Config, schema};
use super::{Findings, Mode, cluster, interfaces, labels};

/// What the kubelet's configuration may not say, because Talos does.
const PROTECTED: [&str; 13] = [
    "apiVersion",
    "authentication",
    "authorization",
    "cgroupRoot",
    "kind",
    "kubeletCgroups",
    "port",
    "protectKernelDefaults",
    "resolvConf",
    "rotateCertificates",
    "systemCgroups",
    "staticPodPath",
    "seccompDefault",
];

pub(super) fn check(config: &Config, mode: Mode, findings: &mut Findings) {
    let Some(machine) = config.at(&["machine"]) else {
        findings.problem("machine instructions are required");
        return;
    };
    let kind = config.machine_type();
    cluster::check(config, kind.is_control_plane(), findings);
    if mode == Mode::Metal {
        install(config, mode, findings);
    }
    let features = config.features();
    if config.version.since(1, 13) {
        findings.problem_if(
            features.forward_kube_dns && !features.host_dns,
            "feature hostDNS.forwardKubeDNSToHost requires hostDNS.enabled to be true (.machine.features.hostDNS)",
        );
    }
    let word = config.machine_text(&["type"]).unwrap_or_default();
    if kind != MachineType::Unknown && kind.to_string() != word {
        findings.warn(format!("use {} instead of {} for machine type", quoted(&kind.to_string()), quoted(word)));
    }
    authorities(config, kind, word, findings);
    if let Some(network) = machine.get("network") {
        interfaces::check(network, config.version, findings);
        kubespan_mtu(config, network, findings);
    }
    disks(machine, config, findings);
    if let Some(kubelet) = machine.get("kubelet") {
        self::kubelet(kubelet, findings);
    }
    encryption(machine, findings);
    kubespan(config, findings);
    logging(machine, findings);
    extensions(config, findings);
    labels::check(config, findings);
    talos_access(config, kind, findings);
    if config.version.since(1, 9)
        && let Some(word) = config.machine_text(&["features", "nodeAddressSortAlgorithm"]).filter(|word| !word.is_empty())
        && !schema::words("nethelpers.AddressSortAlgorithm").contains(&word.to_lowercase().as_str())
    {
        findings.problem(format!("invalid node address sort algorithm: {word} does not belong to AddressSortAlgorithm values"));
    }
    findings.problem_if(config.truth(&["persist"]) == Some(false), ".persist should be enabled");
    if config.version.since(1, 9) {
        runtime_spec(machine, findings);
        for part in ["config", "mirrors"] {
            for (name, value) in machine.at(&["registries", part]).map(Node::entries).unwrap_or_default() {
                if value.is_null() {
                    findings.problem(format!("registries.{part}[{}] is null", quoted(name.raw().unwrap_or_default())));
                }
            }
        }
    }
}

fn install(config: &Config, mode: Mode, findings: &mut Findings) {
    let Some(install) = config.install() else {
        findings.problem(format!("install instructions are required in {} mode", quoted(&mode.to_string())));
        return;
    };
    let late = config.version.since(1, 9);
    let mut selects = install.selector.is_some();
    if let Some(selector) = &install.selector {
        if !late {
            // An empty selector selects nothing.
            selects = *selector != super::super::DiskSelector::default();
        } else if selector.name.is_some() {
            findings.problem("install disk selector is invalid: selector on name is not supported");
            selects = false;
        } else if let Some(kind) = selector.disk_type.as_deref().filter(|kind| !["nvme", "sd", "hdd", "ssd"].contains(kind)) {
            findings.problem(format!("install disk selector is invalid: unsupported disk type {}", quoted(kind)));
            selects = false;
        }
    }
    findings.problem_if(install.disk.is_none() && !selects, "either install disk or diskSelector should be defined");
    let cmdline = config.truth(&["machine", "install", "grubUseUKICmdline"]) == Some(true);
    findings.problem_if(
        cmdline && !install.extra_kernel_args.is_empty(),
        "install.extraKernelArgs and install.grubUseUKICmdline can't be used together",
    );
}

fn authorities(config: &Config, kind: MachineType, word: &str, findings: &mut Findings) {
    let ca = config.machine_ca();
    let accepted = config.at(&["machine", "acceptedCAs"]).is_some_and(|all| !all.items().is_empty());
    findings.problem_if(ca.is_none() && !accepted, "issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)");
    match kind {
        MachineType::Init | MachineType::ControlPlane => {
            cluster::cni(config, findings);
            match &ca {
                None => findings.problem("issuing CA is required (.machine.ca)"),
                Some(ca) => findings.problem_if(ca.key.is_none(), "issuing CA key is required for controlplane nodes (.machine.ca.key)"),
            }
        }
        MachineType::Worker => {
            for device in config.at(&["machine", "network", "interfaces"]).map(Node::items).unwrap_or_default() {
                let vlans = device.get("vlans").map(Node::items).unwrap_or_default();
                for _ in std::iter::once(device).chain(vlans).filter(|link| link.get("vip").is_some()) {
                    findings.problem("virtual (shared) IP is not allowed on non-controlplane nodes");
                }
            }
            if let Some(ca) = &ca {
                findings.problem_if(ca.key.is_some(), "issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)");
                findings.problem_if(
                    ca.crt.is_empty() && !accepted,
                    "trusted CA certificates are required on non-controlplane nodes (.machine.ca.crt, .machine.acceptedCAs)",
                );
            }
            findings.problem_if(
                config.cluster_ca().is_some_and(|ca| ca.key.is_some()),
                "issuing Kubernetes API CA key is not allowed on non-controlplane nodes (.cluster.ca)",
            );
        }
        MachineType::Unknown => findings.problem(format!("unknown machine type {}", quoted(word))),
    }
}

fn disks(machine: &Node, config: &Config, findings: &mut Findings) {
    for (index, disk) in machine.get("disks").map(Node::items).unwrap_or_default().iter().enumerate() {
        if disk.is_null() && config.version.since(1, 9) {
            findings.problem(format!("machine.disks[{index}] is null"));
            continue;
        }
        let partitions = disk.get("partitions").map(Node::items).unwrap_or_default();
        for partition in partitions.iter().rev().skip(1) {
            let size = partition.get("size").and_then(Node::text).and_then(|text| values::bytes(text).ok()).unwrap_or(0);
            if size == 0 {
                let device = quoted(disk.get("device").and_then(Node::text).unwrap_or_default());
                findings.problem(format!(
                    "partition for disk {device} is set to occupy full disk, but it's not the last partition in the list"
                ));
            }
        }
    }
}

fn kubelet(kubelet: &Node, findings: &mut Findings) {
    subnets(kubelet.at(&["nodeIP", "validSubnets"]), "kubelet nodeIP subnet is not valid", findings);
    for field in PROTECTED {
        let set = kubelet.get("extraConfig").is_some_and(|config| config.entries().iter().any(|(key, _)| key.raw() == Some(field)));
        if set {
            findings.problem(format!("kubelet configuration field {} can't be overridden", quoted(field)));
        }
    }
}

/// Networks or addresses, each of which may be negated.
pub(super) fn subnets(node: Option<&Node>, what: &str, findings: &mut Findings) {
    for text in node.map(Node::texts).unwrap_or_default() {
        let bare = text.strip_prefix('!').unwrap_or(&text);
        if values::subnet_or_address(bare).is_err() {
            findings.problem(format!("{what}: {}", quoted(bare)));
        }
    }
}

fn encryption(machine: &Node, findings: &mut Findings) {
    for (label, section) in [("EPHEMERAL", "ephemeral"), ("STATE", "state")] {
        let Some(partition) = machine.at(&["systemDiskEncryption", section]) else { continue };
        let keys = partition.get("keys").map(Node::items).unwrap_or_default();
        if keys.is_empty() {
            findings.problem(format!("partition {}: no encryption keys provided", quoted(label)));
        }
        let mut slots = BTreeSet::new();
        for key in keys {
            let slot = key.get("slot").and_then(Node::number).unwrap_or(0);
            if !slots.insert(slot) {
                findings.problem(format!("partition {}: encryption key slot {slot} is already in use", quoted(label)));
            }
            if ["nodeID", "static", "kms", "tpm"].iter().all(|method| key.get(method).is_none()) {
                findings.problem(format!(
                    "partition {}: encryption key at slot {slot} doesn't have the configuration parameters",
                    quoted(label)
                ));
            }
        }
    }
}

fn kubespan_enabled(config: &Config) -> bool {
    config.truth(&["machine", "network", "kubespan", "enabled"]) == Some(true)
}

fn kubespan_mtu(config: &Config, network: &Node, findings: &mut Findings) {
    let mtu = network.at(&["kubespan", "mtu"]).and_then(Node::number).filter(|mtu| *mtu != 0).unwrap_or(1420);
    findings.problem_if(kubespan_enabled(config) && mtu < 1280, "kubespan link MTU must be at least 1280");
}

fn kubespan(config: &Config, findings: &mut Findings) {
    if !kubespan_enabled(config) {
        return;
    }
    findings.problem_if(!config.discovery_enabled(), ".cluster.discovery should be enabled when .machine.network.kubespan is enabled");
    findings.problem_if(config.cluster_id().is_none(), ".cluster.id should be set when .machine.network.kubespan is enabled");
    findings.problem_if(config.cluster_secret().is_none(), ".cluster.secret should be set when .machine.network.kubespan is enabled");
    let filters = ["machine", "network", "kubespan", "filters"];
    // The word was misspelt up to 1.12.
    let word = if config.version.since(1, 13) { "filter" } else { "filer" };
    subnets(config.at(&filters).and_then(|filters| filters.get("endpoints")), &format!("KubeSpan endpoint {word} is not valid"), findings);
    for text in config.at(&filters).and_then(|filters| filters.get("excludeAdvertisedNetworks")).map(Node::texts).unwrap_or_default() {
        if values::prefix(&text).is_err() {
            findings.problem(format!("KubeSpan exclude advertised networks filter is not valid: {}", quoted(&text)));
        }
    }
}

fn logging(machine: &Node, findings: &mut Findings) {
    for destination in machine.at(&["logging", "destinations"]).map(Node::items).unwrap_or_default() {
        match destination.get("endpoint").and_then(Node::text).and_then(|text| values::Url::read(text).ok()) {
            None => findings.problem("empty logging endpoint"),
            Some(url) => {
                findings.problem_if(url.host.is_empty(), "empty logging endpoint's host");
                if !["tcp", "udp"].contains(&url.scheme.as_str()) {
                    findings.problem(format!("unexpected logging endpoint scheme {}", quoted(&url.scheme)));
                }
            }
        }
        let format = destination.get("format").and_then(Node::text).unwrap_or_default();
        if format != "json_lines" {
            findings.problem(format!("unknown logging format {}", quoted(format)));
        }
    }
}

fn extensions(config: &Config, findings: &mut Findings) {
    let Some(install) = config.install() else { return };
    let mut seen = BTreeSet::new();
    for image in &install.extensions {
        if !seen.insert(image) {
            findings.problem(format!("duplicate system extension {}", quoted(image)));
        }
    }
    if !seen.is_empty() {
        findings.warn(extensions_are_gone(config.version));
    }
}

/// The warning about extensions in the configuration.
pub(super) fn extensions_are_gone(version: super::super::Version) -> String {
    let page = if version.since(1, 13) {
        "https://docs.siderolabs.com/talos/latest/platform-specific-installations/boot-assets"
    } else {
        "https://www.talos.dev/latest/talos-guides/install/boot-assets/"
    };
    format!(".machine.install.extensions is deprecated, please see {page}")
}

fn talos_access(config: &Config, kind: MachineType, findings: &mut Findings) {
    let way = ["machine", "features", "kubernetesTalosAPIAccess"];
    if config.at(&way).and_then(|access| access.get("enabled")?.truth()) != Some(true) {
        return;
    }
    if !config.version.since(1, 12) {
        findings
            .problem_if(!config.features().rbac, "feature API RBAC should be enabled when Kubernetes Talos API Access feature is enabled");
    }
    findings.problem_if(!kind.is_control_plane(), "feature Kubernetes Talos API Access can only be enabled on control plane machines");
    for role in config.features().kubernetes_talos_api_access {
        let known = ["os:admin", "os:operator", "os:reader", "os:etcd:backup", "os:impersonator"].contains(&role.as_str());
        let late = config.version.since(1, 13) && ["os:image:verifier", "os:meta:writer"].contains(&role.as_str());
        if !known && !late {
            findings.problem(format!("invalid role {} in allowed roles for Kubernetes Talos API Access", quoted(&role)));
        }
    }
}

/// Overrides of the container runtime's specification: only the outermost kinds of values are looked at.
fn runtime_spec(machine: &Node, findings: &mut Findings) {
    for (key, value) in machine.get("baseRuntimeSpecOverrides").map(Node::entries).unwrap_or_default() {
        let key = key.raw().unwrap_or_default();
        let sound = match key {
            "process" | "root" | "hooks" | "annotations" | "linux" | "solaris" | "windows" | "vm" | "zos" => {
                matches!(value.content, Content::Map(_))
            }
            "mounts" => matches!(value.content, Content::List(_)),
            "ociVersion" | "hostname" | "domainname" => matches!(value.resolve(), Some(super::super::yaml::Resolved::Text)),
            _ => true,
        };
        if !sound && !value.is_null() {
            findings.problem(format!(
                "failed to unmarshal base runtime spec overrides: json: cannot unmarshal value into Go struct field Spec.{key}"
            ));
        }
    }
}
