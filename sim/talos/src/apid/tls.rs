//! Who may connect: anybody in maintenance, afterwards those with a client's certificate of the node's authority.

use std::sync::{Arc, Mutex, PoisonError};

use emhost_sim_kit::tls;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme};
use x509_parser::extensions::ExtendedKeyUsage;

use crate::seam::{Access, Identity};

/// The TLS of a node, made anew when the node's certificate or its authorities change.
#[derive(Default)]
pub(crate) struct Tls {
    made: Mutex<Option<Made>>,
}

struct Made {
    server: CertificateDer<'static>,
    authorities: Vec<CertificateDer<'static>>,
    maintenance: bool,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// The TLS for a connection that comes in now; none where the certificate cannot be used.
    pub(crate) fn of(&self, identity: &Identity) -> Option<Arc<ServerConfig>> {
        let (maintenance, authorities) = match &identity.access {
            Access::Maintenance => (true, Vec::new()),
            Access::Members(authorities) => (false, authorities.clone()),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.as_ref()
            && made.server == identity.server.certificate
            && made.authorities == authorities
            && made.maintenance == maintenance
        {
            return Some(made.config.clone());
        }
        let config =
            if maintenance { tls::server(&identity.server, tls::Clients::Anybody, &["h2"]) } else { members(identity, &authorities) };
        let config = config.ok()?;
        *made = Some(Made { server: identity.server.certificate.clone(), authorities, maintenance, config: config.clone() });
        Some(config)
    }
}

fn members(identity: &Identity, authorities: &[CertificateDer<'static>]) -> Result<Arc<ServerConfig>, rustls::Error> {
    tls::provider();
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    let inner = WebPkiClientVerifier::builder(Arc::new(roots)).build().map_err(|error| rustls::Error::General(error.to_string()))?;
    let mut config = ServerConfig::builder()
        .with_client_cert_verifier(Arc::new(ClientsOnly { inner }))
        .with_single_cert(vec![identity.server.certificate.clone()], identity.server.private_key())?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

/// Takes certificates that may be a client's and nothing else.
#[derive(Debug)]
struct ClientsOnly {
    inner: Arc<dyn ClientCertVerifier>,
}

impl ClientCertVerifier for ClientsOnly {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now).map_err(|error| match error {
            // All authorities of Talos are called the same: one of another cluster is unknown, however its name looks.
            rustls::Error::InvalidCertificate(CertificateError::BadSignature) => CertificateError::UnknownIssuer.into(),
            error => error,
        })?;
        if client_alone(end_entity) {
            return Ok(verified);
        }
        // Of all errors this one becomes the alert that Talos sends: a bad certificate.
        Err(rustls::Error::InvalidCertificate(CertificateError::BadEncoding))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Whether the extended key usage is exactly that of a client.
fn client_alone(certificate: &CertificateDer<'_>) -> bool {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return false };
    let Ok(Some(usage)) = parsed.extended_key_usage() else { return false };
    let ExtendedKeyUsage { any, server_auth, client_auth, code_signing, email_protection, time_stamping, ocsp_signing, other } =
        usage.value;
    *client_auth && !any && !server_auth && !code_signing && !email_protection && !time_stamping && !ocsp_signing && other.is_empty()
}

/// The organizations of a certificate, which are its roles.
pub(crate) fn organizations(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return Vec::new() };
    parsed.subject().iter_organization().filter_map(|entry| entry.as_str().ok()).map(str::to_owned).collect()
}
