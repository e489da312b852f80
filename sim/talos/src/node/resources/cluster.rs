//! The members of a cluster, as each of its nodes shows them.

use std::net::Ipv4Addr;

use emhost_talos_api::definitions::cluster;
use prost::Message;

use super::network::ip;
use super::yaml::Fields;
use crate::node::Node;

/// What a node tells the others of itself, ready to be shown by any number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberCard {
    pub hostname: String,
    pub node_id: String,
    text: String,
    proto: Vec<u8>,
    affiliate: (String, Vec<u8>),
}

impl MemberCard {
    /// The card of a node with these addresses, first the one to be called at.
    pub fn new(node: &Node, addresses: &[Ipv4Addr]) -> Option<Self> {
        let (hostname, node_id, control_plane) = {
            let state = node.state();
            (state.hostname.clone(), state.node_id.clone(), state.settings.as_ref()?.control_plane)
        };
        let system = format!("Talos ({})", node.boot.image.version);
        let kind = if control_plane { "controlplane" } else { "worker" };
        let machine_type = if control_plane { 2 } else { 3 };
        let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let plane = || control_plane.then_some(cluster::ControlPlane { api_server_port: 6443 });
        let port = || Fields::default().with("port", 6443_u32);
        let mut text = Fields::default()
            .with("nodeId", node_id.as_str())
            .with("addresses", shown.clone())
            .with("hostname", hostname.as_str())
            .with("machineType", kind)
            .with("operatingSystem", system.as_str());
        let mut affiliate = Fields::default()
            .with("nodeId", node_id.as_str())
            .with("addresses", shown)
            .with("hostname", hostname.as_str())
            .with("nodename", hostname.as_str())
            .with("operatingSystem", system.as_str())
            .with("machineType", kind);
        if control_plane {
            text = text.with("controlPlane", port());
            affiliate = affiliate.with("controlPlane", port());
        }
        let addresses: Vec<_> = addresses.iter().map(|address| ip(*address)).collect();
        let member = cluster::MemberSpec {
            node_id: node_id.clone(),
            addresses: addresses.clone(),
            hostname: hostname.clone(),
            machine_type,
            operating_system: system.clone(),
            control_plane: plane(),
        };
        let spec = cluster::AffiliateSpec {
            node_id: node_id.clone(),
            addresses,
            hostname: hostname.clone(),
            nodename: hostname.clone(),
            operating_system: system,
            machine_type,
            kube_span: None,
            control_plane: plane(),
        };
        let affiliate = (affiliate.text(), spec.encode_to_vec());
        Some(Self { hostname, node_id, text: text.text(), proto: member.encode_to_vec(), affiliate })
    }
}

/// Shows the members of its cluster on one node.
pub(crate) fn members(node: &Node, cards: &[MemberCard]) {
    let mut names = Vec::new();
    let mut ids = Vec::new();
    for card in cards {
        node.resources.put("Members.cluster.talos.dev", "cluster", &card.hostname, card.text.clone(), card.proto.clone());
        let (text, proto) = card.affiliate.clone();
        node.resources.put("Affiliates.cluster.talos.dev", "cluster", &card.node_id, text, proto);
        names.push(card.hostname.clone());
        ids.push(card.node_id.clone());
    }
    node.resources.keep_only("Members.cluster.talos.dev", "cluster", &names);
    node.resources.keep_only("Affiliates.cluster.talos.dev", "cluster", &ids);
}
