//! The two protocols on one port, and what gets lost on the way.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::body::Body;

use crate::state::{Act, Answer, Look, NewMachine, Refusal, Update, refuse};
use crate::{Fate, Inner, Outcome, lock, os};

/// A request, understood.
enum Wish {
    Look(Look),
    Act(Act),
}

/// What goes back: an answer, or nothing at all.
enum Reply {
    Answer(Answer),
    Close,
    Hang,
}

pub(crate) async fn accept(listener: TcpListener, world: Arc<Inner>) {
    // A listener fails for want of file handles, which passes.
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let closing = Arc::new(Notify::new());
            let close = Arc::clone(&closing);
            let service = hyper::service::service_fn(move |request| {
                let (world, close) = (Arc::clone(&world), Arc::clone(&close));
                async move { Ok::<_, Infallible>(serve(world, request, &close).await) }
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            tokio::select! {
                // A client that breaks off is a client's business.
                _ = builder.serve_connection(TokioIo::new(stream), service) => {}
                () = closing.notified() => {}
            }
        });
    }
}

async fn serve(world: Arc<Inner>, request: Request<Incoming>, close: &Notify) -> Response<Body> {
    world.requests.fetch_add(1, Ordering::Relaxed);
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        // It was cut off, so it never arrived.
        return std::future::pending().await;
    };
    let grpc = parts.headers.get(http::header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let understood = if grpc { understand_grpc(parts.uri.path(), &body) } else { understand_http(&parts.method, &parts.uri, &body) };
    let reply = match understood {
        Ok(wish) => {
            let label = format!("{} {}", parts.method, parts.uri.path());
            // On its own, so that what was begun is ended whether or not the client lives to hear of it.
            tokio::spawn(grant(world, wish, label)).await.unwrap_or(Reply::Close)
        }
        Err(refusal) => {
            let method = if grpc { "gRPC" } else { parts.method.as_str() };
            lock(&world.state).violations.push(format!("a request that makes no sense: {method} {}: {}", parts.uri.path(), refusal.text));
            Reply::Answer(Err(refusal))
        }
    };
    match reply {
        Reply::Answer(answer) if grpc => grpc_response(answer),
        Reply::Answer(answer) => http_response(answer),
        Reply::Close => {
            close.notify_one();
            std::future::pending().await
        }
        Reply::Hang => std::future::pending().await,
    }
}

async fn grant(world: Arc<Inner>, wish: Wish, label: String) -> Reply {
    match wish {
        Wish::Look(look) => {
            let label = match &look {
                Look::Status(node) => format!("{label} {}", node.node),
                _ => label,
            };
            let (request_lost, reply_lost) = world.chance(&label);
            if request_lost {
                return Reply::Close;
            }
            let answer = lock(&world.state).look(&look);
            if reply_lost { Reply::Close } else { Reply::Answer(answer) }
        }
        Wish::Act(act) => change(&world, act, &label).await,
    }
}

async fn change(world: &Arc<Inner>, act: Act, label: &str) -> Reply {
    let (what, key) = described(world, &act);
    let (request_lost, reply_lost) = world.chance(&format!("{label} {key}"));
    let mut change = world.record(what, key);
    let (before, after) = {
        let faults = lock(&world.faults);
        (faults.before.clone(), faults.after.clone())
    };
    let fate = Inner::ask(before, &change).await;
    match &fate {
        Fate::Answer | Fate::LoseReply if !request_lost => {}
        Fate::Refuse(code, text) => {
            world.ended(&mut change, Outcome::Refused(text.clone()));
            return Reply::Answer(Err(Refusal { code: *code, text: text.clone() }));
        }
        _ => {
            world.ended(&mut change, Outcome::Lost);
            return if fate == Fate::Hang { Reply::Hang } else { Reply::Close };
        }
    }
    let answer = process(world, change.number, act).await;
    let outcome = match &answer {
        Ok(_) => Outcome::Applied,
        Err(refusal) => Outcome::Refused(refusal.text.clone()),
    };
    world.ended(&mut change, outcome);
    match Inner::ask(after, &change).await {
        Fate::Hang => Reply::Hang,
        Fate::LoseRequest | Fate::LoseReply => Reply::Close,
        _ if fate == Fate::LoseReply || reply_lost => Reply::Close,
        Fate::Refuse(code, text) => Reply::Answer(Err(Refusal { code, text })),
        Fate::Answer => Reply::Answer(answer),
    }
}

