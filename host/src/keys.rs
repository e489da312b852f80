//! Key work done natively, so that guests need neither the time nor the private key.
//!
//! Everything here is a pure function of bytes, a time and the system's random
//! numbers: keys are generated, and short-lived client identities are signed by
//! an authority that the guest only holds a handle to. Private keys live in
//! [`zeroize::Zeroizing`] buffers, and no error carries any text from its input.

mod primes;

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ring::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use rsa::{
    RsaPrivateKey,
    pkcs8::{EncodePrivateKey as _, LineEnding},
};
use x509_parser::{
    certificate::X509Certificate,
    extensions::ParsedExtension,
    prelude::{ASN1Time, FromDer as _},
    x509::SubjectPublicKeyInfo,
};
use zeroize::Zeroizing;

/// An encoding, wiped when dropped whether it holds a key or not.
type Der = Zeroizing<Vec<u8>>;

/// Longest lifetime of a client certificate: ten years, as long as Talos's own authorities.
const MAX_VALID: Duration = Duration::from_hours(87_600);
/// Talos does not back-date. A minute forgives a server whose clock is behind ours.
const SKEW: i64 = 60;
/// Upper bound of RFC 5280 for organizations and common names, in characters.
const MAX_NAME: usize = 64;
/// More organizations than any role or group scheme has use for.
const MAX_ORGANIZATIONS: usize = 64;

/// Why a key or a client identity could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing but white space was given.
    #[error("the PEM text is empty: store a certificate and its private key in it")]
    Empty,
    /// More text than any certificate and key need.
    #[error("the PEM text is longer than 64 KiB: keep one certificate and its private key in it")]
    TooLarge,
    /// A block is cut off, nested, or not base64.
    #[error("the PEM text is damaged: store it whole, each block from its BEGIN line to its END line")]
    MalformedPem,
    /// There is no `CERTIFICATE` block.
    #[error(
        "there is no certificate in the PEM text: add its CERTIFICATE block (decode it first where it is \
         kept in base64)"
    )]
    MissingCertificate,
    /// There is no private key block.
    #[error("there is no private key in the PEM text: add the PRIVATE KEY block of the certificate")]
    MissingKey,
    /// It is not clear which of the certificates is to sign.
    #[error("there are several certificates in the PEM text of the authority: keep the one that signs")]
    SeveralCertificates,
    /// It is not clear which of the keys is meant.
    #[error("there are several private keys in the PEM text: keep the one that belongs to the certificate")]
    SeveralKeys,
    /// The private key needs a passphrase.
    #[error("the private key is encrypted: store it decrypted, for example with `openssl pkey`")]
    EncryptedKey,
    /// A key format or algorithm that cannot be used here.
    #[error(
        "the private key is of an unsupported kind: use Ed25519, ECDSA P-256 or P-384, or RSA, as \
         PKCS#8, SEC1 or PKCS#1"
    )]
    UnsupportedKey,
    /// The block is base64, but no key.
    #[error(
        "the private key cannot be read: export it again (RSA keys need 2048 to 4096 bits and an \
         exponent of at least 65537)"
    )]
    MalformedKey,
    /// The block is base64, but no X.509 certificate.
    #[error("the certificate cannot be read: export it again as an X.509 certificate in PEM")]
    MalformedCertificate,
    /// The public key of the certificate is of another algorithm.
    #[error(
        "the certificate's public key is of an unsupported kind: use Ed25519, ECDSA P-256 or \
         P-384, or RSA"
    )]
    UnsupportedCertificate,
    /// The two halves are from different pairs.
    #[error(
        "the private key does not belong to the certificate: store the certificate and the key \
         that were made together"
    )]
    KeyMismatch,
    /// The certificate may not sign others.
    #[error(
        "the certificate is not an authority: use one with CA:TRUE whose key usage allows signing \
         certificates"
    )]
    NotAnAuthority,
    /// Nothing that the authority signs would be accepted any more.
    #[error("the authority expired on {date}: renew it, or correct the clock")]
    AuthorityExpired {
        /// Last day of validity, in UTC.
        date: String,
    },
    /// Nothing that the authority signs would be accepted yet.
    #[error("the authority is not valid before {date}: correct the clock, or wait")]
    AuthorityNotYetValid {
        /// First day of validity, in UTC.
        date: String,
    },
    /// The lifetime is outside of what a client certificate may have.
    #[error("the lifetime of a client certificate is 1 second to 10 years: ask for one in between")]
    InvalidLifetime,
    /// The certificate would name nobody.
    #[error("the client has no name: give at least one organization or a common name")]
    NoSubject,
    /// A name that is empty, too long, or hides something.
    #[error(
        "an organization or the common name is not usable: give at most 64 organizations, each \
         name of 1 to 64 characters without control characters"
    )]
    InvalidName,
    /// Certificates can only carry the years 1970 to 9999.
    #[error("the time is outside of what certificates can carry: correct the clock")]
    InvalidTime,
    /// The system gave no random numbers, or the arithmetic failed.
    #[error("a key could not be generated: check that the system provides random numbers")]
    Generation,
    /// The authority's key was accepted, but did not sign.
    #[error("the authority could not sign: check that its private key is undamaged")]
    Signing,
}

