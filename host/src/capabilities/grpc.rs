//! gRPC, to slots and nowhere else. The guest brings messages, the host everything below them.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes};
use http::uri::PathAndQuery;
use serde::{Deserialize, Serialize};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Streaming};
use wasmtime::component::Resource;

use super::call::{Call, Guest};
use super::journal::Outcome;
use super::policy::{Need, Refusal, is_name};
use super::record::Readable;
use super::secrets::SecretHandle;
use super::slots::{self, Slot, Target};
use super::tls::{self, Trouble, Trust};
use crate::bindings::emhost::plugin::grpc::{self, Metadata, Reply, Status};
use crate::diagnostic::Diagnostic;
use crate::keys::ClientIdentity;

/// An open channel. A replayed one leads nowhere.
pub struct Channel {
    number: usize,
    slot: String,
    live: Option<tonic::transport::Channel>,
}

/// The answers to one streaming call.
pub struct Inbound {
    number: usize,
    slot: String,
    live: Option<Streaming<Bytes>>,
}

/// Messages pass as bytes: the host knows no protobuf.
#[derive(Clone, Copy, Default)]
pub struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = tonic::Status;

    fn encode(&mut self, item: Bytes, dst: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        dst.put(item);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        Ok(Some(src.copy_to_bytes(src.remaining())))
    }
}

/// How long a node may take to accept a connection: it is in a network that people run themselves.
const NODE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);

fn status(code: Code, message: impl Into<String>) -> Status {
    Status { code: code as u32, message: message.into(), details: Vec::new() }
}

fn denied(refusal: &Refusal) -> Status {
    status(Code::PermissionDenied, &refusal.summary)
}

/// What tonic reports, with the cause that it hides in the chain.
fn of_tonic(call: &Call, slot: &str, error: &tonic::Status) -> Status {
    let mut message = error.message().to_owned();
    let mut code = error.code();
    // Only trouble on the way has a source; what the server itself answers has none.
    if std::error::Error::source(error).is_some() {
        let trouble = tls::diagnose(error);
        let (explained, help) = trouble.explain(slot);
        // With TLS 1.3 a server refuses a client after the handshake, and its reason may be lost.
        let refused = || {
            "a server that asks for a client certificate, or does not accept this client's, may close the connection like this".to_owned()
        };
        let help = help.or_else(|| matches!(trouble, Trouble::Other(_)).then(refused));
        call.remark(Diagnostic::note("grpc/failed", call.shown(&explained, 500)).help(help));
        message = explained;
        code = Code::Unavailable;
    }
    Status { code: code as u32, message: call.shown(&message, 2000), details: error.details().to_vec() }
}

fn refuse(call: &Call, summary: String, help: Option<String>) -> Status {
    denied(&call.refused(Refusal { summary, help, broke_rule: false }))
}

/// How the two sides of a channel prove themselves.
enum Proof {
    Mutual(Box<ClientIdentity>),
    Server(Trust),
}

fn proof(call: &Call, slot: &Slot, identity: Option<&SecretHandle>) -> Result<Proof, Status> {
    let name = &slot.name;
    let Some(identity) = identity else {
        if !slot.maintenance {
            return Err(refuse(
                call,
                format!("slot `{name}` is not open to a client without an identity"),
                Some(format!(
                    "if its machines answer before they have joined (maintenance mode), add to slot `{name}` in site.yaml:\n  maintenance: true"
                )),
            ));
        }
        // Nobody can have signed for a machine that has no configuration yet.
        let trust = if matches!(slot.trust, Trust::System) { Trust::Unknown } else { slot.trust.clone() };
        return Ok(Proof::Server(trust));
    };
    match ClientIdentity::from_pem(&identity.value) {
        Ok(identity) => Ok(Proof::Mutual(Box::new(identity))),
        Err(error) => Err(status(Code::InvalidArgument, format!("secret `{}` is no client identity: {error}", identity.name))),
    }
}

