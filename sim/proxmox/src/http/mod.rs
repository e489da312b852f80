//! HTTP as pveproxy speaks it: HTTP/1 over TLS, errors in the reason phrase,
//! formats in the path (facts §1).

mod authenticate;
mod decode;
mod listener;
mod reply;
mod request;
mod upload;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use emhost_sim_kit::tls::{self, Clients};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::pve::Pve;

/// Servers that run until this is dropped. Then every connection ends, and every task is cut off.
pub struct Serving {
    pve: Weak<Pve>,
    addresses: BTreeMap<String, SocketAddr>,
    listeners: JoinSet<()>,
    open: watch::Sender<bool>,
}

impl Serving {
    /// Where a host's API is dialled.
    pub fn address(&self, host: &str) -> Option<SocketAddr> {
        self.addresses.get(host).copied()
    }

    /// Every host, and where its API is dialled.
    pub fn addresses(&self) -> &BTreeMap<String, SocketAddr> {
        &self.addresses
    }

    /// As dropping it, and waits until nothing of it is left.
    pub async fn stop(mut self) {
        self.open.send_replace(false);
        while self.listeners.join_next().await.is_some() {}
        if let Some(pve) = self.pve.upgrade() {
            for job in pve.tasks.close() {
                while !job.is_finished() {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(pve) = self.pve.upgrade() {
            pve.tasks.close();
        }
    }
}

impl Pve {
    /// Lets every host listen.
    ///
    /// # Errors
    /// An address cannot be had.
    pub async fn serve(self: &Arc<Self>) -> io::Result<Serving> {
        upload::tidy(&self.parts.store)?;
        let mut listeners = JoinSet::new();
        let open = watch::Sender::new(true);
        let mut addresses = BTreeMap::new();
        for host in &self.spec.hosts {
            let Some(known) = self.hosts.get(&host.name) else { continue };
            let config = tls::server(&known.identity, Clients::Anybody, &[]).map_err(io::Error::other)?;
            let listener = TcpListener::bind(host.listen).await?;
            addresses.insert(host.name.clone(), listener.local_addr()?);
            known.listening.send_replace(true);
            listeners.spawn(listener::run(Arc::clone(self), host.name.clone(), listener, config, open.subscribe()));
        }
        let (pve, mut closed) = (Arc::clone(self), open.subscribe());
        listeners.spawn(async move {
            tokio::select! {
                () = pve.tell_statistics() => {}
                _ = closed.wait_for(|open| !*open) => {}
            }
        });
        Ok(Serving { pve: Arc::downgrade(self), addresses, listeners, open })
    }

    /// The certificate of the authority that signed the hosts' certificates, as PEM.
    pub fn authority(&self) -> String {
        self.hosts.authority().pem()
    }

    /// The SHA-256 fingerprint of a host's certificate: `AA:BB:…`.
    pub fn fingerprint(&self, host: &str) -> Option<String> {
        self.hosts.get(host).map(|host| host.identity.fingerprint())
    }
}
