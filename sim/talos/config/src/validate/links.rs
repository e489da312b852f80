//! Documents about the network.

use super::super::cel::{Environment, Expression, Type};
use super::super::values::{self, quoted};
use super::super::yaml::Node;
use super::super::{Document, Version};
use super::Findings;
use super::machine::subnets;

/// Priorities of rules that the kernel or `KubeSpan` use.
const RESERVED: [u32; 4] = [0, 32500, 32766, 32767];

/// Looks at a document about the network; says whether it is one.
pub(super) fn check(document: &Document, version: Version, findings: &mut Findings) -> bool {
    let root = &document.root;
    let name = document.name.as_deref().unwrap_or_default();
    match document.kind.as_str() {
        "LinkConfig" | "BridgeConfig" | "DummyLinkConfig" => named(name, findings),
        "BondConfig" => {
            named(name, findings);
            bond(root, version, findings);
        }
        "VLANConfig" => {
            named(name, findings);
            let id = root.get("vlanID").and_then(Node::number).unwrap_or(0);
            findings.problem_if(!(1..=4094).contains(&id), "vlanID must be specified and between 1 and 4094");
            findings.problem_if(text(root, "parent").is_none(), "parent must be specified");
        }
        "VRFConfig" => {
            named(name, findings);
            let table = text(root, "table").unwrap_or("unspec").to_lowercase();
            if ["unspec", "local", "main", "default"].contains(&table.as_str()) {
                findings.problem(format!("cannot create vrf with reserved table {table}"));
            }
        }
        "WireguardConfig" => {
            named(name, findings);
            wireguard(root, findings);
        }
        _ => return other(document, name, version, findings),
    }
    addresses(root, findings);
    true
}

fn other(document: &Document, name: &str, version: Version, findings: &mut Findings) -> bool {
    let root = &document.root;
    match document.kind.as_str() {
        "LinkAliasConfig" => alias(root, name, version, findings),
        "DHCPv4Config" | "DHCPv6Config" => {
            named(name, findings);
            let raw = text(root, "duidRaw").is_some();
            let by_duid = text(root, "clientIdentifier").is_some_and(|word| word.eq_ignore_ascii_case("duid"));
            findings.problem_if(raw && !by_duid, "duidRaw can only be set if clientIdentifier is 'duid'");
            findings.problem_if(by_duid && !raw, "duidRaw must be set if clientIdentifier is 'duid'");
        }
        "Layer2VIPConfig" | "HCloudVIPConfig" => {
            if name.is_empty() {
                findings.problem("name must be specified");
            } else if let Err(why) = values::address(name) {
                findings.problem(format!("name must be a valid IP address: {why}"));
            }
            findings.problem_if(text(root, "link").is_none(), "link must be specified");
            findings.problem_if(document.kind == "HCloudVIPConfig" && text(root, "apiToken").is_none(), "apiToken must be specified");
        }
        "HostnameConfig" => hostname(root, findings),
        "StaticHostConfig" => {
            findings.problem_if(name.is_empty(), "name is required");
            findings.problem_if(values::address(name).is_err(), "name must be a valid IP address");
            findings.problem_if(root.get("hostnames").is_none_or(|all| all.items().is_empty()), "at least one hostname is required");
        }
        "TimeSyncConfig" => {
            findings.problem_if(duration(root, "bootTimeout") < 0, "bootTimeout cannot be negative");
            findings.problem_if(
                root.get("ntp").is_some() && root.get("ptp").is_some(),
                "only one of ntp or ptp configuration can be specified",
            );
        }
        "EthernetConfig" => findings.problem_if(name.is_empty(), "name is required"),
        "NetworkRuleConfig" => {
            if let Err(why) = rule(root, name) {
                findings.problem(why);
            }
        }
        "BlackholeRouteConfig" => {
            named(name, findings);
            if let Err(why) = values::prefix(name) {
                findings.problem(format!("name must be a valid address prefix: {why}"));
            }
        }
        "RoutingRuleConfig" => routing_rule(root, name, findings),
        "TCPProbeConfig" => probe(root, name, findings),
        "KubeSpanConfig" => {
            let mtu = root.get("mtu").and_then(Node::number);
            findings.problem_if(mtu.is_some_and(|mtu| mtu < 1280), "kubespan link MTU must be at least 1280");
            subnets(root.at(&["filters", "endpoints"]), "KubeSpan endpoint filter is not valid", findings);
        }
        "ResolverConfig" | "NetworkDefaultActionConfig" | "KubeSpanEndpointsConfig" => {}
        _ => return false,
    }
    true
}

