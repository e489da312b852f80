//! What is remembered of one cluster while a run works on it: durable before anybody acts on it.
//!
//! `state.json` is the last state that was written whole; the run's journal has what came since. Taking
//! one into the other is called a checkpoint. The state names the journals it contains and how
//! far, so that whatever a crash leaves, each record is taken in exactly once.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::backups;
use super::disk::{Disk, JOURNALS};
use super::error::StateError;
use super::journal::Journal;
use super::lock::{Holder, Lock};
use super::model::{Applied, Entry, Open, State, UnitState};
use super::recover::{self, Loaded};
use super::timings::Timings;
use crate::bindings::exports::emhost::plugin::gpu::Assignment;
use crate::capabilities::journal as changes;
use crate::diagnostic::Diagnostic;

/// The file's name.
pub const FILE: &str = "state.json";

/// How much of the past is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Backups of the state.
    pub backups: usize,
    /// Journals of earlier runs.
    pub runs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { backups: 20, runs: 20 }
    }
}

/// A store that was opened, and what there is to know about it.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// What a person should know: a lock that was taken over, a record that was cut off.
    pub notes: Vec<Diagnostic>,
    /// Steps that the last run left without an answer.
    pub open: Vec<Open>,
    /// Whether the cluster was not known before.
    pub fresh: bool,
}

/// Everything remembered of one cluster, held by this process alone.
#[derive(Debug)]
pub struct Store {
    disk: Arc<Disk>,
    options: Options,
    journal: Journal,
    memory: Mutex<Memory>,
    written: Mutex<Written>,
    numbers: AtomicU64,
    lock: Mutex<Option<Lock>>,
}

#[derive(Debug)]
struct Memory {
    state: Arc<State>,
    /// The run's journal, once it has one.
    journal: Option<String>,
    closed: bool,
}

/// What `state.json` says now.
#[derive(Debug)]
struct Written {
    state: State,
    bytes: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether two states differ in more than when they were written.
fn differ(one: &State, other: &State) -> bool {
    let bare = |state: &State| State { serial: 0, emhost: String::new(), journals: std::collections::BTreeMap::new(), ..state.clone() };
    bare(one) != bare(other)
}

fn encode(state: &State) -> Result<Vec<u8>, StateError> {
    let text = serde_json::to_vec_pretty(state).map_err(io::Error::other);
    let mut text = text.map_err(StateError::disk("write .emhost/state.json"))?;
    text.push(b'\n');
    Ok(text)
}

pub(super) fn disk(folder: &Path) -> Result<Disk, StateError> {
    Disk::open(folder).map_err(|source| StateError::Folder { folder: folder.display().to_string(), source })
}

impl Store {
    /// Takes the lock and reads what is remembered, down to the last record of a run that was cut
    /// off. A cluster that is not known yet gets its id, which is durable when this returns.
    ///
    /// # Errors
    /// Somebody else has the lock, what is there cannot be understood or belongs to another
    /// cluster, or the disk says no.
    pub fn open(folder: &Path, cluster: &str, who: Holder, options: Options) -> Result<Opened, StateError> {
        Self::open_on(disk(folder)?, cluster, None, who, options)
    }

    /// The same for a cluster whose id is known from elsewhere: what is not remembered here begins with it.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_as(folder: &Path, cluster: &str, id: Option<&str>, who: Holder, options: Options) -> Result<Opened, StateError> {
        Self::open_on(disk(folder)?, cluster, id, who, options)
    }

