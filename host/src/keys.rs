//! Key work done natively, so that guests need neither the time nor the private key.
//!
//! Everything here is a pure function of bytes, a time and the system's random
//! numbers: keys are generated, and short-lived client identities are signed by
//! an authority that the guest only holds a handle to. Private keys live in
//! [`zeroize::Zeroizing`] buffers, and no error carries any text from its input.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ring::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
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
    #[error(
        "the PEM text is damaged: store it whole, each block from its BEGIN line to its END line"
    )]
    MalformedPem,
    /// There is no `CERTIFICATE` block.
    #[error(
        "there is no certificate in the PEM text: add its CERTIFICATE block (decode it first where it is \
         kept in base64)"
    )]
    MissingCertificate,
    /// There is no private key block.
    #[error(
        "there is no private key in the PEM text: add the PRIVATE KEY block of the certificate"
    )]
    MissingKey,
    /// It is not clear which of the certificates is to sign.
    #[error(
        "there are several certificates in the PEM text of the authority: keep the one that signs"
    )]
    SeveralCertificates,
    /// It is not clear which of the keys is meant.
    #[error(
        "there are several private keys in the PEM text: keep the one that belongs to the certificate"
    )]
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
    RsaPrivateKey::new(&mut rand::rngs::OsRng, bits)
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
        let parts = [
            self.certificate.as_str(),
            self.key.as_str(),
            self.authority.as_deref().unwrap_or_default(),
        ];
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
        let (leaf, authorities) = certificates
            .split_first()
            .ok_or(KeyError::MissingCertificate)?;
        let parsed = parse_certificate(leaf)?;
        let public = PublicKey::of(&parsed.subject_pki)?;
        let key = KeyPair::new(public, PrivateKey::parse(&key)?)?;
        for authority in authorities {
            parse_certificate(authority)?;
        }
        let authority: String = authorities
            .iter()
            .map(|der| pem::certificate(der))
            .collect();
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
pub fn issue_client(
    ca: &[u8],
    request: &ClientRequest,
    now: SystemTime,
) -> Result<ClientIdentity, KeyError> {
    let now = now
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|elapsed| i64::try_from(elapsed.as_secs()).ok())
        .ok_or(KeyError::InvalidTime)?;
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
    let certificate = der::write(
        der::SEQUENCE,
        &[
            &to_be_signed,
            signer.signature_algorithm(),
            &der::bits(&signer.sign(&to_be_signed)?),
        ],
    );
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
    let until = i64::try_from(valid.as_secs())
        .ok()
        .and_then(|seconds| now.checked_add(seconds))
        .ok_or(KeyError::InvalidTime)?;
    let (from, until) = (time(now.saturating_sub(SKEW))?, time(until)?);
    Ok(der::write(der::SEQUENCE, &[&from, &until]))
}

/// A point in time as RFC 5280 §4.1.2.5 wants it.
fn time(timestamp: i64) -> Result<Der, KeyError> {
    let at = ASN1Time::from_timestamp(timestamp)
        .map_err(|_| KeyError::InvalidTime)?
        .to_datetime();
    let rest = format!(
        "{:02}{:02}{:02}{:02}{:02}Z",
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second()
    );
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
    let organizations = organizations
        .into_iter()
        .map(|name| (der::ORGANIZATION, name));
    let common_name = request
        .common_name
        .as_deref()
        .map(|name| (der::COMMON_NAME, name));
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
    SystemRandom::new()
        .fill(&mut serial)
        .map_err(|_| KeyError::Generation)?;
    let [first, ..] = &mut serial;
    *first = *first & 0x3f | 0x40;
    Ok(serial)
}

fn extensions(authority: &X509Certificate<'_>) -> Der {
    let usage = der::extension(der::KEY_USAGE, true, &[3, 2, 7, 0x80]); // digitalSignature
    let client_auth = der::write(der::OID, &[der::CLIENT_AUTH]);
    let extended = der::write(der::SEQUENCE, &[&client_auth]);
    let extended = der::extension(der::EXTENDED_KEY_USAGE, false, &extended);
    let issuer_key =
        authority
            .iter_extensions()
            .find_map(|extension| match extension.parsed_extension() {
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
        Ok(([], certificate))
            if der::whole(certificate.subject().as_raw(), der::SEQUENCE).is_some() =>
        {
            Ok(certificate)
        }
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
        format!(
            "{:04}-{:02}-{:02}",
            at.year(),
            u8::from(at.month()),
            at.day()
        )
    };
    let validity = authority.validity();
    if now > validity.not_after.timestamp() {
        return Err(KeyError::AuthorityExpired {
            date: date(validity.not_after),
        });
    }
    if now.saturating_add(SKEW) < validity.not_before.timestamp() {
        return Err(KeyError::AuthorityNotYetValid {
            date: date(validity.not_before),
        });
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
    Ed25519 {
        pair: Ed25519KeyPair,
        seed: &'a [u8],
    },
    Ec {
        pair: EcdsaKeyPair,
        curve: Curve,
        scalar: &'a [u8],
        point: &'a [u8],
    },
    Rsa {
        pair: RsaKeyPair,
        pkcs1: &'a [u8],
    },
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
                let pair = EcdsaKeyPair::from_private_key_and_public_key(
                    algorithm, scalar, point, &random,
                );
                let pair = pair.map_err(|_| KeyError::KeyMismatch)?;
                Ok(Self::Ec {
                    pair,
                    curve,
                    scalar,
                    point,
                })
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
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| KeyError::Signing)?;
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
            Self::Ec {
                curve,
                scalar,
                point,
                ..
            } => {
                let scalar = der::write(der::OCTET_STRING, &[scalar]);
                let point = der::write(0xa1, &[&der::bits(point)]);
                let key = der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 1], &scalar, &point]);
                wrap_pkcs8(&curve.algorithm(), &key)
            }
            Self::Rsa { pkcs1, .. } => {
                wrap_pkcs8(&der::algorithm(der::RSA, &[der::NULL, 0]), pkcs1)
            }
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
        SystemRandom::new()
            .fill(&mut *seed)
            .map_err(|_| KeyError::Generation)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(|_| KeyError::Generation)?;
        let public = der::bits(pair.public_key().as_ref());
        let seed = &*seed;
        Ok(Self {
            private: KeyPair::Ed25519 { pair, seed }.to_pkcs8(),
            public: der::write(
                der::SEQUENCE,
                &[&der::algorithm(der::ED25519, &[]), &public],
            ),
        })
    }

    fn p256() -> Result<Self, KeyError> {
        let (algorithm, random) = (Curve::P256.signing(), SystemRandom::new());
        let private =
            EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| KeyError::Generation)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, private.as_ref(), &random)
            .map_err(|_| KeyError::Generation)?;
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