fn named(name: &str, findings: &mut Findings) {
    findings.problem_if(name.is_empty(), "name must be specified");
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text).filter(|text| !text.is_empty())
}

fn duration(node: &Node, key: &str) -> i64 {
    text(node, key).and_then(values::duration).unwrap_or(0)
}

fn addresses(root: &Node, findings: &mut Findings) {
    for (index, item) in root.get("addresses").map(Node::items).unwrap_or_default().iter().filter(|item| !item.is_null()).enumerate() {
        match text(item, "address").and_then(|text| values::prefix(text).ok()) {
            None => findings.problem(format!("address {index} must be specified")),
            Some(prefix) if prefix.address.is_unspecified() => findings.problem(format!("address {index} must be a valid IP address")),
            Some(_) => {}
        }
    }
    for (index, route) in root.get("routes").map(Node::items).unwrap_or_default().iter().filter(|item| !item.is_null()).enumerate() {
        if text(route, "destination").and_then(|text| values::prefix(text).ok()).is_some_and(|prefix| prefix.address.is_unspecified()) {
            findings.problem(format!("route {index} destination must be a valid IP prefix"));
        }
        for key in ["gateway", "source"] {
            if text(route, key).and_then(|text| values::address(text).ok()).is_some_and(|address| address.is_unspecified()) {
                findings.problem(format!("route {index} {key} must be a valid IP address"));
            }
        }
    }
}

fn bond(root: &Node, version: Version, findings: &mut Findings) {
    findings.problem_if(root.get("links").is_none_or(|links| links.items().is_empty()), "at least one link must be specified");
    match root.get("bondMode").and_then(Node::text) {
        None => findings.problem("bond mode must be specified"),
        Some("802.3ad") if version.since(1, 13) => {
            for key in ["miimon", "updelay", "downdelay"] {
                if root.get(key).is_none() {
                    findings.warn(format!("{key} was not specified for 802.3ad bond"));
                }
            }
        }
        Some(_) => {}
    }
}

fn wireguard(root: &Node, findings: &mut Findings) {
    let key = |text: &str| match values::base64(text) {
        Ok(bytes) if bytes.len() == 32 => Ok(()),
        Ok(_) => Err("invalid wireguard key length".to_owned()),
        Err(why) => Err(why),
    };
    match text(root, "privateKey").map(key) {
        None => findings.problem("wireguard private key must be specified"),
        Some(Err(why)) => findings.problem(format!("wireguard private key is invalid: {why}")),
        Some(Ok(())) => {}
    }
    let port = root.get("listenPort").and_then(Node::number).unwrap_or(0);
    findings.problem_if(!(0..=65535).contains(&port), "wireguard listen port must be between 0 and 65535");
    for (index, peer) in root.get("peers").map(Node::items).unwrap_or_default().iter().enumerate() {
        match text(peer, "publicKey").map(key) {
            None => findings.problem(format!("wireguard peer public key must be specified (peer index {index})")),
            Some(Err(why)) => findings.problem(format!("wireguard peer public key is invalid (peer index {index}): {why}")),
            Some(Ok(())) => {}
        }
        if let Some(Err(why)) = text(peer, "presharedKey").map(key) {
            findings.problem(format!("wireguard peer preshared key is invalid (peer index {index}): {why}"));
        }
        if duration(peer, "persistentKeepaliveInterval") < 0 {
            findings.problem(format!("wireguard peer persistent keepalive interval cannot be negative (peer index {index})"));
        }
    }
}

fn alias(root: &Node, name: &str, version: Version, findings: &mut Findings) {
    named(name, findings);
    if version.since(1, 13)
        && let Some((before, after)) = name.split_once('%')
        && (after != "d" || before.is_empty())
    {
        findings.problem(format!("name {} contains an invalid format verb, use %d suffix", quoted(name)));
    }
    match root.at(&["selector", "match"]).and_then(Node::text).filter(|source| !source.is_empty()) {
        None => findings.problem("link selector is required"),
        Some(source) => {
            if let Err(why) = Expression::read(source, Environment::Link, &Type::Bool) {
                findings.problem(format!("link selector is invalid: {why}"));
            }
        }
    }
}

