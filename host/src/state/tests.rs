//! What is remembered survives whatever happens to the process and the disk.

mod crash;
mod files;
mod journal;
mod lock;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Answer, Entry, Holder, Opened, Options, State, StateError, Store};
use crate::bindings::emhost::plugin::types;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    /// On a disk.
    fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// In memory where that is possible, for tests that know without a disk what would be durable.
    fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::within(memory) } else { Self::new() }
    }

    fn within(folder: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("emhost-state-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(".emhost").join(name)
    }

    fn journals(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.file("journal")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    fn open(&self) -> Result<Opened, StateError> {
        Store::open(self, "dev", who(), Options::default())
    }
}

impl std::ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn who() -> Holder {
    Holder::here("alice", "emhost apply")
}

/// A record that leaves its number in the state.
fn answer(unit: &str, number: usize) -> Entry {
    let state = Some(types::State { schema: 1, data: number.to_string() });
    Entry::Answer { unit: unit.to_owned(), step: 1, answer: Answer::Done { state } }
}

fn call(unit: &str) -> Entry {
    Entry::Call { unit: unit.to_owned(), plugin: "demo".to_owned(), step: 1 }
}

/// What a state says, whenever it was written.
fn said(state: &State) -> State {
    State { serial: 0, journals: std::collections::BTreeMap::new(), ..state.clone() }
}

/// What these records say of the cluster with this id.
fn fold<'a>(id: &str, entries: impl IntoIterator<Item = &'a Entry>) -> State {
    let mut state = State::new("dev", id);
    entries.into_iter().for_each(|entry| state.take(entry));
    state
}
