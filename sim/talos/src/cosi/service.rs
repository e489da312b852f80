//! `cosi.resource.State`: reading resources. Nobody writes them through the API.

use bytes::Bytes;
use emhost_talos_api::cosi::{self, GetRequest, ListRequest, WatchRequest};
use emhost_talos_api::methods::cosi as method;
use futures::{StreamExt, stream};
use prost::Message;

use super::query::Query;
use super::{Resources, definitions, watch};
use crate::apid::Roles;
use crate::seam::{Reply, RequestStream};
use crate::wire::{Code, Status};

/// What Go says when a server stumbles over a message that is not there.
const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";

/// Answers one call.
pub(crate) async fn answer(resources: &Resources, roles: &Roles, path: &str, mut request: RequestStream) -> Result<Reply, Status> {
    let message = match request.next().await {
        Some(message) => message?,
        None => return Err(Status::internal("EOF")),
    };
    match path {
        method::GET => {
            let request = decode::<GetRequest>(&message)?;
            allowed(resources, roles, &request.namespace, &request.r#type)?;
            get(resources, &request)
        }
        method::LIST => {
            let request = decode::<ListRequest>(&message)?;
            let options = request.options.unwrap_or_default();
            let query = Query::new(options.label_query, options.id_query.as_ref())?;
            allowed(resources, roles, &request.namespace, &request.r#type)?;
            Ok(list(resources, &request.namespace, &request.r#type, &query))
        }
        method::WATCH => {
            let request = decode::<WatchRequest>(&message)?;
            let options = request.options.clone().ok_or_else(|| Status::internal(NIL))?;
            let query = Query::new(options.label_query.clone(), options.id_query.as_ref())?;
            if request.id.is_some() && options.bootstrap_contents {
                return Err(Status::unimplemented("bootstrap contents is not implemented for resource watch"));
            }
            if request.id.is_some() && !options.label_query.is_empty() {
                return Err(Status::unimplemented("label query is not implemented for resource watch"));
            }
            allowed(resources, roles, &request.namespace, &request.r#type)?;
            watch::watch(resources, request, &options, query).map(Reply::Stream)
        }
        method::DESTROY => Err(write_refused()),
        method::CREATE => Err(written(decode::<cosi::CreateRequest>(&message)?.resource.as_ref())),
        _ => Err(written(decode::<cosi::UpdateRequest>(&message)?.new_resource.as_ref())),
    }
}

fn decode<M: Message + Default>(bytes: &Bytes) -> Result<M, Status> {
    M::decode(bytes.clone())
        .map_err(|_| Status::internal("grpc: error unmarshalling request: proto: cannot parse invalid wire-format data"))
}

fn write_refused() -> Status {
    Status::new(Code::PermissionDenied, "write access is not allowed")
}

/// The refusal of a write: half a resource is not even looked at.
fn written(resource: Option<&cosi::Resource>) -> Status {
    match resource {
        Some(cosi::Resource { metadata: Some(_), spec: Some(_) }) => write_refused(),
        Some(cosi::Resource { metadata: Some(_), spec: None }) => Status::unknown("spec is missing"),
        _ => Status::unknown("metadata is missing"),
    }
}

/// Whether somebody with these roles may read a type.
fn allowed(resources: &Resources, roles: &Roles, namespace: &str, kind: &str) -> Result<(), Status> {
    let unsupported = |what: String| Err(Status::new(Code::PermissionDenied, what));
    let Some(definition) = definitions::find(resources.minor(), kind) else {
        return unsupported(format!("resource type {kind:?} is not supported"));
    };
    if definition.is_sensitive() && !roles.is_admin() {
        return Err(Status::denied());
    }
    if !definitions::has_namespace(resources.minor(), namespace) {
        return unsupported(format!("namespace {namespace:?} is not supported"));
    }
    Ok(())
}

fn get(resources: &Resources, request: &GetRequest) -> Result<Reply, Status> {
    let GetRequest { namespace, r#type: kind, id, .. } = request;
    let found = resources.get(kind, namespace, id);
    let found = found.ok_or_else(|| Status::not_found(format!("resource {kind}({namespace}/{id}@undefined) doesn't exist")))?;
    let response = cosi::GetResponse { resource: Some((*found).clone()) };
    Ok(Reply::Unary(response.encode_to_vec().into()))
}

fn list(resources: &Resources, namespace: &str, kind: &str, query: &Query) -> Reply {
    let found: Vec<_> = resources.list(kind, namespace).into_iter().filter(|resource| query.matches(resource)).collect();
    let message = |resource: std::sync::Arc<cosi::Resource>| {
        let response = cosi::ListResponse { resource: Some((*resource).clone()) };
        Ok(Bytes::from(response.encode_to_vec()))
    };
    Reply::Stream(stream::iter(found).map(message).boxed())
}
