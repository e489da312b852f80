//! The section of the cluster.

use std::net::Ipv6Addr;

use emhost_talos_schema::yaml::Node;

use super::tree::{list, map, some_texts, text, texts, truth};
use super::{Impossible, host};
use crate::pki::Pair;
use crate::secrets::encoded;
use crate::{Bundle, Cni, Input};

pub(super) fn section(bundle: &Bundle, input: &Input) -> Result<Node, Impossible> {
    let host = host(&input.endpoint).ok_or_else(|| Impossible::Endpoint(input.endpoint.clone()))?;
    // What only control planes are told.
    let secret = |value: Node| input.controls().then_some(value);
    let key = if input.controls() { encoded(&bundle.kubernetes.key) } else { text("") };
    let image = |name: &str| secret(map([("image", Some(component(input, name)))]));
    let etcd = map([("ca", Some(pair(&bundle.etcd))), ("advertisedSubnets", some_texts(&input.node_subnets))]);
    Ok(map([
        ("id", Some(text(&bundle.cluster_id))),
        ("secret", Some(text(&bundle.cluster_secret))),
        ("controlPlane", Some(map([("endpoint", Some(text(&input.endpoint)))]))),
        ("clusterName", Some(text(&input.cluster))),
        ("network", Some(network(input, host))),
        ("token", Some(text(&bundle.bootstrap_token))),
        ("aescbcEncryptionSecret", bundle.aescbc_secret.as_ref().and_then(|value| secret(text(value)))),
        ("secretboxEncryptionSecret", bundle.secretbox_secret.as_ref().and_then(|value| secret(text(value)))),
        ("ca", Some(map([("crt", Some(encoded(&bundle.kubernetes.certificate))), ("key", Some(key))]))),
        ("aggregatorCA", secret(pair(&bundle.aggregator))),
        ("serviceAccount", secret(map([("key", Some(encoded(&bundle.service_account)))]))),
        ("apiServer", secret(api_server(input, host))),
        ("controllerManager", image("kube-controller-manager")),
        ("proxy", image("kube-proxy")),
        ("scheduler", image("kube-scheduler")),
        ("discovery", Some(discovery())),
        ("etcd", secret(etcd)),
    ]))
}

fn pair(pair: &Pair) -> Node {
    map([("crt", Some(encoded(&pair.certificate))), ("key", Some(encoded(&pair.key)))])
}

fn component(input: &Input, name: &str) -> Node {
    text(&format!("registry.k8s.io/{name}:v{}", input.kubernetes))
}

fn network(input: &Input, host: &str) -> Node {
    let [pods, services] =
        if host.parse::<Ipv6Addr>().is_ok() { ["fc00:db8:10::/56", "fc00:db8:20::/112"] } else { ["10.244.0.0/16", "10.96.0.0/12"] };
    let cni = (input.cni == Cni::Other).then(|| map([("name", Some(text("none")))]));
    map([
        ("cni", cni),
        ("dnsDomain", Some(text("cluster.local"))),
        ("podSubnets", some_texts(&input.pod_subnets).or_else(|| Some(list([text(pods)])))),
        ("serviceSubnets", some_texts(&input.service_subnets).or_else(|| Some(list([text(services)])))),
    ])
}

fn api_server(input: &Input, host: &str) -> Node {
    let mut names: Vec<String> = input.contract.endpoint_among_names().then(|| host.to_owned()).into_iter().collect();
    for name in &input.names {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    map([
        ("image", Some(component(input, "kube-apiserver"))),
        ("certSANs", some_texts(&names)),
        ("disablePodSecurityPolicy", input.contract.old_switches().then(|| truth(true))),
        ("admissionControl", Some(list([map([("name", Some(text("PodSecurity"))), ("configuration", Some(pod_security()))])]))),
        ("auditPolicy", Some(audit())),
    ])
}

/// Pods may do what most need; who wants more labels the namespace.
fn pod_security() -> Node {
    let word = |word: &str| Some(text(word));
    map([
        ("apiVersion", word("pod-security.admission.config.k8s.io/v1alpha1")),
        (
            "defaults",
            Some(map([
                ("audit", word("restricted")),
                ("audit-version", word("latest")),
                ("enforce", word("baseline")),
                ("enforce-version", word("latest")),
                ("warn", word("restricted")),
                ("warn-version", word("latest")),
            ])),
        ),
        (
            "exemptions",
            Some(map([
                ("namespaces", Some(texts(&["kube-system".to_owned()]))),
                ("runtimeClasses", Some(list([]))),
                ("usernames", Some(list([]))),
            ])),
        ),
        ("kind", word("PodSecurityConfiguration")),
    ])
}

fn audit() -> Node {
    map([
        ("apiVersion", Some(text("audit.k8s.io/v1"))),
        ("kind", Some(text("Policy"))),
        ("rules", Some(list([map([("level", Some(text("Metadata")))])]))),
    ])
}

fn discovery() -> Node {
    let registries = map([("kubernetes", Some(map([("disabled", Some(truth(true)))]))), ("service", Some(map([])))]);
    map([("enabled", Some(truth(true))), ("registries", Some(registries))])
}
