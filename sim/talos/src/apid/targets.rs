//! Where a call goes: to the node itself, to one other, or to several at once.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http::HeaderMap;

use super::rules;
use crate::seam::{Access, Fleet, Identity, Machined};
use crate::wire::Status;

/// The port of the API, which texts name.
const PORT: u16 = 50_000;

/// Where a call goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To the node that was asked.
    Here,
    /// To another one, whose answer comes back as it is.
    One(String),
    /// To several, whose answers are put together.
    Many(Vec<String>),
}

/// Reads the metadata `node` and `nodes`. `is_own` knows the other forms of the node's addresses.
pub(crate) fn route(identity: &Identity, method: &str, metadata: &HeaderMap, is_own: impl Fn(Ipv4Addr) -> bool) -> Result<Route, Status> {
    if matches!(identity.access, Access::Maintenance) || metadata.contains_key("proxyfrom") {
        return Ok(Route::Here);
    }
    let values = |name: &str| -> Option<Vec<String>> {
        let found: Vec<_> = metadata.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        (!found.is_empty()).then_some(found)
    };
    let (mut node, mut nodes) = (values("node"), values("nodes"));
    if node.as_ref().is_some_and(|node| node.len() != 1) {
        return Err(Status::invalid("node metadata must be single-valued"));
    }
    if identity.worker {
        let is_local = |target: &str| {
            target == identity.hostname || target.parse().is_ok_and(|address| identity.addresses.contains(&address) || is_own(address))
        };
        node = node.filter(|node| !is_local(&node[0]));
        nodes = nodes.filter(|nodes| nodes.len() != 1 || !is_local(&nodes[0]));
    }
    let forwarding = |route: Route, targets: &[String]| {
        if identity.worker {
            return Err(Status::new(crate::wire::Code::PermissionDenied, "no request forwarding"));
        }
        match targets.iter().find(|target| target.is_empty() || has_port(target)) {
            Some(target) => Err(Status::internal(format!("invalid target {target:?}"))),
            None => Ok(route),
        }
    };
    match (nodes, node) {
        (Some(nodes), _) => {
            rules::one_to_many(identity.minor(), method)?;
            forwarding(Route::Many(nodes.clone()), &nodes)
        }
        (None, Some(node)) => forwarding(Route::One(node[0].clone()), &node),
        (None, None) => Ok(Route::Here),
    }
}

/// `host:port`, with brackets around a host that has colons itself.
fn has_port(target: &str) -> bool {
    let Some((host, _)) = target.rsplit_once(':') else { return false };
    match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        Some(Some(host)) => !host.contains(':') || host.parse::<IpAddr>().is_ok(),
        Some(None) => false,
        None => !host.contains(':'),
    }
}

/// The node that a target names, as long as it would let the asking node in.
pub(crate) fn reach(fleet: &dyn Fleet, asking: &Identity, target: &str) -> Result<Arc<dyn Machined>, Status> {
    let address: Ipv4Addr = match target.parse() {
        Ok(address) => address,
        Err(_) => fleet.resolve(target).ok_or_else(|| Status::unavailable("name resolver error: produced zero addresses"))?,
    };
    let Some(node) = fleet.at(address) else {
        let why = fleet.silence(address);
        let text = format!("connection error: desc = \"transport: Error while dialing: dial tcp {address}:{PORT}: {why}\"");
        return Err(Status::unavailable(text));
    };
    if related(asking, &node.identity()) {
        return Ok(node);
    }
    Err(Status::unavailable(
        "connection error: desc = \"transport: authentication handshake failed: tls: failed to verify certificate: x509: \
         certificate signed by unknown authority\"",
    ))
}

/// Whether two nodes trust each other: one authority of theirs is the same.
fn related(one: &Identity, other: &Identity) -> bool {
    match (&one.access, &other.access) {
        (Access::Members(one), Access::Members(other)) => one.iter().any(|authority| other.contains(authority)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::has_port;

    #[test]
    fn ports_are_told_from_addresses() {
        for with in ["10.0.0.1:50000", "host:1", "[fd00::1]:50000", ":1", "10.0.0.1:"] {
            assert!(has_port(with), "{with}");
        }
        for without in ["10.0.0.1", "host", "fd00::1", "[fd00::1]", ""] {
            assert!(!has_port(without), "{without}");
        }
    }
}
