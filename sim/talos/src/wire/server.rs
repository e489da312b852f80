//! A gRPC server on one address, for as long as somebody holds it.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::answer::{Answer, answer, refuse, reject};
use super::frames::messages;
use super::{Code, Status};
use crate::seam::{Reply, RequestStream};

/// How long a client may take for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// How long a port is waited for that a server before this one has just left.
const PORT: Duration = Duration::from_secs(5);

/// What answers calls.
pub(crate) trait Front: Send + Sync + 'static {
    /// The TLS of a connection that comes in now; none if the node cannot take one.
    fn tls(&self) -> Option<Arc<ServerConfig>>;

    /// Answers a call.
    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, Failure>>;
}

/// One call.
pub(crate) struct Call {
    /// Such as `/machine.MachineService/Version`.
    pub(crate) method: String,
    pub(crate) metadata: HeaderMap,
    pub(crate) messages: RequestStream,
    /// The certificate the client showed.
    pub(crate) certificate: Option<CertificateDer<'static>>,
}

/// Why there is no answer.
pub(crate) enum Failure {
    /// There is one, and it is an error.
    Status(Status),
    /// The connection breaks instead.
    Lost,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// A server that runs until this is dropped: then the port and all connections close at once.
#[derive(Debug)]
pub(crate) struct Serving {
    accepting: AbortHandle,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Listens on this address.
///
/// # Errors
/// The address is not to be had.
pub(crate) async fn serve(address: SocketAddr, front: Arc<dyn Front>) -> io::Result<Serving> {
    let listener = listen(address).await?;
    let accepting = tokio::spawn(accept(listener, front)).abort_handle();
    Ok(Serving { accepting })
}

/// A node that restarts wants the port that its predecessor is about to free.
async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let end = tokio::time::Instant::now() + PORT;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tokio::time::Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            bound => return bound,
        }
    }
}

async fn accept(listener: TcpListener, front: Arc<dyn Front>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, front.clone()))),
                // Out of descriptors, most likely: others may end meanwhile.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, front: Arc<dyn Front>) {
    let Some(config) = front.tls() else { return };
    // Answers are small, and a client waits for each.
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream)).await else { return };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first()).map(|leaf| leaf.clone().into_owned());
    let lost = Arc::new(Notify::new());
    let service = service_fn(|request| one(request, front.clone(), certificate.clone(), lost.clone()));
    let connection = http2::Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_concurrent_streams(None)
        .initial_stream_window_size(65_535 * 32)
        .initial_connection_window_size(65_535 * 16)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // A client that goes away is its own business.
        _ = connection => {}
        () = lost.notified() => {}
    }
}

async fn one(
    request: Request<Incoming>,
    front: Arc<dyn Front>,
    certificate: Option<CertificateDer<'static>>,
    lost: Arc<Notify>,
) -> Result<Response<Answer>, Infallible> {
    let (head, body) = request.into_parts();
    let content = head.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if head.method != Method::POST {
        let text = format!("Received a HEADERS frame with :method {:?} which should be POST", head.method.as_str());
        return Ok(reject(StatusCode::METHOD_NOT_ALLOWED, &Status::internal(text)));
    }
    if !is_grpc(content) {
        let status = Status::invalid(format!("invalid gRPC request content-type {content:?}"));
        return Ok(reject(StatusCode::UNSUPPORTED_MEDIA_TYPE, &status));
    }
    let deadline = match head.headers.get("grpc-timeout").map(|value| timeout(value.to_str().unwrap_or_default())) {
        None => None,
        Some(Ok(deadline)) => Some(deadline),
        Some(Err(why)) => return Ok(reject(StatusCode::BAD_REQUEST, &Status::internal(format!("malformed grpc-timeout: {why}")))),
    };
    let method = head.uri.path().to_owned();
    if method.trim_start_matches('/').find('/').is_none() {
        return Ok(refuse(&Status::unimplemented(format!("malformed method name: {method:?}"))));
    }
    let encoding = head.headers.get("grpc-encoding").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let call = Call { method, metadata: head.headers, messages: messages(body, encoding), certificate };
    let reply = within(deadline, front.call(call)).await;
    match reply {
        Ok(reply) => Ok(answer(Ok(reply)).await.0),
        Err(Failure::Status(status)) => Ok(refuse(&status)),
        Err(Failure::Lost) => {
            lost.notify_one();
            std::future::pending().await
        }
    }
}

