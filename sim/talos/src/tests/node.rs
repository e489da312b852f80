//! Nodes that only look alive.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use emhost_sim_kit::certificates::{Algorithm, Authority, Identity as Certificate, Subject};
use emhost_sim_kit::{Fault, Network};
use emhost_talos_api::methods::machine;
use emhost_talos_api::{common, machine as message};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use prost::Message;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::client::{Client, network};
use crate::apid;
use crate::cosi::Resources;
use crate::seam::{Access, Answered, Caller, Fleet, Identity, Machined, Reply, RequestStream};
use crate::wire::{Code, Serving, Status};

const YEAR: Duration = Duration::from_hours(8760);

/// A site with nodes, all of the same authority.
pub(super) struct Site {
    pub(super) network: Network,
    pub(super) authority: Authority,
    nodes: Mutex<BTreeMap<Ipv4Addr, Arc<dyn Machined>>>,
    pub(super) faults: Mutex<Vec<Fault>>,
    pub(super) calls: Mutex<Vec<String>>,
    _folder: tempfile::TempDir,
}

impl Site {
    pub(super) fn new() -> Arc<Self> {
        // Tests of several checkouts may run at once, and a node's port is always the same.
        let (folder, network) = network();
        let authority = Authority::generate(Algorithm::Ed25519, "", "talos", YEAR).unwrap();
        let (nodes, faults, calls) = Default::default();
        Arc::new(Self { network, authority, nodes, faults, calls, _folder: folder })
    }

    /// Starts a node at an address of the site.
    pub(super) async fn start(self: &Arc<Self>, node: Node) -> Running {
        let address = SocketAddr::from((self.network.dial(node.address), 50_000));
        let node = Arc::new(node.prepared(self));
        self.nodes.lock().unwrap().insert(node.address, node.clone());
        let serving = apid::serve(address, node.clone(), self.clone()).await.unwrap();
        Running { address, node, serving: Some(serving) }
    }

    /// A client's certificate with these roles.
    pub(super) fn client(&self, roles: &[&str]) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let certificate = self.issued(roles, false);
        (certificate.certificate.clone(), certificate.private_key())
    }

    pub(super) fn issued(&self, roles: &[&str], server: bool) -> Certificate {
        let organizations = roles.iter().map(|role| (*role).to_owned()).collect();
        let subject = Subject { organizations, client: true, server, ..Subject::default() };
        self.authority.issue(Algorithm::Ed25519, &subject, YEAR).unwrap()
    }
}

impl Fleet for Site {
    fn at(&self, address: Ipv4Addr) -> Option<Arc<dyn Machined>> {
        let nodes = self.nodes.lock().unwrap();
        nodes.iter().find(|(own, _)| self.network.dial(**own) == self.network.dial(address)).map(|(_, node)| node.clone())
    }

    fn resolve(&self, hostname: &str) -> Option<Ipv4Addr> {
        let nodes = self.nodes.lock().unwrap();
        nodes.iter().find(|(_, node)| node.identity().hostname == hostname).map(|(address, _)| *address)
    }

    fn fault(&self, _: Ipv4Addr, _: &str) -> Option<Fault> {
        self.faults.lock().unwrap().pop()
    }

    fn answered(&self, call: Answered<'_>) {
        let Answered { node, targets, who, method, code, fault } = call;
        self.calls.lock().unwrap().push(format!("{node} {targets:?} {who} {method} {} {fault:?}", code.name()));
    }
}

/// A node that runs.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) node: Arc<Node>,
    pub(super) serving: Option<Serving>,
}

impl Running {
    pub(super) async fn client(&self, site: &Site, role: &str) -> Client {
        Client::connect(self.address, Some(site.client(&[role]))).await.unwrap()
    }
}

/// A node.
pub(super) struct Node {
    pub(super) address: Ipv4Addr,
    pub(super) hostname: String,
    pub(super) version: &'static str,
    pub(super) worker: bool,
    pub(super) maintenance: bool,
    pub(super) resources: Resources,
    identity: Option<Identity>,
}

impl Node {
    pub(super) fn control_plane(last: u8) -> Self {
        Self {
            address: Ipv4Addr::new(10, 0, 10, last),
            hostname: format!("node-{last}"),
            version: "v1.11.5",
            worker: false,
            maintenance: false,
            resources: Resources::new("v1.11.5"),
            identity: None,
        }
    }

    pub(super) fn worker(last: u8) -> Self {
        Self { worker: true, ..Self::control_plane(last) }
    }

    pub(super) fn in_maintenance(last: u8, version: &'static str) -> Self {
        Self { maintenance: true, version, resources: Resources::new(version), ..Self::control_plane(last) }
    }

    fn prepared(mut self, site: &Site) -> Self {
        let subject = Subject {
            names: vec![self.hostname.clone()],
            addresses: vec![self.address.into(), site.network.dial(self.address).into()],
            server: true,
            ..Subject::default()
        };
        let alien;
        let authority = if self.maintenance {
            alien = Authority::generate(Algorithm::Ed25519, "", "talos", YEAR).unwrap();
            &alien
        } else {
            &site.authority
        };
        let server = authority.issue(Algorithm::Ed25519, &subject, YEAR).unwrap();
        let members = || Access::Members(vec![site.authority.certificate().clone()]);
        self.identity = Some(Identity {
            server: Arc::new(server),
            access: if self.maintenance { Access::Maintenance } else { members() },
            version: self.version.to_owned(),
            worker: self.worker,
            addresses: vec![self.address],
            hostname: self.hostname.clone(),
        });
        self
    }
}

impl Machined for Node {
    fn identity(&self) -> Identity {
        self.identity.clone().unwrap()
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn call(&self, _: Caller, method: &str, mut request: RequestStream) -> BoxFuture<'static, Result<Reply, Status>> {
        let (hostname, method, tag) = (self.hostname.clone(), method.to_owned(), self.version.to_owned());
        async move {
            match method.as_str() {
                machine::HOSTNAME => {
                    let one = message::Hostname { metadata: None, hostname };
                    Ok(Reply::Unary(message::HostnameResponse { messages: vec![one] }.encode_to_vec().into()))
                }
                machine::VERSION => {
                    let version = message::VersionInfo { tag, arch: "amd64".to_owned(), ..message::VersionInfo::default() };
                    let one = message::Version { version: Some(version), ..message::Version::default() };
                    Ok(Reply::Unary(message::VersionResponse { messages: vec![one] }.encode_to_vec().into()))
                }
                machine::DMESG => {
                    let lines = ["first\n", "second\n"].map(|line| {
                        let data = common::Data { metadata: None, bytes: format!("{hostname} {line}").into_bytes() };
                        Ok(data.encode_to_vec().into())
                    });
                    Ok(Reply::Stream(stream::iter(lines).boxed()))
                }
                machine::EVENTS => Ok(Reply::Stream(stream::pending().boxed())),
                machine::ETCD_RECOVER => {
                    let mut length = 0;
                    while let Some(part) = request.next().await {
                        length += part?.len();
                    }
                    Err(Status::new(Code::DataLoss, format!("{length} bytes")))
                }
                _ => Err(Status::precondition(format!("{hostname} is not alive"))),
            }
        }
        .boxed()
    }
}
