//! Whether somebody else has the addresses that new machines are to get.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::diagnostic::Diagnostic;
use emhost::inventory::Cluster;
use emhost_sim::Network;
use futures::future::join_all;

/// What machines commonly listen on: Talos, Kubernetes, SSH, the web, Proxmox.
const PORTS: [u16; 6] = [50000, 6443, 22, 443, 80, 8006];
/// Neighbours answer within milliseconds; one that does not is not waited for.
const LIMIT: Duration = Duration::from_millis(700);

/// An address that nobody has (RFC 5737). Where it answers, a proxy or a tunnel on the way does.
const NOBODY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// How an address answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Somebody listens there.
    Listens(u16),
    /// Somebody is there and has nothing on these ports.
    Refuses,
    /// Nobody that can be seen from here.
    Silence,
}

/// Asks at the addresses of nodes that have no machine yet, and at the shared one if no control plane is there that could hold it.
pub async fn taken(cluster: &Cluster, missing: &[&str], network: Option<Network>) -> (Option<String>, Vec<Diagnostic>) {
    let mut asked: Vec<(String, Ipv4Addr)> = Vec::new();
    for node in cluster.nodes.iter().filter(|node| missing.contains(&node.name.as_str())) {
        let address = node.cards.first().and_then(|card| card.address.as_deref());
        let address = address.and_then(|address| address.split('/').next()?.parse().ok());
        asked.extend(address.map(|address| (format!("node {}", node.name), address)));
    }
    let planes = |name: &str| cluster.node(name).is_some_and(|node| node.role == NodeRole::ControlPlane);
    let control = cluster.nodes.iter().filter(|node| node.role == NodeRole::ControlPlane).count();
    let vip = cluster.vip.as_deref().and_then(|vip| vip.parse().ok());
    if let Some(vip) = vip.filter(|_| missing.iter().filter(|name| planes(name)).count() == control) {
        asked.push(("the API of the cluster (network.vip)".to_owned(), vip));
    }
    let answers = join_all(asked.iter().map(|(_, address)| ask(*address, network))).await;
    let far = |address: &Ipv4Addr| network.is_none() && !address.is_loopback();
    let listens = |(answer, (_, address)): (&Answer, &(String, Ipv4Addr))| matches!(answer, Answer::Listens(_)) && far(address);
    if answers.iter().zip(&asked).any(listens) && matches!(ask(NOBODY, None).await, Answer::Listens(_)) {
        let summary = "whether addresses are free cannot be told from here: something on the way answers for every address";
        return (
            None,
            vec![Diagnostic::warning("network/untold", summary).help(Some("run this from the network that the machines will be in"))],
        );
    }
    let told: Vec<Diagnostic> = asked.iter().zip(&answers).filter_map(|((who, address), answer)| tell(who, *address, *answer)).collect();
    let free = asked.len() - told.len();
    let text = match free {
        0 => None,
        1 => Some("nobody answers at the address that is to be given".to_owned()),
        _ => Some(format!("nobody answers at the {free} addresses that are to be given")),
    };
    (text, told)
}

async fn ask(address: Ipv4Addr, network: Option<Network>) -> Answer {
    let simulated = network.is_some();
    let address = network.map_or(address, |network| network.dial(address));
    let tries = PORTS.map(|port| async move {
        match tokio::time::timeout(LIMIT, tokio::net::TcpStream::connect(SocketAddr::from((address, port)))).await {
            Ok(Ok(_)) => Answer::Listens(port),
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Answer::Refuses,
            _ => Answer::Silence,
        }
    });
    let answers = join_all(tries).await;
    let listens = answers.iter().find(|answer| matches!(answer, Answer::Listens(_)));
    match listens {
        Some(listens) => *listens,
        // Addresses of a simulated site are this computer's own, which refuses what nobody serves.
        None if answers.contains(&Answer::Refuses) && !simulated => Answer::Refuses,
        None => Answer::Silence,
    }
}

fn tell(who: &str, address: Ipv4Addr, answer: Answer) -> Option<Diagnostic> {
    let help = "choose another address in the inventory, or take it from whoever has it";
    match answer {
        Answer::Silence => None,
        Answer::Listens(port) => {
            let summary = format!("{address}, which {who} is to get, is taken: something answers there on port {port}");
            Some(Diagnostic::error("network/taken", summary).help(Some(help)))
        }
        Answer::Refuses => {
            let summary = format!("{address}, which {who} is to get, seems to be taken: something refuses connections there");
            Some(Diagnostic::warning("network/taken", summary).help(Some(format!("{help}; a firewall on the way may do that too"))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_listens_is_found() {
        let address = Ipv4Addr::new(127, 93, 7, 5);
        let listener = tokio::net::TcpListener::bind((address, 50000)).await.expect("a free port");
        assert_eq!(ask(address, None).await, Answer::Listens(50000));
        drop(listener);
        assert_eq!(ask(address, None).await, Answer::Refuses, "this computer refuses what nobody serves");
        assert_eq!(ask(Ipv4Addr::new(10, 9, 7, 5), Some(Network::new(93))).await, Answer::Silence);
    }
}
