//! The little DER that certificates and keys need.

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
pub const SIGNED_RSA_SHA256: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00";

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
    write(SEQUENCE, &[&kind, critical, &write(OCTET_STRING, &[content])])
}

/// The content of the value with `tag` that `input` starts with, and what follows it.
pub fn read(input: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.strip_prefix(&[tag])?.split_first()?;
    let (length, rest) = match *length {
        short @ 0..=0x7f => (usize::from(short), rest),
        long @ 0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
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
