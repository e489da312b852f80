//! The configuration of one machine.

mod cluster;
mod links;
mod machine;
pub(crate) mod tree;

use emhost_talos_schema::yaml::{self, Node};

use crate::{Bundle, Contract, Input};
use tree::{list, map, text, texts, truth};

/// Why no configuration can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The endpoint is no URL with a host.
    #[error("the endpoint `{0}` is not a URL such as https://10.0.0.10:6443")]
    Endpoint(String),
    /// The version of Kubernetes is none.
    #[error("`{0}` is not a version of Kubernetes such as v1.34.1")]
    NotKubernetes(String),
    /// This Talos does not run that Kubernetes.
    #[error("Talos {talos} runs Kubernetes v1.{first} to v1.{last}, not v{kubernetes}")]
    Kubernetes {
        /// The release of Talos.
        talos: Contract,
        /// The version of Kubernetes.
        kubernetes: String,
        /// The first minor version that it runs.
        first: u16,
        /// The last one.
        last: u16,
    },
    /// A card cannot be told from others.
    #[error("network card {0} has no MAC address to know it by")]
    Card(usize),
    /// The shared address has no card to be on.
    #[error("the shared address {0} needs a network card to be on")]
    SharedAddress(String),
    /// A taint without an effect.
    #[error("`{0}` is not a taint such as dedicated=gpu:NoSchedule")]
    Taint(String),
    /// The configuration has one place for it.
    #[error("a control plane takes one taint of the name `{0}`")]
    SameTaint(String),
}

/// Makes a configuration of one or several documents. The same inputs give the same bytes.
///
/// # Errors
/// When the inputs contradict each other, or cannot be said to that version of Talos.
pub fn generate(bundle: &Bundle, input: &Input) -> Result<String, Impossible> {
    kubernetes(input)?;
    if let Some(index) = input.links.iter().position(|link| link.mac.is_empty()) {
        return Err(Impossible::Card(index));
    }
    if let Some(vip) = input.vip.as_ref().filter(|_| input.controls() && input.links.is_empty()) {
        return Err(Impossible::SharedAddress(vip.clone()));
    }
    let main = map([
        ("version", Some(text("v1alpha1"))),
        ("debug", Some(truth(false))),
        ("persist", Some(truth(true))),
        ("machine", Some(machine::section(bundle, input)?)),
        ("cluster", Some(cluster::section(bundle, input)?)),
    ]);
    let mut documents = vec![main];
    if input.contract.network_documents() {
        documents.extend(network_documents(input));
    }
    documents.extend(tailscale(input));
    Ok(documents.iter().map(yaml::emit).collect::<Vec<_>>().join("---\n"))
}

fn kubernetes(input: &Input) -> Result<(), Impossible> {
    let wrong = || Impossible::NotKubernetes(input.kubernetes.clone());
    let mut parts = input.kubernetes.splitn(3, '.');
    let (Some("1"), Some(minor), Some(_)) = (parts.next(), parts.next(), parts.next()) else { return Err(wrong()) };
    let minor: u16 = minor.parse().map_err(|_| wrong())?;
    let range = input.contract.kubernetes();
    if range.contains(&minor) {
        return Ok(());
    }
    let (first, last) = range.into_inner();
    Err(Impossible::Kubernetes { talos: input.contract, kubernetes: input.kubernetes.clone(), first, last })
}

/// The host of a URL: what certificates are for.
fn host(endpoint: &str) -> Option<&str> {
    let (_, rest) = endpoint.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?.0,
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    };
    (!host.is_empty()).then_some(host)
}

/// A document with a kind of its own.
fn document<'a>(kind: &'a str, entries: impl IntoIterator<Item = (&'a str, Option<Node>)>) -> Node {
    map([("apiVersion", Some(text("v1alpha1"))), ("kind", Some(text(kind)))].into_iter().chain(entries))
}

/// What stands in `machine.network` and `machine.time` up to 1.11.
fn network_documents(input: &Input) -> Vec<Node> {
    let hostname = match &input.hostname {
        Some(hostname) => ("hostname", Some(text(hostname))),
        None => ("auto", Some(text("stable"))),
    };
    let mut documents = vec![document("HostnameConfig", [hostname])];
    documents.extend(links::documents(input));
    if !input.resolvers.is_empty() {
        let servers = list(input.resolvers.iter().map(|server| map([("address", Some(text(server)))])));
        documents.push(document("ResolverConfig", [("nameservers", Some(servers))]));
    }
    if !input.time_servers.is_empty() {
        let servers = map([("servers", Some(texts(&input.time_servers)))]);
        documents.push(document("TimeSyncConfig", [("ntp", Some(servers))]));
    }
    documents
}

fn tailscale(input: &Input) -> Option<Node> {
    let tailscale = input.tailscale.as_ref()?;
    let key = format!("TS_AUTHKEY={}", tailscale.auth_key.as_str());
    let server = tailscale.login_server.as_ref().map(|server| format!("TS_EXTRA_ARGS=--login-server={server}"));
    let environment: Vec<_> = [Some(key), server].into_iter().flatten().collect();
    Some(document("ExtensionServiceConfig", [("name", Some(text("tailscale"))), ("environment", Some(texts(&environment)))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_endpoint() {
        for (endpoint, expected) in [
            ("https://10.0.0.10:6443", Some("10.0.0.10")),
            ("https://api.example.com", Some("api.example.com")),
            ("https://[fd00::1]:6443/", Some("fd00::1")),
            ("https://:6443", None),
            ("10.0.0.10:6443", None),
        ] {
            assert_eq!(host(endpoint), expected, "{endpoint}");
        }
    }
}