/// The kinds of keys that can be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Ed25519, the kind of Talos's API authority.
    Ed25519,
    /// ECDSA on P-256, the kind of Kubernetes' and etcd's authorities.
    EcdsaP256,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 4096 bits, the kind of Kubernetes' service account key. Keeps a core busy for
    /// seconds: not for a thread that others wait on.
    Rsa4096,
}

/// Generates a key, as PKCS#8 (version 1) in PEM.
///
/// # Errors
///
/// Fails with [`KeyError::Generation`] when the system has no random numbers.
pub fn generate(kind: KeyKind) -> Result<Zeroizing<String>, KeyError> {
    match kind {
        KeyKind::Ed25519 => Ok(NewKey::ed25519()?.to_pem()),
        KeyKind::EcdsaP256 => Ok(NewKey::p256()?.to_pem()),
        KeyKind::Rsa2048 => generate_rsa(2048),
        KeyKind::Rsa4096 => generate_rsa(4096),
    }
}

fn generate_rsa(bits: usize) -> Result<Zeroizing<String>, KeyError> {
    RsaPrivateKey::from_primes(primes::two(bits / 2)?, primes::EXPONENT.into())
        .map_err(|_| KeyError::Generation)?
        .to_pkcs8_pem(LineEnding::LF)
        .map_err(|_| KeyError::Generation)
}

/// What a client certificate is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequest {
    /// Groups or roles of the client, such as `os:admin`. Order and duplicates do not matter.
    pub organizations: Vec<String>,
    /// Name of the client, where the server has use for one.
    pub common_name: Option<String>,
    /// How long the certificate is valid: 1 second to 10 years.
    pub valid: Duration,
}

/// A client certificate, its key, and the authority that verifies the server.
#[derive(Clone)]
pub struct ClientIdentity {
    /// The client's certificate, in PEM.
    pub certificate: String,
    /// The private key of the certificate, as PKCS#8 in PEM.
    pub key: Zeroizing<String>,
    /// The authorities that verify the server, in PEM, where the identity carries any.
    pub authority: Option<String>,
}

/// Shows nothing of its content.
impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

impl ClientIdentity {
    /// The identity as one PEM text: certificate, key, authority.
    #[must_use]
    pub fn to_pem(&self) -> Zeroizing<String> {
        let parts = [self.certificate.as_str(), self.key.as_str(), self.authority.as_deref().unwrap_or_default()];
        // Room for everything at once: a buffer that grows leaves copies of the key behind.
        let length = parts.iter().map(|part| part.len()).sum();
        let mut bundle = Zeroizing::new(String::with_capacity(length));
        for part in parts {
            bundle.push_str(part);
        }
        bundle
    }

    /// Reads an identity from PEM: the first certificate is the client's, all others are
    /// authorities that verify the server. The key may have any label that [`issue_client`]
    /// takes, and becomes PKCS#8.
    ///
    /// # Errors
    ///
    /// Fails when the text is not PEM, when the certificate or the key is missing or cannot be
    /// read, and when they do not belong together.
    pub fn from_pem(bundle: &[u8]) -> Result<Self, KeyError> {
        let (certificates, key) = pem::certificates_and_key(bundle)?;
        let (leaf, authorities) = certificates.split_first().ok_or(KeyError::MissingCertificate)?;
        let parsed = parse_certificate(leaf)?;
        let public = PublicKey::of(&parsed.subject_pki)?;
        let key = KeyPair::new(public, PrivateKey::parse(&key)?)?;
        for authority in authorities {
            parse_certificate(authority)?;
        }
        let authority: String = authorities.iter().map(|der| pem::certificate(der)).collect();
        Ok(Self {
            certificate: pem::certificate(leaf),
            key: pem::write(pem::PRIVATE_KEY, &key.to_pkcs8()),
            authority: (!authority.is_empty()).then_some(authority),
        })
    }
}