async fn connect(call: &Call, slot: &Slot, node: Option<&str>, proof: Proof) -> Result<tonic::transport::Channel, Status> {
    let name = &slot.name;
    let (host, port, base) = match (&slot.target, node) {
        (Target::Url(url), None) => {
            let host = url.host_str().unwrap_or_default().to_owned();
            (host, url.port_or_known_default().unwrap_or(443), url.to_string())
        }
        (Target::Node(port), Some(node)) => {
            let address = call
                .cluster
                .node(node)
                .ok_or_else(|| status(Code::NotFound, format!("the inventory has no node `{}`", call.shown(node, 80))))?;
            let address = address.address().ok_or_else(|| status(Code::Unavailable, format!("node `{node}` has no address yet")))?;
            let address = call.slots.dial(address);
            let bracketed = if address.contains(':') { format!("[{address}]") } else { address.clone() };
            (address.clone(), *port, format!("https://{bracketed}:{port}"))
        }
        (Target::Url(_), Some(_)) => return Err(status(Code::InvalidArgument, format!("slot `{name}` leads to one server, not to nodes"))),
        (Target::Node(_), None) => return Err(status(Code::InvalidArgument, format!("slot `{name}` leads to nodes: name one"))),
    };
    let unusable = |error: tonic::transport::Error| status(Code::Internal, format!("slot `{name}`: {error}"));
    // A plugin looks at many nodes in one call, and one that is off must not take the time of the others.
    let patience = if node.is_some() { NODE_PATIENCE } else { slots::CONNECT_TIMEOUT };
    let endpoint = Endpoint::from_shared(base).map_err(unusable)?.connect_timeout(patience);
    let mut config = ClientTlsConfig::new();
    let endpoint = match proof {
        Proof::Mutual(identity) => {
            config = config.identity(Identity::from_pem(&identity.certificate, identity.key.as_bytes()));
            match (&identity.authority, &slot.trust) {
                (Some(authority), _) => endpoint.tls_config(config.ca_certificate(Certificate::from_pem(authority))).map_err(unusable)?,
                (None, Trust::Authorities(pem)) => {
                    endpoint.tls_config(config.ca_certificate(Certificate::from_pem(pem))).map_err(unusable)?
                }
                (None, Trust::Fingerprint(_)) => endpoint.tls_config_with_verifier(config, tls::verifier(&slot.trust)).map_err(unusable)?,
                (None, _) => {
                    return Err(refuse(
                        call,
                        format!("slot `{name}`: nothing says which server to trust"),
                        Some("name its authority with `ca:` or its `fingerprint:`".to_owned()),
                    ));
                }
            }
        }
        Proof::Server(Trust::Authorities(pem)) => {
            endpoint.tls_config(config.ca_certificate(Certificate::from_pem(pem))).map_err(unusable)?
        }
        Proof::Server(trust) => endpoint.tls_config_with_verifier(config, tls::verifier(&trust)).map_err(unusable)?,
    };
    let trouble = |trouble: &Trouble| {
        let (explained, help) = trouble.explain(name);
        let explained = call.shown(&explained, 500);
        call.remark(Diagnostic::note("grpc/failed", &explained).help(help));
        status(Code::Unavailable, explained)
    };
    // Resolved here, so that the address is checked before anything is dialled.
    let addresses = slots::resolve(&host, port).await.map_err(|error| trouble(&Trouble::Name(error.to_string())))?;
    let connector = tower::service_fn(move |_: http::Uri| {
        let addresses = addresses.clone();
        async move {
            let stream = tokio::net::TcpStream::connect(&addresses[..]).await?;
            stream.set_nodelay(true)?;
            Ok::<_, std::io::Error>(hyper_util::rt::TokioIo::new(stream))
        }
    });
    endpoint.connect_with_connector(connector).await.map_err(|error| trouble(&tls::diagnose(&error)))
}

/// Metadata that only the host sets.
fn is_reserved(key: &str) -> bool {
    key.starts_with("grpc-")
        || key.starts_with(':')
        || ["te", "content-type", "user-agent"].contains(&key)
        || http::HeaderName::try_from(key).is_ok_and(|name| super::credentials::is_reserved(&name))
}

fn request(call: &Call, headers: &[Metadata], message: Vec<u8>) -> Result<Request<Bytes>, Status> {
    if message.len() > call.limits.grpc_message {
        return Err(status(Code::ResourceExhausted, format!("the message is larger than {} bytes", call.limits.grpc_message)));
    }
    let mut request = Request::new(Bytes::from(message));
    for Metadata { key, value } in headers {
        let shown = call.shown(key, 80);
        if is_reserved(&key.to_ascii_lowercase()) {
            return Err(refuse(call, format!("metadata `{shown}` is the host's to set"), None));
        }
        let bad = || status(Code::InvalidArgument, format!("metadata `{shown}` is malformed"));
        if key.ends_with("-bin") {
            let key = MetadataKey::from_bytes(key.as_bytes()).map_err(|_| bad())?;
            request.metadata_mut().append_bin(key, MetadataValue::from_bytes(value));
        } else {
            let key = MetadataKey::from_bytes(key.as_bytes()).map_err(|_| bad())?;
            request.metadata_mut().append(key, MetadataValue::try_from(value.as_slice()).map_err(|_| bad())?);
        }
    }
    Ok(request)
}

fn metadata(map: &MetadataMap) -> Vec<Metadata> {
    map.iter()
        .filter_map(|pair| match pair {
            tonic::metadata::KeyAndValueRef::Ascii(key, value) => Some((key.as_str(), value.as_bytes().to_vec())),
            tonic::metadata::KeyAndValueRef::Binary(key, value) => Some((key.as_str(), value.to_bytes().ok()?.to_vec())),
        })
        .filter(|(key, _)| !is_reserved(key))
        .map(|(key, value)| Metadata { key: key.to_owned(), value })
        .collect()
}