fn hostname(root: &Node, findings: &mut Findings) {
    let auto = root.get("auto").and_then(Node::text).unwrap_or("off").to_lowercase();
    let name = text(root, "hostname");
    match (auto == "off", name) {
        (true, None) => findings.problem("either 'auto' or 'hostname' must be set"),
        (false, Some(_)) => findings.problem("'auto' and 'hostname' cannot be set at the same time"),
        _ => {}
    }
    if auto == "talos-addr" {
        findings.problem("invalid value for 'auto': talos-addr");
    }
    if let Some(name) = name {
        if name.len() > 253 {
            findings.problem(format!("fqdn is too long: {}", name.len()));
        }
        let short = name.split('.').next().unwrap_or(name);
        if short.is_empty() || short.len() > 63 {
            findings.problem(format!("invalid hostname {}", quoted(short)));
        }
    }
}

/// A rule of the firewall: the first fault only.
fn rule(root: &Node, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("name is required".to_owned());
    }
    let mut ports = Vec::new();
    for item in root.at(&["portSelector", "ports"]).map(Node::items).unwrap_or_default() {
        let range = item.number().map(|port| (port, port)).or_else(|| {
            let (low, high) = item.text()?.split_once('-')?;
            Some((low.parse().ok()?, high.parse().ok()?))
        });
        ports.extend(range);
    }
    if ports.is_empty() {
        return Err("portSelector.ports is required".to_owned());
    }
    ports.sort_unstable();
    let shown = |(low, high): (i128, i128)| if low == high { low.to_string() } else { format!("{low}-{high}") };
    let mut before: Option<(i128, i128)> = None;
    for range in ports {
        if range.0 > range.1 {
            return Err(format!("invalid port range: {}", shown(range)));
        }
        if let Some(before) = before.filter(|before| range.0 <= before.1) {
            return Err(format!("invalid port range: {}, overlaps with {}", shown(range), shown(before)));
        }
        before = Some(range);
    }
    for ingress in root.get("ingress").map(Node::items).unwrap_or_default().iter().filter(|item| !item.is_null()) {
        if text(ingress, "subnet").is_none() {
            return Err("invalid subnet: invalid Prefix".to_owned());
        }
    }
    Ok(())
}

fn routing_rule(root: &Node, name: &str, findings: &mut Findings) {
    named(name, findings);
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let priority = name.parse::<u32>().ok().filter(|_| digits);
    if priority.is_none() {
        let why = if digits { "value out of range" } else { "invalid syntax" };
        findings.problem(format!(
            "invalid name: must be priority parsable unsigned integer: strconv.ParseUint: parsing {}: {why}",
            quoted(name)
        ));
    }
    // What is out of range counts as the largest number, what is no number as zero.
    let counted = priority.unwrap_or(if digits { u32::MAX } else { 0 });
    if RESERVED.contains(&counted) {
        findings.problem("priority must be between 1 and 32765 (excluding reserved priorities [0 32500 32766 32767])");
    }
    let table = text(root, "table").unwrap_or("unspec").to_lowercase();
    let action = text(root, "action").unwrap_or("unspec").to_lowercase();
    findings.problem_if(
        table == "unspec" && ["unspec", "unicast"].contains(&action.as_str()),
        "either table or a non-unicast action must be specified",
    );
    let number = |key: &str| root.get(key).and_then(Node::number).unwrap_or(0);
    findings.problem_if(number("fwMask") != 0 && number("fwMark") == 0, "fwMask requires fwMark to be set");
}

fn probe(root: &Node, name: &str, findings: &mut Findings) {
    findings.problem_if(name.is_empty(), "probe name is required");
    findings.problem_if(text(root, "endpoint").is_none(), "TCP probe endpoint is required");
    if duration(root, "timeout") < 0 {
        findings.problem(format!("TCP probe timeout cannot be negative: {}", text(root, "timeout").unwrap_or_default()));
    }
    if duration(root, "interval") < 0 {
        findings.problem(format!("probe interval cannot be negative: {}", text(root, "interval").unwrap_or_default()));
    }
    let threshold = root.get("failureThreshold").and_then(Node::number).unwrap_or(0);
    if threshold < 0 {
        findings.problem(format!("probe failure threshold cannot be negative: {threshold}"));
    }
}