fn described(world: &Inner, act: &Act) -> (&'static str, String) {
    let state = lock(&world.state);
    match act {
        Act::Create(new) => ("create", new.name.clone()),
        Act::Update(id, _) => ("update", state.name_of(*id)),
        Act::Start(id) => ("start", state.name_of(*id)),
        Act::Stop(id) => ("stop", state.name_of(*id)),
        Act::Delete(id, _) => ("delete", state.name_of(*id)),
        Act::Image(name, _) => ("image", name.clone()),
        Act::DeleteImage(name) => ("delete-image", name.clone()),
        Act::Cordon(node) => ("cordon", node.clone()),
        Act::EvictPod(_, pod) => ("evict-pod", pod.clone()),
        Act::ForgetNode(node) => ("forget-node", node.clone()),
        Act::Configure(configure) => ("configure", configure.node.clone()),
        Act::Reset(node) => ("reset", node.node.clone()),
        Act::Bootstrap(node) => ("bootstrap", node.node.clone()),
        Act::Evict(node) => ("evict", node.node.clone()),
    }
}

/// Lets a change happen. A create holds its storage while it is under way.
async fn process(world: &Inner, number: u64, act: Act) -> Answer {
    let Act::Create(new) = &act else { return lock(&world.state).act(number, act) };
    let storage = new.storage.clone();
    let latency = {
        let mut state = lock(&world.state);
        if state.busy.contains(&storage) {
            state.violations.push(format!("two at once on storage {storage}: the create of {}", new.name));
            return refuse(500, format!("can't lock storage {storage}"));
        }
        // What takes no time cannot overlap, however the threads run.
        if state.dials.create_latency.is_zero() {
            return state.act(number, act);
        }
        state.busy.insert(storage.clone());
        state.dials.create_latency
    };
    tokio::time::sleep(latency).await;
    let mut state = lock(&world.state);
    state.busy.remove(&storage);
    state.act(number, act)
}

