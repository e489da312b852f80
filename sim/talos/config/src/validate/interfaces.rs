//! The interfaces in the section of the machine.

use std::collections::BTreeMap;

use super::super::values::{self, quoted};
use super::super::yaml::Node;
use super::super::{Version, schema};
use super::Findings;

const EXCLUSIVE: &str = "config sections are mutually exclusive";
const WRONG_ADDRESS: &str = "invalid network address";

pub(super) fn check(network: &Node, version: Version, findings: &mut Findings) {
    let devices = network.get("interfaces").map(Node::items).unwrap_or_default();
    let members = members(devices, version, findings);
    for device in devices {
        if device.is_null() {
            findings.problem("empty device");
            continue;
        }
        if device.get("ignore").and_then(Node::truth) == Some(true) {
            continue;
        }
        interface(device, findings);
        addressing(device, &members, version, findings);
        routes(device, findings);
    }
}

fn name(device: &Node) -> &str {
    device.get("interface").and_then(Node::text).unwrap_or_default()
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text).filter(|text| !text.is_empty())
}

fn number(node: &Node, key: &str) -> i128 {
    node.get(key).and_then(Node::number).unwrap_or(0)
}

/// The links that are part of a bond or bridge, and of which. Up to 1.8 bonds and bridges were looked at apart.
fn members(devices: &[Node], version: Version, findings: &mut Findings) -> BTreeMap<String, String> {
    let (mut bonded, mut bridged) = (BTreeMap::<String, String>::new(), BTreeMap::<String, String>::new());
    let together = version.since(1, 9);
    for device in devices {
        let own = name(device).to_owned();
        let (bond, bridge) = (device.get("bond"), device.get("bridge"));
        if bond.is_some() && bridge.is_some() {
            findings.problem(format!("interface has both bridge and bond sections set {}: {EXCLUSIVE}", quoted(&own)));
        }
        if let Some(bond) = bond {
            let list = |key: &str| bond.get(key).is_some_and(|list| !list.items().is_empty());
            if list("interfaces") && list("deviceSelectors") {
                findings.problem(format!("interface {} has both interfaces and selectors set: {EXCLUSIVE}", quoted(&own)));
            }
        }
        for (section, word) in [(bond, "bonds"), (bridge, "bridges")] {
            // One that is both counts as a bridge.
            if together && word == "bonds" && bridge.is_some() {
                continue;
            }
            for link in section.and_then(|section| section.get("interfaces")).map(Node::texts).unwrap_or_default() {
                let (mine, others) = if word == "bonds" || together { (&mut bonded, &bridged) } else { (&mut bridged, &bonded) };
                let (link_name, own_name) = (quoted(&link), quoted(&own));
                if let Some(other) = mine.get(&link).filter(|other| **other != own) {
                    let what = if together { "separate links" } else { word };
                    findings.problem(format!("interface {link_name} is declared as part of two {what}: {} and {own_name}", quoted(other)));
                }
                if let Some(other) = others.get(&link) {
                    findings.problem(format!(
                        "interface {link_name} is declared as part of an interface and a bond: {} and {own_name}",
                        quoted(other)
                    ));
                }
                mine.insert(link, own.clone());
            }
        }
    }
    bonded
}

fn interface(device: &Node, findings: &mut Findings) {
    let sections = "[networking.os.device.interface], [networking.os.device.deviceSelector]";
    let selector = device.get("deviceSelector");
    match (name(device).is_empty(), selector) {
        (true, None) => findings.problem(format!("{sections}: required either config section to be set")),
        (false, Some(_)) => findings.problem(format!("{sections}: {EXCLUSIVE}")),
        _ => {}
    }
    let empty = selector.is_some_and(|selector| selector.entries().iter().all(|(_, value)| value.is_null() || value.raw() == Some("")));
    findings.problem_if(empty, "[networking.os.device.deviceSelector]: config section should contain at least one field");
    if let Some(bond) = device.get("bond") {
        self::bond(bond, findings);
    }
    if let Some(tunnel) = device.get("wireguard") {
        wireguard(tunnel, findings);
    }
    for vlan in device.get("vlans").map(Node::items).unwrap_or_default() {
        self::vlan(vlan, name(device), findings);
    }
}