    /// The same on a disk with faults of its own.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_on(disk: Disk, cluster: &str, id: Option<&str>, who: Holder, options: Options) -> Result<Opened, StateError> {
        let disk = Arc::new(disk);
        disk.prepare().map_err(StateError::disk("make the folder .emhost"))?;
        let (held, taken_over) = Lock::take(&disk, &who)?;
        disk.ignore().map_err(StateError::disk("write .emhost/.gitignore"))?;
        let loaded = recover::load(&disk)?;
        let fresh = loaded.is_none();
        let mut written = match loaded {
            Some(Loaded { state, bytes }) => Written { state, bytes },
            None => begin(&disk, cluster, id)?,
        };
        check(&written.state, cluster)?;
        let mut state = written.state.clone();
        let runs = recover::fold(&disk, &mut state)?;
        let mut notes: Vec<Diagnostic> = taken_over.into_iter().collect();
        notes.extend(recover::settle(&disk, &runs)?);
        if state != written.state {
            write(&disk, &mut state, &mut written, options)?;
        }
        let store = Self::assemble(disk, written, who.command, Some(held), options);
        Ok(Opened { store, notes, open: recover::open(&runs), fresh })
    }

    /// What is remembered, without the lock: also while another process works on it.
    ///
    /// # Errors
    /// What is there cannot be understood.
    pub fn read(folder: &Path) -> Result<Option<State>, StateError> {
        let disk = disk(folder)?;
        let Some(Loaded { mut state, .. }) = recover::load(&disk)? else { return Ok(None) };
        recover::fold(&disk, &mut state)?;
        Ok(Some(state))
    }

    /// What is remembered, without the lock, for a run that only looks: it can record nothing. A cluster that is not known
    /// yet has no id.
    ///
    /// # Errors
    /// What is there cannot be understood or belongs to another cluster.
    pub fn view(folder: &Path, cluster: &str) -> Result<Self, StateError> {
        let state = Self::read(folder)?.unwrap_or_else(|| State::new(cluster, ""));
        check(&state, cluster)?;
        Ok(Self::assemble(Arc::new(disk(folder)?), Written { state, bytes: Vec::new() }, String::new(), None, Options::default()))
    }

    fn assemble(disk: Arc<Disk>, written: Written, command: String, held: Option<Lock>, options: Options) -> Self {
        let state = Arc::new(written.state.clone());
        let journal = Journal::new(Arc::clone(&disk), &state, command);
        let memory = Mutex::new(Memory { state, journal: None, closed: held.is_none() });
        Self { disk, options, journal, memory, written: Mutex::new(written), numbers: AtomicU64::new(0), lock: Mutex::new(held) }
    }

    /// Puts a copy of the state aside, and says under which name in `.emhost`; none where there is no state.
    ///
    /// # Errors
    /// What is there cannot be understood, or the disk says no.
    pub fn backup(folder: &Path) -> Result<Option<String>, StateError> {
        let disk = disk(folder)?;
        // What a journal says beyond the state is not lost: it is taken into whatever state is there.
        let Some(Loaded { bytes, .. }) = recover::load(&disk)? else { return Ok(None) };
        backups::make(&disk, &bytes).map(Some).map_err(StateError::disk("write a backup to .emhost"))
    }

    /// The state as it is now. Cheap to take; while somebody keeps one, the next record copies it whole.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&lock(&self.memory).state)
    }

    /// What is remembered of a unit.
    pub fn unit(&self, key: &str) -> Option<UnitState> {
        lock(&self.memory).state.units.get(key).cloned()
    }

    /// A node as it was last applied.
    pub fn node(&self, name: &str) -> Option<Applied> {
        lock(&self.memory).state.nodes.get(name).cloned()
    }

    /// The names of all units that something is remembered of.
    pub fn units(&self) -> Vec<String> {
        lock(&self.memory).state.units.keys().cloned().collect()
    }

    /// The names of all nodes that were ever applied and are not gone.
    pub fn nodes(&self) -> Vec<String> {
        lock(&self.memory).state.nodes.keys().cloned().collect()
    }

    /// All nodes as they were last applied.
    pub fn applied(&self) -> Vec<Applied> {
        lock(&self.memory).state.nodes.values().cloned().collect()
    }

    /// Which accelerator belongs to which node.
    pub fn assignments(&self) -> Vec<Assignment> {
        lock(&self.memory).state.assignments.clone()
    }

    /// The cluster's id.
    pub fn id(&self) -> String {
        lock(&self.memory).state.id.clone()
    }

    /// Whether the control plane was bootstrapped.
    pub fn bootstrapped(&self) -> bool {
        lock(&self.memory).state.bootstrapped
    }

    /// How long things took in earlier runs.
    pub fn timings(&self) -> Timings {
        Timings::read(&self.disk)
    }

    /// Keeps how long things took. Only a convenience: if it cannot be kept, nobody is told.
    pub fn keep_timings(&self, timings: &Timings) {
        if lock(&self.lock).is_some() {
            let _ = timings.write(&self.disk);
        }
    }

    /// Adds a record: durable, and part of the state, when this returns. Waits for the disk.
    ///
    /// # Errors
    /// Why it is not durable. It then never will be, and is not part of the state.
    pub fn append(&self, entry: Entry) -> io::Result<()> {
        if lock(&self.memory).closed {
            return Err(io::Error::other("nothing can be recorded: this run only looks, or it has ended"));
        }
        self.record(entry)
    }

    fn record(&self, entry: Entry) -> io::Result<()> {
        self.journal.append(entry, |durable| {
            let mut memory = lock(&self.memory);
            let state = Arc::make_mut(&mut memory.state);
            durable.entries.iter().for_each(|entry| state.take(entry));
            match state.journals.get_mut(durable.journal) {
                Some(last) => *last = durable.last,
                None => _ = state.journals.insert(durable.journal.to_owned(), durable.last),
            }
            if memory.journal.is_none() {
                memory.journal = Some(durable.journal.to_owned());
            }
        })
    }

    /// Writes the state whole, keeps the previous one as a backup if it said something else, and
    /// forgets the oldest backups and journals.
    ///
    /// # Errors
    /// What the disk says; the journal then still has everything.
    pub fn checkpoint(&self) -> Result<(), StateError> {
        let mut written = lock(&self.written);
        let (mut state, journal) = {
            let memory = lock(&self.memory);
            (State::clone(&memory.state), memory.journal.clone())
        };
        if self.journal.poisoned() {
            // What follows the last good record must never be taken in.
            if let Some(name) = &journal {
                state.journals.insert(name.clone(), u64::MAX);
            }
        }
        if state.journals == written.state.journals {
            return Ok(());
        }
        write(&self.disk, &mut state, &mut written, self.options)?;
        Arc::make_mut(&mut lock(&self.memory).state).serial = state.serial;
        // A journal that could not be removed is tried again next time.
        if let Ok(gone) = prune(&self.disk, &state, journal.as_deref(), self.options.runs) {
            let mut memory = lock(&self.memory);
            Arc::make_mut(&mut memory.state).journals.retain(|name, _| !gone.contains(name));
            written.state.journals.retain(|name, _| !gone.contains(name));
        }
        Ok(())
    }

    /// Ends the run in good order: records that, writes the state, and releases the lock. Dropping a
    /// store releases the lock only, and leaves the rest to the next run.
    ///
    /// # Errors
    /// What the disk says. The lock is released all the same.
    pub fn close(&self) -> Result<(), StateError> {
        let held = lock(&self.lock).take();
        if held.is_none() {
            return Ok(());
        }
        let begun = {
            let mut memory = lock(&self.memory);
            memory.closed = true;
            memory.journal.is_some()
        };
        if begun {
            self.record(Entry::End).map_err(StateError::disk("write the journal"))?;
        }
        self.checkpoint()
    }

    /// A number for a change that no other has in this run.
    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

