//! The factory's HTTPS server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use emhost_sim_kit::Fault;
use emhost_sim_kit::audit::Entry;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::Factory;
use super::answer::Answer;

/// The longest schematic that is read.
const LONGEST: usize = 1 << 20;

/// A factory that listens. Dropped, it closes its port and all connections.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The connection breaks off, as the dials wanted it.
#[derive(Debug, thiserror::Error)]
#[error("the connection was closed on purpose")]
struct Cut;

impl Factory {
    /// Listens until what comes back is dropped. From then on the address is also a name of this factory.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve(self: &Arc<Self>, address: SocketAddr, tls: Arc<rustls::ServerConfig>) -> io::Result<Serving> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        self.known_as(&address.to_string());
        self.known_as(&address.ip().to_string());
        let (factory, acceptor) = (Arc::clone(self), TlsAcceptor::from(tls));
        let task = tokio::spawn(async move {
            // Connections end with the set, which ends with this task.
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        if let Ok((stream, _)) = accepted {
                            connections.spawn(Arc::clone(&factory).connection(stream, acceptor.clone()));
                        }
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Serving { address, task })
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, acceptor: TlsAcceptor) {
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let service = service_fn(|request| Arc::clone(&self).request(request));
        // A client that goes away is nobody's mistake.
        let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
    }

    async fn request(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Cut> {
        let (head, body) = request.into_parts();
        let (method, path) = (head.method, head.uri.path().to_owned());
        let query = head.uri.query().unwrap_or_default().to_owned();
        let host = head.headers.get("host").and_then(|host| host.to_str().ok()).or(head.uri.authority().map(http::uri::Authority::as_str));
        let base = format!("https://{}", host.unwrap_or("factory.talos.dev"));
        // One name for all images, so that the seed decides by kind of request.
        let kind = format!("{method} /{}", path.split('/').nth(1).unwrap_or_default());
        let fault = self.dials().fault(&format!("factory {kind}"), &[Fault::RequestLost, Fault::ReplyLost, Fault::ServerError]);
        let answer = match (fault, Limited::new(body, LONGEST).collect().await) {
            (Some(Fault::RequestLost), _) => None,
            (Some(Fault::ServerError), _) => Some(Answer::failed()),
            (_, Ok(body)) => Some(self.answer(&method, &path, &query, &base, &body.to_bytes()).await),
            (_, Err(_)) => Some(Answer::text(StatusCode::BAD_REQUEST, "http: request body too large")),
        };
        let entry = Entry {
            part: "factory".into(),
            who: String::new(),
            request: format!("{method} {path}"),
            status: answer.as_ref().map_or(0, |answer| answer.status.as_u16()),
            changed: answer.as_ref().map(|answer| answer.changed.clone()).unwrap_or_default(),
            fault,
            ..Entry::default()
        };
        self.audit().record(entry);
        match answer {
            Some(answer) if fault != Some(Fault::ReplyLost) => Ok(answer.response(method == Method::HEAD)),
            _ => Err(Cut),
        }
    }
}