fn bond(bond: &Node, findings: &mut Findings) {
    for (key, kind, complaint) in [
        ("mode", "BondMode", "invalid bond type"),
        ("xmitHashPolicy", "BondXmitHashPolicy", "invalid xmit hash policy"),
        ("lacpRate", "LACPRate", "invalid lacp rate"),
        ("arpValidate", "ARPValidate", "invalid arp_validate mode"),
        ("arpAllTargets", "ARPAllTargets", "invalid arp_all_targets mode"),
        ("primaryReselect", "PrimaryReselect", "invalid primary_reselect mode"),
        ("failOverMac", "FailOverMAC", "invalid fail_over_mac value"),
        ("adSelect", "ADSelect", "invalid ad_select mode"),
    ] {
        let words = if kind == "FailOverMAC" { &["none", "active", "follow"] } else { schema::words(&format!("nethelpers.{kind}")) };
        if let Some(word) = text(bond, key).filter(|word| !words.contains(word)) {
            findings.problem(format!("{complaint} {word}"));
        }
    }
    let mode = text(bond, "mode").filter(|mode| schema::words("nethelpers.BondMode").contains(mode)).unwrap_or("balance-rr");
    let interval = number(bond, "miimon");
    for (key, word) in [("updelay", "upDelay"), ("downdelay", "downDelay")] {
        let delay = number(bond, key);
        if interval == 0 {
            findings.problem_if(delay != 0, &format!("bond.{word} can't be set if miiMon is zero"));
        } else {
            findings.problem_if(delay % interval != 0, &format!("bond.{word} should be a multiple of miiMon"));
        }
    }
    findings.problem_if(bond.get("arpIPTarget").is_some_and(|targets| !targets.items().is_empty()), "bond.arpIPTarget is not supported");
    let aggregating = mode == "802.3ad";
    let balancing = matches!(mode, "balance-tlb" | "balance-alb");
    findings.problem_if(text(bond, "lacpRate").is_some() && !aggregating, "bond.lacpRate is only available in 802.3ad mode");
    findings.problem_if(text(bond, "adActorSystem").is_some(), "bond.adActorSystem is not supported");
    let mut unavailable = |wrong: bool, word: &str| findings.problem_if(wrong, &format!("bond.{word} is not available in {mode} mode"));
    unavailable((aggregating || balancing) && text(bond, "arpValidate").is_some(), "arpValidate");
    unavailable(!(mode == "active-backup" || balancing) && text(bond, "primary").is_some(), "primary");
    unavailable((aggregating || balancing) && number(bond, "arpInterval") > 0, "arpInterval");
    unavailable(mode != "balance-rr" && number(bond, "packetsPerSlave") > 1, "packetsPerSlave");
    unavailable(!balancing && number(bond, "tlbDynamicLb") > 0, "tlbDynamicTLB");
    findings.problem_if(!aggregating && number(bond, "adActorSysPrio") > 0, "bond.adActorSysPrio is only available in 802.3ad mode");
    findings.problem_if(!aggregating && number(bond, "adUserPortKey") > 0, "bond.adUserPortKey is only available in 802.3ad mode");
}

fn wireguard_key(text: &str) -> Result<(), String> {
    let bytes = values::base64(text)?;
    if bytes.len() == 32 { Ok(()) } else { Err(format!("wrong key {} length: {}", quoted(text), bytes.len())) }
}

fn wireguard(tunnel: &Node, findings: &mut Findings) {
    if let Err(why) = wireguard_key(text(tunnel, "privateKey").unwrap_or_default()) {
        findings.problem(format!("private key is invalid: {why}"));
    }
    for peer in tunnel.get("peers").map(Node::items).unwrap_or_default() {
        if let Err(why) = wireguard_key(text(peer, "publicKey").unwrap_or_default()) {
            findings.problem(format!("public key invalid: {why}"));
        }
        if let Some(endpoint) = text(peer, "endpoint").filter(|endpoint| values::host_port(endpoint).is_err()) {
            findings.problem(format!("peer endpoint {} is invalid", quoted(endpoint)));
        }
        for allowed in peer.get("allowedIPs").map(Node::texts).unwrap_or_default() {
            if let Err(why) = values::cidr(&allowed) {
                findings.problem(format!("peer allowed IP {} is invalid: {why}", quoted(&allowed)));
            }
        }
    }
}

