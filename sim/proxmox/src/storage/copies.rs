//! Copies under way: while a storage writes them, everything else on it takes longer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

type Counts = Arc<Mutex<HashMap<String, u32>>>;

/// How many copies each storage is writing.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    counts: Counts,
}

/// A copy under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Copy {
    counts: Counts,
    storage: String,
}

impl Copies {
    /// One more copy to this storage.
    pub fn begin(&self, storage: &str) -> Copy {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(storage.to_owned()).or_default() += 1;
        Copy { counts: Arc::clone(&self.counts), storage: storage.to_owned() }
    }

    /// How many there are.
    pub fn to(&self, storage: &str) -> u32 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(storage).copied().unwrap_or_default()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(count) = self.counts.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&self.storage) {
            *count -= 1;
        }
    }
}