/// Issues a client certificate with a new key, signed by `ca`.
///
/// `ca` is PEM with one certificate and its private key in any order. The key may be labelled
/// `PRIVATE KEY` (PKCS#8), `EC PRIVATE KEY` (SEC1), `RSA PRIVATE KEY` (PKCS#1), or `ED25519
/// PRIVATE KEY` (Talos's name for PKCS#8). The client's key is Ed25519 where the authority's is,
/// ECDSA P-256 otherwise.
///
/// The certificate is the one that Talos makes for its administrators (`facts/talos.md §1`), but
/// valid from one minute before `now`.
///
/// # Errors
///
/// Fails when the request names nobody or lives too long, when `ca` cannot be read or is not a
/// valid authority with its own key at `now`, and when no random numbers are to be had.
pub fn issue_client(ca: &[u8], request: &ClientRequest, now: SystemTime) -> Result<ClientIdentity, KeyError> {
    let now = now.duration_since(UNIX_EPOCH).ok().and_then(|elapsed| i64::try_from(elapsed.as_secs()).ok()).ok_or(KeyError::InvalidTime)?;
    let validity = validity(now, request.valid)?;
    let subject = subject(request)?;

    let (certificates, key) = pem::certificates_and_key(ca)?;
    let [authority_der] = certificates.as_slice() else {
        return Err(KeyError::SeveralCertificates);
    };
    let authority = parse_certificate(authority_der)?;
    check_authority(&authority, now)?;
    let public = PublicKey::of(&authority.subject_pki)?;
    let signer = KeyPair::new(public, PrivateKey::parse(&key)?)?;

    let client = match public {
        PublicKey::Ed25519(_) => NewKey::ed25519()?,
        PublicKey::Ec(..) | PublicKey::Rsa(_) => NewKey::p256()?,
    };
    let to_be_signed = der::write(
        der::SEQUENCE,
        &[
            &[0xa0, 3, der::INTEGER, 1, 2], // version 3
            &der::write(der::INTEGER, &[&serial()?]),
            signer.signature_algorithm(),
            authority.subject.as_raw(),
            &validity,
            &subject,
            &client.public,
            &extensions(&authority),
        ],
    );
    let certificate = der::write(der::SEQUENCE, &[&to_be_signed, signer.signature_algorithm(), &der::bits(&signer.sign(&to_be_signed)?)]);
    Ok(ClientIdentity {
        certificate: pem::certificate(&certificate),
        key: client.to_pem(),
        authority: Some(pem::certificate(authority_der)),
    })
}

fn validity(now: i64, valid: Duration) -> Result<Der, KeyError> {
    if valid < Duration::from_secs(1) || valid > MAX_VALID {
        return Err(KeyError::InvalidLifetime);
    }
    let until = i64::try_from(valid.as_secs()).ok().and_then(|seconds| now.checked_add(seconds)).ok_or(KeyError::InvalidTime)?;
    let (from, until) = (time(now.saturating_sub(SKEW))?, time(until)?);
    Ok(der::write(der::SEQUENCE, &[&from, &until]))
}

/// A point in time as RFC 5280 §4.1.2.5 wants it.
fn time(timestamp: i64) -> Result<Der, KeyError> {
    let at = ASN1Time::from_timestamp(timestamp).map_err(|_| KeyError::InvalidTime)?.to_datetime();
    let rest = format!("{:02}{:02}{:02}{:02}{:02}Z", u8::from(at.month()), at.day(), at.hour(), at.minute(), at.second());
    let (tag, text) = match at.year() {
        year @ 1950..=1999 => (der::UTC_TIME, format!("{:02}{rest}", year - 1900)),
        year @ 2000..=2049 => (der::UTC_TIME, format!("{:02}{rest}", year - 2000)),
        year @ 2050..=9999 => (der::GENERALIZED_TIME, format!("{year}{rest}")),
        _ => return Err(KeyError::InvalidTime),
    };
    Ok(der::write(tag, &[text.as_bytes()]))
}

