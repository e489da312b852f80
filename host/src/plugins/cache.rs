//! Compiled code on disk, so that a plugin is compiled once per machine and not once per run.
//!
//! Loading compiled code is the one place where the host trusts bytes with its own memory, so the
//! folder belongs to the user alone (0700), is never a link, and nothing in it is ever accepted
//! from elsewhere. An entry is named after what it was made from, and carries a checksum against
//! accidents. Whatever does not fit is compiled again.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Changes when the layout of an entry does.
const MAGIC: &[u8; 16] = b"emhost-cwasm-001";
const HEADER: usize = 16 + 32;

/// A folder of compiled code.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the folder, and makes it where it is missing.
    ///
    /// # Errors
    /// A folder that others may write to, that is a link, or that cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let found = fs::symlink_metadata(folder)?;
        let refuse = |why: &str| Err(io::Error::other(format!("{} {why}; remove it, and emhost makes it anew", folder.display())));
        if !found.is_dir() {
            return refuse("is not a folder");
        }
        if found.uid() != user()? {
            return refuse("belongs to another user");
        }
        if found.permissions().mode() & 0o077 != 0 {
            // A folder of ours that was opened to others may hold what others wrote.
            return refuse("is open to other users");
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// The component compiled for this engine: from the folder, or compiled and kept there.
    pub(crate) fn load(&self, engine: &Engine, bytes: &[u8], digest: &str) -> wasmtime::Result<Component> {
        let key = key(engine, digest);
        let entry = self.folder.join(format!("{key}.cwasm"));
        if let Some(code) = read(&entry, &key) {
            // SAFETY: the bytes come from a folder that only this user can write to, and are whole
            // by their checksum; wasmtime itself checks version, settings and processor.
            #[expect(unsafe_code, reason = "the one place where compiled code is loaded")]
            let loaded = unsafe { Component::deserialize(engine, &code) };
            if let Ok(component) = loaded {
                return Ok(component);
            }
        }
        let code = engine.precompile_component(bytes)?;
        // A cache that cannot be written costs time, not the run.
        let _ = write(&entry, &key, &code);
        // SAFETY: made by this very process, a line above.
        #[expect(unsafe_code, reason = "the one place where compiled code is loaded")]
        unsafe {
            Component::deserialize(engine, &code)
        }
    }
}

/// Whom this process works for. The standard library cannot tell, `/proc` can.
fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// Everything the compiled code depends on: the component, the engine with its settings and the
/// processor's features, and this emhost.
fn key(engine: &Engine, digest: &str) -> String {
    let mut hasher = Fingerprint(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.update(env!("CARGO_PKG_VERSION"));
    hasher.0.update(std::env::consts::ARCH);
    hasher.0.update(digest);
    super::hex(&hasher.0.finalize())
}

struct Fingerprint(Sha256);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Over the code and what it was made from, so that an entry under another's name is none.
fn checksum(key: &str, code: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(key).chain_update(code).finalize().into()
}

fn read(entry: &Path, key: &str) -> Option<Vec<u8>> {
    // Not behind a link, which could lead to what others wrote.
    let found = fs::symlink_metadata(entry).ok()?;
    if !found.is_file() || Some(found.uid()) != user().ok() || found.permissions().mode() & 0o022 != 0 {
        return None;
    }
    let mut bytes = fs::read(entry).ok()?;
    let code = bytes.split_off(HEADER.min(bytes.len()));
    let whole = bytes.len() == HEADER && bytes[..16] == *MAGIC && bytes[16..] == checksum(key, &code);
    whole.then_some(code)
}

fn write(entry: &Path, key: &str, code: &[u8]) -> io::Result<()> {
    // Each writer has a file of its own and the last rename wins: two processes at once write the
    // same entry, and a reader sees one of them whole.
    let temporary = entry.with_extension(format!("tmp-{}-{:x}", std::process::id(), rand::random::<u64>()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(MAGIC)?;
        file.write_all(&checksum(key, code))?;
        file.write_all(code)?;
        fs::rename(&temporary, entry)
    })();
    if written.is_err() {
        // The first error is the one to know.
        let _ = fs::remove_file(&temporary);
    }
    written
}
