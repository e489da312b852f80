//! One address on which a cluster answers.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::access::User;
use crate::cluster::Cluster;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A running server. Dropping it closes the port and every connection at once.
#[derive(Debug)]
pub struct Serving {
    task: AbortHandle,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn start(cluster: Cluster, listener: TcpListener, tls: Arc<rustls::ServerConfig>) -> Serving {
    let task = tokio::spawn(accept(cluster, listener, TlsAcceptor::from(tls)));
    Serving { task: task.abort_handle() }
}

/// Connections end with the set they are in, and the set ends with this task.
async fn accept(cluster: Cluster, listener: TcpListener, tls: TlsAcceptor) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(cluster.clone(), stream, tls.clone()));
                } else {
                    // Out of file descriptors, most likely: give others the time to close some.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(cluster: Cluster, stream: TcpStream, tls: TlsAcceptor) {
    let Ok(address) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    let Ok(stream) = tls.accept(stream).await else { return };
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let user = certificate.and_then(User::of_certificate);
    let service = service_fn(move |request| {
        let (cluster, user) = (cluster.clone(), user.clone());
        async move { crate::http::answer(&cluster, user, address, request).await }
    });
    // A client that goes away ends its connection; there is nobody to tell.
    let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}
