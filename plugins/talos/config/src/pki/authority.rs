//! Authorities, as Talos makes them for a new cluster.

use std::time::Duration;

use ed25519_dalek::Signer as _;
use p256::ecdsa::DerSignature;
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use pkcs8::der::Encode as _;
use pkcs8::der::asn1::{GeneralizedTime, UtcTime};
use zeroize::Zeroizing;

use super::{Pair, pem};
use crate::Random;

/// Ten years, as long as Talos's own.
const LIFETIME: u64 = 87_600 * 3600;
/// The first moment of 2050, from which on certificates write years in full.
const YEARS_IN_FULL: u64 = 2_524_608_000;

/// Tags of DER.
const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const PRINTABLE: u8 = 0x13;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// Identifiers of objects, tag and length with them.
const ORGANIZATION: &[u8] = b"\x06\x03\x55\x04\x0a";
const SERVER: &[u8] = b"\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01";
const CLIENT: &[u8] = b"\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02";
const EC_KEYS: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01";
const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const ECDSA_WITH_SHA256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
const ED25519: &[u8] = b"\x06\x03\x2b\x65\x70";
const SUBJECT_KEY_IDENTIFIER: &[u8] = b"\x06\x03\x55\x1d\x0e";
const KEY_USAGE: &[u8] = b"\x06\x03\x55\x1d\x0f";
const BASIC_CONSTRAINTS: &[u8] = b"\x06\x03\x55\x1d\x13";
const EXTENDED_KEY_USAGE: &[u8] = b"\x06\x03\x55\x1d\x25";
/// `digitalSignature` and `keyCertSign`, behind the number of bits that do not count.
const SIGNS: &[u8] = &[2, 0b1000_0100];

/// A value of DER: its tag, its length, and what it consists of.
fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    let bytes = length.to_be_bytes();
    if let Ok(short @ ..0x80) = u8::try_from(length) {
        out.push(short);
    } else {
        let digits = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
        out.extend([0x80 | digits.len().to_le_bytes()[0]]);
        out.extend(digits);
    }
    out.extend(parts.concat());
    out
}

/// Bits in whole bytes.
fn bits(bytes: &[u8]) -> Vec<u8> {
    value(BITS, &[&[0], bytes])
}

/// The kind of an authority's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ECDSA on P-256: etcd and Kubernetes.
    P256,
    /// Ed25519: Talos's API.
    Ed25519,
}

/// A key, and how it signs.
enum Key {
    P256(p256::SecretKey),
    Ed25519(Zeroizing<[u8; 32]>),
}

impl Key {
    fn new(kind: Kind, random: &mut Random<'_>) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        loop {
            random(bytes.as_mut_slice());
            match kind {
                Kind::Ed25519 => return Self::Ed25519(bytes),
                // Of 2^32 draws one lies beyond the order of the curve, and is drawn again.
                Kind::P256 => {
                    if let Ok(key) = p256::SecretKey::from_slice(bytes.as_slice()) {
                        return Self::P256(key);
                    }
                }
            }
        }
    }

    /// How it signs.
    fn algorithm(&self) -> Vec<u8> {
        value(SEQUENCE, &[if matches!(self, Self::P256(_)) { ECDSA_WITH_SHA256 } else { ED25519 }])
    }

    /// Its public half, as certificates carry it.
    fn public(&self) -> Vec<u8> {
        match self {
            Self::P256(key) => {
                let point = key.public_key().to_encoded_point(false);
                value(SEQUENCE, &[&value(SEQUENCE, &[EC_KEYS, P256]), &bits(point.as_bytes())])
            }
            Self::Ed25519(seed) => {
                let public = ed25519_dalek::SigningKey::from_bytes(seed).verifying_key().to_bytes();
                value(SEQUENCE, &[&value(SEQUENCE, &[ED25519]), &bits(&public)])
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::P256(key) => {
                let signature: DerSignature = p256::ecdsa::SigningKey::from(key).sign(message);
                signature.as_bytes().to_vec()
            }
            Self::Ed25519(seed) => ed25519_dalek::SigningKey::from_bytes(seed).sign(message).to_vec(),
        }
    }

    fn to_pem(&self) -> Option<Zeroizing<String>> {
        match self {
            Self::P256(key) => pem::p256_key(key),
            Self::Ed25519(seed) => pem::ed25519_key(seed),
        }
    }
}

