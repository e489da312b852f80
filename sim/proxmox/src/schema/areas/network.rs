//! `/nodes/{node}/network`: interfaces and bridges of a host.

use super::super::endpoint::{Permission, all, delete, get, post, put};
use super::super::field::{Field, choice, flag, int, list, one, text};
use super::super::{Endpoint, formats};
use crate::Release;

const ALL: &str = "/nodes/{node}/network";
const ONE: &str = "/nodes/{node}/network/{iface}";

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    let modify = || all("/nodes/{node}", &["Sys.Modify"]);
    let apply = put(ALL, modify()).task();
    let more: &[&str] = match release {
        Release::V8 => &["vnet", "any_bridge", "any_local_bridge"],
        Release::V9 => &["vnet", "any_bridge", "any_local_bridge", "include_sdn"],
    };
    vec![
        get(ALL, Permission::User).takes([("type", kinds(release, more))]).proxied(),
        post(ALL, modify())
            .needs([("iface", one(formats::interface).shortest(2).longest(20)), ("type", kinds(release, &["vnet", "unknown"]))])
            .takes(described())
            .proxied(),
        if release == Release::V9 { apply.takes([("regenerate-frr", flag())]) } else { apply },
        delete(ALL, modify()).proxied(),
        get(ONE, all("/nodes/{node}", &["Sys.Audit"])).proxied(),
        put(ONE, modify())
            .needs([("type", kinds(release, &["vnet", "unknown"]))])
            .takes(described())
            .takes([("delete", list(formats::config_id))])
            .proxied(),
        delete(ONE, modify()).proxied(),
    ]
}

fn kinds(release: Release, more: &[&'static str]) -> Field {
    let fabric = (release == Release::V9).then_some("fabric");
    let kinds = ["bridge", "bond", "eth", "alias", "vlan"].into_iter().chain(fabric);
    let switch = ["OVSBridge", "OVSBond", "OVSPort", "OVSIntPort"];
    choice(kinds.chain(switch).chain(more.iter().copied()).collect::<Vec<_>>())
}

fn described() -> [(&'static str, Field); 26] {
    let modes: &[&str] = &[
        "balance-rr",
        "active-backup",
        "balance-xor",
        "broadcast",
        "802.3ad",
        "balance-tlb",
        "balance-alb",
        "balance-slb",
        "lacp-balance-slb",
        "lacp-balance-tcp",
    ];
    let vlan = || int().min(1).max(4094);
    [
        ("address", one(formats::ipv4).requires("netmask")),
        ("address6", one(formats::ipv6).requires("netmask6")),
        ("autostart", flag()),
        ("bond-primary", one(formats::interface)),
        ("bond_mode", choice(modes)),
        ("bond_xmit_hash_policy", choice(&["layer2", "layer2+3", "layer3+4"][..])),
        ("bridge_ports", list(formats::interface)),
        ("bridge_vids", list(formats::vlan)),
        ("bridge_vlan_aware", flag()),
        ("cidr", one(formats::cidr_v4)),
        ("cidr6", one(formats::cidr_v6)),
        ("comments", text()),
        ("comments6", text()),
        ("gateway", one(formats::ipv4)),
        ("gateway6", one(formats::ipv6)),
        ("mtu", int().min(1280).max(65520)),
        ("netmask", one(formats::ipv4_mask).requires("address")),
        ("netmask6", int().min(0).max(128).requires("address6")),
        ("ovs_bonds", list(formats::interface)),
        ("ovs_bridge", one(formats::interface)),
        ("ovs_options", text().longest(1024)),
        ("ovs_ports", list(formats::interface)),
        ("ovs_tag", vlan()),
        ("slaves", list(formats::interface)),
        ("vlan-id", vlan()),
        ("vlan-raw-device", one(formats::interface)),
    ]
}
