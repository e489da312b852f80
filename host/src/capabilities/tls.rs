//! Who is at the other end: trust in servers, and what to say when there is none.

use std::error::Error as StdError;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

/// How a server proves who it is.
#[derive(Debug, Clone)]
pub enum Trust {
    /// A certificate from an authority this system trusts.
    System,
    /// A certificate from one of these authorities, in PEM.
    Authorities(Vec<u8>),
    /// This one certificate, by the SHA-256 of its bytes. Its name and dates are not looked at.
    Fingerprint([u8; 32]),
    /// Any certificate: a machine in maintenance mode makes its own, and nobody knows it yet.
    Unknown,
}

/// A client's certificate chain and key.
pub(crate) struct ClientCertificate {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

/// Why a TLS configuration cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A fingerprint that is none.
    #[error("a fingerprint is `sha256:` and 64 hexadecimal digits, with or without colons")]
    Fingerprint,
    /// Authorities that cannot be read.
    #[error("the authority has no usable certificate: {0}")]
    Authority(String),
    /// A system without any.
    #[error("this system has no trusted authorities; name one with `ca:` or the server's `fingerprint:`")]
    NoSystemAuthorities,
    /// A client certificate that cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Client(String),
    /// The library refused.
    #[error("TLS cannot be set up: {0}")]
    Library(String),
}

/// Reads `sha256:AB:CD…` as Proxmox shows it, or the same without colons.
pub(crate) fn fingerprint(text: &str) -> Result<[u8; 32], TlsError> {
    let lower = text.trim().to_ascii_lowercase();
    let digits: String = lower.strip_prefix("sha256:").unwrap_or(&lower).chars().filter(|c| *c != ':').collect();
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(TlsError::Fingerprint);
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).map_err(|_| TlsError::Fingerprint)?;
    }
    Ok(bytes)
}

/// Builds the client side of TLS.
pub(crate) fn client(trust: &Trust, identity: Option<ClientCertificate>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Library(error.to_string()))?;
    let builder = match trust {
        Trust::System => builder.with_root_certificates(system_roots()?),
        Trust::Authorities(pem) => builder.with_root_certificates(roots(pem)?),
        Trust::Fingerprint(_) | Trust::Unknown => builder.dangerous().with_custom_certificate_verifier(verifier(trust)),
    };
    match identity {
        Some(client) => builder.with_client_auth_cert(client.chain, client.key).map_err(|error| TlsError::Client(error.to_string())),
        None => Ok(builder.with_no_client_auth()),
    }
}

/// A verifier for the kinds of trust that no authority gives.
pub(crate) fn verifier(trust: &Trust) -> Arc<dyn ServerCertVerifier> {
    let pin = match trust {
        Trust::Fingerprint(pin) => Some(*pin),
        _ => None,
    };
    Arc::new(OneCertificate { pin, provider: Arc::new(rustls::crypto::ring::default_provider()) })
}

fn system_roots() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::NoSystemAuthorities) } else { Ok(roots) }
}

fn roots(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| TlsError::Authority(error.to_string()))?;
        roots.add(certificate).map_err(|error| TlsError::Authority(error.to_string()))?;
    }
    if roots.is_empty() { Err(TlsError::Authority("it is empty".to_owned())) } else { Ok(roots) }
}