/// A new authority that signs itself, for ten years from `now` (seconds since 1970). None only when the time is none that
/// certificates can carry.
pub fn authority(kind: Kind, organization: Option<&str>, now: u64, random: &mut Random<'_>) -> Option<Pair> {
    let key = Key::new(kind, random);
    let mut serial = [0; 16];
    let mut identifier = [0; 20];
    random(&mut serial);
    random(&mut identifier);
    // Positive, and of full length.
    serial[0] = serial[0] & 0x7f | 0x40;
    let name = name(organization);
    let version = value(0xa0, &[&value(INTEGER, &[&[2]])]);
    let validity = value(SEQUENCE, &[&time(now)?, &time(now.checked_add(LIFETIME)?)?]);
    let extensions = value(0xa3, &[&extensions(&identifier)]);
    let number = value(INTEGER, &[&serial]);
    let signed = value(SEQUENCE, &[&version, &number, &key.algorithm(), &name, &validity, &name, &key.public(), &extensions]);
    let certificate = value(SEQUENCE, &[&signed, &key.algorithm(), &bits(&key.sign(&signed))]);
    Some(Pair { certificate: pem::block("CERTIFICATE", &certificate)?, key: key.to_pem()? })
}

/// Whose certificate it is: an organization, or nobody.
fn name(organization: Option<&str>) -> Vec<u8> {
    let part = organization.map(|name| value(SET, &[&value(SEQUENCE, &[ORGANIZATION, &value(PRINTABLE, &[name.as_bytes()])])]));
    value(SEQUENCE, &[&part.unwrap_or_default()])
}

fn time(seconds: u64) -> Option<Vec<u8>> {
    let since = Duration::from_secs(seconds);
    if seconds < YEARS_IN_FULL {
        UtcTime::from_unix_duration(since).ok()?.to_der().ok()
    } else {
        GeneralizedTime::from_unix_duration(since).ok()?.to_der().ok()
    }
}

fn extensions(identifier: &[u8]) -> Vec<u8> {
    let extension = |name: &[u8], critical: bool, inner: &[u8]| {
        let critical = if critical { value(BOOLEAN, &[&[0xff]]) } else { Vec::new() };
        value(SEQUENCE, &[name, &critical, &value(OCTETS, &[inner])])
    };
    value(
        SEQUENCE,
        &[
            &extension(KEY_USAGE, true, &value(BITS, &[SIGNS])),
            &extension(EXTENDED_KEY_USAGE, false, &value(SEQUENCE, &[SERVER, CLIENT])),
            &extension(BASIC_CONSTRAINTS, true, &value(SEQUENCE, &[&value(BOOLEAN, &[&[0xff]])])),
            &extension(SUBJECT_KEY_IDENTIFIER, false, &value(OCTETS, &[identifier])),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_whole_and_its_halves_belong_together() {
        let mut next = 0_u8;
        let mut random = |bytes: &mut [u8]| {
            for byte in bytes {
                next = next.wrapping_mul(31).wrapping_add(7);
                *byte = next;
            }
        };
        for (kind, label) in [(Kind::P256, "EC PRIVATE KEY"), (Kind::Ed25519, "ED25519 PRIVATE KEY")] {
            let one = authority(kind, Some("talos"), 1_700_000_000, &mut random).unwrap();
            let other = authority(kind, None, 1_700_000_000, &mut random).unwrap();
            assert!(one.key.starts_with(&format!("-----BEGIN {label}-----\n")));
            assert_eq!((one.check(), other.check()), (Ok(()), Ok(())));
            let mixed = Pair { certificate: one.certificate.clone(), key: other.key.clone() };
            assert_eq!(mixed.check(), Err(super::super::Damaged::Apart));
            assert!(!format!("{one:?}").contains("KEY"));
        }
        assert!(authority(Kind::Ed25519, None, u64::MAX, &mut random).is_none());
    }
}
