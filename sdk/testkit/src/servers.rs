//! Servers on loopback that answer as a test tells them to, and authorities for their certificates.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use emhost::capabilities::RawCodec;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Certificate {
    /// The certificate.
    pub pem: String,
    /// Its key.
    pub key: String,
    /// `sha256:` and the digest of the certificate.
    pub fingerprint: String,
}

impl Certificate {
    fn new(pem: String, key: String, der: &[u8]) -> Self {
        let digits: Vec<String> = Sha256::digest(der).iter().map(|byte| format!("{byte:02X}")).collect();
        Self { pem, key, fingerprint: format!("sha256:{}", digits.join(":")) }
    }

    /// A certificate that nobody signed.
    pub fn self_signed(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a certificate");
        Self::new(made.cert.pem(), made.signing_key.serialize_pem(), made.cert.der())
    }
}

/// An authority that signs certificates.
pub struct Authority {
    /// Its own certificate.
    pub pem: String,
    /// Its key.
    pub key: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let key_pem = key.serialize_pem();
        Self { pem, key: key_pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for loopback.
    pub fn sign(&self, common_name: &str) -> Certificate {
        self.sign_for(common_name, &["localhost", "127.0.0.1"])
    }

    /// A certificate for these names.
    pub fn sign_for(&self, common_name: &str, names: &[&str]) -> Certificate {
        self.sign_with(common_name, names, |_| {})
    }

    /// A certificate for loopback that was good until the end of 2001.
    pub fn sign_expired(&self, common_name: &str) -> Certificate {
        self.sign_with(common_name, &["localhost", "127.0.0.1"], |params| {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2001, 12, 31);
        })
    }

    fn sign_with(&self, common_name: &str, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Certificate {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).expect("names");
        params.distinguished_name.push(DnType::CommonName, common_name);
        change(&mut params);
        let made = params.signed_by(&key, &self.issuer).expect("a certificate");
        Certificate::new(made.pem(), key.serialize_pem(), made.der())
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// `GET` and so on.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What a handler answers with.
pub type Body = BoxBody<Bytes, std::io::Error>;
/// Answers a request.
pub type Handler = Arc<dyn Fn(Received) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

/// A whole body.
pub fn body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

/// A plain answer.
pub fn answer(status: u16, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(body(text));
    *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
    response
}

/// A running HTTP server and everything it received.
pub struct HttpServer {
    /// Where it listens.
    pub address: SocketAddr,
    scheme: &'static str,
    received: Arc<Mutex<Vec<Received>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpServer {
    /// Its URL.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Everything that arrived.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts one that answers each request at once.
    pub async fn start(certificate: Option<&Certificate>, handler: impl Fn(Received) -> Response<Body> + Send + Sync + 'static) -> Self {
        Self::start_async(
            certificate,
            Arc::new(move |request| {
                let response = handler(request);
                Box::pin(async move { response })
            }),
        )
        .await
    }

    /// Starts one whose answers may take their time.
    pub async fn start_async(certificate: Option<&Certificate>, handler: Handler) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port on loopback");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(Mutex::new(Vec::new()));
        let acceptor = certificate.map(|certificate| {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let chain = vec![CertificateDer::from_pem_slice(certificate.pem.as_bytes()).expect("a certificate")];
            let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).expect("a key");
            let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("protocols");
            tokio_rustls::TlsAcceptor::from(Arc::new(
                config.with_no_client_auth().with_single_cert(chain, key).expect("a certificate with its key"),
            ))
        });
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let log = Arc::clone(&received);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, handler, log) = (acceptor.clone(), Arc::clone(&handler), Arc::clone(&log));
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(move |request| {
                        let (handler, log) = (Arc::clone(&handler), Arc::clone(&log));
                        async move { serve(request, &handler, &log).await }
                    });
                    let builder = hyper::server::conn::http1::Builder::new();
                    // A client that breaks off is a client's business.
                    match acceptor {
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                            }
                        }
                        None => {
                            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                        }
                    }
                });
            }
        });
        Self { address, scheme, received, task }
    }
}

async fn serve(
    request: Request<hyper::body::Incoming>,
    handler: &Handler,
    log: &Mutex<Vec<Received>>,
) -> Result<Response<Body>, std::convert::Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let received = Received {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body,
    };
    log.lock().unwrap_or_else(PoisonError::into_inner).push(received.clone());
    Ok(handler(received).await)
}

/// Answers a gRPC method: one message, or several for a stream, or a status.
pub type Grpc = Arc<dyn Fn(&str, &tonic::metadata::MetadataMap, Bytes) -> Result<Vec<Bytes>, tonic::Status> + Send + Sync>;

/// A running gRPC server. Methods whose name ends in `Stream` answer with a stream.
pub struct GrpcServer {
    /// Where it listens.
    pub address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl GrpcServer {
    /// Starts one. With an authority, clients have to show a certificate that it signed.
    pub async fn start(certificate: &Certificate, clients: Option<&Authority>, handler: Grpc) -> Self {
        use tonic::transport::server::TcpIncoming;
        use tonic::transport::{Identity, Server, ServerTlsConfig};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port on loopback");
        let address = listener.local_addr().expect("an address");
        let mut tls = ServerTlsConfig::new().identity(Identity::from_pem(&certificate.pem, &certificate.key));
        if let Some(authority) = clients {
            tls = tls.client_ca_root(tonic::transport::Certificate::from_pem(&authority.pem));
        }
        let mut server = Server::builder().tls_config(tls).expect("TLS");
        let router = server.add_service(Service(handler));
        let task = tokio::spawn(async move {
            router.serve_with_incoming(TcpIncoming::from(listener)).await.expect("the server runs until it is dropped");
        });
        Self { address, task }
    }
}

/// Takes every method of every service called `emhost.test.Echo`.
#[derive(Clone)]
struct Service(Grpc);

impl tonic::server::NamedService for Service {
    const NAME: &'static str = "emhost.test.Echo";
}

impl tower::Service<Request<tonic::body::Body>> for Service {
    type Response = Response<tonic::body::Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        let method = request.uri().path().to_owned();
        let one = Method(Arc::clone(&self.0), method.clone());
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(RawCodec);
            Ok(if method.ends_with("Stream") { grpc.server_streaming(one, request).await } else { grpc.unary(one, request).await })
        })
    }
}

struct Method(Grpc, String);

impl tonic::server::UnaryService<Bytes> for Method {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<tonic::Response<Bytes>, tonic::Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let answer = (self.0)(&self.1, request.metadata(), request.get_ref().clone());
        Box::pin(async move { Ok(tonic::Response::new(answer?.into_iter().next().unwrap_or_default())) })
    }
}

impl tonic::server::ServerStreamingService<Bytes> for Method {
    type Response = Bytes;
    type ResponseStream = futures::stream::Iter<std::vec::IntoIter<Result<Bytes, tonic::Status>>>;
    type Future = BoxFuture<'static, Result<tonic::Response<Self::ResponseStream>, tonic::Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let answer = (self.0)(&self.1, request.metadata(), request.get_ref().clone());
        Box::pin(async move {
            let messages: Vec<_> = answer?.into_iter().map(Ok).collect();
            Ok(tonic::Response::new(futures::stream::iter(messages)))
        })
    }
}
