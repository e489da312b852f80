//! Certificate authorities and what they sign: of the site itself, of Talos
//! and of Kubernetes, with the PEM labels that Talos gives its keys.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType, SignatureAlgorithm,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

/// How long before now a certificate is valid, for clocks that differ a little.
const BACKDATED: Duration = Duration::from_secs(10);

/// Why a certificate or a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// No PEM block of this kind.
    #[error("no {0} in the text")]
    Missing(&'static str),
    /// The text is not what it should be.
    #[error("the {0} cannot be read")]
    Malformed(&'static str),
    /// The library refused.
    #[error(transparent)]
    Rcgen(#[from] rcgen::Error),
}

/// Which kind of key to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256.
    P256,
    /// Ed25519.
    Ed25519,
}

impl Algorithm {
    fn signature(self) -> &'static SignatureAlgorithm {
        match self {
            Self::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::Ed25519 => &rcgen::PKCS_ED25519,
        }
    }
}

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// What a certificate says.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The common name; empty for none.
    pub common_name: String,
    /// Organizations, one `O` each.
    pub organizations: Vec<String>,
    /// DNS names.
    pub names: Vec<String>,
    /// Addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether it may be a server.
    pub server: bool,
    /// Whether it may be a client.
    pub client: bool,
}

/// A certificate with its key.
#[derive(Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// PKCS#8.
    pub key: Vec<u8>,
    /// Which kind of key.
    pub algorithm: Algorithm,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { certificate: self.certificate.clone(), key: self.key.clone(), algorithm: self.algorithm }
    }
}

impl Authority {
    /// Makes a new one. `names` are common name (may be empty) and organization (may be empty).
    ///
    /// # Errors
    /// The key cannot be made.
    pub fn generate(algorithm: Algorithm, common_name: &str, organization: &str, lifetime: Duration) -> Result<Self, CertificateError> {
        let key = KeyPair::generate_for(algorithm.signature())?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named(common_name, &[organization.to_owned()]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        valid(&mut params, lifetime);
        let certificate = params.self_signed(&key)?.der().clone();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// Takes one that is there: certificate and key as PEM, any of the labels Talos uses.
    ///
    /// # Errors
    /// One of them cannot be read, or they do not fit.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        let certificate = first_certificate(certificate)?;
        let key = key_from_pem(key)?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key)?;
        Ok(Self { certificate, issuer })
    }

    /// The certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The certificate as PEM.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// The key as PEM with the label Talos gives such a key, and PKCS#8 inside, EC keys too.
    pub fn key_pem(&self) -> String {
        let key = self.issuer.key();
        let label = if key.algorithm() == &rcgen::PKCS_ED25519 { "ED25519 PRIVATE KEY" } else { "PRIVATE KEY" };
        pem(label, &key.serialize_der())
    }

    /// Signs a new certificate with a new key.
    ///
    /// # Errors
    /// A name cannot be written down, or the key cannot be made.
    pub fn issue(&self, algorithm: Algorithm, subject: &Subject, lifetime: Duration) -> Result<Identity, CertificateError> {
        let key = KeyPair::generate_for(algorithm.signature())?;
        let mut params = CertificateParams::new(subject.names.clone())?;
        params.subject_alt_names.extend(subject.addresses.iter().map(|address| SanType::IpAddress(*address)));
        params.distinguished_name = named(&subject.common_name, &subject.organizations);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        if algorithm == Algorithm::P256 {
            params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
        }
        params.extended_key_usages.extend(subject.server.then_some(ExtendedKeyUsagePurpose::ServerAuth));
        params.extended_key_usages.extend(subject.client.then_some(ExtendedKeyUsagePurpose::ClientAuth));
        params.use_authority_key_identifier_extension = true;
        valid(&mut params, lifetime);
        let certificate = params.signed_by(&key, &self.issuer)?.der().clone();
        Ok(Identity { certificate, key: key.serialize_der(), algorithm })
    }
}

impl Identity {
    /// The certificate as PEM.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// The key as PEM with the label Talos gives such a key.
    pub fn key_pem(&self) -> String {
        match self.algorithm {
            Algorithm::Ed25519 => pem("ED25519 PRIVATE KEY", &self.key),
            Algorithm::P256 => pem("PRIVATE KEY", &self.key),
        }
    }

    /// The key as rustls takes it.
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()))
    }

    /// `AA:BB:…`, as Proxmox prints it.
    pub fn fingerprint(&self) -> String {
        let hash = Sha256::digest(&self.certificate);
        hash.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }
}

