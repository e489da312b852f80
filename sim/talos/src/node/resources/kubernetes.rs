//! The configuration, and what of Kubernetes and etcd runs on the node.

use std::collections::BTreeMap;
use std::net::IpAddr;

use emhost_talos_api::common;
use emhost_talos_api::definitions::{cluster, config, etcd, k8s, secrets};
use prost::Message;
use serde_json::{Value as Json, json};

use super::network::ip;
use super::yaml::{Fields, Yaml};
use crate::node::Node;
use crate::node::settings::Settings;

const K8S: &str = "k8s";

/// The static pods of a control plane, with their images.
pub(crate) fn static_pods(settings: &Settings) -> Vec<(String, String)> {
    let kubernetes = &settings.kubernetes;
    let pods = [
        ("kube-apiserver", &kubernetes.apiserver_image),
        ("kube-controller-manager", &kubernetes.controller_manager_image),
        ("kube-scheduler", &kubernetes.scheduler_image),
    ];
    pods.into_iter().filter(|(_, image)| !image.is_empty()).map(|(name, image)| (name.to_owned(), image.clone())).collect()
}

/// What follows from the configuration alone.
pub(crate) fn configuration(node: &Node) {
    let Some(settings) = node.settings() else {
        let spec = config::MachineTypeSpec { machine_type: config::MachineType::Unknown as i32 };
        node.resources.put("MachineTypes.config.talos.dev", "config", "machine-type", "unknown\n".to_owned(), spec.encode_to_vec());
        return;
    };
    let proto = config::MachineConfigSpec { yaml_marshalled: settings.text.clone().into_bytes() }.encode_to_vec();
    node.resources.put("MachineConfigs.config.talos.dev", "config", "v1alpha1", settings.text.clone(), proto.clone());
    if node.version.since(1, 8) {
        let stored = node.state().system_disk.is_some();
        if stored {
            node.resources.put("MachineConfigs.config.talos.dev", "config", "persistent", settings.text.clone(), proto);
        }
    }
    let (machine_type, kind) =
        if settings.control_plane { (config::MachineType::ControlPlane, "controlplane") } else { (config::MachineType::Worker, "worker") };
    let spec = config::MachineTypeSpec { machine_type: machine_type as i32 };
    node.resources.put("MachineTypes.config.talos.dev", "config", "machine-type", format!("{kind}\n"), spec.encode_to_vec());
    let node_id = node.state().node_id.clone();
    let text = Fields::default().with("nodeId", node_id.as_str()).text();
    node.resources.put("Identities.cluster.talos.dev", "cluster", "local", text, cluster::IdentitySpec { node_id }.encode_to_vec());
    let text = Fields::default().with("clusterId", settings.cluster_id.as_str()).with("clusterName", settings.cluster_name.as_str()).text();
    let spec = cluster::InfoSpec { cluster_id: settings.cluster_id.clone(), cluster_name: settings.cluster_name.clone() };
    node.resources.put("Infos.cluster.talos.dev", "cluster", "current", text, spec.encode_to_vec());
    os_root(node, &settings);
    nodename(node, &settings);
    if settings.control_plane {
        components(node, &settings);
    }
}

/// Where the configuration of a static pod is: type, and id, which is the pod's name.
const COMPONENTS: [(&str, &str); 3] = [
    ("APIServerConfigs.kubernetes.talos.dev", "kube-apiserver"),
    ("ControllerManagerConfigs.kubernetes.talos.dev", "kube-controller-manager"),
    ("SchedulerConfigs.kubernetes.talos.dev", "kube-scheduler"),
];

/// The configuration of the static pods. Their version counts what changed, and the pods carry it.
fn components(node: &Node, settings: &Settings) {
    let kubernetes = &settings.kubernetes;
    let put = |at: usize, text: String, proto: Vec<u8>| {
        let (kind, id) = COMPONENTS[at];
        node.resources.put(kind, "controlplane", id, text, proto);
    };
    let spec = k8s::ApiServerConfigSpec {
        image: kubernetes.apiserver_image.clone(),
        control_plane_endpoint: settings.endpoint.clone(),
        etcd_servers: vec!["https://127.0.0.1:2379".to_owned()],
        local_port: 6443,
        service_cid_rs: kubernetes.service_subnets.clone(),
        advertised_address: "$(POD_IP)".to_owned(),
        ..Default::default()
    };
    let text = Fields::default()
        .with("image", spec.image.as_str())
        .with("controlPlaneEndpoint", spec.control_plane_endpoint.as_str())
        .with("etcdServers", spec.etcd_servers.clone())
        .with("localPort", 6443_u32)
        .with("serviceCIDR", spec.service_cid_rs.clone())
        .with("advertisedAddress", spec.advertised_address.as_str());
    put(0, text.text(), spec.encode_to_vec());
    let image = kubernetes.controller_manager_image.clone();
    let text = Fields::default().with("enabled", !image.is_empty()).with("image", image.as_str());
    put(1, text.text(), k8s::ControllerManagerConfigSpec { enabled: !image.is_empty(), image, ..Default::default() }.encode_to_vec());
    let image = kubernetes.scheduler_image.clone();
    let text = Fields::default().with("enabled", !image.is_empty()).with("image", image.as_str());
    put(2, text.text(), k8s::SchedulerConfigSpec { enabled: !image.is_empty(), image, ..Default::default() }.encode_to_vec());
}

