//! A client of the Kubernetes API of a cluster, with which nodes look up what
//! became of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use emhost_sim_kit::certificates::{Algorithm, Authority, Subject};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::node::settings::Settings;

/// The port of the Kubernetes API.
pub(super) const PORT: u16 = 6443;
const LIFETIME: Duration = Duration::from_hours(8760);
const LIMIT: Duration = Duration::from_secs(10);

/// A client with the rights of an administrator.
#[derive(Clone)]
pub(crate) struct Client {
    tls: Arc<rustls::ClientConfig>,
}

impl Client {
    /// A client for the cluster of these settings; none where they have no key of the authority.
    pub fn new(settings: &Settings) -> Option<Self> {
        let (certificate, key) = &settings.cluster_ca;
        let authority = Authority::from_pem(certificate, key.as_ref()?).ok()?;
        let subject = Subject {
            common_name: "talos:admin".to_owned(),
            organizations: vec!["system:masters".to_owned()],
            client: true,
            ..Subject::default()
        };
        let identity = authority.issue(Algorithm::P256, &subject, LIFETIME).ok()?;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.certificate().clone()).ok()?;
        let builder = rustls::ClientConfig::builder().with_root_certificates(roots);
        let tls = builder.with_client_auth_cert(vec![identity.certificate.clone()], identity.private_key()).ok()?;
        Some(Self { tls: Arc::new(tls) })
    }

    /// Gets a path from the server at this dialled address.
    pub async fn get(&self, address: Ipv4Addr, path: &str) -> Result<Value, String> {
        tokio::time::timeout(LIMIT, self.ask(address, path)).await.map_err(|_| "context deadline exceeded".to_owned())?
    }

    async fn ask(&self, address: Ipv4Addr, path: &str) -> Result<Value, String> {
        let url = format!("Get \"https://{address}:{PORT}{path}\"");
        let failed = |error: &dyn std::fmt::Display| format!("{url}: {error}");
        let stream = TcpStream::connect(SocketAddr::from((address, PORT))).await.map_err(|error| failed(&error))?;
        let name = ServerName::IpAddress(std::net::IpAddr::from(address).into());
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await.map_err(|error| failed(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
        let driver = tokio::spawn(connection);
        let request = http::Request::get(path).header("host", format!("{address}:{PORT}")).header("accept", "application/json");
        let request = request.body(Empty::<Bytes>::new()).map_err(|error| failed(&error))?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
            let value: Value = serde_json::from_slice(&body).map_err(|error| failed(&error))?;
            if status.is_success() {
                return Ok(value);
            }
            Err(value["message"].as_str().map_or_else(|| format!("{url}: {status}"), str::to_owned))
        };
        let answer = answer.await;
        driver.abort();
        answer
    }
}
