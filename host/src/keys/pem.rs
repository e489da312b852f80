//! PEM with the labels that keys have in the wild: the usual readers know not all of them.

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
            CERTIFICATE | PRIVATE_KEY | "EC PRIVATE KEY" | "RSA PRIVATE KEY" | "ED25519 PRIVATE KEY" => {
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
    let length = STANDARD.decode_slice(body, &mut der).map_err(|_| KeyError::MalformedPem)?;
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
