//! How long things took, so that a person can be told how long they will take.
//!
//! Only a convenience: what cannot be read is forgotten.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk::Disk;

/// The file's name.
pub const FILE: &str = "timings.json";
/// How many are remembered of each kind.
const LAST: usize = 20;

/// Durations by kind, for example `machines proxmox create`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timings {
    /// In milliseconds, the newest last.
    kinds: BTreeMap<String, VecDeque<u64>>,
}

impl Timings {
    /// What was learnt in earlier runs; nothing where that cannot be read.
    pub fn load(folder: &Path) -> Self {
        Disk::open(folder).map(|disk| Self::read(&disk)).unwrap_or_default()
    }

    pub(super) fn read(disk: &Disk) -> Self {
        let bytes = disk.read(FILE).ok().flatten();
        let mut timings: Self = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        for durations in timings.kinds.values_mut() {
            durations.drain(..durations.len().saturating_sub(LAST));
        }
        timings
    }

    /// How long one of this kind takes, as far as is known.
    pub fn estimate(&self, kind: &str) -> Option<Duration> {
        let durations = self.kinds.get(kind).filter(|durations| !durations.is_empty())?;
        let sum: u128 = durations.iter().map(|duration| u128::from(*duration)).sum();
        let mean = u64::try_from(sum / durations.len() as u128).ok()?;
        Some(Duration::from_millis(mean))
    }

    /// Remembers how long one of this kind took.
    pub fn learn(&mut self, kind: &str, took: Duration) {
        let durations = self.kinds.entry(kind.to_owned()).or_default();
        durations.push_back(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        if durations.len() > LAST {
            durations.pop_front();
        }
    }

    /// Keeps it for later runs. For whoever holds the lock.
    ///
    /// # Errors
    /// What the disk says.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        let disk = Disk::open(folder)?;
        disk.prepare()?;
        self.write(&disk)
    }

    pub(super) fn write(&self, disk: &Disk) -> io::Result<()> {
        disk.replace(FILE, &serde_json::to_vec(self).map_err(io::Error::other)?)
    }
}