fn understand_http(method: &Method, uri: &http::Uri, body: &[u8]) -> Result<Wish, Refusal> {
    let query = |name: &str| {
        let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).next()
    };
    let path: Vec<String> = uri.path().split('/').filter(|segment| !segment.is_empty()).map(decoded).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u32>().or_else(|_| refuse(400, format!("{text} is no number")));
    Ok(match (method.as_str(), path.as_slice()) {
        ("GET", ["machines"]) => Wish::Look(Look::Machines { cluster: query("cluster"), name: query("name") }),
        ("GET", ["machines", id]) => Wish::Look(Look::Machine(number(id)?)),
        ("GET", ["tasks", id]) => Wish::Look(Look::Task(number(id)?)),
        ("GET", ["images", name]) => Wish::Look(Look::Image((*name).to_owned())),
        ("GET", ["images"]) => Wish::Look(Look::Images),
        ("DELETE", ["images", name]) => Wish::Act(Act::DeleteImage((*name).to_owned())),
        ("GET", ["kube", "api", "v1", "nodes", name]) => Wish::Look(Look::KubeNode((*name).to_owned())),
        ("PATCH", ["kube", "api", "v1", "nodes", name]) => Wish::Act(Act::Cordon((*name).to_owned())),
        ("DELETE", ["kube", "api", "v1", "nodes", name]) => Wish::Act(Act::ForgetNode((*name).to_owned())),
        ("GET", ["kube", "api", "v1", "pods"]) => {
            match query("fieldSelector").as_deref().and_then(|text| text.strip_prefix("spec.nodeName=")) {
                Some(node) => Wish::Look(Look::KubePods(node.to_owned())),
                None => return refuse(400, "pods are asked for by node"),
            }
        }
        ("GET", ["kube", "api", "v1", "namespaces", "kube-system", "configmaps"]) => Wish::Look(Look::KubeInventories),
        ("POST", ["kube", "api", "v1", "namespaces", namespace, "pods", name, "eviction"]) => {
            Wish::Act(Act::EvictPod((*namespace).to_owned(), (*name).to_owned()))
        }
        ("POST", ["machines"]) => Wish::Act(Act::Create(json::<NewMachine>(body)?)),
        ("PUT", ["machines", id]) => Wish::Act(Act::Update(number(id)?, json::<Update>(body)?)),
        ("POST", ["machines", id, "start"]) => Wish::Act(Act::Start(number(id)?)),
        ("POST", ["machines", id, "stop"]) => Wish::Act(Act::Stop(number(id)?)),
        ("DELETE", ["machines", id]) => match query("identity") {
            Some(identity) => Wish::Act(Act::Delete(number(id)?, identity)),
            None => return refuse(400, "a machine is deleted with its identity"),
        },
        ("PUT", ["images", name]) => Wish::Act(Act::Image((*name).to_owned(), body.to_vec())),
        _ => return refuse(404, "there is nothing here"),
    })
}

fn json<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).or_else(|error| refuse(400, error.to_string()))
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        if let Some(hex) = hex.filter(|_| *byte == b'%') {
            out.push(hex);
            at += 3;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn read<T: Message + Default>(message: &[u8]) -> Result<T, Refusal> {
    T::decode(message).or_else(|error| refuse(3, error.to_string()))
}

fn understand_grpc(path: &str, body: &[u8]) -> Result<Wish, Refusal> {
    // One byte for compression, four for the length.
    let Some((&[0, ..], message)) = body.split_first_chunk::<5>() else {
        return refuse(3, "one message, not compressed");
    };
    Ok(match path.strip_prefix("/world.Os/") {
        Some("Status") => Wish::Look(Look::Status(read(message)?)),
        Some("Members") => Wish::Look(Look::Members(read(message)?)),
        Some("Health") => Wish::Look(Look::Health(read(message)?)),
        Some("Configure") => Wish::Act(Act::Configure(read(message)?)),
        Some("Reset") => Wish::Act(Act::Reset(read(message)?)),
        Some("Bootstrap") => Wish::Act(Act::Bootstrap(read(message)?)),
        Some("Evict") => Wish::Act(Act::Evict(read(message)?)),
        _ => return refuse(12, "there is no such method"),
    })
}

fn http_response(answer: Answer) -> Response<Body> {
    let (status, bytes) = match answer {
        Ok(bytes) => (StatusCode::OK, bytes),
        Err(Refusal { code, text }) => (StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), text.into_bytes()),
    };
    let mut response = Response::new(Body::new(Full::new(Bytes::from(bytes))));
    *response.status_mut() = status;
    response
}

fn grpc_response(answer: Answer) -> Response<Body> {
    let message = match answer {
        Ok(message) => message,
        Err(Refusal { code, text }) => {
            // By these details a client tells a node that is down from a way there that is.
            let details = if code == os::UNAVAILABLE { "node-down" } else { "" };
            let code = if code <= 16 { tonic::Code::from(i32::from(code)) } else { tonic::Code::Unknown };
            return tonic::Status::with_details(code, text, Bytes::from(details)).into_http();
        }
    };
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut framed = vec![0];
    framed.extend(length);
    framed.extend(message);
    let trailers = HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))]);
    let body = Full::new(Bytes::from(framed)).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}