/// One relative name per organization. (Go puts them all into one, and reads both.)
fn subject(request: &ClientRequest) -> Result<Der, KeyError> {
    let mut organizations: Vec<&str> = request.organizations.iter().map(String::as_str).collect();
    organizations.sort_unstable();
    organizations.dedup();
    if organizations.is_empty() && request.common_name.is_none() {
        return Err(KeyError::NoSubject);
    }
    if organizations.len() > MAX_ORGANIZATIONS {
        return Err(KeyError::InvalidName);
    }
    let organizations = organizations.into_iter().map(|name| (der::ORGANIZATION, name));
    let common_name = request.common_name.as_deref().map(|name| (der::COMMON_NAME, name));
    let mut names = Vec::new();
    for (kind, name) in organizations.chain(common_name) {
        if !(1..=MAX_NAME).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            return Err(KeyError::InvalidName);
        }
        let kind = der::write(der::OID, &[kind]);
        let name = der::write(der::UTF8_STRING, &[name.as_bytes()]);
        let attribute = der::write(der::SEQUENCE, &[&kind, &name]);
        names.extend_from_slice(&der::write(der::SET, &[&attribute]));
    }
    Ok(der::write(der::SEQUENCE, &[&names]))
}

/// 126 random bits under a leading one: positive, and always of one length.
fn serial() -> Result<[u8; 16], KeyError> {
    let mut serial = [0; 16];
    SystemRandom::new().fill(&mut serial).map_err(|_| KeyError::Generation)?;
    let [first, ..] = &mut serial;
    *first = *first & 0x3f | 0x40;
    Ok(serial)
}

fn extensions(authority: &X509Certificate<'_>) -> Der {
    let usage = der::extension(der::KEY_USAGE, true, &[3, 2, 7, 0x80]); // digitalSignature
    let client_auth = der::write(der::OID, &[der::CLIENT_AUTH]);
    let extended = der::write(der::SEQUENCE, &[&client_auth]);
    let extended = der::extension(der::EXTENDED_KEY_USAGE, false, &extended);
    let issuer_key = authority.iter_extensions().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(identifier) => Some(identifier.0),
        _ => None,
    });
    let issuer_key = issuer_key.map(|identifier| {
        let identifier = der::write(0x80, &[identifier]);
        let identifier = der::write(der::SEQUENCE, &[&identifier]);
        der::extension(der::AUTHORITY_KEY_IDENTIFIER, false, &identifier)
    });
    let issuer_key = issuer_key.as_ref().map_or(&[][..], |extension| extension);
    let all = der::write(der::SEQUENCE, &[&usage, &extended, issuer_key]);
    der::write(0xa3, &[&all])
}

fn parse_certificate(der: &[u8]) -> Result<X509Certificate<'_>, KeyError> {
    match X509Certificate::from_der(der) {
        // The parser passes over what it does not understand of a name and then gives only a
        // piece of it, which would end up as the issuer of what is signed here.
        Ok(([], certificate)) if der::whole(certificate.subject().as_raw(), der::SEQUENCE).is_some() => Ok(certificate),
        _ => Err(KeyError::MalformedCertificate),
    }
}

fn check_authority(authority: &X509Certificate<'_>, now: i64) -> Result<(), KeyError> {
    let usage = authority.key_usage();
    let usage = usage.map_err(|_| KeyError::MalformedCertificate)?;
    if !authority.is_ca() || usage.is_some_and(|usage| !usage.value.key_cert_sign()) {
        return Err(KeyError::NotAnAuthority);
    }
    let date = |at: ASN1Time| {
        let at = at.to_datetime();
        format!("{:04}-{:02}-{:02}", at.year(), u8::from(at.month()), at.day())
    };
    let validity = authority.validity();
    if now > validity.not_after.timestamp() {
        return Err(KeyError::AuthorityExpired { date: date(validity.not_after) });
    }
    if now.saturating_add(SKEW) < validity.not_before.timestamp() {
        return Err(KeyError::AuthorityNotYetValid { date: date(validity.not_before) });
    }
    Ok(())
}

/// The curves that both sides of this host's TLS know.
#[derive(Clone, Copy)]
enum Curve {
    P256,
    P384,
}