fn vlan(vlan: &Node, parent: &str, findings: &mut Findings) {
    let place = format!("{parent}.{}", number(vlan, "vlanId"));
    let addresses = vlan.get("addresses").map(Node::texts).unwrap_or_default();
    let cidr = text(vlan, "cidr");
    if cidr.is_some() && !addresses.is_empty() {
        findings.problem(format!("[networking.os.device.vlan] {place}: vlan can't have both .cidr and .addresses set"));
    }
    if let Some(Err(why)) = cidr.map(ip_or_cidr) {
        findings.problem(format!("[networking.os.device.vlan.CIDR] {place}: {why}"));
    }
    for address in addresses {
        if let Err(why) = ip_or_cidr(&address) {
            findings.problem(format!("[networking.os.device.vlan.addresses] {place}: {why}"));
        }
    }
}

fn ip_or_cidr(text: &str) -> Result<(), String> {
    if text.contains('/') {
        return values::cidr(text).map(drop);
    }
    values::ip(text).map(drop).ok_or_else(|| format!("failed to parse IP address {}", quoted(text)))
}

fn addressing(device: &Node, members: &BTreeMap<String, String>, version: Version, findings: &mut Findings) {
    let own = quoted(name(device));
    let addresses = device.get("addresses").map(Node::texts).unwrap_or_default();
    let cidr = text(device, "cidr");
    if members.contains_key(name(device)) {
        let has_any = device.get("dhcp").and_then(Node::truth) == Some(true)
            || cidr.is_some()
            || !addresses.is_empty()
            || device.get("vip").is_some();
        let word = if version.since(1, 9) { "bonded/bridged" } else { "bonded" };
        findings.problem_if(
            has_any,
            &format!("[networking.os.device] {own}: {word} interface shouldn't have any addressing methods configured"),
        );
    }
    if cidr.is_some() && !addresses.is_empty() {
        findings.problem(format!("[networking.os.device] {own}: interface can't have both .cidr and .addresses set"));
    }
    if let Some(cidr) = cidr {
        if let Err(why) = ip_or_cidr(cidr) {
            findings.problem(format!("[networking.os.device.CIDR] {own}: {why}"));
        }
        findings.warn(format!("{own}: machine.network.interface.cidr is deprecated, please use machine.network.interface.addresses"));
    }
    for address in addresses {
        if let Err(why) = ip_or_cidr(&address) {
            findings.problem(format!("[networking.os.device.addresses] {own}: {why}"));
        }
    }
    if let Some(vip) = device.get("vip") {
        let ip = vip.get("ip").and_then(Node::text).unwrap_or_default();
        if values::ip(ip).is_none() {
            findings.problem(format!("[networking.os.device.vip] failed to parse {} as IP address", quoted(ip)));
        }
    }
}

fn routes(device: &Node, findings: &mut Findings) {
    for (index, route) in device.get("routes").map(Node::items).unwrap_or_default().iter().enumerate() {
        let place = format!("networking.os.device.route[{index}]");
        if let Some(network) = text(route, "network").filter(|network| values::cidr(network).is_err()) {
            findings.problem(format!("[{place}.network] {}: {WRONG_ADDRESS}", quoted(network)));
        }
        if let Some(gateway) = text(route, "gateway").filter(|gateway| values::ip(gateway).is_none()) {
            findings.problem(format!("[{place}.gateway] {}: {WRONG_ADDRESS}", quoted(gateway)));
        }
        if text(route, "network").is_none() && text(route, "gateway").is_none() {
            findings.problem(format!("[{place}]: either network or gateway should be set"));
        }
        if let Some(source) = text(route, "source").filter(|source| values::ip(source).is_none()) {
            findings.problem(format!("[{place}.source] {}: {WRONG_ADDRESS}", quoted(source)));
        }
    }
}