/// The version of the configuration of a static pod.
pub(crate) fn component_version(node: &Node, name: &str) -> String {
    let found = COMPONENTS.iter().find(|(_, id)| *id == name);
    let resource = found.and_then(|(kind, id)| node.resources.get(kind, "controlplane", id));
    let version = resource.and_then(|resource| Some(resource.metadata.as_ref()?.version.clone()));
    version.unwrap_or_else(|| "1".to_owned())
}

fn os_root(node: &Node, settings: &Settings) {
    let (certificate, key) = &settings.machine_ca;
    let issuing = common::PemEncodedCertificateAndKey { crt: certificate.clone(), key: key.clone().unwrap_or_default() };
    let token = settings.config.machine_token().unwrap_or_default().to_owned();
    let (addresses, names): (Vec<String>, Vec<String>) =
        settings.cert_sans.iter().cloned().partition(|name| name.parse::<IpAddr>().is_ok());
    let bytes = |address: &String| match address.parse() {
        Ok(IpAddr::V4(address)) => address.octets().to_vec(),
        Ok(IpAddr::V6(address)) => address.octets().to_vec(),
        Err(_) => Vec::new(),
    };
    let accepted: Vec<Vec<u8>> = [certificate.clone()].into_iter().chain(settings.accepted_cas.iter().cloned()).collect();
    let spec = secrets::OsRootSpec {
        issuing_ca: Some(issuing),
        accepted_c_as: accepted.iter().map(|crt| common::PemEncodedCertificate { crt: crt.clone() }).collect(),
        cert_sani_ps: addresses.iter().map(|address| common::NetIp { ip: bytes(address) }).collect(),
        cert_sandns_names: names.clone(),
        token: token.clone(),
    };
    let pem = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let issuing = Fields::default().with("crt", pem(certificate)).with("key", key.as_deref().map(pem).unwrap_or_default());
    let accepted: Vec<Yaml> = accepted.iter().map(|crt| Fields::default().with("crt", pem(crt)).into()).collect();
    let fields = Fields::default().with("issuingCA", issuing).with("acceptedCAs", accepted);
    let text = fields.with("certSANIPs", addresses).with("certSANDNSNames", names).with("token", token).text();
    node.resources.put("OSRootSecrets.secrets.talos.dev", "secrets", "os", text, spec.encode_to_vec());
}

fn nodename(node: &Node, settings: &Settings) {
    let hostname = node.hostname();
    let skip = settings.kubernetes.skip_registration;
    let text = Fields::default().with("nodename", hostname.as_str()).with("hostnameVersion", "2").with("skipNodeRegistration", skip).text();
    let spec = k8s::NodenameSpec { nodename: hostname.clone(), hostname_version: "2".to_owned(), skip_node_registration: skip };
    node.resources.put("Nodenames.kubernetes.talos.dev", K8S, "nodename", text, spec.encode_to_vec());
    let addresses = node.addresses();
    let first: Vec<_> = addresses.iter().take(1).copied().collect();
    let text = Fields::default().with("addresses", first.iter().map(ToString::to_string).collect::<Vec<_>>()).text();
    let spec = k8s::NodeIpSpec { addresses: first.iter().map(|address| ip(*address)).collect() };
    node.resources.put("NodeIPs.kubernetes.talos.dev", K8S, "kubelet", text, spec.encode_to_vec());
    let image = settings.kubernetes.kubelet_image.clone();
    let text = Fields::default()
        .with("image", image.as_str())
        .with("expectedNodename", hostname.as_str())
        .with("config", Fields::default())
        .text();
    let spec = k8s::KubeletSpecSpec { image, expected_nodename: hostname, ..Default::default() };
    node.resources.put("KubeletSpecs.kubernetes.talos.dev", K8S, "kubelet", text, spec.encode_to_vec());
}

