//! One run at a time: `.emhost/lock`, held by a lock of the operating system, and saying by whom.
//!
//! The operating system's lock ends with its process, whatever ends that, so on one host it alone
//! decides. Network folders do not always pass it on, so a holder on another host counts as alive until
//! somebody says otherwise. The file is emptied when the lock is released and never removed: two
//! processes could otherwise each lock a file of that name.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::{Disk, Tail};
use super::error::StateError;
use super::store;
use crate::diagnostic::Diagnostic;

/// The file's name.
pub const FILE: &str = "lock";
/// How often a lock whose holder has not said its name yet is tried, and the pause between: it
/// has only just been taken, or somebody looks whether it is held.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The person.
    pub user: String,
    /// The host.
    pub host: String,
    /// The process on that host.
    pub pid: u32,
    /// Since when.
    pub time: String,
    /// What it does, for example `emhost apply`.
    pub command: String,
}

impl Holder {
    /// This process.
    pub fn here(user: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            pid: std::process::id(),
            time: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: command.into(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of {} on {} (process {}, since {})", self.command, self.user, self.host, self.pid, self.time)
    }
}

/// The lock, held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    disk: Arc<Disk>,
    tail: Tail,
    /// Kept for the lock that is on it; dropped after the file was emptied.
    _locked: Flock,
}

/// The operating system's lock.
#[derive(Debug)]
struct Flock(File);

impl Drop for Flock {
    fn drop(&mut self) {
        // Closing alone is not enough: a child that was forked and did not begin yet has the file open too.
        let _ = self.0.unlock();
    }
}

/// What is known of the lock without taking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nobody holds it.
    Free,
    /// A living process of this host holds it; none when it has not said its name yet.
    Held(Option<Holder>),
    /// It was not released: by a process of this host that is dead, or by one of another host.
    Left(Holder),
}

fn holder(bytes: &[u8]) -> Option<Holder> {
    serde_json::from_slice(bytes).ok()
}

/// The operating system's lock on the file, none when another process has it.
fn locked(tail: &Tail) -> Result<Option<Flock>, StateError> {
    let file = tail.duplicate().map_err(StateError::disk("open .emhost/lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Flock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(StateError::NoLocks { source }),
    }
}

fn content(tail: &Tail) -> Result<Vec<u8>, StateError> {
    tail.content().map_err(StateError::disk("read .emhost/lock"))
}

impl Lock {
    /// Takes the lock, and says whose it was when nobody released it.
    ///
    /// # Errors
    /// Somebody else has it, or the disk says no.
    pub fn take(disk: &Arc<Disk>, who: &Holder) -> Result<(Self, Option<Diagnostic>), StateError> {
        let mut tail = disk.lock_file(FILE).map_err(StateError::disk("open .emhost/lock"))?;
        let mut tries = 0;
        let locked = loop {
            if let Some(locked) = locked(&tail)? {
                break locked;
            }
            let holder = holder(&content(&tail)?);
            tries += 1;
            if holder.is_some() || tries == TRIES {
                return Err(StateError::Locked { holder: holder.map(Box::new), here: true });
            }
            std::thread::sleep(PAUSE);
        };
        let found = content(&tail)?;
        let left = holder(&found);
        // What cannot be read was never finished, and nothing is begun before it is: its process did not begin.
        if let Some(left) = left.as_ref().filter(|left| left.host != who.host) {
            return Err(StateError::Locked { holder: Some(Box::new(left.clone())), here: false });
        }
        let text = serde_json::to_vec(who).map_err(io::Error::other);
        text.and_then(|mut text| {
            text.push(b'\n');
            disk.cut(&mut tail, 0)?;
            disk.append(&mut tail, &text)?;
            disk.sync(&tail)
        })
        .map_err(StateError::disk("write .emhost/lock"))?;
        let note = left.map(|left| {
            Diagnostic::warning("state/taken-over", format!("{left} did not end in good order; its lock was taken over"))
                .help(Some("what it left open is looked at first"))
        });
        Ok((Self { disk: Arc::clone(disk), tail, _locked: locked }, note))
    }

    /// Who holds the lock, without taking it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn look(folder: &Path) -> Result<Seen, StateError> {
        let disk = store::disk(folder)?;
        if disk.read(FILE).map_err(StateError::disk("read .emhost/lock"))?.is_none_or(|bytes| bytes.is_empty()) {
            return Ok(Seen::Free);
        }
        let tail = disk.lock_file(FILE).map_err(StateError::disk("open .emhost/lock"))?;
        let free = locked(&tail)?;
        let holder = holder(&content(&tail)?);
        Ok(match (free, holder) {
            (None, holder) => Seen::Held(holder),
            (Some(_), Some(holder)) => Seen::Left(holder),
            (Some(_), None) => Seen::Free,
        })
    }

    /// Frees the lock that this holder left. Whoever else has it by now keeps it.
    ///
    /// # Errors
    /// It is held by a living process of this host, or by somebody else by now.
    pub fn free(folder: &Path, left: &Holder) -> Result<(), StateError> {
        let disk = store::disk(folder)?;
        let mut tail = disk.lock_file(FILE).map_err(StateError::disk("open .emhost/lock"))?;
        let free = locked(&tail)?;
        let holder = holder(&content(&tail)?);
        match (free, holder) {
            (None, holder) => Err(StateError::Locked { holder: holder.map(Box::new), here: true }),
            (Some(_), Some(holder)) if holder != *left => Err(StateError::Locked { holder: Some(Box::new(holder)), here: false }),
            (Some(_locked), _) => disk.cut(&mut tail, 0).map_err(StateError::disk("empty .emhost/lock")),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Emptied while still locked. If that fails, the next one finds a dead holder and says so.
        let _ = self.disk.cut(&mut self.tail, 0);
    }
}