fn is_grpc(content: &str) -> bool {
    content.to_ascii_lowercase().strip_prefix("application/grpc").is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

/// `100m` and such: up to eight digits and a unit.
fn timeout(text: &str) -> Result<Duration, String> {
    let split = text.len().checked_sub(1).filter(|end| *end > 0 && text.is_char_boundary(*end));
    let (digits, unit) = text.split_at(split.ok_or_else(|| format!("transport: timeout string is too short: {text:?}"))?);
    if digits.len() > 8 {
        return Err(format!("transport: timeout string is too long: {text:?}"));
    }
    let number: u64 = digits.parse().map_err(|_| format!("strconv.ParseUint: parsing {digits:?}: invalid syntax"))?;
    Ok(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return Err(format!("transport: timeout unit is not recognized: {text:?}")),
    })
}

async fn within(deadline: Option<Duration>, call: BoxFuture<'static, Result<Reply, Failure>>) -> Result<Reply, Failure> {
    let Some(deadline) = deadline else { return call.await };
    let end = tokio::time::Instant::now() + deadline;
    let late = || Status::new(Code::DeadlineExceeded, "context deadline exceeded");
    match tokio::time::timeout_at(end, call).await {
        Err(_) => Err(late().into()),
        Ok(Ok(Reply::Stream(stream))) => {
            let in_time = stream.map(Some).take_until(tokio::time::sleep_until(end)).chain(futures::stream::once(async { None }));
            // The stream's own end comes before the deadline's, and then nothing is late.
            let limited = in_time.scan(false, move |_, item| {
                let item: Option<Result<Bytes, Status>> = match item {
                    Some(message) => Some(message),
                    None if tokio::time::Instant::now() >= end => Some(Err(late())),
                    None => None,
                };
                async move { item }
            });
            Ok(Reply::Stream(limited.boxed()))
        }
        Ok(other) => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn timeouts_are_read_as_grpc_writes_them() {
        assert_eq!(timeout("100m"), Ok(Duration::from_millis(100)));
        assert_eq!(timeout("2H"), Ok(Duration::from_hours(2)));
        for wrong in ["", "m", "1", "123456789S", "5x", "-5S", "5ü"] {
            assert!(timeout(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn content_types() {
        assert!(is_grpc("application/grpc") && is_grpc("application/grpc+proto") && is_grpc("application/grpc;x"));
        assert!(!is_grpc("application/grpcx") && !is_grpc("application/json") && !is_grpc(""));
    }

    #[tokio::test]
    async fn a_stream_ends_at_its_deadline_and_not_before() {
        let endless = futures::stream::iter([Ok(Bytes::new())]).chain(futures::stream::pending()).boxed();
        let call = async { Ok(Reply::Stream(endless)) };
        let Ok(Reply::Stream(stream)) = within(Some(Duration::from_millis(20)), Box::pin(call)).await else { panic!("no stream") };
        let got: Vec<_> = stream.collect().await;
        assert_eq!(got.len(), 2);
        assert_eq!(got[1].as_ref().unwrap_err().code, Code::DeadlineExceeded);
        let short = async { Ok(Reply::Stream(futures::stream::iter([Ok(Bytes::new())]).boxed())) };
        let Ok(Reply::Stream(stream)) = within(Some(Duration::from_secs(9)), Box::pin(short)).await else { panic!("no stream") };
        assert_eq!(stream.collect::<Vec<_>>().await.len(), 1);
    }
}
