//! The front of a node's API: who may connect, what they may do, and where a call goes.

mod many;
mod roles;
mod rules;
mod targets;
mod tls;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use emhost_sim_kit::Fault;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use rustls::ServerConfig;

pub(crate) use roles::Roles;

use crate::cosi;
use crate::seam::{Access, Answered, Caller, Fleet, Machined, Reply, RequestStream};
use crate::wire::{self, Call, Code, Failure, Front, Serving, Status};
use targets::Route;

/// The metadata in which a node that forwards names the roles of whoever asked it.
const ROLES: &str = "talos-role";

/// Serves a node's API on this address until the result is dropped.
///
/// # Errors
/// The address is not to be had.
pub(crate) async fn serve(address: SocketAddr, node: Arc<dyn Machined>, fleet: Arc<dyn Fleet>) -> io::Result<Serving> {
    let dialled = match address {
        SocketAddr::V4(address) => *address.ip(),
        SocketAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    wire::serve(address, Arc::new(Apid { dialled, node, fleet, tls: tls::Tls::default() })).await
}

/// The front of one node.
struct Apid {
    dialled: Ipv4Addr,
    node: Arc<dyn Machined>,
    fleet: Arc<dyn Fleet>,
    tls: tls::Tls,
}

impl Front for Apid {
    fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.of(&self.node.identity())
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, Failure>> {
        let (node, fleet, dialled) = (self.node.clone(), self.fleet.clone(), self.dialled);
        async move {
            let identity = node.identity();
            let caller = caller(&identity.access, &call);
            let who = if caller.maintenance { "maintenance".to_owned() } else { caller.roles.to_string() };
            // Either form of an address finds the node.
            let is_own = |address| fleet.at(address).is_some_and(|found| std::ptr::addr_eq(Arc::as_ptr(&found), Arc::as_ptr(&node)));
            let route = targets::route(&identity, &call.method, &call.metadata, is_own);
            let asked = match &route {
                Ok(Route::One(target)) => vec![target.clone()],
                Ok(Route::Many(targets)) => targets.clone(),
                _ => Vec::new(),
            };
            let fault = fleet.fault(dialled, &call.method);
            let method = call.method.clone();
            let answer = match (fault, route) {
                (Some(Fault::RequestLost), _) => Err(Failure::Lost),
                (Some(Fault::ServerError), _) => Err(Status::unavailable("error reading from server: EOF").into()),
                (_, Err(status)) => Err(status.into()),
                (_, Ok(Route::Here)) => here(&*node, caller, &method, call.messages).await.map_err(Failure::from),
                (_, Ok(Route::One(target))) => match targets::reach(&*fleet, &identity, &target) {
                    Ok(other) => here(&*other, caller, &method, call.messages).await.map_err(Failure::from),
                    Err(status) => Err(status.into()),
                },
                (_, Ok(Route::Many(targets))) => several(&fleet, &identity, &targets, &caller, call).await.map_err(Failure::from),
            };
            // How it ended here; who asked may never hear of it.
            let code = match &answer {
                Ok(_) => Code::Ok,
                Err(Failure::Status(status)) => status.code,
                Err(Failure::Lost) => Code::Unavailable,
            };
            fleet.answered(Answered { node: dialled, targets: &asked, who: &who, method: &method, code, fault });
            if fault == Some(Fault::ReplyLost) { Err(Failure::Lost) } else { answer }
        }
        .boxed()
    }
}

/// Who calls, by certificate; somebody who may impersonate by what the metadata says.
fn caller(access: &Access, call: &Call) -> Caller {
    if matches!(access, Access::Maintenance) {
        return Caller { roles: Roles::reader(), maintenance: true };
    }
    let names = call.certificate.as_ref().map(tls::organizations).unwrap_or_default();
    let mut roles = Roles::of(names.iter().map(String::as_str));
    if roles.has(roles::IMPERSONATOR) {
        let behalf: Vec<_> = call.metadata.get_all(ROLES).iter().filter_map(|value| value.to_str().ok()).collect();
        if !behalf.is_empty() {
            roles = Roles::of(behalf);
        }
    }
    Caller { roles, maintenance: false }
}

/// Asks several nodes at once.
async fn several(
    fleet: &Arc<dyn Fleet>,
    asking: &crate::seam::Identity,
    targets: &[String],
    caller: &Caller,
    call: Call,
) -> Result<Reply, Status> {
    // Each node gets the whole request; the largest is a snapshot of etcd.
    let request: Vec<Bytes> = call.messages.try_collect().await?;
    let asked = targets.iter().map(|target| {
        let (target, fleet, asking, caller) = (target.clone(), fleet.clone(), asking.clone(), caller.clone());
        let (method, request) = (call.method.clone(), stream::iter(request.clone().into_iter().map(Ok)).boxed());
        let name = target.clone();
        let answer = async move {
            let node = targets::reach(&*fleet, &asking, &target)?;
            here(&*node, caller, &method, request).await
        };
        (name, answer.boxed())
    });
    let asked = asked.collect();
    if rules::streamed(asking.minor(), &call.method) { Ok(many::streams(asked)) } else { many::unary(asked).await }
}

/// The node itself answers: if it has the method, and the caller's roles are enough.
async fn here(node: &dyn Machined, caller: Caller, method: &str, request: RequestStream) -> Result<Reply, Status> {
    let identity = node.identity();
    let minor = identity.minor();
    if matches!(identity.access, Access::Maintenance) && minor <= 12 {
        if let Some(refused) = rules::refused_in_maintenance(minor, method) {
            return Err(refused);
        }
    } else {
        if !rules::has(minor, method) {
            return Err(rules::unknown(minor, method));
        }
        if !caller.roles.any(rules::roles(minor, method)) {
            return Err(Status::denied());
        }
    }
    if method.starts_with("/cosi.") {
        return cosi::answer(node.resources(), &caller.roles, method, request).await;
    }
    node.call(caller, method, request).await
}
