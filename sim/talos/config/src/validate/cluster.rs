//! The section of the cluster.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use regex::Regex;

use super::super::Config;
use super::super::values::{self, quoted};
use super::super::yaml::Node;
use super::Findings;
use super::machine::subnets;

pub(super) fn check(config: &Config, control_plane: bool, findings: &mut Findings) {
    let Some(cluster) = config.at(&["cluster"]) else {
        findings.problem("cluster instructions are required");
        return;
    };
    let Some(endpoint) = cluster.at(&["controlPlane", "endpoint"]).and_then(Node::text) else {
        findings.problem("cluster controlplane endpoint is required");
        return;
    };
    if let Err(why) = values::endpoint(endpoint) {
        findings.problem(format!("invalid controlplane endpoint: {why}"));
    }
    if let Some(domain) =
        cluster.at(&["network", "dnsDomain"]).and_then(Node::text).filter(|domain| !domain.is_empty() && !is_domain(domain))
    {
        findings.problem(format!("{} is not a valid DNS name", quoted(domain)));
    }
    provider(cluster, findings);
    if let Some(etcd) = cluster.get("etcd") {
        if control_plane {
            self::etcd(etcd, findings);
        } else {
            findings.problem("etcd config is only allowed on control plane machines");
        }
    }
    let key = config.cluster_ca().is_some_and(|ca| ca.key.is_some());
    findings.problem_if(key && !control_plane, "cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)");
    manifests(config, findings);
    discovery(config, findings);
    if let Some(problem) = api_server(cluster) {
        findings.problem(problem);
    }
    for (section, name) in [("controllerManager", "controller-manager"), ("scheduler", "scheduler")] {
        if let Some(resource) = resources(cluster.get(section)) {
            findings.problem(format!("{name} resource validation failed: {resource}"));
        }
    }
}

fn is_domain(domain: &str) -> bool {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = PATTERN.get_or_init(|| Regex::new(r"^([a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})(\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[\._]?$").ok());
    domain.len() - domain.matches('.').count() <= 255 && pattern.as_ref().is_some_and(|pattern| pattern.is_match(domain))
}

fn provider(cluster: &Node, findings: &mut Findings) {
    let Some(provider) = cluster.get("externalCloudProvider") else { return };
    let manifests = provider.get("manifests").map(Node::texts).unwrap_or_default();
    if provider.get("enabled").and_then(Node::truth) != Some(true) {
        findings.problem_if(!manifests.is_empty(), "external cloud provider is disabled, but manifests are provided");
        return;
    }
    for url in manifests {
        if let Err(why) = values::endpoint(&url) {
            findings.problem(format!("invalid external cloud provider manifest url {}: {why}", quoted(&url)));
        }
    }
}

fn etcd(etcd: &Node, findings: &mut Findings) {
    findings.problem_if(etcd.get("ca").is_none(), "key/cert combination should not be empty");
    let subnet = etcd.get("subnet").and_then(Node::text).filter(|subnet| !subnet.is_empty());
    let advertised = etcd.get("advertisedSubnets").filter(|subnets| !subnets.items().is_empty());
    findings.problem_if(subnet.is_some() && advertised.is_some(), "etcd subnet can't be set when advertised subnets are set");
    let single = subnet.map(|subnet| Node::list(vec![Node::scalar(subnet, super::super::yaml::Style::Double)]));
    subnets(advertised.or(single.as_ref()), "etcd advertised subnet is not valid", findings);
    let listening = etcd.get("listenSubnets").filter(|subnets| !subnets.items().is_empty());
    subnets(listening.or(advertised), "etcd listen subnet is not valid", findings);
}

fn manifests(config: &Config, findings: &mut Findings) {
    let mut names = BTreeSet::new();
    for manifest in config.inline_manifests() {
        findings.problem_if(manifest.name.trim().is_empty(), "inline manifest name can't be empty");
        if !names.insert(manifest.name.clone()) {
            findings.problem(format!("inline manifest name {} is duplicate", quoted(&manifest.name)));
        }
    }
}

