//! Compiled code on disk, so that a plugin is read and compiled once per machine and not once per run.
//!
//! Loading compiled code is the one place where the host trusts bytes with its own memory, so the
//! folder belongs to the user alone (0700), is never a link, and nothing in it is ever accepted
//! from elsewhere. An entry is named after what it was made from, and carries a checksum against
//! accidents. Whatever does not fit is compiled again.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::inspect::Inspection;

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

    /// What is kept of the component with this digest; without an inspection where it is no plugin.
    pub(super) fn find(&self, engine: &Engine, digest: &str) -> Option<(Option<Inspection>, Component)> {
        let entry = self.entry(engine, digest);
        let kept = entry.kept()?;
        (sum(&entry.code).ok()? == (kept.length, kept.crc32)).then_some(())?;
        // SAFETY: the file is in a folder that only this user can write to and is whole by its
        // checksum; wasmtime itself checks version, settings and processor.
        #[expect(unsafe_code, reason = "the one place where compiled code is loaded")]
        let component = unsafe { Component::deserialize_file(engine, &entry.code) };
        Some((kept.inspection, component.ok()?))
    }

    /// Compiles the component and keeps it.
    pub(super) fn compile(
        &self,
        engine: &Engine,
        bytes: &[u8],
        digest: &str,
        inspection: Option<&Inspection>,
    ) -> wasmtime::Result<Component> {
        let code = engine.precompile_component(bytes)?;
        // A cache that cannot be written costs time, not the run.
        let _ = self.entry(engine, digest).keep(inspection, &code);
        // SAFETY: made by this very process, two lines above.
        #[expect(unsafe_code, reason = "the one place where compiled code is loaded")]
        unsafe {
            Component::deserialize(engine, &code)
        }
    }

    fn entry(&self, engine: &Engine, digest: &str) -> Entry {
        let key = key(engine, digest);
        Entry { code: self.folder.join(format!("{key}.cwasm")), about: self.folder.join(format!("{key}.json")), key }
    }
}

/// Two files: the code as the engine maps it, and what is known about it.
struct Entry {
    key: String,
    code: PathBuf,
    about: PathBuf,
}

/// What is known about compiled code. It names the entry it belongs to, so that one under another's
/// name is none.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: String,
    length: u64,
    crc32: u32,
    inspection: Option<Inspection>,
}

impl Entry {
    fn kept(&self) -> Option<Kept> {
        if !is_own(&self.code) || !is_own(&self.about) {
            return None;
        }
        let text = fs::read_to_string(&self.about).ok()?;
        let (checksum, about) = text.split_once('\n')?;
        (checksum == super::hex(&Sha256::digest(about))).then_some(())?;
        serde_json::from_str(about).ok().filter(|kept: &Kept| kept.key == self.key)
    }

    fn keep(&self, inspection: Option<&Inspection>, code: &[u8]) -> io::Result<()> {
        let (length, crc32) = (code.len() as u64, crc32fast::hash(code));
        let kept = Kept { key: self.key.clone(), length, crc32, inspection: inspection.cloned() };
        let about = serde_json::to_string(&kept)?;
        write(&self.code, code)?;
        write(&self.about, format!("{}\n{about}", super::hex(&Sha256::digest(&about))).as_bytes())
    }
}

/// Length and checksum of a file, piece by piece: most of a load is touching memory for the first time.
fn sum(file: &Path) -> io::Result<(u64, u32)> {
    let mut file = fs::File::open(file)?;
    let (mut length, mut hasher, mut piece) = (0, crc32fast::Hasher::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((length, hasher.finalize())),
            count => {
                length += count as u64;
                hasher.update(&piece[..count]);
            }
        }
    }
}

/// Whether it is a file of this user's that nobody else can write to. Not behind a link, which could
/// lead to what others wrote.
fn is_own(file: &Path) -> bool {
    let own = |found: fs::Metadata| found.is_file() && Some(found.uid()) == user().ok() && found.permissions().mode() & 0o022 == 0;
    fs::symlink_metadata(file).is_ok_and(own)
}

/// Writes a file whole or not at all. Each writer has one of its own and the last rename wins: of two
/// processes at once, a reader sees the work of one.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = file.with_extension(format!("tmp-{}-{:x}", std::process::id(), rand::random::<u64>()));
    let written = (|| {
        let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        out.write_all(bytes)?;
        fs::rename(&temporary, file)
    })();
    if written.is_err() {
        // The first error is the one to know.
        let _ = fs::remove_file(&temporary);
    }
    written
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
    hasher.0.update(super::contract::fingerprint());
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