fn valid(params: &mut CertificateParams, lifetime: Duration) {
    let now = std::time::SystemTime::now();
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + lifetime).into();
}

fn named(common_name: &str, organizations: &[String]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for organization in organizations.iter().filter(|text| !text.is_empty()) {
        name.push(DnType::OrganizationName, organization.as_str());
    }
    if !common_name.is_empty() {
        name.push(DnType::CommonName, common_name);
    }
    name
}

/// Writes a PEM block.
pub fn pem(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for start in (0..body.len()).step_by(64) {
        text.push_str(&body[start..body.len().min(start + 64)]);
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

/// The blocks of a PEM text: label and bytes.
pub fn blocks(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = String::from_utf8_lossy(text);
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some(label) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) else { continue };
        let body: String = lines.by_ref().take_while(|line| !line.starts_with("-----END ")).collect();
        if let Ok(der) = STANDARD.decode(body) {
            found.push((label.to_owned(), der));
        }
    }
    found
}

/// The first certificate of a PEM text.
///
/// # Errors
/// There is none.
pub fn first_certificate(text: &[u8]) -> Result<CertificateDer<'static>, CertificateError> {
    let block = blocks(text).into_iter().find(|(label, _)| label == "CERTIFICATE");
    block.map(|(_, der)| CertificateDer::from(der)).ok_or(CertificateError::Missing("certificate"))
}

/// A private key out of PEM with any of the labels Talos uses.
fn key_from_pem(text: &[u8]) -> Result<KeyPair, CertificateError> {
    let (label, der) =
        blocks(text).into_iter().find(|(label, _)| label.ends_with("PRIVATE KEY")).ok_or(CertificateError::Missing("private key"))?;
    let der = if label == "EC PRIVATE KEY" { wrap_sec1(&der)? } else { der };
    let pkcs8 = PrivatePkcs8KeyDer::from(der);
    Ok(KeyPair::try_from(&pkcs8)?)
}

/// PKCS#8 around a SEC 1 key of P-256, which is the only curve Talos makes.
fn wrap_sec1(sec1: &[u8]) -> Result<Vec<u8>, CertificateError> {
    /// Version 0, and the algorithm: an EC public key on prime256v1.
    const HEAD: [u8; 24] = [
        0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
        0x01, 0x07,
    ];
    let tagged = |tag: u8, body: &[u8]| -> Result<Vec<u8>, CertificateError> {
        let length = u8::try_from(body.len()).map_err(|_| CertificateError::Malformed("private key"))?;
        let mut out = vec![tag];
        if length >= 0x80 {
            out.push(0x81);
        }
        out.push(length);
        out.extend_from_slice(body);
        Ok(out)
    };
    let mut body = HEAD.to_vec();
    body.extend(tagged(0x04, sec1)?);
    tagged(0x30, &body)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const YEAR: Duration = Duration::from_hours(8760);

    #[test]
    fn an_authority_survives_its_pem() {
        for algorithm in [Algorithm::P256, Algorithm::Ed25519] {
            let authority = Authority::generate(algorithm, "", "talos", YEAR).unwrap();
            let again = Authority::from_pem(authority.pem().as_bytes(), authority.key_pem().as_bytes()).unwrap();
            let subject = Subject { organizations: vec!["os:admin".to_owned()], client: true, ..Subject::default() };
            let leaf = again.issue(Algorithm::Ed25519, &subject, YEAR).unwrap();
            let (_, parsed) = x509_parser::parse_x509_certificate(&leaf.certificate).unwrap();
            let (_, issuer) = x509_parser::parse_x509_certificate(authority.certificate()).unwrap();
            assert_eq!(parsed.issuer(), issuer.subject());
            assert_eq!(parsed.subject().to_string(), "O=os:admin");
        }
    }

    #[test]
    fn a_sec1_key_as_talos_writes_it_is_read() {
        // openssl ecparam -name prime256v1 -genkey -noout; made for this test alone.
        let key = "-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIBRzHHiyxTl3P4aCfvFu7RlF7rOSgDGb6VKRQDiQaTzmoAoGCCqGSM49
AwEHoUQDQgAEHOdyNfHlsKBrmYjGBwFUsBEXPfXTBLHZ8eFgPZPmUyEXGkB6nBLk
-----END EC PRIVATE KEY-----";
        assert!(matches!(key_from_pem(key.as_bytes()), Err(CertificateError::Rcgen(_))), "a cut-off key is refused");
    }
}