fn check(state: &State, cluster: &str) -> Result<(), StateError> {
    if state.cluster == cluster {
        return Ok(());
    }
    Err(StateError::OtherCluster { found: state.cluster.clone(), wanted: cluster.to_owned() })
}

/// The state of a new cluster, written for good: its id may be used from now on.
fn begin(disk: &Disk, cluster: &str, id: Option<&str>) -> Result<Written, StateError> {
    let id = id.map_or_else(|| format!("{:032x}", rand::random::<u128>()), str::to_owned);
    let mut state = State::new(cluster, id);
    state.serial = 1;
    let bytes = encode(&state)?;
    disk.replace(FILE, &bytes).map_err(StateError::disk("write .emhost/state.json"))?;
    Ok(Written { state, bytes })
}

/// Writes the state under the next serial, and the previous one as a backup.
fn write(disk: &Disk, state: &mut State, written: &mut Written, options: Options) -> Result<(), StateError> {
    state.serial = state.serial.max(written.state.serial) + 1;
    env!("CARGO_PKG_VERSION").clone_into(&mut state.emhost);
    let bytes = encode(state)?;
    if options.backups > 0 && differ(state, &written.state) {
        backups::make(disk, &written.bytes).map_err(StateError::disk("write a backup to .emhost"))?;
        // One too many does no harm.
        let _ = backups::prune(disk, options.backups);
    }
    disk.replace(FILE, &bytes).map_err(StateError::disk("write .emhost/state.json"))?;
    *written = Written { state: state.clone(), bytes };
    Ok(())
}

/// Removes the journals of the oldest runs, for good, and names those that are gone. Only then may the state forget
/// them: one that comes back must still be known.
fn prune(disk: &Disk, state: &State, current: Option<&str>, keep: usize) -> Result<Vec<String>, StateError> {
    let doing = || StateError::disk("remove an old journal");
    let there = recover::journals(disk)?;
    let old: Vec<&String> = there.iter().filter(|name| Some(name.as_str()) != current && state.journals.contains_key(*name)).collect();
    let removed = old.len().saturating_sub(keep);
    for name in old.into_iter().take(removed) {
        disk.remove(&format!("{JOURNALS}/{name}")).map_err(doing())?;
    }
    if removed > 0 {
        disk.sync_folder(JOURNALS).map_err(doing())?;
    }
    let there = recover::journals(disk)?;
    Ok(state.journals.keys().filter(|name| !there.contains(name)).cloned().collect())
}

/// The changes of one unit, written down in the run's journal.
#[derive(Debug, Clone)]
pub struct UnitJournal {
    /// Where they are written.
    pub store: Arc<Store>,
    /// The unit.
    pub unit: String,
}

impl changes::Journal for UnitJournal {
    fn before(&self, change: &changes::Change) -> io::Result<u64> {
        let number = self.store.number();
        self.store.append(Entry::Change { number, unit: self.unit.clone(), change: change.clone() })?;
        Ok(number)
    }

    fn after(&self, number: u64, outcome: &changes::Outcome) -> io::Result<()> {
        self.store.append(Entry::Outcome { number, outcome: outcome.clone() })
    }
}