impl Curve {
    /// The DER that names the algorithm of a key on this curve.
    fn algorithm(self) -> Der {
        let curve = match self {
            Self::P256 => der::P256,
            Self::P384 => der::P384,
        };
        der::algorithm(der::EC_PUBLIC_KEY, &der::write(der::OID, &[curve]))
    }

    fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Self::P256 => &ECDSA_P256_SHA256_ASN1_SIGNING,
            Self::P384 => &ECDSA_P384_SHA384_ASN1_SIGNING,
        }
    }
}

/// The public key of a certificate: the bytes of its bit string.
#[derive(Clone, Copy)]
enum PublicKey<'a> {
    Ed25519(&'a [u8]),
    Ec(Curve, &'a [u8]),
    Rsa(&'a [u8]),
}

impl<'a> PublicKey<'a> {
    fn of(info: &'a SubjectPublicKeyInfo<'_>) -> Result<Self, KeyError> {
        let key = &*info.subject_public_key.data;
        let curve = info.algorithm.parameters.as_ref().map(|curve| curve.data);
        match info.algorithm.algorithm.as_bytes() {
            der::ED25519 => Ok(Self::Ed25519(key)),
            der::EC_PUBLIC_KEY if curve == Some(der::P256) => Ok(Self::Ec(Curve::P256, key)),
            der::EC_PUBLIC_KEY if curve == Some(der::P384) => Ok(Self::Ec(Curve::P384, key)),
            der::RSA => Ok(Self::Rsa(key)),
            _ => Err(KeyError::UnsupportedCertificate),
        }
    }
}

/// A private key, taken out of whatever format it came in.
#[derive(Clone, Copy)]
enum PrivateKey<'a> {
    /// The seed.
    Ed25519(&'a [u8]),
    /// The scalar. Its curve is the certificate's: with any other, the halves do not fit.
    Ec(&'a [u8]),
    /// PKCS#1.
    Rsa(&'a [u8]),
}

impl<'a> PrivateKey<'a> {
    fn parse(block: &'a pem::Block<'_>) -> Result<Self, KeyError> {
        let (algorithm, key) = match block.label {
            "EC PRIVATE KEY" => (der::EC_PUBLIC_KEY, &block.der[..]),
            "RSA PRIVATE KEY" => (der::RSA, &block.der[..]),
            _ => unwrap_pkcs8(&block.der).ok_or(KeyError::MalformedKey)?,
        };
        let key = match algorithm {
            der::ED25519 => der::whole(key, der::OCTET_STRING).map(Self::Ed25519),
            der::EC_PUBLIC_KEY => unwrap_sec1(key).map(Self::Ec),
            der::RSA => Some(Self::Rsa(key)),
            _ => return Err(KeyError::UnsupportedKey),
        };
        key.ok_or(KeyError::MalformedKey)
    }
}

/// Algorithm and key. Version 2 adds the public key, which the certificate has, too.
fn unwrap_pkcs8(pkcs8: &[u8]) -> Option<(&[u8], &[u8])> {
    let content = der::whole(pkcs8, der::SEQUENCE)?;
    let (_version, rest) = der::read(content, der::INTEGER)?;
    let (algorithm, rest) = der::read(rest, der::SEQUENCE)?;
    let (algorithm, _parameters) = der::read(algorithm, der::OID)?;
    let (key, _attributes) = der::read(rest, der::OCTET_STRING)?;
    Some((algorithm, key))
}

fn unwrap_sec1(sec1: &[u8]) -> Option<&[u8]> {
    let content = der::whole(sec1, der::SEQUENCE)?;
    let (_version, rest) = der::read(content, der::INTEGER)?;
    let (scalar, _parameters) = der::read(rest, der::OCTET_STRING)?;
    Some(scalar)
}

/// PKCS#8 of version 1: OpenSSL 3.0 does not read version 2, which *ring* writes for Ed25519.
fn wrap_pkcs8(algorithm: &[u8], key: &[u8]) -> Der {
    let key = der::write(der::OCTET_STRING, &[key]);
    der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 0], algorithm, &key])
}

/// Both halves of a key, known to belong together.
enum KeyPair<'a> {
    Ed25519 { pair: Ed25519KeyPair, seed: &'a [u8] },
    Ec { pair: EcdsaKeyPair, curve: Curve, scalar: &'a [u8], point: &'a [u8] },
    Rsa { pair: RsaKeyPair, pkcs1: &'a [u8] },
}

impl<'a> KeyPair<'a> {
    fn new(public: PublicKey<'a>, private: PrivateKey<'a>) -> Result<Self, KeyError> {
        match (public, private) {
            (PublicKey::Ed25519(public), PrivateKey::Ed25519(seed)) => {
                let pair = Ed25519KeyPair::from_seed_and_public_key(seed, public);
                let pair = pair.map_err(|_| KeyError::KeyMismatch)?;
                Ok(Self::Ed25519 { pair, seed })
            }
            (PublicKey::Ec(curve, point), PrivateKey::Ec(scalar)) => {
                let (algorithm, random) = (curve.signing(), SystemRandom::new());
                let pair = EcdsaKeyPair::from_private_key_and_public_key(algorithm, scalar, point, &random);
                let pair = pair.map_err(|_| KeyError::KeyMismatch)?;
                Ok(Self::Ec { pair, curve, scalar, point })
            }
            (PublicKey::Rsa(public), PrivateKey::Rsa(pkcs1)) => {
                let pair = RsaKeyPair::from_der(pkcs1).map_err(|_| KeyError::MalformedKey)?;
                if pair.public_key().as_ref() != public {
                    return Err(KeyError::KeyMismatch);
                }
                Ok(Self::Rsa { pair, pkcs1 })
            }
            _ => Err(KeyError::KeyMismatch),
        }
    }

    /// The DER that names the signature algorithm in a certificate.
    fn signature_algorithm(&self) -> &'static [u8] {
        match self {
            Self::Ed25519 { .. } => der::SIGNED_ED25519,
            Self::Ec { curve, .. } => match curve {
                Curve::P256 => der::SIGNED_ECDSA_SHA256,
                Curve::P384 => der::SIGNED_ECDSA_SHA384,
            },
            Self::Rsa { .. } => der::SIGNED_RSA_SHA256,
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match self {
            Self::Ed25519 { pair, .. } => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Ec { pair, .. } => {
                let signature = pair.sign(&random, message);
                Ok(signature.map_err(|_| KeyError::Signing)?.as_ref().to_vec())
            }
            Self::Rsa { pair, .. } => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(|_| KeyError::Signing)?;
                Ok(signature)
            }
        }
    }

    fn to_pkcs8(&self) -> Der {
        match self {
            Self::Ed25519 { seed, .. } => {
                let seed = der::write(der::OCTET_STRING, &[seed]);
                wrap_pkcs8(&der::algorithm(der::ED25519, &[]), &seed)
            }
            Self::Ec { curve, scalar, point, .. } => {
                let scalar = der::write(der::OCTET_STRING, &[scalar]);
                let point = der::write(0xa1, &[&der::bits(point)]);
                let key = der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 1], &scalar, &point]);
                wrap_pkcs8(&curve.algorithm(), &key)
            }
            Self::Rsa { pkcs1, .. } => wrap_pkcs8(&der::algorithm(der::RSA, &[der::NULL, 0]), pkcs1),
        }
    }
}