/// Which member of etcd the node is; none where it is none.
pub(crate) fn etcd_member(node: &Node, member: Option<u64>) {
    match member {
        Some(id) => {
            let member_id = format!("{id:016x}");
            let text = Fields::default().with("memberID", member_id.as_str()).text();
            node.resources.put("EtcdMembers.etcd.talos.dev", "etcd", "local", text, etcd::MemberSpec { member_id }.encode_to_vec());
        }
        None => {
            node.resources.remove("EtcdMembers.etcd.talos.dev", "etcd", "local");
        }
    }
}

/// What the kubelet knows: the node's own status, and its static pods.
pub(crate) fn kubernetes(node: &Node, ready: Option<bool>, unschedulable: bool, pods: bool) {
    let Some(settings) = node.settings() else { return };
    let hostname = node.hostname();
    match ready {
        Some(node_ready) => {
            let labels: BTreeMap<String, String> = settings.kubernetes.labels.clone();
            let shown: Vec<(String, Yaml)> = labels.iter().map(|(key, value)| (key.clone(), Yaml::from(value.as_str()))).collect();
            let text = Fields::default()
                .with("nodename", hostname.as_str())
                .with("nodeReady", node_ready)
                .with("unschedulable", unschedulable)
                .with("labels", Yaml::Map(shown))
                .with("annotations", Yaml::Map(Vec::new()))
                .text();
            let spec = k8s::NodeStatusSpec { nodename: hostname.clone(), node_ready, unschedulable, labels, ..Default::default() };
            node.resources.put("NodeStatuses.kubernetes.talos.dev", K8S, &hostname, text, spec.encode_to_vec());
        }
        None => {
            node.resources.remove("NodeStatuses.kubernetes.talos.dev", K8S, &hostname);
        }
    }
    let mut ids = Vec::new();
    if pods {
        for (name, image) in static_pods(&settings) {
            let id = format!("kube-system/{name}-{hostname}");
            let status = pod_status(&name, &image);
            let proto = StaticPodStatus { status: Some(structure(&status)) };
            node.resources.put("StaticPodStatuses.kubernetes.talos.dev", K8S, &id, yaml(&status), proto.encode_to_vec());
            ids.push(id);
        }
    }
    node.resources.keep_only("StaticPodStatuses.kubernetes.talos.dev", K8S, &ids);
}

fn pod_status(name: &str, image: &str) -> Json {
    let condition = |kind: &str| json!({"lastProbeTime": null, "status": "True", "type": kind});
    json!({
        "conditions": [condition("Initialized"), condition("Ready"), condition("ContainersReady"), condition("PodScheduled")],
        "containerStatuses": [{"image": image, "name": name, "ready": true, "restartCount": 0, "started": true}],
        "phase": "Running",
        "qosClass": "Burstable",
    })
}

fn yaml(value: &Json) -> String {
    fn convert(value: &Json) -> Yaml {
        match value {
            Json::Null => Yaml::Plain("null".to_owned()),
            Json::Bool(truth) => Yaml::from(*truth),
            Json::Number(number) => Yaml::Plain(number.to_string()),
            Json::String(text) => Yaml::from(text.as_str()),
            Json::Array(items) => Yaml::List(items.iter().map(convert).collect()),
            Json::Object(fields) => Yaml::Map(fields.iter().map(|(key, value)| (key.clone(), convert(value))).collect()),
        }
    }
    let fields = value.as_object().into_iter().flatten();
    fields.fold(Fields::default(), |all, (key, value)| all.with(key, convert(value))).text()
}

/// `google.protobuf.Struct` and its values, in which the status of a pod travels.
#[derive(Clone, PartialEq, Message)]
struct Structure {
    #[prost(btree_map = "string, message", tag = "1")]
    fields: BTreeMap<String, Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(int32, tag = "1")]
    Null(i32),
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Truth(bool),
    #[prost(message, tag = "5")]
    Structure(Structure),
    #[prost(message, tag = "6")]
    List(List),
}

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(message, repeated, tag = "1")]
    values: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct StaticPodStatus {
    #[prost(message, optional, tag = "1")]
    status: Option<Structure>,
}

fn structure(value: &Json) -> Structure {
    fn convert(value: &Json) -> Value {
        let kind = match value {
            Json::Null => Kind::Null(0),
            Json::Bool(truth) => Kind::Truth(*truth),
            Json::Number(number) => Kind::Number(number.as_f64().unwrap_or_default()),
            Json::String(text) => Kind::Text(text.clone()),
            Json::Array(items) => Kind::List(List { values: items.iter().map(convert).collect() }),
            Json::Object(_) => Kind::Structure(structure(value)),
        };
        Value { kind: Some(kind) }
    }
    let fields = value.as_object().into_iter().flatten();
    Structure { fields: fields.map(|(key, value)| (key.clone(), convert(value))).collect() }
}
