//! PEM, in and out.

use p256::elliptic_curve::sec1::ToEncodedPoint;
use pkcs8::der::pem::{self, LineEnding};
use pkcs8::der::{Decode, Encode};
use pkcs8::{ObjectIdentifier, PrivateKeyInfo};
use sec1::EcPrivateKey;
use zeroize::Zeroizing;

pub(super) const EC: &str = "EC PRIVATE KEY";
/// A label of Talos alone; what it holds is PKCS#8.
pub(super) const ED25519: &str = "ED25519 PRIVATE KEY";
const RSA: &str = "RSA PRIVATE KEY";
const PKCS8: &str = "PRIVATE KEY";

const RSA_KEYS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC_KEYS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519_KEYS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");

/// Why a certificate or a key is of no use. Never repeats any of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// The certificate is no PEM.
    #[error("the certificate is not a CERTIFICATE block of PEM")]
    CertificatePem,
    /// The certificate's block holds something else.
    #[error("the certificate cannot be read")]
    Certificate,
    /// The key is no PEM.
    #[error("the private key is not PEM")]
    KeyPem,
    /// The key's label is one that Talos does not know.
    #[error("the private key has a label that Talos does not take: use `RSA`, `EC` or `ED25519 PRIVATE KEY`")]
    KeyLabel,
    /// The key's block holds something else.
    #[error("the private key cannot be read")]
    Key,
    /// The two were made apart.
    #[error("the private key does not belong to the certificate")]
    Apart,
}

/// One block of PEM.
pub(super) fn block(label: &str, der: &[u8]) -> Option<String> {
    pem::encode_string(label, LineEnding::LF, der).ok()
}

/// The label and the bytes of a private key.
pub(super) fn key(text: &str) -> Result<(&str, Zeroizing<Vec<u8>>), Damaged> {
    let (label, bytes) = pem::decode_vec(text.as_bytes()).map_err(|_| Damaged::KeyPem)?;
    let bytes = Zeroizing::new(bytes);
    if [RSA, EC, ED25519, PKCS8].contains(&label) { Ok((label, bytes)) } else { Err(Damaged::KeyLabel) }
}

pub(super) fn rsa_key(text: &str) -> Result<Zeroizing<String>, Damaged> {
    let (label, bytes) = key(text)?;
    if label != PKCS8 {
        return Err(Damaged::KeyLabel);
    }
    let info = PrivateKeyInfo::from_der(&bytes).map_err(|_| Damaged::Key)?;
    if info.algorithm.oid != RSA_KEYS {
        return Err(Damaged::Key);
    }
    block(RSA, info.private_key).map(Zeroizing::new).ok_or(Damaged::Key)
}

/// Whether a key is that of a certificate. Of RSA keys and of other curves only the form is looked at.
pub(super) fn matching(certificate: &str, private: &str) -> Result<(), Damaged> {
    let (label, bytes) = pem::decode_vec(certificate.as_bytes()).map_err(|_| Damaged::CertificatePem)?;
    if label != "CERTIFICATE" {
        return Err(Damaged::CertificatePem);
    }
    let (_, certificate) = x509_parser::parse_x509_certificate(&bytes).map_err(|_| Damaged::Certificate)?;
    let spki = certificate.public_key();
    let theirs = spki.subject_public_key.data.as_ref();
    let kind = ObjectIdentifier::from_bytes(spki.algorithm.algorithm.as_bytes()).map_err(|_| Damaged::Certificate)?;
    let (label, bytes) = key(private)?;
    let ours = match label {
        RSA => return if kind == RSA_KEYS { Ok(()) } else { Err(Damaged::Apart) },
        EC => p256_public(&bytes, None)?,
        _ => {
            let info = PrivateKeyInfo::from_der(&bytes).map_err(|_| Damaged::Key)?;
            if info.algorithm.oid != kind {
                return Err(Damaged::Apart);
            }
            match kind {
                ED25519_KEYS => Some(ed25519_public(info.private_key)?),
                EC_KEYS => p256_public(info.private_key, info.algorithm.parameters_oid().ok())?,
                _ => None,
            }
        }
    };
    match ours {
        Some(ours) if ours != theirs => Err(Damaged::Apart),
        None if label == EC && kind != EC_KEYS => Err(Damaged::Apart),
        _ => Ok(()),
    }
}

/// The public half of a key on P-256; nothing for another curve.
fn p256_public(der: &[u8], curve: Option<ObjectIdentifier>) -> Result<Option<Vec<u8>>, Damaged> {
    let key = EcPrivateKey::from_der(der).map_err(|_| Damaged::Key)?;
    if key.parameters.and_then(sec1::EcParameters::named_curve).or(curve) != Some(P256) {
        return Ok(None);
    }
    let secret = p256::SecretKey::from_slice(key.private_key).map_err(|_| Damaged::Key)?;
    Ok(Some(secret.public_key().to_encoded_point(false).as_bytes().to_vec()))
}

/// The public half of a key that stands as an octet string inside its PKCS#8.
fn ed25519_public(wrapped: &[u8]) -> Result<Vec<u8>, Damaged> {
    let seed = wrapped.strip_prefix(&[0x04, 0x20]).and_then(|seed| <[u8; 32]>::try_from(seed).ok()).ok_or(Damaged::Key)?;
    Ok(ed25519_dalek::SigningKey::from_bytes(&Zeroizing::new(seed)).verifying_key().to_bytes().to_vec())
}

/// A key on P-256 in the form of SEC1, the curve named: Go reads none without.
pub(super) fn p256_key(secret: &p256::SecretKey) -> Option<Zeroizing<String>> {
    let scalar = Zeroizing::new(secret.to_bytes().to_vec());
    let public = secret.public_key().to_encoded_point(false);
    let key =
        EcPrivateKey { private_key: &scalar, parameters: Some(sec1::EcParameters::NamedCurve(P256)), public_key: Some(public.as_bytes()) };
    block(EC, &Zeroizing::new(key.to_der().ok()?)).map(Zeroizing::new)
}

/// An Ed25519 key as PKCS#8 under the label of Talos.
pub(super) fn ed25519_key(seed: &[u8; 32]) -> Option<Zeroizing<String>> {
    let wrapped = Zeroizing::new([&[0x04, 0x20], seed.as_slice()].concat());
    let algorithm = pkcs8::AlgorithmIdentifierRef { oid: ED25519_KEYS, parameters: None };
    let der = Zeroizing::new(PrivateKeyInfo::new(algorithm, &wrapped).to_der().ok()?);
    block(ED25519, &der).map(Zeroizing::new)
}