/// A key made here: PKCS#8, and the public half as certificates carry it.
struct NewKey {
    private: Der,
    public: Der,
}

impl NewKey {
    fn ed25519() -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        SystemRandom::new().fill(&mut *seed).map_err(|_| KeyError::Generation)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(|_| KeyError::Generation)?;
        let public = der::bits(pair.public_key().as_ref());
        let seed = &*seed;
        Ok(Self {
            private: KeyPair::Ed25519 { pair, seed }.to_pkcs8(),
            public: der::write(der::SEQUENCE, &[&der::algorithm(der::ED25519, &[]), &public]),
        })
    }

    fn p256() -> Result<Self, KeyError> {
        let (algorithm, random) = (Curve::P256.signing(), SystemRandom::new());
        let private = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| KeyError::Generation)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, private.as_ref(), &random).map_err(|_| KeyError::Generation)?;
        let public = der::bits(pair.public_key().as_ref());
        Ok(Self {
            private: Zeroizing::new(private.as_ref().to_vec()),
            public: der::write(der::SEQUENCE, &[&Curve::P256.algorithm(), &public]),
        })
    }

    fn to_pem(&self) -> Zeroizing<String> {
        pem::write(pem::PRIVATE_KEY, &self.private)
    }
}

mod der;

mod pem;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
