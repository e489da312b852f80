//! A snapshot as `etcd` streams it: the database file, and behind it the
//! SHA-256 of it.

use prost::Message;
use sha2::{Digest, Sha256};

use super::bolt;

/// Length of the hash behind the file.
const TRAILER: usize = 32;
/// What the keys of a snapshot begin with.
const PREFIX: &str = "/registry/";

/// One revision of one key, as etcd writes it.
#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(int64, tag = "2")]
    create_revision: i64,
    #[prost(int64, tag = "3")]
    mod_revision: i64,
    #[prost(int64, tag = "4")]
    version: i64,
    #[prost(bytes = "vec", tag = "5")]
    value: Vec<u8>,
}

/// Why a snapshot cannot be restored.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SnapshotError {
    /// The hash is not there.
    #[error("snapshot missing hash but --skip-hash-check=false")]
    NoHash,
    /// The hash is another one.
    #[error("expected sha256 [{0}], got [{1}]")]
    WrongHash(String, String),
    /// It is not a database.
    #[error("invalid database")]
    NotADatabase,
}

/// A snapshot of these documents.
pub(crate) fn write(documents: &[(String, String)], index: u64, term: u64, storage_version: &str) -> Vec<u8> {
    let revisions = documents.iter().zip(2_i64..).map(|((key, value), revision)| {
        let entry = KeyValue {
            key: format!("{PREFIX}{key}").into_bytes(),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            value: value.clone().into_bytes(),
        };
        let mut id = revision.to_be_bytes().to_vec();
        id.push(b'_');
        id.extend(0_i64.to_be_bytes());
        (id, entry.encode_to_vec())
    });
    let facts = vec![
        (b"consistent_index".to_vec(), index.to_be_bytes().to_vec()),
        (b"storageVersion".to_vec(), storage_version.as_bytes().to_vec()),
        (b"term".to_vec(), term.to_be_bytes().to_vec()),
    ];
    let mut file = bolt::write(&[("key", revisions.collect()), ("meta", facts)]);
    let hash = Sha256::digest(&file);
    file.extend_from_slice(&hash);
    file
}

/// The documents of a snapshot. One that was copied off a disk has no hash: then `skip_hash` must be set.
pub(crate) fn read(bytes: &[u8], skip_hash: bool) -> Result<Vec<(String, String)>, SnapshotError> {
    let has_hash = bytes.len() % 512 == TRAILER;
    let file = if has_hash { &bytes[..bytes.len() - TRAILER] } else { bytes };
    if !skip_hash {
        if !has_hash {
            return Err(SnapshotError::NoHash);
        }
        let (written, is) = (hex(&bytes[file.len()..]), hex(&Sha256::digest(file)));
        if written != is {
            return Err(SnapshotError::WrongHash(written, is));
        }
    }
    let revisions = bolt::read(file, "key").ok_or(SnapshotError::NotADatabase)?;
    let documents = revisions.into_iter().filter_map(|(_, value)| {
        let entry = KeyValue::decode(value.as_slice()).ok()?;
        let key = String::from_utf8(entry.key).ok()?;
        Some((key.strip_prefix(PREFIX)?.to_owned(), String::from_utf8(entry.value).ok()?))
    });
    Ok(documents.collect())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn documents_come_back_and_a_changed_byte_is_noticed() {
        let documents: Vec<_> = (0..3).map(|at| (format!("pods/{at}"), "{}".to_owned())).collect();
        let mut bytes = write(&documents, 9, 2, "3.6.0");
        assert_eq!(bytes.len() % 512, TRAILER, "what talosctl looks for");
        assert_eq!(read(&bytes, false).unwrap(), documents);
        let file = bytes.len() - TRAILER;
        assert_eq!(read(&bytes[..file], false), Err(SnapshotError::NoHash));
        assert_eq!(read(&bytes[..file], true).unwrap(), documents);
        bytes[file - 1] ^= 1;
        assert!(matches!(read(&bytes, false), Err(SnapshotError::WrongHash(..))));
        assert_eq!(read(b"no database", true), Err(SnapshotError::NotADatabase));
    }
}
