//! The hook through which every change is written down before it goes out.

use std::io;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

/// A change that is about to leave the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The plugin that makes it.
    pub plugin: String,
    /// The verb it is made in.
    pub verb: String,
    /// The unit it is made for.
    pub unit: Option<String>,
    /// The operation, stable over retries.
    pub operation: String,
    /// What goes out, for example `POST https://pve.emhost.internal/api2/json/nodes/pve1/qemu`.
    pub request: String,
}

/// How a change ended, as far as the host knows. No outcome at all is the reply that never came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The other side answered with this status.
    Answered(u16),
    /// No answer came, for this reason; the change may have happened.
    Unknown(String),
}

/// Keeps changes where a later run finds them.
pub trait Journal: Send + Sync {
    /// Writes the change down for good. Only when this returned does the change go out.
    ///
    /// # Errors
    /// What kept it from being written; the change is then not made.
    fn before(&self, change: &Change) -> io::Result<u64>;

    /// Writes down how the change numbered by `before` ended.
    ///
    /// # Errors
    /// What kept it from being written.
    fn after(&self, number: u64, outcome: &Outcome) -> io::Result<()>;
}

/// A journal in memory, for tests and for commands that change nothing.
#[derive(Debug, Default)]
pub struct MemoryJournal(Mutex<Vec<(Change, Option<Outcome>)>>);

impl MemoryJournal {
    /// Everything written so far.
    pub fn entries(&self) -> Vec<(Change, Option<Outcome>)> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Change, Option<Outcome>)>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn before(&self, change: &Change) -> io::Result<u64> {
        let mut entries = self.lock();
        entries.push((change.clone(), None));
        Ok(entries.len() as u64 - 1)
    }

    fn after(&self, number: u64, outcome: &Outcome) -> io::Result<()> {
        let mut entries = self.lock();
        let index = usize::try_from(number).map_err(io::Error::other)?;
        match entries.get_mut(index) {
            Some(entry) => entry.1 = Some(outcome.clone()),
            None => return Err(io::Error::other(format!("no change {number} in this journal"))),
        }
        Ok(())
    }
}