/// A client on the channel, once it takes a call.
async fn client(call: &Call, slot: &str, live: Option<tonic::transport::Channel>) -> Result<Grpc<tonic::transport::Channel>, Status> {
    let live = live.ok_or_else(|| status(Code::Internal, "the channel leads nowhere"))?;
    let mut client = Grpc::new(live).max_decoding_message_size(call.limits.grpc_message);
    let ready = client.ready().await;
    ready.map_err(|error| of_tonic(call, slot, &tonic::Status::from_error(Box::new(error))))?;
    Ok(client)
}

#[derive(Serialize, Deserialize)]
struct Taped {
    message: Readable,
    headers: Vec<(String, Readable)>,
    trailers: Vec<(String, Readable)>,
}

impl Taped {
    fn new(reply: &Reply) -> Self {
        let map = |all: &[Metadata]| all.iter().map(|one| (one.key.clone(), Readable::new(&one.value))).collect();
        Self { message: Readable::new(&reply.message), headers: map(&reply.headers), trailers: map(&reply.trailers) }
    }

    fn reply(self) -> Reply {
        let map = |all: Vec<(String, Readable)>| all.into_iter().map(|(key, value)| Metadata { key, value: value.bytes() }).collect();
        Reply { message: self.message.bytes(), headers: map(self.headers), trailers: map(self.trailers) }
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    channel: usize,
    method: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(&'a str, Readable)>,
    message: Readable,
}

impl Guest {
    /// Checks a call, writes a change down, makes the call and writes down how it ended.
    async fn grpc<T>(
        &mut self,
        channel: &Resource<Channel>,
        method: &str,
        headers: Vec<Metadata>,
        message: Vec<u8>,
        go: impl AsyncFnOnce(
            &Arc<Call>,
            usize,
            &str,
            Option<tonic::transport::Channel>,
            Request<Bytes>,
            PathAndQuery,
            Asked<'_>,
        ) -> wasmtime::Result<Result<T, Status>>,
    ) -> wasmtime::Result<Result<T, Status>> {
        let call = Arc::clone(&self.call);
        call.spend_request()?;
        let channel = self.table.get(channel)?;
        let (number, slot, live) = (channel.number, channel.slot.clone(), channel.live.clone());
        let well_formed = method.len() < 300
            && method.starts_with('/')
            && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
        let Some(path) = PathAndQuery::try_from(method).ok().filter(|_| well_formed) else {
            return Ok(Err(status(Code::InvalidArgument, format!("`{}` is no method: write /service/Method", call.shown(method, 80)))));
        };
        let change = call.policy.is_change(&slot, method);
        if let Err(refusal) = call.allow(&Need::GrpcCall { slot: &slot, method, change }) {
            return Ok(Err(denied(&refusal)));
        }
        let asked = Asked {
            channel: number,
            method,
            headers: headers.iter().map(|one| (one.key.as_str(), Readable::new(&one.value))).collect(),
            message: Readable::new(&message),
        };
        let request = match request(&call, &headers, message) {
            Ok(request) => request,
            Err(status) => return Ok(Err(status)),
        };
        let written = match change.then(|| call.begin_change(&format!("gRPC {slot} {method}"))) {
            Some(Err(refusal)) => return Ok(Err(denied(&refusal))),
            Some(Ok(number)) => Some(number),
            None => None,
        };
        let waiting = call.waiting(format!("slot `{slot}` to answer {}", call.shown(method, 120)));
        let answered = go(&call, number, &slot, live, request, path, asked).await;
        drop(waiting);
        if let Some(number) = written {
            call.end_change(
                number,
                &match &answered {
                    Ok(Ok(_)) => Outcome::Answered(0),
                    // 14 and 4 are how the way there fails, so the change may have happened.
                    Ok(Err(status)) if status.code == Code::Unavailable as u32 || status.code == Code::DeadlineExceeded as u32 => {
                        Outcome::Unknown(status.message.clone())
                    }
                    Ok(Err(status)) => Outcome::Answered(u16::try_from(status.code).unwrap_or(2)),
                    Err(error) => Outcome::Unknown(error.to_string()),
                },
            );
        }
        answered
    }
}

impl grpc::Host for Guest {}

impl grpc::HostChannel for Guest {
    async fn open(
        &mut self,
        slot: String,
        node: Option<String>,
        identity: Option<Resource<SecretHandle>>,
    ) -> wasmtime::Result<Result<Resource<Channel>, Status>> {
        let call = Arc::clone(&self.call);
        call.spend_request()?;
        if !is_name(&slot) {
            let summary = format!("`{}` is no slot", call.shown(&slot, 80));
            return Ok(Err(refuse(&call, summary, None)));
        }
        if let Err(refusal) = call.allow(&Need::GrpcOpen { slot: &slot }) {
            return Ok(Err(denied(&refusal)));
        }
        let identity = identity.map(|handle| self.table.get(&handle).cloned()).transpose()?;
        let asked = (&slot, &node, identity.as_ref().map(|identity| &identity.name));
        let number = call.number_channel();
        let mut live = None;
        let opened = call
            .tape
            .exchange("grpc.open", &asked, async {
                let Some(bound) = call.slots.get(&slot) else {
                    let help = format!("add to site.yaml:\nslots:\n  {slot}: {{port: 50000}}");
                    return Err(refuse(&call, format!("slot `{slot}` is not bound at this site"), Some(help)));
                };
                let proof = proof(&call, bound, identity.as_ref())?;
                let waiting = call.waiting(format!("slot `{slot}` to accept a connection"));
                live = Some(connect(&call, bound, node.as_deref(), proof).await?);
                drop(waiting);
                Ok(())
            })
            .await?;
        Ok(match opened {
            Ok(()) => Ok(self.table.push(Channel { number, slot, live })?),
            Err(status) => Err(status),
        })
    }

    async fn unary(
        &mut self,
        channel: Resource<Channel>,
        method: String,
        headers: Vec<Metadata>,
        message: Vec<u8>,
    ) -> wasmtime::Result<Result<Reply, Status>> {
        let go = async |call: &Arc<Call>,
                        _: usize,
                        slot: &str,
                        live: Option<tonic::transport::Channel>,
                        request: Request<Bytes>,
                        path: PathAndQuery,
                        asked: Asked<'_>| {
            let answer = call.tape.exchange("grpc.unary", &asked, async {
                let response = client(call, slot, live).await?.unary(request, path, RawCodec).await;
                let response = response.map_err(|error| of_tonic(call, slot, &error))?;
                let (headers, message, _) = response.into_parts();
                Ok(Taped::new(&Reply { message: message.to_vec(), headers: metadata(&headers), trailers: Vec::new() }))
            });
            Ok(answer.await?.map(Taped::reply))
        };
        self.grpc(&channel, &method, headers, message, go).await
    }

    async fn server_stream(
        &mut self,
        channel: Resource<Channel>,
        method: String,
        headers: Vec<Metadata>,
        message: Vec<u8>,
    ) -> wasmtime::Result<Result<Resource<Inbound>, Status>> {
        let go = async |call: &Arc<Call>,
                        number: usize,
                        slot: &str,
                        live: Option<tonic::transport::Channel>,
                        request: Request<Bytes>,
                        path: PathAndQuery,
                        asked: Asked<'_>| {
            let mut stream = None;
            let opened = call.tape.exchange("grpc.server-stream", &asked, async {
                let response = client(call, slot, live).await?.server_streaming(request, path, RawCodec).await;
                stream = Some(response.map_err(|error| of_tonic(call, slot, &error))?.into_inner());
                Ok(())
            });
            let opened = opened.await?;
            Ok(opened.map(|()| Inbound { number, slot: slot.to_owned(), live: stream }))
        };
        let inbound = self.grpc(&channel, &method, headers, message, go).await?;
        Ok(match inbound {
            Ok(inbound) => Ok(self.table.push(inbound)?),
            Err(status) => Err(status),
        })
    }

    async fn drop(&mut self, channel: Resource<Channel>) -> wasmtime::Result<()> {
        self.table.delete(channel)?;
        Ok(())
    }
}

impl grpc::HostInbound for Guest {
    async fn next(&mut self, inbound: Resource<Inbound>) -> wasmtime::Result<Result<Option<Vec<u8>>, Status>> {
        let call = Arc::clone(&self.call);
        call.spend_request()?;
        let inbound = self.table.get_mut(&inbound)?;
        let (number, slot) = (inbound.number, inbound.slot.clone());
        let _waiting = call.waiting(format!("the next message of a stream from slot `{slot}`"));
        let answer = call.tape.exchange("grpc.next", &number, async {
            let Some(stream) = &mut inbound.live else { return Err(status(Code::Internal, "the stream leads nowhere")) };
            match stream.message().await {
                Ok(message) => Ok(message.map(|bytes| Readable::new(&bytes))),
                Err(error) => Err(of_tonic(&call, &slot, &error)),
            }
        });
        Ok(answer.await?.map(|message| message.map(Readable::bytes)))
    }

    async fn drop(&mut self, inbound: Resource<Inbound>) -> wasmtime::Result<()> {
        self.table.delete(inbound)?;
        Ok(())
    }
}