/// The little DER that certificates and keys need.
mod der {
    use zeroize::Zeroizing;

    use super::Der;

    pub const INTEGER: u8 = 0x02;
    pub const BIT_STRING: u8 = 0x03;
    pub const OCTET_STRING: u8 = 0x04;
    pub const NULL: u8 = 0x05;
    pub const OID: u8 = 0x06;
    pub const UTF8_STRING: u8 = 0x0c;
    pub const UTC_TIME: u8 = 0x17;
    pub const GENERALIZED_TIME: u8 = 0x18;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;

    pub const ED25519: &[u8] = b"\x2b\x65\x70";
    pub const EC_PUBLIC_KEY: &[u8] = b"\x2a\x86\x48\xce\x3d\x02\x01";
    pub const P256: &[u8] = b"\x2a\x86\x48\xce\x3d\x03\x01\x07";
    pub const P384: &[u8] = b"\x2b\x81\x04\x00\x22";
    pub const RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";

    pub const COMMON_NAME: &[u8] = b"\x55\x04\x03";
    pub const ORGANIZATION: &[u8] = b"\x55\x04\x0a";

    pub const KEY_USAGE: &[u8] = b"\x55\x1d\x0f";
    pub const AUTHORITY_KEY_IDENTIFIER: &[u8] = b"\x55\x1d\x23";
    pub const EXTENDED_KEY_USAGE: &[u8] = b"\x55\x1d\x25";
    pub const CLIENT_AUTH: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x02";

    pub const SIGNED_ED25519: &[u8] = b"\x30\x05\x06\x03\x2b\x65\x70";
    pub const SIGNED_ECDSA_SHA256: &[u8] = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
    pub const SIGNED_ECDSA_SHA384: &[u8] = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x03";
    pub const SIGNED_RSA_SHA256: &[u8] =
        b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00";

    /// One value of the concatenated `parts`.
    pub fn write(tag: u8, parts: &[&[u8]]) -> Der {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        // Room for everything at once: a buffer that grows leaves copies behind.
        let mut value = Zeroizing::new(Vec::with_capacity(length + 2 + size_of::<usize>()));
        value.push(tag);
        if let Ok(short @ 0..=0x7f) = u8::try_from(length) {
            value.push(short);
        } else {
            let digits = length.to_be_bytes();
            let digits = digits.iter().skip_while(|digit| **digit == 0);
            value.push(digits.clone().fold(0x80, |count, _| count + 1));
            value.extend(digits);
        }
        for part in parts {
            value.extend_from_slice(part);
        }
        value
    }

    /// An algorithm identifier. `parameters` are DER already.
    pub fn algorithm(oid: &[u8], parameters: &[u8]) -> Der {
        write(SEQUENCE, &[&write(OID, &[oid]), parameters])
    }

    /// A bit string of whole bytes.
    pub fn bits(bytes: &[u8]) -> Der {
        write(BIT_STRING, &[&[0], bytes])
    }

    /// An extension of a certificate.
    pub fn extension(kind: &[u8], critical: bool, content: &[u8]) -> Der {
        let kind = write(OID, &[kind]);
        let critical: &[u8] = if critical { b"\x01\x01\xff" } else { &[] };
        write(
            SEQUENCE,
            &[&kind, critical, &write(OCTET_STRING, &[content])],
        )
    }

    /// The content of the value with `tag` that `input` starts with, and what follows it.
    pub fn read(input: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
        let (length, rest) = input.strip_prefix(&[tag])?.split_first()?;
        let (length, rest) = match *length {
            short @ 0..=0x7f => (usize::from(short), rest),
            long @ 0x81..=0x83 => {
                let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                let length = digits
                    .iter()
                    .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
                (length, rest)
            }
            _ => return None,
        };
        rest.split_at_checked(length)
    }

    /// The content of `input`, which is one value with `tag` and nothing else.
    pub fn whole(input: &[u8], tag: u8) -> Option<&[u8]> {
        read(input, tag).and_then(|(content, rest)| rest.is_empty().then_some(content))
    }
}

/// PEM with the labels that keys have in the wild: the usual readers know not all of them.
mod pem {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use zeroize::Zeroizing;

    use super::{Der, KeyError};

    pub const CERTIFICATE: &str = "CERTIFICATE";
    pub const PRIVATE_KEY: &str = "PRIVATE KEY";

    /// Longest text that is looked at.
    const MAX: usize = 64 * 1024;

