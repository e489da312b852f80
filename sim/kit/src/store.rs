//! Keeps a site's things on disk: documents by key in an append-only log, and
//! files beside it.
//!
//! A change is in the log before the call that made it returns, so a site
//! killed at any moment opens again with everything it ever confirmed. A line
//! that was cut off at the end is dropped. The log is written anew when it has
//! grown to several times what it holds.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Lines beyond what is held before the log is written anew.
const SLACK: usize = 4096;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("another process runs this site ({})", .0.display())]
    Busy(PathBuf),
    /// A line in the middle is damaged.
    #[error("line {line} of {} is damaged; `emhost sim reset` starts the site afresh", .path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The disk said no.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The documents and files of one site.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    inner: Mutex<Inner>,
    _lock: File,
}

#[derive(Debug)]
struct Inner {
    log: File,
    lines: usize,
    documents: BTreeMap<String, Value>,
    /// Set when a write failed: the log's end is unknown, so nothing more is written.
    broken: bool,
}

impl Store {
    /// Opens the folder, and makes it where it is not there.
    ///
    /// # Errors
    /// Another process has it, it is damaged, or the disk said no.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        std::fs::create_dir_all(folder.join("files")).map_err(at(folder))?;
        // Disks hold machine configurations, and those hold keys.
        std::fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(at(folder))?;
        let lock_path = folder.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path).map_err(at(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(folder.to_owned())),
            Err(TryLockError::Error(source)) => return Err(StoreError::Io { path: lock_path, source }),
        }
        let path = folder.join("log");
        let (documents, lines, whole) = read(&path)?;
        let mut log = OpenOptions::new().create(true).append(true).open(&path).map_err(at(&path))?;
        if log.metadata().map_err(at(&path))?.len() > whole {
            log.set_len(whole).map_err(at(&path))?;
        }
        if lines > documents.len() + SLACK {
            log = rewrite(&path, &documents).map_err(at(&path))?;
        }
        let lines = lines.min(documents.len() + SLACK);
        let inner = Inner { log, lines, documents, broken: false };
        Ok(Self { folder: folder.to_owned(), inner: Mutex::new(inner), _lock: lock })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the site's files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file that belongs to the site. Slashes make folders, which are created.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn file(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.folder.join("files").join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(path)
    }

    /// Keeps a document under a key. Keys are paths such as `pve/vm/100`.
    ///
    /// # Errors
    /// It cannot be written; then nothing has changed.
    pub fn put(&self, key: &str, document: &impl Serialize) -> io::Result<()> {
        let value = serde_json::to_value(document)?;
        let mut inner = self.inner();
        if inner.documents.get(key) == Some(&value) {
            return Ok(());
        }
        inner.append(key, Some(&value))?;
        inner.documents.insert(key.to_owned(), value);
        inner.shrink(&self.folder.join("log"))
    }

    /// Forgets a document.
    ///
    /// # Errors
    /// It cannot be written; then nothing has changed.
    pub fn remove(&self, key: &str) -> io::Result<()> {
        let mut inner = self.inner();
        if !inner.documents.contains_key(key) {
            return Ok(());
        }
        inner.append(key, None)?;
        inner.documents.remove(key);
        inner.shrink(&self.folder.join("log"))
    }

    /// One document.
    ///
    /// # Errors
    /// It is there and not of this shape.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> io::Result<Option<T>> {
        let value = self.inner().documents.get(key).cloned();
        Ok(value.map(serde_json::from_value).transpose()?)
    }

    /// Every document whose key begins so, with the rest of the key.
    ///
    /// # Errors
    /// One is not of this shape.
    pub fn all<T: DeserializeOwned>(&self, prefix: &str) -> io::Result<Vec<(String, T)>> {
        let inner = self.inner();
        let found = inner.documents.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        found.map(|(key, value)| Ok((key[prefix.len()..].to_owned(), serde_json::from_value(value.clone())?))).collect()
    }
}

