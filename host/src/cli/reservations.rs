//! Which MAC gets which address: what the person who keeps the DHCP server has to enter before machines start.

use emhost::diagnostic::Diagnostic;
use emhost::inventory::{Cluster, Node};
use serde::Serialize;

/// One reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// The node.
    pub node: String,
    /// The MAC of its first card.
    pub mac: String,
    /// The address that it is expected at; none where any will do.
    pub address: Option<String>,
}

/// The reservations that a cluster needs: of every node on a DHCP site, and of those that begin with DHCP elsewhere.
pub fn of(cluster: &Cluster, dhcp: bool) -> Vec<Reservation> {
    let first = |node: &Node| {
        let card = node.cards.first()?;
        let expected = card.address.as_deref().map(|address| address.split_once('/').map_or(address, |(host, _)| host).to_owned());
        let before = node
            .attributes
            .iter()
            .find(|attribute| attribute.key == "dhcp")
            .and_then(|attribute| serde_json::from_str(&attribute.value).ok());
        let address = if dhcp { before.or(expected) } else { Some(before?) };
        Some(Reservation { node: node.name.clone(), mac: card.mac.clone(), address })
    };
    cluster.nodes.iter().filter_map(|node| first(node)).collect()
}

/// The same for a person who reads a plan.
pub fn note(reservations: &[Reservation]) -> Option<Diagnostic> {
    if reservations.is_empty() {
        return None;
    }
    let wide = |text: &dyn Fn(&Reservation) -> usize| reservations.iter().map(text).max().unwrap_or_default();
    let (nodes, macs) = (wide(&|one| one.node.len()), wide(&|one| one.mac.len()));
    let line = |one: &Reservation| format!("{:nodes$}  {:macs$}  {}", one.node, one.mac, one.address.as_deref().unwrap_or("any address"));
    let lines: Vec<String> = reservations.iter().map(line).collect();
    let note = Diagnostic::note("network/reservations", "these machines get their address by DHCP, and are expected there");
    Some(note.detail(lines.join("\n")).help(Some("reserve each address for its MAC at your DHCP server before you apply")))
}

#[cfg(test)]
mod tests {
    use emhost::inventory::{Files, read};

    use super::*;

    fn cluster(network: &str, node: &str) -> (Cluster, bool) {
        let text = format!(
            "cluster_name: dev\ntalos_version: v1.11.5\nkubernetes_version: v1.34.1\nnetwork: {network}\nproxmox: {{node: pve1}}\n"
        );
        let nodes = format!("controlplane: [{{name: dev-cp-1, mac: '02:00:00:00:00:01', {node}}}]\n");
        let files = Files::default().with("cluster.yaml", text).with("nodes.yaml", nodes);
        let loaded = read(&files);
        (loaded.cluster.unwrap_or_else(|| panic!("{:?}", loaded.findings)), loaded.options.dhcp)
    }

    fn told(network: &str, node: &str) -> Option<String> {
        let (cluster, dhcp) = cluster(network, node);
        note(&of(&cluster, dhcp)).and_then(|note| note.detail)
    }

    #[test]
    fn only_what_dhcp_gives_is_reserved() {
        assert_eq!(told("{}", "ip: 10.0.10.11").as_deref(), Some("dev-cp-1  02:00:00:00:00:01  10.0.10.11"));
        assert_eq!(told("{gateway: 10.0.0.1, prefix: 16}", "ip: 10.0.10.11"), None);
        let first = told("{gateway: 10.0.0.1, prefix: 16}", "ip: 10.0.10.11, dhcp: 10.0.20.11");
        assert_eq!(first.as_deref(), Some("dev-cp-1  02:00:00:00:00:01  10.0.20.11"));
    }
}
