//! `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`: one value, encrypted with the file's data key and bound to its place.

use aes_gcm::aead::consts::{U12, U32};
use aes_gcm::aead::generic_array::GenericArray;
use aes_gcm::aead::{AeadInPlace as _, KeyInit as _};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Tag};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngCore as _;
use zeroize::Zeroizing;

use super::error::FormatError;

const PREFIX: &str = "ENC[AES256_GCM,";
/// What `sops` uses; GCM takes any.
const NONCE: usize = 32;

/// The key all values of one file are encrypted with.
pub(super) struct DataKey(Zeroizing<Vec<u8>>);

/// A value as it was before, and the word `sops` has for its type.
pub(super) struct Opened<'a> {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    pub(super) kind: &'a str,
}

impl DataKey {
    const LENGTH: usize = 32;

    pub(super) fn new(bytes: Zeroizing<Vec<u8>>) -> Option<Self> {
        (bytes.len() == Self::LENGTH).then_some(Self(bytes))
    }

    pub(super) fn random() -> Result<Self, FormatError> {
        let mut bytes = Zeroizing::new(vec![0; Self::LENGTH]);
        random(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Decrypts a value; nothing if it is not one, or not one of this key and place.
    pub(super) fn open<'a>(&self, text: &'a str, place: &str) -> Option<Opened<'a>> {
        let parts = text.strip_prefix(PREFIX)?.strip_prefix("data:")?.strip_suffix(']')?;
        let (data, parts) = parts.split_once(",iv:")?;
        let (nonce, parts) = parts.split_once(",tag:")?;
        let (tag, kind) = parts.split_once(",type:")?;
        let nonce = STANDARD.decode(nonce).ok()?;
        let tag = STANDARD.decode(tag).ok().filter(|tag| tag.len() == 16)?;
        let mut bytes = Zeroizing::new(STANDARD.decode(data).ok()?);
        let (key, tag) = (GenericArray::from_slice(&self.0), Tag::from_slice(&tag));
        match nonce.len() {
            NONCE => AesGcm::<Aes256, U32>::new(key).decrypt_in_place_detached(
                GenericArray::from_slice(&nonce),
                place.as_bytes(),
                &mut bytes,
                tag,
            ),
            12 => AesGcm::<Aes256, U12>::new(key).decrypt_in_place_detached(
                GenericArray::from_slice(&nonce),
                place.as_bytes(),
                &mut bytes,
                tag,
            ),
            _ => return None,
        }
        .ok()?;
        Some(Opened { bytes, kind })
    }

    /// Encrypts a value for a place. Nothing stays nothing, as `sops` has it.
    pub(super) fn seal(&self, value: &[u8], kind: &str, place: &str) -> Result<String, FormatError> {
        if value.is_empty() {
            return Ok(String::new());
        }
        let mut nonce = [0; NONCE];
        random(&mut nonce)?;
        let mut bytes = Zeroizing::new(value.to_vec());
        let tag = AesGcm::<Aes256, U32>::new(GenericArray::from_slice(&self.0))
            .encrypt_in_place_detached(GenericArray::from_slice(&nonce), place.as_bytes(), &mut bytes)
            .map_err(|_| FormatError::Encrypt("the value is too long".to_owned()))?;
        let (data, nonce, tag) = (STANDARD.encode(&*bytes), STANDARD.encode(nonce), STANDARD.encode(tag));
        Ok(format!("{PREFIX}data:{data},iv:{nonce},tag:{tag},type:{kind}]"))
    }
}

fn random(bytes: &mut [u8]) -> Result<(), FormatError> {
    rand::rngs::OsRng.try_fill_bytes(bytes).map_err(|error| FormatError::Encrypt(format!("no random numbers: {error}")))
}