impl Inner {
    fn append(&mut self, key: &str, value: Option<&Value>) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed; start the site again"));
        }
        let line = line(key, value)?;
        if let Err(error) = self.log.write_all(line.as_bytes()) {
            self.broken = true;
            return Err(error);
        }
        self.lines += 1;
        Ok(())
    }

    fn shrink(&mut self, path: &Path) -> io::Result<()> {
        if self.lines > self.documents.len() * 4 + SLACK {
            self.log = rewrite(path, &self.documents)?;
            self.lines = self.documents.len();
        }
        Ok(())
    }
}

/// `CRC key value`, where no value means removed.
fn line(key: &str, value: Option<&Value>) -> io::Result<String> {
    let body = serde_json::to_string(&(key, value))?;
    Ok(format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes())))
}

fn parse(text: &str) -> Option<(String, Option<Value>)> {
    let (crc, body) = text.split_once(' ')?;
    let crc = u32::from_str_radix(crc, 16).ok()?;
    (crc == crc32fast::hash(body.as_bytes())).then(|| serde_json::from_str(body).ok())?
}

/// The documents of a log, how many lines it has, and how long its whole part is.
fn read(path: &Path) -> Result<(BTreeMap<String, Value>, usize, u64), StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), source };
    let mut documents = BTreeMap::new();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((documents, 0, 0)),
        Err(error) => return Err(io_error(error)),
    };
    let mut reader = BufReader::new(file);
    let (mut lines, mut whole) = (0, 0);
    let mut text = Vec::new();
    loop {
        text.clear();
        let read = reader.read_until(b'\n', &mut text).map_err(io_error)?;
        let entry = text.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()).and_then(parse);
        let Some((key, value)) = entry else {
            let last = read == 0 || reader.fill_buf().map_err(io_error)?.is_empty();
            if last {
                return Ok((documents, lines, whole));
            }
            return Err(StoreError::Damaged { path: path.to_owned(), line: lines + 1 });
        };
        match value {
            Some(value) => documents.insert(key, value),
            None => documents.remove(&key),
        };
        lines += 1;
        whole += read as u64;
    }
}

/// Writes the log anew beside the old one and puts it in its place.
fn rewrite(path: &Path, documents: &BTreeMap<String, Value>) -> io::Result<File> {
    let beside = path.with_extension("new");
    let mut text = String::new();
    for (key, value) in documents {
        text.push_str(&line(key, Some(value))?);
    }
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    OpenOptions::new().append(true).open(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn documents_outlive_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.put("vm/100", &"a").unwrap();
        store.put("vm/101", &"b").unwrap();
        store.put("vm/100", &"c").unwrap();
        store.remove("vm/101").unwrap();
        assert!(matches!(Store::open(folder.path()), Err(StoreError::Busy(_))));
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.all::<String>("vm/").unwrap(), [("100".to_owned(), "c".to_owned())]);
    }

    #[test]
    fn a_cut_off_line_is_dropped_at_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.put("a", &1).unwrap();
        store.put("b", &2).unwrap();
        drop(store);
        let log = folder.path().join("log");
        let bytes = std::fs::read(&log).unwrap();
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for length in 0..bytes.len() {
            std::fs::write(&log, &bytes[..length]).unwrap();
            let store = Store::open(folder.path()).unwrap();
            let expected = usize::from(length >= first);
            assert_eq!(store.all::<u8>("").unwrap().len(), expected, "cut at {length}");
            store.put("c", &3).unwrap();
            drop(store);
            let store = Store::open(folder.path()).unwrap();
            assert_eq!(store.get::<u8>("c").unwrap(), Some(3));
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.put("a", &1).unwrap();
        store.put("b", &2).unwrap();
        drop(store);
        let log = folder.path().join("log");
        let mut bytes = std::fs::read(&log).unwrap();
        bytes[12] ^= 1;
        std::fs::write(&log, bytes).unwrap();
        assert!(matches!(Store::open(folder.path()), Err(StoreError::Damaged { line: 1, .. })));
    }

    #[test]
    fn the_log_is_written_anew_before_it_grows_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for round in 0..3 * SLACK {
            store.put("a", &round).unwrap();
        }
        let length = std::fs::metadata(folder.path().join("log")).unwrap().len();
        assert!(length < 200 * SLACK as u64, "{length}");
        drop(store);
        assert_eq!(Store::open(folder.path()).unwrap().get::<usize>("a").unwrap(), Some(3 * SLACK - 1));
    }
}
