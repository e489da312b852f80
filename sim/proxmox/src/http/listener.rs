//! One listener for each host, gone while the host is off.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::reply;
use super::request::{self, Origin};
use crate::pve::Pve;

/// How long a connection may say nothing. At any speed: clients keep connections by their own clock, and one that is closed
/// under their hands would be a fault that nobody asked for.
const IDLE: Duration = Duration::from_secs(5);
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// More than Proxmox takes, so that it is us who refuse.
const MOST_HEADERS: usize = 256;

/// Answers one host's requests, while it is up.
pub(super) async fn run(pve: Arc<Pve>, name: String, first: TcpListener, config: Arc<ServerConfig>, mut open: watch::Receiver<bool>) {
    let Some(host) = pve.hosts.get(&name) else { return };
    let Ok(address) = first.local_addr() else { return };
    let mut up = host.up.subscribe();
    let acceptor = TlsAcceptor::from(config);
    let mut listener = Some(first);
    loop {
        tokio::select! {
            _ = up.wait_for(|up| *up) => {}
            _ = open.wait_for(|open| !*open) => return,
        }
        let current = match listener.take() {
            Some(listener) => listener,
            None => match TcpListener::bind(address).await {
                Ok(listener) => listener,
                Err(_) => return,
            },
        };
        host.listening.send_replace(true);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = current.accept() => if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(Arc::clone(&pve), name.clone(), stream, acceptor.clone()));
                },
                Some(_) = connections.join_next() => {}
                _ = up.wait_for(|up| !*up) => break,
                _ = open.wait_for(|open| !*open) => break,
            }
        }
        drop(current);
        connections.shutdown().await;
        host.listening.send_replace(false);
    }
}

async fn connection(pve: Arc<Pve>, host: String, stream: TcpStream, acceptor: TlsAcceptor) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => {}
        Ok(1) => {
            let service = service_fn(|request| async move { Ok::<_, Infallible>(reply::redirect(&request)) });
            if http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.is_err() {
                // The client went away.
            }
            return;
        }
        _ => return,
    }
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let requests = AtomicU32::new(0);
    let origin = Origin { pve, host };
    let service = service_fn(|request| {
        let count = requests.fetch_add(1, Ordering::Relaxed) + 1;
        let origin = origin.clone();
        async move {
            let reply = request::answer(&origin, request, count).await;
            // An error here closes the connection without an answer.
            reply.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionAborted))
        }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE).max_headers(MOST_HEADERS);
    if server.serve_connection(TokioIo::new(stream), service).await.is_err() {
        // The client went away, or the dials took the answer.
    }
}