fn discovery(config: &Config, findings: &mut Findings) {
    let service = ["cluster", "discovery", "registries", "service"];
    let disabled = config.at(&service).and_then(|service| service.get("disabled")?.truth()) == Some(true);
    if !config.discovery_enabled() || disabled {
        return;
    }
    let endpoint = config
        .at(&service)
        .and_then(|service| service.get("endpoint")?.text())
        .filter(|endpoint| !endpoint.is_empty())
        .unwrap_or("https://discovery.talos.dev/");
    match values::Url::read(endpoint) {
        Ok(url) if url.scheme.is_empty() && !endpoint.starts_with('/') => findings.problem(format!(
            "cluster discovery service registry endpoint is invalid: parse {}: invalid URI for request",
            quoted(endpoint)
        )),
        Ok(url) => findings.problem_if(!matches!(url.path.as_str(), "" | "/"), "cluster discovery service path should be empty"),
        Err(why) => findings.problem(format!("cluster discovery service registry endpoint is invalid: {why}")),
    }
    findings.problem_if(config.cluster_id().is_none(), "cluster discovery service requires .cluster.id");
    findings.problem_if(config.cluster_secret().is_none(), "cluster discovery service requires .cluster.secret");
}

fn api_server(cluster: &Node) -> Option<String> {
    let server = cluster.get("apiServer")?;
    if let Some(authorizers) = server.get("authorizationConfig") {
        for (flag, _) in server.get("extraArgs").map(Node::entries).unwrap_or_default() {
            let flag = flag.raw().unwrap_or_default();
            if flag == "authorization-mode" {
                return Some("authorization-mode cannot be used in conjunction with AuthorizationConfig, use eitherr AuthorizationConfig or authorization-mode".to_owned());
            }
            if flag.starts_with("authorization-webhook-") {
                return Some("authorization-webhook-* flags cannot be used in conjunction with AuthorizationConfig, use either AuthorizationConfig or authorization-webhook-* flags".to_owned());
            }
        }
        for authorizer in authorizers.items() {
            let text = |key: &str| authorizer.get(key).and_then(Node::text).unwrap_or_default();
            let problem = if text("type").is_empty() {
                "authorizer type must be set".to_owned()
            } else if text("name").is_empty() {
                "authorizer name must be set".to_owned()
            } else if !["Node", "RBAC", "Webhook"].contains(&text("type")) {
                format!("authorizer type {} is not allowed, allowed types are [Node RBAC Webhook]", text("type"))
            } else {
                continue;
            };
            return Some(format!("apiserver authorization config validation failed: {problem}"));
        }
    }
    resources(Some(server)).map(|problem| format!("apiserver resource validation failed: {problem}"))
}

fn resources(component: Option<&Node>) -> Option<String> {
    let resources = component?.get("resources")?;
    let keys = ["requests", "limits"].into_iter().filter_map(|part| resources.get(part)).flat_map(Node::entries);
    keys.filter_map(|(key, _)| key.raw())
        .find(|key| !["memory", "cpu"].contains(key))
        .map(|key| format!("unsupported pod resource {}", quoted(key)))
}

/// The network of pods; looked at on control planes only.
pub(super) fn cni(config: &Config, findings: &mut Findings) {
    let Some(cni) = config.at(&["cluster", "network", "cni"]) else { return };
    let name = cni.get("name").and_then(Node::text).unwrap_or_default();
    let urls = cni.get("urls").map(Node::texts).unwrap_or_default();
    let quoted_name = quoted(name);
    if !["flannel", "none", "custom"].contains(&name) {
        findings.problem("cni name should be one of [\"flannel\", \"custom\", \"none\"]");
        return;
    }
    if name != "custom" {
        findings.problem_if(!urls.is_empty(), &format!("\"urls\" field should be empty for {quoted_name} CNI"));
    } else if urls.is_empty() {
        findings.warn(format!("\"urls\" field should not be empty for {quoted_name} CNI"));
    }
    if name != "flannel" {
        let arguments = cni.at(&["flannel", "extraArgs"]).is_some_and(|all| !all.items().is_empty());
        findings.problem_if(arguments, &format!("\"flanneldExtraArgs\" field should be empty for {quoted_name} CNI"));
        let policies = cni.at(&["flannel", "kubeNetworkPoliciesEnabled"]).and_then(Node::truth) == Some(true);
        findings.problem_if(policies, &format!("\"flannelKubeNetworkPoliciesEnabled\" should not be enabled for {quoted_name} CNI"));
    }
    if name == "custom" {
        for url in urls {
            if let Err(why) = values::endpoint(&url) {
                findings.problem(why);
            }
        }
    }
}