/// Accepts one certificate, or any. The handshake's signature is checked either way, so the
/// server holds the key of the certificate it shows.
#[derive(Debug)]
struct OneCertificate {
    pin: Option<[u8; 32]>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OneCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.pin {
            Some(pin) if Sha256::digest(end_entity.as_ref())[..] != pin => {
                let shown = crate::plugins::hex(&Sha256::digest(end_entity.as_ref()));
                let error = OtherFingerprint { shown };
                Err(CertificateError::Other(rustls::OtherError(Arc::new(error))).into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the server shows sha256:{shown}")]
struct OtherFingerprint {
    shown: String,
}

/// What went wrong between this host and a server, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server is not who it should be.
    Certificate(String),
    /// TLS failed otherwise.
    Protocol(String),
    /// Nobody listens.
    Refused,
    /// The name leads nowhere.
    Name(String),
    /// It took too long.
    Timeout,
    /// Anything else.
    Other(String),
}

impl Trouble {
    /// For a person, with what to do about it.
    pub(crate) fn explain(&self, slot: &str) -> (String, Option<String>) {
        let check = |what: &str| Some(format!("check {what} of slot `{slot}` in site.yaml"));
        match self {
            Self::Certificate(why) => {
                (format!("slot `{slot}`: the server's certificate is not trusted: {why}"), check("`ca:` or `fingerprint:`"))
            }
            Self::Protocol(why) => (format!("slot `{slot}`: TLS failed: {why}"), check("`url:`")),
            Self::Refused => (
                format!("slot `{slot}`: connection refused"),
                Some(format!("check that the server runs, and the address of slot `{slot}` in site.yaml")),
            ),
            Self::Name(why) => (format!("slot `{slot}`: {why}"), check("the host name")),
            Self::Timeout => (format!("slot `{slot}`: no answer in time"), None),
            Self::Other(why) => (format!("slot `{slot}`: {why}"), None),
        }
    }
}

/// Finds the cause in a chain of errors. `io::Error::source` skips the error it wraps, and the
/// HTTP stack wraps one in another, so the way down is through `get_ref`.
pub(crate) fn diagnose(error: &(dyn StdError + 'static)) -> Trouble {
    let mut next = Some(error);
    let mut deepest = error.to_string();
    while let Some(error) = next {
        if let Some(name) = error.downcast_ref::<super::slots::AddressError>() {
            return Trouble::Name(name.to_string());
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return of_tls(tls);
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            match io.kind() {
                std::io::ErrorKind::ConnectionRefused => return Trouble::Refused,
                std::io::ErrorKind::TimedOut => return Trouble::Timeout,
                _ => {}
            }
            if let Some(inner) = io.get_ref() {
                next = Some(inner);
                deepest = inner.to_string();
                continue;
            }
        }
        deepest = error.to_string();
        next = error.source();
    }
    // HTTP/2 keeps only the text of what ended a connection.
    match deepest.split_once("received fatal alert: ") {
        Some((_, alert)) => Trouble::Protocol(of_alert(alert.split([')', ',', ':']).next().unwrap_or_default().trim())),
        None => Trouble::Other(deepest),
    }
}

/// The cause in a chain of errors, in a few words.
pub(crate) fn reason(error: &(dyn StdError + 'static)) -> String {
    match diagnose(error) {
        Trouble::Certificate(why) => format!("its certificate is not trusted: {why}"),
        Trouble::Protocol(why) | Trouble::Name(why) | Trouble::Other(why) => why,
        Trouble::Refused => "connection refused".to_owned(),
        Trouble::Timeout => "no answer in time".to_owned(),
    }
}

/// What the server means by the alert with which it hung up.
fn of_alert(alert: &str) -> String {
    match alert {
        "CertificateRequired" => "the server asks for a client certificate".to_owned(),
        "UnknownCA" | "BadCertificate" | "CertificateUnknown" | "DecryptError" | "CertificateExpired" | "AccessDenied" => {
            format!("the server does not accept this client's certificate ({alert})")
        }
        other => format!("the server hung up ({other})"),
    }
}

fn of_tls(error: &rustls::Error) -> Trouble {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return match error {
            rustls::Error::AlertReceived(alert) => Trouble::Protocol(of_alert(&format!("{alert:?}"))),
            rustls::Error::InvalidMessage(_) => Trouble::Protocol("what answers there does not speak TLS".to_owned()),
            other => Trouble::Protocol(other.to_string()),
        };
    };
    Trouble::Certificate(match certificate {
        CertificateError::UnknownIssuer => "no trusted authority signed it".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet".to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "it is for another name".to_owned(),
        CertificateError::Other(other) => match other.0.downcast_ref::<OtherFingerprint>() {
            Some(fingerprint) => fingerprint.to_string(),
            None => other.to_string(),
        },
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_as_people_paste_them() {
        let plain = "ab".repeat(32);
        let colons = ["AB"; 32].join(":");
        assert_eq!(fingerprint(&plain), Ok([0xab; 32]));
        assert_eq!(fingerprint(&format!("sha256:{plain}")), Ok([0xab; 32]));
        assert_eq!(fingerprint(&format!("SHA256:{colons}")), Ok([0xab; 32]));
        assert_eq!(fingerprint("sha256:abcd"), Err(TlsError::Fingerprint));
        assert_eq!(fingerprint(&"xy".repeat(32)), Err(TlsError::Fingerprint));
    }
}
