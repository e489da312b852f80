//! A gRPC client that shows everything a server does, for tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use emhost_sim_kit::{Network, addresses};
use http::{HeaderMap, Request};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long an answer may take to begin. A busy computer needs a while, and a stream without any message never begins.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long a stream is listened to that does not end by itself.
const LISTENING: Duration = Duration::from_millis(400);

/// A network that nobody uses, as long as the folder is there: not another test, and not a site that runs here.
pub fn network() -> (tempfile::TempDir, Network) {
    let folder = tempfile::tempdir().unwrap();
    let network = addresses::claim(&addresses::claims_of_tests(), folder.path(), None).unwrap();
    (folder, network)
}

/// A certificate and its key.
pub type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// A connection to a node.
pub struct Client {
    sender: http2::SendRequest<Full<Bytes>>,
    connection: tokio::task::JoinHandle<()>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What came back.
    pub messages: Vec<Bytes>,
    /// The code; none for a stream that is still open.
    pub code: Option<u16>,
    /// The text of an error.
    pub message: String,
    /// Whether the code came with the headers, and nothing after them.
    pub trailers_only: bool,
    /// The HTTP status.
    pub http: u16,
}

impl Client {
    /// Connects, with a certificate or without one. The server's is taken as it is.
    pub async fn connect(address: SocketAddr, identity: Option<Identity>) -> Result<Self, String> {
        let stream = secure(address, identity).await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(|error| text(&error))?;
        Ok(Self { sender, connection: tokio::spawn(async move { drop(connection.await) }) })
    }

    /// The last words of TLS to somebody who is not let in; none to who is.
    ///
    /// With TLS 1.3 they come after the handshake, and get lost if anything is sent before they are read.
    pub async fn refusal(address: SocketAddr, identity: Option<Identity>) -> Option<String> {
        let mut stream = match secure(address, identity).await {
            Ok(stream) => stream,
            Err(why) => return Some(why),
        };
        let mut settings = [0; 9];
        stream.read_exact(&mut settings).await.err().map(|error| text(&error))
    }

    /// Calls a method with messages and metadata.
    pub async fn call(&self, method: &str, metadata: &[(&str, &str)], messages: &[Vec<u8>]) -> Result<Outcome, String> {
        let body: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
        let mut request =
            Request::post(format!("https://node{method}")).header("content-type", "application/grpc").header("te", "trailers");
        for (name, value) in metadata {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
        self.send(request).await
    }

    /// Sends any request.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Outcome, String> {
        // Calls may go on side by side.
        let mut sender = self.sender.clone();
        sender.ready().await.map_err(|error| text(&error))?;
        let open = Outcome { messages: Vec::new(), code: None, message: String::new(), trailers_only: false, http: 200 };
        let response = match tokio::time::timeout(PATIENCE, sender.send_request(request)).await {
            Ok(response) => response.map_err(|error| text(&error))?,
            // A stream without any message has not even sent its headers.
            Err(_) => return Ok(open),
        };
        let http = response.status().as_u16();
        let (head, mut body) = response.into_parts();
        let mut outcome = Outcome { http, ..open };
        // Clients in Go take headers for trailers only where the stream ends with them.
        outcome.trailers_only = finish(&mut outcome, &head.headers) && body.is_end_stream();
        let mut arrived = Vec::new();
        loop {
            match tokio::time::timeout(LISTENING, body.frame()).await {
                Err(_) | Ok(None) => break,
                Ok(Some(Err(error))) => return Err(text(&error)),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => arrived.extend_from_slice(&data),
                    Err(frame) => {
                        finish(&mut outcome, frame.trailers_ref().unwrap_or(&HeaderMap::new()));
                    }
                },
            }
        }
        let mut rest = &arrived[..];
        while let Some((head, after)) = rest.split_at_checked(5) {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let Some((message, after)) = after.split_at_checked(length) else { break };
            outcome.messages.push(Bytes::copy_from_slice(message));
            rest = after;
        }
        Ok(outcome)
    }
}

async fn secure(address: SocketAddr, identity: Option<Identity>) -> Result<TlsStream<TcpStream>, String> {
    emhost_sim_kit::tls::provider();
    let builder = ClientConfig::builder().dangerous().with_custom_certificate_verifier(Arc::new(AnyServer));
    let mut config = match identity {
        Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).map_err(|error| error.to_string())?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let name = ServerName::from(address.ip());
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| text(&error))
}

fn finish(outcome: &mut Outcome, headers: &HeaderMap) -> bool {
    let Some(code) = headers.get("grpc-status").and_then(|value| value.to_str().ok()) else { return false };
    outcome.code = code.parse().ok();
    outcome.message = headers.get("grpc-message").and_then(|value| value.to_str().ok()).map(unescape).unwrap_or_default();
    true
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let (b'%', Some(code)) = (first, code) {
            bytes.push(code);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).unwrap_or_default().to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

/// An error with all its causes: the alert of TLS is at the bottom.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

#[derive(Debug)]
struct AnyServer;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
