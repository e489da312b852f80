//! What only a simulated site cannot do.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::Context;
use crate::diagnostic::{Diagnostic, Place};
use crate::inventory::findings::Findings;

/// The last of the site's own addresses: `127.N.255.x` is where Proxmox and the Image Factory answer.
const SERVICES: u8 = 255;

/// On a simulated site a.b.c.d is dialled as 127.N.c.d, so c.d has to be unique.
pub fn addresses(context: &Context<'_>, findings: &mut Findings) {
    let vip = context.cluster.network.vip.as_ref().and_then(|text| text.parse().ok());
    let mut all: Vec<(Ipv4Addr, String, Option<Place>)> = Vec::new();
    all.extend(vip.map(|address| (address, "network.vip".to_owned(), context.cluster_value("/network/vip"))));
    for machine in context.machines {
        for (key, text) in [("ip", &machine.keys.ip), ("dhcp", &machine.keys.dhcp)] {
            if let Some(Ok(address)) = text.as_ref().map(|text| text.parse()) {
                all.push((address, Context::called(machine), context.node_value(machine, key)));
            }
        }
    }
    let mut seen: BTreeMap<[u8; 2], (Ipv4Addr, String)> = BTreeMap::new();
    for (address, whose, place) in all {
        let [_, _, c, d] = address.octets();
        if c == SERVICES {
            let summary = format!("a simulated site keeps x.y.{c}.z for itself, so {whose} cannot have {address}");
            findings.push(Diagnostic::error("sim/address", summary).at(place));
            continue;
        }
        match seen.get(&[c, d]) {
            Some((other, owner)) if *other != address => {
                let summary = format!("{address} of {whose} and {other} of {owner} end alike, which a simulated site cannot tell apart");
                let help = "there a.b.c.d is 127.N.c.d: give one of them another third or fourth number";
                findings.push(Diagnostic::error("sim/address", summary).help(Some(help)).at(place));
            }
            // The same address twice is said by another check.
            Some(_) => {}
            None => {
                seen.insert([c, d], (address, whose));
            }
        }
    }
}
