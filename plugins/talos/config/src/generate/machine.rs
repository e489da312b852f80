//! The section of the machine.

use emhost_talos_schema::yaml::Node;

use super::tree::{list, map, number, some_texts, text, texts, truth};
use super::{Impossible, links};
use crate::secrets::encoded;
use crate::{Bundle, Input};

/// Keeps load balancers of clouds from sending anything to control planes.
const NOT_BALANCED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

pub(super) fn section(bundle: &Bundle, input: &Input) -> Result<Node, Impossible> {
    let role = if input.controls() { "controlplane" } else { "worker" };
    let key = if input.controls() { encoded(&bundle.os.key) } else { text("") };
    let taints = taints(input)?;
    let on_the_node =
        (input.controls() && !taints.is_empty()).then(|| map(taints.iter().map(|taint| (taint.key, Some(text(&taint.short()))))));
    Ok(map([
        ("type", Some(text(role))),
        ("token", Some(text(&bundle.trustd_token))),
        ("ca", Some(map([("crt", Some(encoded(&bundle.os.certificate))), ("key", Some(key))]))),
        ("certSANs", Some(texts(&input.names))),
        ("kubelet", Some(kubelet(input, &taints))),
        ("network", network(input)),
        ("install", Some(install(input))),
        ("time", time(input)),
        ("features", Some(features(input))),
        ("nodeLabels", labels(input)),
        ("nodeTaints", on_the_node),
    ]))
}

fn kubelet(input: &Input, taints: &[Taint<'_>]) -> Node {
    // A worker may not taint its own node, but it may register with taints.
    let registered = (!input.controls() && !taints.is_empty()).then(|| {
        let taint = |taint: &Taint<'_>| {
            map([("effect", Some(text(taint.effect))), ("key", Some(text(taint.key))), ("value", taint.value.map(text))])
        };
        map([("registerWithTaints", Some(list(taints.iter().map(taint))))])
    });
    map([
        ("image", Some(text(&format!("ghcr.io/siderolabs/kubelet:v{}", input.kubernetes)))),
        ("extraConfig", registered),
        ("defaultRuntimeSeccompProfileEnabled", Some(truth(true))),
        ("nodeIP", some_texts(&input.node_subnets).map(|subnets| map([("validSubnets", Some(subnets))]))),
        ("disableManifestsDirectory", Some(truth(true))),
    ])
}

fn network(input: &Input) -> Option<Node> {
    if input.contract.network_documents() {
        return input.contract.empty_network().then(|| map([]));
    }
    Some(map([
        ("hostname", input.hostname.as_deref().map(text)),
        ("interfaces", links::interfaces(input)),
        ("nameservers", some_texts(&input.resolvers)),
    ]))
}

fn time(input: &Input) -> Option<Node> {
    if input.contract.network_documents() {
        return None;
    }
    some_texts(&input.time_servers).map(|servers| map([("servers", Some(servers))]))
}

fn install(input: &Input) -> Node {
    let arguments = some_texts(&input.kernel_args).filter(|_| !input.contract.arguments_in_the_installer());
    map([
        ("disk", Some(text(&input.disk))),
        ("extraKernelArgs", arguments),
        ("image", input.installer.as_deref().map(text)),
        ("wipe", Some(truth(false))),
        ("grubUseUKICmdline", input.contract.arguments_of_the_image().then(|| truth(true))),
    ])
}

fn features(input: &Input) -> Node {
    let old = || input.contract.old_switches().then(|| truth(true));
    map([
        ("rbac", old()),
        ("stableHostname", old()),
        ("apidCheckExtKeyUsage", old()),
        ("diskQuotaSupport", Some(truth(true))),
        ("kubePrism", Some(map([("enabled", Some(truth(true))), ("port", Some(number(7445_u16)))]))),
        ("hostDNS", Some(map([("enabled", Some(truth(true))), ("forwardKubeDNSToHost", Some(truth(true)))]))),
    ])
}

fn labels(input: &Input) -> Option<Node> {
    let mut labels: Vec<_> = input.labels.iter().map(|(key, value)| (key.as_str(), Some(text(value)))).collect();
    if input.controls() && !input.labels.contains_key(NOT_BALANCED) {
        labels.push((NOT_BALANCED, Some(text(""))));
        labels.sort_by_key(|(key, _)| *key);
    }
    (!labels.is_empty()).then(|| map(labels))
}

/// A taint in its parts.
struct Taint<'a> {
    key: &'a str,
    value: Option<&'a str>,
    effect: &'a str,
}

impl Taint<'_> {
    /// As Talos writes it beside its key.
    fn short(&self) -> String {
        self.value.map_or_else(|| self.effect.to_owned(), |value| format!("{value}:{}", self.effect))
    }
}

fn taints(input: &Input) -> Result<Vec<Taint<'_>>, Impossible> {
    let mut taints = Vec::new();
    for taint in &input.taints {
        let (name, effect) = taint.rsplit_once(':').ok_or_else(|| Impossible::Taint(taint.clone()))?;
        let (key, value) = name.split_once('=').map_or((name, None), |(key, value)| (key, Some(value).filter(|value| !value.is_empty())));
        taints.push(Taint { key, value, effect });
    }
    taints.sort_by_key(|taint| (taint.key, taint.effect));
    let twice = taints.windows(2).find(|pair| pair[0].key == pair[1].key).filter(|_| input.controls());
    twice.map_or(Ok(()), |pair| Err(Impossible::SameTaint(pair[0].key.to_owned())))?;
    Ok(taints)
}