    /// One block between `BEGIN` and `END`.
    pub struct Block<'a> {
        pub label: &'a str,
        pub der: Der,
    }

    /// All certificates of a text, at least one, and its only private key. Text between the
    /// blocks and blocks of other kinds do not matter.
    pub fn certificates_and_key(text: &[u8]) -> Result<(Vec<Der>, Block<'_>), KeyError> {
        let mut certificates = Vec::new();
        let mut key = None;
        for block in read(text)? {
            if block.label == CERTIFICATE {
                certificates.push(block.der);
            } else if key.replace(block).is_some() {
                return Err(KeyError::SeveralKeys);
            }
        }
        if certificates.is_empty() {
            return Err(KeyError::MissingCertificate);
        }
        Ok((certificates, key.ok_or(KeyError::MissingKey)?))
    }

    /// The certificates and private keys of a text.
    fn read(text: &[u8]) -> Result<Vec<Block<'_>>, KeyError> {
        if text.len() > MAX {
            return Err(KeyError::TooLarge);
        }
        let text = str::from_utf8(text).map_err(|_| KeyError::MalformedPem)?;
        if text.trim().is_empty() {
            return Err(KeyError::Empty);
        }
        let mut blocks = Vec::new();
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            let Some(label) = boundary(line, "-----BEGIN ") else {
                continue;
            };
            // Room for everything at once: a buffer that grows leaves copies of the key behind.
            let mut body = Zeroizing::new(String::with_capacity(text.len()));
            loop {
                let line = lines.next().ok_or(KeyError::MalformedPem)?;
                match boundary(line, "-----END ") {
                    Some(end) if end == label => break,
                    Some(_) => return Err(KeyError::MalformedPem),
                    None => body.push_str(line),
                }
            }
            match label {
                CERTIFICATE
                | PRIVATE_KEY
                | "EC PRIVATE KEY"
                | "RSA PRIVATE KEY"
                | "ED25519 PRIVATE KEY" => {
                    let der = decode(&body)?;
                    blocks.push(Block { label, der });
                }
                "ENCRYPTED PRIVATE KEY" => return Err(KeyError::EncryptedKey),
                _ if label.ends_with(PRIVATE_KEY) => return Err(KeyError::UnsupportedKey),
                _ => {}
            }
        }
        Ok(blocks)
    }

    /// The label in a line that starts or ends a block.
    fn boundary<'a>(line: &'a str, start: &str) -> Option<&'a str> {
        line.strip_prefix(start)?.strip_suffix("-----")
    }

    fn decode(body: &str) -> Result<Der, KeyError> {
        // OpenSSL's own encryption, older than the label for it.
        if body.starts_with("Proc-Type:") {
            return Err(KeyError::EncryptedKey);
        }
        let mut der = Zeroizing::new(vec![0; base64::decoded_len_estimate(body.len())]);
        let length = STANDARD
            .decode_slice(body, &mut der)
            .map_err(|_| KeyError::MalformedPem)?;
        der.truncate(length);
        Ok(der)
    }

    /// One block, with the line length that every reader takes.
    pub fn write(label: &str, der: &[u8]) -> Zeroizing<String> {
        let mut body = Zeroizing::new(String::with_capacity(der.len().div_ceil(3) * 4));
        STANDARD.encode_string(der, &mut body);
        let length = body.len() + body.len().div_ceil(64) + 2 * label.len() + 32;
        let mut text = Zeroizing::new(String::with_capacity(length));
        for part in ["-----BEGIN ", label, "-----\n"] {
            text.push_str(part);
        }
        let mut rest = body.as_str();
        while !rest.is_empty() {
            let (line, more) = rest.split_at_checked(64).unwrap_or((rest, ""));
            text.push_str(line);
            text.push('\n');
            rest = more;
        }
        for part in ["-----END ", label, "-----\n"] {
            text.push_str(part);
        }
        text
    }

    /// A certificate, which is no secret.
    pub fn certificate(der: &[u8]) -> String {
        write(CERTIFICATE, der).to_string()
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
mod tests {
    use std::{
        io::Write as _,
        path::PathBuf,
        process::{Command, Stdio},
        sync::{Arc, LazyLock},
    };

    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
        KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
        SigningKey as _, date_time_ymd,
    };
    use rustls::{
        RootCertStore,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject as _},
        server::WebPkiClientVerifier,
        sign::CertifiedKey,
    };

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    /// 2026-01-01, well within every authority of these tests.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_hours(490_896)
    }

    fn request() -> ClientRequest {
        ClientRequest {
            organizations: ["os:reader", "os:admin", "os:reader"]
                .map(String::from)
                .into(),
            common_name: None,
            valid: DAY,
        }
    }

    fn authority_params() -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "talos");
        params.not_before = date_time_ymd(2025, 1, 1);
        params.not_after = date_time_ymd(2035, 1, 1);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params
    }

    /// An authority made by rcgen: certificate in PEM, key in PKCS#8.
    struct Authority {
        certificate: String,
        pkcs8: Vec<u8>,
    }

    impl Authority {
        fn new(key: &rcgen::KeyPair, params: &CertificateParams) -> Self {
            Self {
                certificate: params.self_signed(key).unwrap().pem(),
                pkcs8: key.serialize_der(),
            }
        }

        fn of(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
            Self::new(
                &rcgen::KeyPair::generate_for(algorithm).unwrap(),
                &authority_params(),
            )
        }

        fn rsa() -> &'static Self {
            static RSA: LazyLock<Authority> = LazyLock::new(|| {
                let key = rcgen::KeyPair::from_pem(&generate(KeyKind::Rsa2048).unwrap()).unwrap();
                Authority::new(&key, &authority_params())
            });
            &RSA
        }

        /// The key as it is inside of PKCS#8: SEC1, PKCS#1, or an Ed25519 seed.
        fn inner(&self) -> &[u8] {
            unwrap_pkcs8(&self.pkcs8).unwrap().1
        }

        fn pem(&self) -> String {
            self.pem_with("PRIVATE KEY", &self.pkcs8)
        }

        fn pem_with(&self, label: &str, key: &[u8]) -> String {
            format!("{}{}", self.certificate, &*pem::write(label, key))
        }

        /// As in Talos's secrets: version 1, 48 bytes, a label of its own.
        fn talos_pem(&self) -> String {
            let key = wrap_pkcs8(&der::algorithm(der::ED25519, &[]), self.inner());
            assert_eq!(key.len(), 48);
            self.pem_with("ED25519 PRIVATE KEY", &key)
        }
    }

    fn der_of(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    /// What rustls says about the identity at `at`.
    fn verify(identity: &ClientIdentity, at: SystemTime) -> Result<(), rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots
            .add(der_of(identity.authority.as_ref().unwrap()))
            .unwrap();
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap();
        let at = UnixTime::since_unix_epoch(at.duration_since(UNIX_EPOCH).unwrap());
        verifier.verify_client_cert(&der_of(&identity.certificate), &[], at)?;
        Ok(())
    }

    /// Everything `facts/talos.md §1` says about a client certificate.
    fn check_identity(identity: &ClientIdentity) {
        verify(identity, now()).unwrap();
        verify(identity, now() - Duration::from_mins(1)).unwrap();
        verify(identity, now() - Duration::from_secs(61)).unwrap_err();
        verify(identity, now() + DAY).unwrap();
        verify(identity, now() + DAY + Duration::from_secs(1)).unwrap_err();

        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let key = default_provider()
            .key_provider
            .load_private_key(key)
            .unwrap();
        CertifiedKey::new(vec![der_of(&identity.certificate)], key)
            .keys_match()
            .unwrap();

        let (der, authority) = (
            der_of(&identity.certificate),
            der_of(identity.authority.as_ref().unwrap()),
        );
        let (certificate, authority) = (
            parse_certificate(&der).unwrap(),
            parse_certificate(&authority).unwrap(),
        );
        assert_eq!(certificate.subject().to_string(), "O=os:admin, O=os:reader");
        assert_eq!(certificate.issuer().as_raw(), authority.subject().as_raw());
        assert_eq!(certificate.raw_serial().len(), 16);
        assert_eq!(certificate.version().0, 2);

        let usage = certificate.key_usage().unwrap().unwrap();
        assert!(usage.critical);
        assert_eq!(usage.value.flags, 1, "digitalSignature and nothing else");
        let extended = certificate.extended_key_usage().unwrap().unwrap().value;
        assert!(extended.client_auth && !extended.server_auth && !extended.any);
        assert!(extended.other.is_empty());
        assert!(certificate.basic_constraints().unwrap().is_none());
        assert!(certificate.subject_alternative_name().unwrap().is_none());

        let subject_key = authority
            .iter_extensions()
            .find_map(|e| match e.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(id) => Some(id.clone()),
                _ => None,
            });
        let issuer_key = certificate
            .iter_extensions()
            .find_map(|e| match e.parsed_extension() {
                ParsedExtension::AuthorityKeyIdentifier(id) => id.key_identifier.clone(),
                _ => None,
            });
        assert!(subject_key.is_some());
        assert_eq!(issuer_key, subject_key);
    }

    fn issue(ca: &str) -> Result<ClientIdentity, KeyError> {
        issue_client(ca.as_bytes(), &request(), now())
    }

    fn key_algorithm(identity: &ClientIdentity) -> Vec<u8> {
        let der = der_of(&identity.certificate);
        let certificate = parse_certificate(&der).unwrap();
        certificate
            .public_key()
            .algorithm
            .algorithm
            .as_bytes()
            .to_vec()
    }

    #[test]
    fn generated_keys_are_read_back() {
        for kind in [KeyKind::Ed25519, KeyKind::EcdsaP256, KeyKind::Rsa2048] {
            let pem = generate(kind).unwrap();
            assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{kind:?}");
            let key = rcgen::KeyPair::from_pem(&pem).unwrap();
            key.sign(b"message").unwrap();
            assert_ne!(pem, generate(kind).unwrap(), "{kind:?} is not random");
        }
    }

    #[test]
    #[ignore = "takes many seconds"]
    fn generated_rsa_4096_is_read_back() {
        let key = rcgen::KeyPair::from_pem(&generate(KeyKind::Rsa4096).unwrap()).unwrap();
        assert_eq!(key.sign(b"message").unwrap().len(), 512);
    }

    #[test]
    fn generated_ed25519_is_what_talos_has_under_its_label() {
        let pem = generate(KeyKind::Ed25519).unwrap();
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
        let der = key.secret_der();
        assert_eq!(der.len(), 48);
        assert!(
            der.starts_with(b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20")
        );
    }

    #[test]
    fn ed25519_authority_issues() {
        let authority = Authority::of(&PKCS_ED25519);
        for ca in [authority.pem(), authority.talos_pem()] {
            let identity = issue(&ca).unwrap();
            check_identity(&identity);
            assert_eq!(key_algorithm(&identity), der::ED25519);
        }
    }

    #[test]
    fn p256_authority_issues() {
        let authority = Authority::of(&PKCS_ECDSA_P256_SHA256);
        // Without the public key, which SEC1 makes optional.
        let scalar = der::write(
            der::OCTET_STRING,
            &[unwrap_sec1(authority.inner()).unwrap()],
        );
        let bare = der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 1], &scalar]);
        for ca in [
            authority.pem(),
            authority.pem_with("EC PRIVATE KEY", authority.inner()),
            authority.pem_with("EC PRIVATE KEY", &bare),
        ] {
            let identity = issue(&ca).unwrap();
            check_identity(&identity);
            assert_eq!(key_algorithm(&identity), der::EC_PUBLIC_KEY);
        }
    }

    #[test]
    fn p384_authority_issues() {
        let identity = issue(&Authority::of(&PKCS_ECDSA_P384_SHA384).pem()).unwrap();
        check_identity(&identity);
        assert_eq!(key_algorithm(&identity), der::EC_PUBLIC_KEY);
    }

    #[test]
    fn rsa_authority_issues() {
        let authority = Authority::rsa();
        for ca in [
            authority.pem(),
            authority.pem_with("RSA PRIVATE KEY", authority.inner()),
        ] {
            let identity = issue(&ca).unwrap();
            check_identity(&identity);
            assert_eq!(key_algorithm(&identity), der::EC_PUBLIC_KEY);
        }
    }

    #[test]
    fn order_text_between_and_line_ends_do_not_matter() {
        let authority = Authority::of(&PKCS_ED25519);
        let key = pem::write("PRIVATE KEY", &authority.pkcs8);
        let ca = format!(
            "Bag Attributes\n{}subject: O = talos\n-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n\
             -----END EC PARAMETERS-----\n  {}",
            &*key, authority.certificate,
        );
        check_identity(&issue(&ca).unwrap());
        check_identity(&issue(&ca.replace('\n', "\r\n")).unwrap());
    }

    #[test]
    fn subject_carries_the_common_name_last() {
        let request = ClientRequest {
            organizations: vec!["system:masters".into()],
            common_name: Some("Jürgen".into()),
            valid: Duration::from_secs(1),
        };
        let ca = Authority::of(&PKCS_ED25519).pem();
        let identity = issue_client(ca.as_bytes(), &request, now()).unwrap();
        verify(&identity, now() + Duration::from_secs(1)).unwrap();
        verify(&identity, now() + Duration::from_secs(2)).unwrap_err();
        let der = der_of(&identity.certificate);
        let certificate = parse_certificate(&der).unwrap();
        assert_eq!(
            certificate.subject().to_string(),
            "O=system:masters, CN=Jürgen"
        );
    }

    #[test]
    fn every_identity_is_new() {
        let ca = Authority::of(&PKCS_ED25519).pem();
        let (one, two) = (issue(&ca).unwrap(), issue(&ca).unwrap());
        assert_ne!(one.key, two.key);
        let (one, two) = (der_of(&one.certificate), der_of(&two.certificate));
        let (one, two) = (
            parse_certificate(&one).unwrap(),
            parse_certificate(&two).unwrap(),
        );
        assert_ne!(one.raw_serial(), two.raw_serial());
    }

    #[test]
    fn validity_passes_2050() {
        let mut params = authority_params();
        params.not_after = date_time_ymd(2090, 1, 1);
        let key = rcgen::KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let ca = Authority::new(&key, &params).pem();
        let mut request = request();
        request.valid = MAX_VALID;
        // 2045-01-01
        let at = UNIX_EPOCH + Duration::from_hours(657_456);
        let identity = issue_client(ca.as_bytes(), &request, at).unwrap();
        verify(&identity, at + MAX_VALID).unwrap();
        verify(&identity, at + MAX_VALID + Duration::from_secs(1)).unwrap_err();
    }

    #[test]
    fn lifetimes_outside_of_the_bounds_are_refused() {
        let ca = Authority::of(&PKCS_ED25519).pem();
        for valid in [
            Duration::ZERO,
            Duration::from_millis(999),
            MAX_VALID + Duration::from_nanos(1),
            Duration::MAX,
        ] {
            let request = ClientRequest { valid, ..request() };
            let error = issue_client(ca.as_bytes(), &request, now()).unwrap_err();
            assert_eq!(error, KeyError::InvalidLifetime, "{valid:?}");
        }
    }

    #[test]
    fn unusable_names_are_refused() {
        let ca = Authority::of(&PKCS_ED25519).pem();
        let issue = |organizations: Vec<String>, common_name: Option<&str>| {
            let request = ClientRequest {
                organizations,
                common_name: common_name.map(String::from),
                valid: DAY,
            };
            issue_client(ca.as_bytes(), &request, now()).map(drop)
        };
        assert_eq!(issue(vec![], None), Err(KeyError::NoSubject));
        let long = "ü".repeat(64);
        assert_eq!(issue(vec![], Some(&long)), Ok(()));
        for name in ["", "a\0b", "a\nb", "\u{85}", &format!("{long}x")] {
            assert_eq!(
                issue(vec![name.into()], None),
                Err(KeyError::InvalidName),
                "{name:?}"
            );
            assert_eq!(
                issue(vec![], Some(name)),
                Err(KeyError::InvalidName),
                "{name:?}"
            );
        }
        let many = |count| {
            (0..count)
                .map(|n| format!("{n}{}", "ü".repeat(60)))
                .collect()
        };
        assert_eq!(issue(many(64), None), Ok(()));
        assert_eq!(issue(many(65), None), Err(KeyError::InvalidName));
    }

    #[test]
    fn times_that_no_certificate_carries_are_refused() {
        let ca = Authority::of(&PKCS_ED25519).pem();
        for at in [
            UNIX_EPOCH - Duration::from_secs(1),
            UNIX_EPOCH + Duration::from_hours(70_389_528), // the year 10000
            UNIX_EPOCH + Duration::from_secs(i64::MAX as u64 - 1),
        ] {
            let error = issue_client(ca.as_bytes(), &request(), at).unwrap_err();
            assert_eq!(error, KeyError::InvalidTime, "{at:?}");
        }
        let error = issue_client(ca.as_bytes(), &request(), UNIX_EPOCH).unwrap_err();
        assert_eq!(
            error,
            KeyError::AuthorityNotYetValid {
                date: "2025-01-01".into()
            }
        );
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let ed25519 = [&PKCS_ED25519; 2].map(Authority::of);
        let p256 = [&PKCS_ECDSA_P256_SHA256; 2].map(Authority::of);
        let p384 = Authority::of(&PKCS_ECDSA_P384_SHA384);
        let other_rsa = rcgen::KeyPair::from_pem(&generate(KeyKind::Rsa2048).unwrap()).unwrap();
        let other_rsa = Authority::new(&other_rsa, &authority_params());
        let all = [
            &ed25519[0],
            &ed25519[1],
            &p256[0],
            &p256[1],
            &p384,
            Authority::rsa(),
            &other_rsa,
        ];
        for (i, certificate) in all.iter().enumerate() {
            for (j, key) in all.iter().enumerate() {
                let ca = certificate.pem_with("PRIVATE KEY", &key.pkcs8);
                let issued = issue(&ca).map(drop);
                let read = ClientIdentity::from_pem(ca.as_bytes()).map(drop);
                let expected = if i == j {
                    Ok(())
                } else {
                    Err(KeyError::KeyMismatch)
                };
                assert_eq!(issued, expected, "{i} {j}");
                assert_eq!(read, expected, "{i} {j}");
            }
        }
    }

    #[test]
    fn an_authority_out_of_its_time_is_refused() {
        let ca = Authority::of(&PKCS_ED25519).pem();
        let issue = |seconds| {
            let at = UNIX_EPOCH + Duration::from_secs(seconds);
            issue_client(ca.as_bytes(), &request(), at).map(drop)
        };
        let (from, until) = (1_735_689_600, 2_051_222_400); // 2025-01-01, 2035-01-01
        assert_eq!(issue(until), Ok(()));
        let expired = KeyError::AuthorityExpired {
            date: "2035-01-01".into(),
        };
        assert_eq!(
            expired.to_string(),
            "the authority expired on 2035-01-01: renew it, or correct the clock"
        );
        assert_eq!(issue(until + 1), Err(expired));
        assert_eq!(issue(from - 60), Ok(()));
        let early = KeyError::AuthorityNotYetValid {
            date: "2025-01-01".into(),
        };
        assert_eq!(issue(from - 61), Err(early));
    }

    #[test]
    fn a_certificate_that_may_not_sign_is_refused() {
        let key = rcgen::KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let mut no_ca = authority_params();
        no_ca.is_ca = IsCa::NoCa;
        let mut explicit = authority_params();
        explicit.is_ca = IsCa::ExplicitNoCa;
        let mut usage = authority_params();
        usage.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        for params in [no_ca, explicit, usage] {
            let error = issue(&Authority::new(&key, &params).pem()).unwrap_err();
            assert_eq!(error, KeyError::NotAnAuthority);
        }
        let mut silent = authority_params();
        silent.key_usages = Vec::new();
        check_identity(&issue(&Authority::new(&key, &silent).pem()).unwrap());
    }

    #[test]
    fn issued_identities_do_not_issue() {
        let identity = issue(&Authority::of(&PKCS_ED25519).pem()).unwrap();
        let ca = format!("{}{}", identity.certificate, &*identity.key);
        assert_eq!(issue(&ca).unwrap_err(), KeyError::NotAnAuthority);
    }

    #[test]
    fn identities_survive_pem() {
        for ca in [
            Authority::of(&PKCS_ED25519).pem(),
            Authority::of(&PKCS_ECDSA_P256_SHA256).pem(),
        ] {
            let identity = issue(&ca).unwrap();
            let pem = identity.to_pem();
            let read = ClientIdentity::from_pem(pem.as_bytes()).unwrap();
            assert_eq!(read.certificate, identity.certificate);
            assert_eq!(read.key.len(), identity.key.len());
            assert_eq!(read.key, identity.key);
            assert_eq!(read.authority, identity.authority);
            assert_eq!(read.to_pem(), pem);
            check_identity(&read);

            let alone = format!("{}{}", &*identity.key, identity.certificate);
            let alone = ClientIdentity::from_pem(alone.as_bytes()).unwrap();
            assert_eq!(alone.authority, None);
            let again = ClientIdentity::from_pem(alone.to_pem().as_bytes()).unwrap();
            assert_eq!((again.key, again.authority), (identity.key, None));
        }
    }

    /// tonic and rustls know neither Talos's label nor a key without its public half.
    #[test]
    fn identities_of_any_label_become_pkcs8() {
        let (ed25519, p256) = (
            Authority::of(&PKCS_ED25519),
            Authority::of(&PKCS_ECDSA_P256_SHA256),
        );
        let scalar = der::write(der::OCTET_STRING, &[unwrap_sec1(p256.inner()).unwrap()]);
        let bare = der::write(der::SEQUENCE, &[&[der::INTEGER, 1, 1], &scalar]);
        let rsa = Authority::rsa();
        for bundle in [
            ed25519.pem(),
            ed25519.talos_pem(),
            p256.pem_with("EC PRIVATE KEY", &bare),
            Authority::of(&PKCS_ECDSA_P384_SHA384).pem(),
            rsa.pem(),
            rsa.pem_with("RSA PRIVATE KEY", rsa.inner()),
        ] {
            let identity = ClientIdentity::from_pem(bundle.as_bytes()).unwrap();
            assert!(identity.key.starts_with("-----BEGIN PRIVATE KEY-----\n"));
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
            let key = default_provider()
                .key_provider
                .load_private_key(key)
                .unwrap();
            CertifiedKey::new(vec![der_of(&identity.certificate)], key)
                .keys_match()
                .unwrap();
        }
    }

    #[test]
    fn several_authorities_verify_the_server() {
        let (old, new) = (Authority::of(&PKCS_ED25519), Authority::of(&PKCS_ED25519));
        let identity = issue(&old.pem()).unwrap();
        let bundle = format!("{}{}", &*identity.to_pem(), new.certificate);
        let read = ClientIdentity::from_pem(bundle.as_bytes()).unwrap();
        let roots = read.authority.unwrap();
        let roots: Vec<_> = CertificateDer::pem_slice_iter(roots.as_bytes())
            .map(Result::unwrap)
            .collect();
        assert_eq!(roots, [der_of(&old.certificate), der_of(&new.certificate)]);
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let authority = Authority::of(&PKCS_ED25519);
        let (certificate, key) = (
            authority.certificate.as_str(),
            &*pem::write("PRIVATE KEY", &authority.pkcs8),
        );
        let block = |label: &str| pem::write(label, b"not a key").to_string();
        let bare = |label: &str, body: &str| {
            format!("{certificate}-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
        };
        let truncated = &certificate[..certificate.len() / 2];
        let cases = [
            (String::new(), KeyError::Empty),
            (" \n\t\r\n".into(), KeyError::Empty),
            ("hello".into(), KeyError::MissingCertificate),
            (key.into(), KeyError::MissingCertificate),
            (certificate.into(), KeyError::MissingKey),
            (format!("{certificate}{key}{key}"), KeyError::SeveralKeys),
            (" ".repeat(64 * 1024 + 1), KeyError::TooLarge),
            (
                format!("{certificate}{key}{}", " ".repeat(64 * 1024)),
                KeyError::TooLarge,
            ),
            (truncated.into(), KeyError::MalformedPem),
            (format!("{truncated}\n{key}"), KeyError::MalformedPem),
            (format!("{key}{truncated}"), KeyError::MalformedPem),
            (bare("PRIVATE KEY", "?"), KeyError::MalformedPem),
            (bare("PRIVATE KEY", "MC4"), KeyError::MalformedPem),
            (bare("PRIVATE KEY", ""), KeyError::MalformedKey),
            (
                bare("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\nAAAA"),
                KeyError::EncryptedKey,
            ),
            (
                bare("ENCRYPTED PRIVATE KEY", "AAAA"),
                KeyError::EncryptedKey,
            ),
            (
                bare("OPENSSH PRIVATE KEY", "AAAA"),
                KeyError::UnsupportedKey,
            ),
            (
                format!("{certificate}{}", block("PRIVATE KEY")),
                KeyError::MalformedKey,
            ),
            (
                format!("{certificate}{}", block("EC PRIVATE KEY")),
                KeyError::MalformedKey,
            ),
            (
                format!("{certificate}{}", block("ED25519 PRIVATE KEY")),
                KeyError::MalformedKey,
            ),
            (
                format!("{}{key}", block("CERTIFICATE")),
                KeyError::MalformedCertificate,
            ),
            (bare("X25519 PRIVATE KEY", "AAAA"), KeyError::UnsupportedKey),
        ];
        for (text, expected) in cases {
            assert_eq!(issue(&text).unwrap_err(), expected, "{text}");
            let read = ClientIdentity::from_pem(text.as_bytes()).unwrap_err();
            assert_eq!(read, expected, "{text}");
        }
        let two = format!("{certificate}{certificate}{key}");
        assert_eq!(issue(&two).unwrap_err(), KeyError::SeveralCertificates);

        let rsa = Authority::rsa().pem_with("RSA PRIVATE KEY", b"not a key");
        assert_eq!(issue(&rsa).unwrap_err(), KeyError::MalformedKey);
        let x25519 = wrap_pkcs8(&der::algorithm(b"\x2b\x65\x6e", &[]), authority.inner());
        let x25519 = authority.pem_with("PRIVATE KEY", &x25519);
        assert_eq!(issue(&x25519).unwrap_err(), KeyError::UnsupportedKey);
        let binary = [authority.pem().as_bytes(), &[0xff]].concat();
        let error = issue_client(&binary, &request(), now()).unwrap_err();
        assert_eq!(error, KeyError::MalformedPem);
    }

    #[test]
    fn a_subject_that_is_no_name_is_refused() {
        let authority = Authority::of(&PKCS_ED25519);
        let mut der = der_of(&authority.certificate).to_vec();
        let name = b"\x31\x0e\x30\x0c\x06\x03\x55\x04\x0a\x0c\x05talos";
        let subject = der
            .windows(name.len())
            .rposition(|part| part == name)
            .unwrap();
        der[subject] = der::SEQUENCE;
        let ca = Authority {
            certificate: pem::certificate(&der),
            ..authority
        }
        .pem();
        assert_eq!(issue(&ca).unwrap_err(), KeyError::MalformedCertificate);
    }

    /// Every byte changed, every length cut: an identity that can be read back or an error that
    /// says nothing of the input, and never a panic.
    #[test]
    fn damaged_input_is_survived() {
        let survive = |ca: &str, secret: &str| {
            match issue(ca) {
                // Whether the authority's own signature holds is for those who trust it to say.
                Ok(identity) => {
                    let read = ClientIdentity::from_pem(identity.to_pem().as_bytes()).map(drop);
                    assert_eq!(read, Ok(()), "{ca}{}", identity.certificate);
                }
                Err(error) => assert_silent(&format!("{error} {error:?}"), secret),
            }
            if let Err(error) = ClientIdentity::from_pem(ca.as_bytes()) {
                assert_silent(&format!("{error} {error:?}"), secret);
            }
        };
        for (authority, step) in [
            (&Authority::of(&PKCS_ED25519), 1),
            (&Authority::of(&PKCS_ECDSA_P256_SHA256), 3),
            (Authority::rsa(), 37),
        ] {
            let whole = authority.pem();
            let certificate = der_of(&authority.certificate);
            for change in [0x01, 0x80, 0xff] {
                for position in (0..certificate.len()).step_by(step) {
                    let mut damaged = certificate.to_vec();
                    damaged[position] ^= change;
                    let damaged = Authority {
                        certificate: pem::certificate(&damaged),
                        pkcs8: authority.pkcs8.clone(),
                    };
                    survive(&damaged.pem(), &whole);
                }
                for position in (0..authority.pkcs8.len()).step_by(step) {
                    let mut damaged = authority.pkcs8.clone();
                    damaged[position] ^= change;
                    survive(&authority.pem_with("PRIVATE KEY", &damaged), &whole);
                }
            }
            for length in (0..whole.len()).step_by(step) {
                survive(&whole[..length], &whole);
                survive(&whole[length..], &whole);
            }
        }
    }

    /// Fails when `text` holds eight characters in a row from the base64 of `secret`.
    fn assert_silent(text: &str, secret: &str) {
        let lines = secret.lines().filter(|line| !line.starts_with("-----"));
        for piece in lines.flat_map(|line| line.as_bytes().windows(8)) {
            let piece = str::from_utf8(piece).unwrap();
            assert!(!text.contains(piece), "{text}");
        }
    }

    #[test]
    fn nothing_shows_key_material() {
        let authority = Authority::of(&PKCS_ED25519);
        let identity = issue(&authority.pem()).unwrap();
        assert_eq!(format!("{identity:?}"), "ClientIdentity { .. }");
        assert_eq!(format!("{identity:#?}"), "ClientIdentity { .. }");

        // A label is text from the input, too.
        let key = pem::write("PRIVATE KEY", &authority.pkcs8);
        let body = key.lines().nth(1).unwrap();
        for label in [format!("{body} PRIVATE KEY"), body.into()] {
            let text = format!("{}{}", authority.certificate, &*pem::write(&label, b"x"));
            let error = issue(&text).unwrap_err();
            assert_silent(&format!("{error} {error:?}"), &key);
        }
    }

    /// `openssl` with its input, or nothing where it is not installed.
    fn openssl(arguments: &[&str], input: &str) -> Option<String> {
        let child = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                eprintln!("SKIPPED: openssl cannot be started: {error}");
                return None;
            }
        };
        // It may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "openssl {arguments:?}\n{out}{err}");
        Some(out.into_owned())
    }

    /// A file for the arguments of `openssl` that take no standard input.
    struct File(PathBuf);

    impl File {
        fn new(name: &str, text: &str) -> Self {
            let name = format!("emhost-keys-{}-{name}.pem", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, text).unwrap();
            Self(path)
        }

        fn path(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// Authorities made by OpenSSL, identities verified by it.
    #[test]
    fn openssl_agrees() {
        let keys: [(&str, &[&str]); 6] = [
            ("ed25519", &["genpkey", "-algorithm", "ed25519"]),
            ("sec1", &["ecparam", "-name", "prime256v1", "-genkey"]),
            (
                "p256",
                &[
                    "genpkey",
                    "-algorithm",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                ],
            ),
            (
                "p384",
                &[
                    "genpkey",
                    "-algorithm",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-384",
                ],
            ),
            ("pkcs1", &["genrsa", "-traditional", "2048"]),
            ("rsa", &["genrsa", "3072"]),
        ];
        for (name, arguments) in keys {
            let Some(key) = openssl(arguments, "") else {
                return;
            };
            let key_file = File::new(&format!("{name}-key"), &key);
            let self_sign = [
                "req",
                "-x509",
                "-days",
                "3650",
                "-subj",
                "/O=talos/O=two/CN=ca",
            ];
            let usage = ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"];
            let self_sign = [&self_sign[..], &usage, &["-key", key_file.path()]].concat();
            let certificate = openssl(&self_sign, "").unwrap();
            let now = SystemTime::now();
            let ca = format!("{key}{certificate}");
            let identity = issue_client(ca.as_bytes(), &request(), now).unwrap();
            verify(&identity, now).unwrap();
            if name == "ed25519" {
                let ca = ca.replace("PRIVATE KEY", "ED25519 PRIVATE KEY");
                verify(&issue_client(ca.as_bytes(), &request(), now).unwrap(), now).unwrap();
            }

            let root = File::new(name, identity.authority.as_ref().unwrap());
            let arguments = ["verify", "-x509_strict", "-purpose", "sslclient", "-CAfile"];
            let arguments = [&arguments[..], &[root.path()]].concat();
            let verdict = openssl(&arguments, &identity.certificate).unwrap();
            assert_eq!(verdict, "stdin: OK\n", "{name}");

            let text = openssl(&["x509", "-noout", "-text"], &identity.certificate).unwrap();
            // Newer versions put their spaces elsewhere.
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            let text = lines.join("\n").replace(" = ", "=");
            for expected in [
                "Version: 3 (0x2)",
                "Issuer: O=talos, O=two, CN=ca\n",
                "Subject: O=os:admin, O=os:reader\n",
                "X509v3 Key Usage: critical\nDigital Signature\n",
                "X509v3 Extended Key Usage:\nTLS Web Client Authentication\n",
                "X509v3 Authority Key Identifier:\n",
            ] {
                assert!(text.contains(expected), "{name}: {expected}\n{text}");
            }
            assert!(
                !text.contains("Basic Constraints") && !text.contains("Alternative"),
                "{text}"
            );

            // The key is the certificate's, and OpenSSL can read it.
            let public = openssl(&["pkey", "-pubout"], &identity.key).unwrap();
            let certified = openssl(&["x509", "-noout", "-pubkey"], &identity.certificate).unwrap();
            assert_eq!(public, certified, "{name}");
            let read = ClientIdentity::from_pem(ca.as_bytes()).unwrap();
            assert_eq!(
                openssl(&["pkey", "-pubout"], &read.key).unwrap(),
                openssl(&["pkey", "-pubout"], &key).unwrap(),
                "{name}"
            );
        }
        for kind in [KeyKind::Ed25519, KeyKind::EcdsaP256, KeyKind::Rsa2048] {
            openssl(&["pkey", "-noout", "-check"], &generate(kind).unwrap()).unwrap();
        }
    }
}
