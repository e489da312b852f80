//! Network cards, in the two forms that Talos knows.

use emhost_talos_schema::yaml::Node;

use super::document;
use super::tree::{list, map, number, some_texts, text, truth};
use crate::{Input, Link};

/// The shared address, if this machine may hold it on this card.
fn shared(input: &Input, index: usize) -> Option<&str> {
    input.vip.as_deref().filter(|_| index == 0 && input.controls())
}

/// Up to 1.11: `machine.network.interfaces`.
pub(super) fn interfaces(input: &Input) -> Option<Node> {
    let interface = |(index, link): (usize, &Link)| {
        let vip = shared(input, index).map(|vip| map([("ip", Some(text(vip)))]));
        let card = map([
            ("hardwareAddr", Some(text(&link.mac.to_ascii_lowercase()))),
            // A VLAN has the address of the card below it.
            ("physical", link.vlan.map(|_| truth(true))),
        ]);
        let dynamic = truth(link.addresses.is_empty());
        let routes = link.gateway.as_deref().filter(|_| !link.addresses.is_empty()).map(|gateway| {
            let everywhere = if gateway.contains(':') { "::/0" } else { "0.0.0.0/0" };
            list([map([("network", Some(text(everywhere))), ("gateway", Some(text(gateway)))])])
        });
        let mtu = link.mtu.map(number);
        match link.vlan {
            None => map([
                ("deviceSelector", Some(card)),
                ("addresses", some_texts(&link.addresses)),
                ("routes", routes),
                ("mtu", mtu),
                ("dhcp", Some(dynamic)),
                ("vip", vip),
            ]),
            Some(vlan) => {
                let tagged = map([
                    ("addresses", some_texts(&link.addresses)),
                    ("routes", Some(routes.unwrap_or_else(|| list([])))),
                    ("dhcp", Some(dynamic)),
                    ("vlanId", Some(number(vlan))),
                    ("vip", vip),
                ]);
                map([("deviceSelector", Some(card)), ("vlans", Some(list([tagged]))), ("mtu", mtu), ("dhcp", Some(truth(false)))])
            }
        }
    };
    (!input.links.is_empty()).then(|| list(input.links.iter().enumerate().map(interface)))
}

/// From 1.12: documents. A card gets a name of ours by its address, which everything else refers to.
pub(super) fn documents(input: &Input) -> Vec<Node> {
    let mut documents = Vec::new();
    for (index, link) in input.links.iter().enumerate() {
        let card = format!("net{index}");
        let matched = format!("mac(link.permanent_addr) == \"{}\"", link.mac.to_ascii_lowercase());
        let selector = map([("match", Some(text(&matched)))]);
        documents.push(document("LinkAliasConfig", [("name", Some(text(&card))), ("selector", Some(selector))]));
        let addresses =
            (!link.addresses.is_empty()).then(|| list(link.addresses.iter().map(|address| map([("address", Some(text(address)))]))));
        let routes = link.gateway.as_deref().filter(|_| addresses.is_some()).map(|gateway| list([map([("gateway", Some(text(gateway)))])]));
        let (up, mtu) = (Some(truth(true)), link.mtu.map(number));
        let name = match link.vlan {
            None => {
                let entries = [("name", Some(text(&card))), ("up", up), ("mtu", mtu), ("addresses", addresses), ("routes", routes)];
                documents.push(document("LinkConfig", entries));
                card
            }
            Some(vlan) => {
                documents.push(document("LinkConfig", [("name", Some(text(&card))), ("up", up.clone()), ("mtu", mtu)]));
                let name = format!("{card}.{vlan}");
                let entries = [
                    ("name", Some(text(&name))),
                    ("vlanID", Some(number(vlan))),
                    ("parent", Some(text(&card))),
                    ("up", up),
                    ("addresses", addresses),
                    ("routes", routes),
                ];
                documents.push(document("VLANConfig", entries));
                name
            }
        };
        if link.addresses.is_empty() {
            documents.push(document("DHCPv4Config", [("name", Some(text(&name)))]));
        }
        if let Some(vip) = shared(input, index) {
            documents.push(document("Layer2VIPConfig", [("name", Some(text(vip))), ("link", Some(text(&name)))]));
        }
    }
    documents
}
