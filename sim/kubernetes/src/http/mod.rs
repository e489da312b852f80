//! From a request to an answer.

mod body;
mod health;
mod negotiation;
mod path;
mod send;
mod watch;

use std::net::SocketAddr;
use std::time::Duration;

use emhost_sim_kit::Fault;
use emhost_sim_kit::audit::Entry;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::access::{Attempt, User, rbac, tokens};
use crate::cluster::Cluster;
use crate::discovery;
use crate::failure::{Failure, Outcome};
use crate::serve::Body;
use crate::verbs::Asked;
use crate::world::World;
use negotiation::{Accepted, Form};
use path::Target;
pub(crate) use send::Answer;

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut off")]
pub(crate) struct CutOff;

/// Answers one request and writes it down.
pub(crate) async fn answer(
    cluster: &Cluster,
    user: Option<User>,
    address: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Body>, CutOff> {
    let line = format!("{} {}", request.method(), request.uri());
    let shape = format!("{} {}", request.method(), request.uri().path());
    let fault = cluster.dials().fault(&format!("kubernetes {shape}"), &[Fault::RequestLost, Fault::ReplyLost, Fault::ServerError]);
    let mut entry = Entry { part: "kubernetes".to_owned(), request: line, fault, ..Entry::default() };
    if fault == Some(Fault::RequestLost) {
        cluster.audit().record(entry);
        return Err(CutOff);
    }
    let answer = if fault == Some(Fault::ServerError) {
        Err(Failure::new(500, "InternalError", "Internal error occurred: the server is not well"))
    } else {
        respond(cluster, user, address, request, &mut entry).await
    };
    let answer = answer.unwrap_or_else(|failure| Answer::failed(&failure));
    entry.status = answer.code;
    entry.changed.clone_from(&answer.changed);
    cluster.audit().record(entry);
    if fault == Some(Fault::ReplyLost) {
        return Err(CutOff);
    }
    Ok(answer.into_response())
}

async fn respond(
    cluster: &Cluster,
    user: Option<User>,
    address: SocketAddr,
    request: Request<Incoming>,
    entry: &mut Entry,
) -> Outcome<Answer> {
    let (parts, incoming) = request.into_parts();
    let header = |name: header::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let bearer = header(header::AUTHORIZATION).strip_prefix("Bearer ").map(str::to_owned);
    let user = match (user, bearer) {
        (_, Some(token)) => cluster.read(|world| tokens::user(world, &token)),
        (user, None) => user,
    };
    let user = user.ok_or_else(Failure::unauthorized)?;
    let user = impersonated(cluster, user, &parts.headers)?;
    entry.who.clone_from(&user.name);
    let body = incoming.collect().await.map_err(|error| Failure::bad_request(error.to_string()))?.to_bytes();
    let path = parts.uri.path().to_owned();
    let query = path::query(parts.uri.query().unwrap_or_default());
    let accept = Accepted::parse(&header(header::ACCEPT))?;
    let target = path::parse(&path);
    if let Target::Other(_) = target {
        let attempt = Attempt { verb: verb_of(&parts.method).to_owned(), path: Some(path.clone()), ..Attempt::default() };
        allowed(cluster, &user, &attempt)?;
        let answer = match health::answer(cluster, &path, &query) {
            Some(answer) => answer,
            None => cluster.read(|world| unbound(world, &path, accept, address))?,
        };
        return Ok(answer);
    }
    if !cluster.read(|world| world.writable) {
        cluster.dials().wait("etcd without quorum", Duration::from_secs(7)).await;
        return Err(Failure::new(500, "", "etcdserver: request timed out"));
    }
    let Target::Resource(found) = target else { return Err(Failure::no_such_path()) };
    let resource = cluster.read(|world| world.kinds.find(&found.group, &found.version, &found.plural)).ok_or_else(Failure::no_such_path)?;
    if !found.subresource.is_empty() && !resource.has(&found.subresource) {
        return Err(Failure::no_such_path());
    }
    if !found.namespace.is_empty() && !resource.namespaced {
        return Err(Failure::no_such_path());
    }
    let mut asked = Asked {
        resource,
        namespace: found.namespace,
        name: found.name,
        subresource: found.subresource,
        query,
        user: user.clone(),
        agent: header(header::USER_AGENT),
    };
    let watching = asked.says("watch") && parts.method == Method::GET;
    let verb = match (parts.method.as_str(), asked.name.is_empty()) {
        ("GET" | "HEAD", _) if watching => "watch",
        ("GET" | "HEAD", false) => "get",
        ("GET" | "HEAD", true) => "list",
        ("POST", _) => "create",
        ("PUT", false) => "update",
        ("PATCH", false) => "patch",
        ("DELETE", false) => "delete",
        ("DELETE", true) => "deletecollection",
        _ => return Err(Failure::method_not_allowed()),
    };
    let attempt = Attempt {
        verb: verb.to_owned(),
        group: asked.resource.group.clone(),
        resource: asked.resource.plural.clone(),
        subresource: asked.subresource.clone(),
        namespace: if asked.resource.namespaced { asked.namespace.clone() } else { String::new() },
        name: asked.name.clone(),
        path: None,
    };
    allowed(cluster, &user, &attempt)?;
    if watching {
        if !asked.name.is_empty() {
            let name = std::mem::take(&mut asked.name);
            asked.query.insert("fieldSelector".to_owned(), format!("metadata.name={name}"));
        }
        return watch::start(cluster, asked, accept);
    }
    let kind = header(header::CONTENT_TYPE);
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let given = if body.is_empty() { Value::Null } else { body::decode(kind, &body)? };
    let mut answer = cluster.write(|world| send::resource(world, verb, &asked, accept, given, kind))?;
    if !matches!(verb, "get" | "list") && answer.code < 300 && !asked.resource.only_create && asked.option("dryRun").is_empty() {
        let place =
            [asked.namespace.as_str(), asked.name.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        answer.changed.push(format!("{verb} {} {place}", asked.resource.qualified()));
    }
    Ok(answer)
}

fn verb_of(method: &Method) -> &'static str {
    match *method {
        Method::POST => "post",
        Method::PUT => "put",
        Method::DELETE => "delete",
        Method::PATCH => "patch",
        _ => "get",
    }
}

/// Somebody who may act for others does so where the request says it.
fn impersonated(cluster: &Cluster, user: User, headers: &http::HeaderMap) -> Outcome<User> {
    let values = |name: &str| headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect::<Vec<_>>();
    let Some(name) = values("impersonate-user").into_iter().next() else { return Ok(user) };
    let attempt = |resource: &str, name: &str| Attempt {
        verb: "impersonate".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..Attempt::default()
    };
    allowed(cluster, &user, &attempt("users", &name))?;
    let mut groups = values("impersonate-group");
    for group in &groups {
        allowed(cluster, &user, &attempt("groups", group))?;
    }
    groups.push("system:authenticated".to_owned());
    Ok(User { name, uid: String::new(), groups })
}

fn allowed(cluster: &Cluster, user: &User, attempt: &Attempt) -> Outcome<()> {
    if user.is_master() || cluster.read(|world| rbac::allows(world, user, attempt)) {
        return Ok(());
    }
    let mut failure = Failure::new(403, "Forbidden", attempt.refusal(user));
    let mut details = serde_json::json!({});
    for (field, value) in [("name", &attempt.name), ("group", &attempt.group), ("kind", &attempt.resource)] {
        if !value.is_empty() {
            details[field] = value.as_str().into();
        }
    }
    failure.details = Some(details);
    Err(failure)
}

/// What is no resource: discovery, schemas, the version.
fn unbound(world: &World, path: &str, accept: Accepted, address: SocketAddr) -> Outcome<Answer> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let aggregated = accept.form == Form::Discovery;
    let told = match parts.as_slice() {
        ["version"] => Some(discovery::version_info(&world.settings.version)),
        ["api" | "apis"] if aggregated => {
            let told = discovery::aggregated(world, parts == ["api"]);
            return Ok(Answer::json(200, &told).typed("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"));
        }
        ["api"] => Some(discovery::core(&address.to_string())),
        ["apis"] => Some(discovery::groups(world)),
        ["apis", group] => discovery::group(world, group),
        ["api", version] => discovery::version(world, "", version),
        ["apis", group, version] => discovery::version(world, group, version),
        ["openapi", "v3"] => Some(discovery::openapi::index(world)),
        ["openapi", "v3", rest @ ..] => discovery::openapi::document(world, &rest.join("/")),
        ["openapi", "v2"] if !accept.json => {
            return Err(Failure::new(
                StatusCode::NOT_ACCEPTABLE.as_u16(),
                "NotAcceptable",
                "only the following media types are accepted: application/json",
            ));
        }
        ["openapi", "v2"] => {
            Some(serde_json::json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": world.settings.version}, "paths": {}}))
        }
        [] => {
            let groups = world.kinds.groups();
            let mut paths: Vec<String> = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
            for (group, versions) in groups.iter().filter(|(group, _)| !group.is_empty()) {
                paths.push(format!("/apis/{group}"));
                paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
            }
            paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
            Some(serde_json::json!({"paths": paths}))
        }
        _ => None,
    };
    told.map(|told| Answer::json(200, &told)).ok_or_else(Failure::no_such_path)
}
