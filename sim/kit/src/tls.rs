//! TLS for the servers of the site.

use std::sync::{Arc, Once};

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;

use crate::certificates::Identity;

/// Who may connect.
#[derive(Debug, Clone)]
pub enum Clients {
    /// Anybody; no certificate is asked for.
    Anybody,
    /// Those with a certificate of one of these authorities, and those without any.
    Optional(Vec<CertificateDer<'static>>),
    /// Only those with a certificate of one of these authorities.
    Required(Vec<CertificateDer<'static>>),
}

/// Makes ring the process's provider, once.
pub fn provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Somebody else's choice stands.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// A server's configuration. `protocols` are offered by ALPN, such as `h2`.
///
/// # Errors
/// The key does not fit the certificate, or an authority cannot be used.
pub fn server(identity: &Identity, clients: Clients, protocols: &[&str]) -> Result<Arc<ServerConfig>, rustls::Error> {
    provider();
    let verifier = |authorities: Vec<CertificateDer<'static>>| {
        let mut roots = rustls::RootCertStore::empty();
        for authority in authorities {
            roots.add(authority)?;
        }
        Ok::<_, rustls::Error>(WebPkiClientVerifier::builder(Arc::new(roots)))
    };
    let failed = |error: rustls::server::VerifierBuilderError| rustls::Error::General(error.to_string());
    let builder = ServerConfig::builder();
    let builder = match clients {
        Clients::Anybody => builder.with_no_client_auth(),
        Clients::Optional(list) => builder.with_client_cert_verifier(verifier(list)?.allow_unauthenticated().build().map_err(failed)?),
        Clients::Required(list) => builder.with_client_cert_verifier(verifier(list)?.build().map_err(failed)?),
    };
    let mut config = builder.with_single_cert(vec![identity.certificate.clone()], identity.private_key())?;
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(Arc::new(config))
}
