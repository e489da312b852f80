//! Between the API of a node and the node itself.
//!
//! The API (TLS, gRPC, roles, forwarding, resources) asks through these
//! traits; whoever lives behind them knows nothing of connections.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use emhost_sim_kit::{Fault, certificates};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use rustls::pki_types::CertificateDer;

use crate::apid::Roles;
use crate::cosi::Resources;
use crate::wire::{Code, Status};

/// One node's own API, after authentication and routing.
pub(crate) trait Machined: Send + Sync + 'static {
    /// Who the node is right now. Asked once per connection, and once per forwarded call.
    fn identity(&self) -> Identity;

    /// What it shows of itself.
    fn resources(&self) -> &Resources;

    /// Answers one call. The caller's role was enough for the method, which is a path of
    /// [`emhost_talos_api::methods`], and the resources are not asked for here.
    ///
    /// A unary reply is the whole `XResponse` with one message and no metadata: the aggregation of several
    /// nodes fills the metadata in.
    fn call(&self, caller: Caller, method: &str, request: RequestStream) -> BoxFuture<'static, Result<Reply, Status>>;
}

/// Every node of the site.
pub(crate) trait Fleet: Send + Sync + 'static {
    /// The node that answers at this address now, in either form of the address.
    fn at(&self, address: Ipv4Addr) -> Option<Arc<dyn Machined>>;

    /// The address that this host name stands for.
    fn resolve(&self, hostname: &str) -> Option<Ipv4Addr>;

    /// What dialling an address says where no node answers. A loopback address is always there.
    fn silence(&self, address: Ipv4Addr) -> &'static str {
        if address.is_loopback() { "connect: connection refused" } else { "connect: no route to host" }
    }

    /// What goes wrong with this call, if anything: [`Fault::RequestLost`], [`Fault::ReplyLost`] or [`Fault::ServerError`].
    fn fault(&self, node: Ipv4Addr, method: &str) -> Option<Fault> {
        let _ = (node, method);
        None
    }

    /// Hears of every call that was answered.
    fn answered(&self, call: Answered<'_>) {
        let _ = call;
    }
}

/// A call that was answered, or whose answer is on its way for a stream.
#[derive(Debug)]
pub(crate) struct Answered<'a> {
    /// The node that was connected to.
    pub(crate) node: Ipv4Addr,
    /// The nodes it was forwarded to; empty for none.
    pub(crate) targets: &'a [String],
    /// Who asked: the roles, or `maintenance`.
    pub(crate) who: &'a str,
    /// The path of the method.
    pub(crate) method: &'a str,
    /// How it ended.
    pub(crate) code: Code,
    /// What the dials did to it.
    pub(crate) fault: Option<Fault>,
}

/// What the API has to know of its node.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The server's certificate and key.
    pub(crate) server: Arc<certificates::Identity>,
    /// Who may connect.
    pub(crate) access: Access,
    /// Such as `v1.11.5`.
    pub(crate) version: String,
    /// Whether it is a worker, which never forwards.
    pub(crate) worker: bool,
    /// The addresses of the node on the site; the dialled forms follow from them.
    pub(crate) addresses: Vec<Ipv4Addr>,
    /// Without a domain.
    pub(crate) hostname: String,
}

impl Identity {
    /// 11 of `v1.11.5`.
    pub(crate) fn minor(&self) -> u32 {
        self.version.split('.').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

/// Who may connect to a node.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    /// Anybody: the node has no configuration yet.
    Maintenance,
    /// Those with a certificate of one of these authorities.
    Members(Vec<CertificateDer<'static>>),
}

/// Who calls.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// What the certificate allows; [`Roles::reader`] at most in maintenance.
    pub(crate) roles: Roles,
    /// Whether the node was without configuration when the connection was made.
    pub(crate) maintenance: bool,
}

/// The messages of a request, each without its frame.
pub(crate) type RequestStream = BoxStream<'static, Result<Bytes, Status>>;

/// An answer: messages, each without its frame.
pub(crate) enum Reply {
    /// One message.
    Unary(Bytes),
    /// Many, as they come.
    Stream(BoxStream<'static, Result<Bytes, Status>>),
}
