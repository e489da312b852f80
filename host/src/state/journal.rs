//! One file per run to which records are only ever added, each durable before anybody acts on it.
//!
//! A line is `CRC32 JSON`. The check sum covers the journal's name, and the JSON carries a running
//! number, so that a line from elsewhere or out of order is noticed. The JSON also names the first record
//! of the write it was part of: all before that one were durable by then. So a reader can tell a write that
//! a crash tore, which nobody relied on, from damage to what somebody did.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::disk::{Disk, JOURNALS, Tail};
use super::model::{Entry, State};

/// How the name of every journal ends.
const ENDING: &str = ".jsonl";
/// How often another name is tried when one is taken.
const NAMES: u32 = 8;

/// The first line: what the journal builds on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The journal's own name.
    pub journal: String,
    /// The cluster's id.
    pub cluster: String,
    /// The serial of the state when the run began. Grows from run to run, unlike the time.
    pub serial: u64,
    /// Which emhost wrote it.
    pub emhost: String,
}

#[derive(Serialize)]
struct Line<'a> {
    number: u64,
    since: u64,
    at: &'a str,
    entry: &'a Entry,
}

#[derive(Deserialize)]
struct Parsed {
    number: u64,
    since: u64,
    entry: serde_json::Value,
}

fn sum(seed: &str, text: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(seed.as_bytes());
    hasher.update(text);
    hasher.finalize()
}

/// The header's check sum covers no name: it says the name, so that a renamed file is not taken for a torn one.
const HEADER_SEED: &str = "";

fn push(bytes: &mut Vec<u8>, seed: &str, text: &[u8]) {
    bytes.extend_from_slice(format!("{:08x} ", sum(seed, text)).as_bytes());
    bytes.extend_from_slice(text);
    bytes.push(b'\n');
}

/// The JSON of a line whose check sum is right.
fn checked<'a>(seed: &str, line: &'a [u8]) -> Option<&'a [u8]> {
    let (crc, text) = line.split_at_checked(9)?;
    let crc = std::str::from_utf8(crc).ok()?.strip_suffix(' ')?;
    (u32::from_str_radix(crc, 16).ok()? == sum(seed, text)).then_some(text)
}

/// What a journal says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// Its first line; none in a journal that was cut off before it began.
    pub header: Option<Header>,
    /// Its records; the first has number 1.
    pub entries: Vec<Entry>,
    /// How long it is without what was torn off.
    pub length: u64,
    /// Whether something torn follows.
    pub torn: bool,
    /// What is damaged.
    pub damage: Option<Damage>,
}

/// Damage to what was durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: String,
    /// The number of the last record that can be read after it.
    pub last: u64,
}

/// Whether a file of this name is a journal.
pub fn is_journal(name: &str) -> bool {
    name.ends_with(ENDING) && !name.starts_with('.')
}

/// A name for a journal that begins now.
pub(super) fn name(known: &BTreeSet<String>, mut random: impl FnMut() -> u16) -> String {
    loop {
        let time = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
        let name = format!("{time}-{:04x}{ENDING}", random());
        if !known.contains(&name) {
            return name;
        }
    }
}

/// Reads a journal of this name.
pub fn read(name: &str, bytes: &[u8]) -> Recorded {
    let mut recorded = Recorded::default();
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut number = 0;
    let (reason, foreign, line) = loop {
        let Some(line) = lines.next() else { return recorded };
        let Some(whole) = line.strip_suffix(b"\n") else { break ("it ends in the middle".to_owned(), false, line) };
        let taken = match number {
            0 => header(name, whole).map(|header| recorded.header = Some(header)),
            _ => record(name, whole, number).map(|entry| recorded.entries.push(entry)),
        };
        match taken {
            Ok(()) => (number, recorded.length) = (number + 1, recorded.length + line.len() as u64),
            Err(Unusable::Torn(reason)) => break (reason, false, line),
            Err(Unusable::Foreign(reason)) => break (reason, true, line),
        }
    };
    let after = std::iter::once(line).chain(lines).filter_map(|line| {
        let line = line.strip_suffix(b"\n")?;
        // What ended the line before may be what is damaged.
        let text =
            (0..line.len().saturating_sub(8)).filter(|at| line[at + 8..].starts_with(b" {")).find_map(|at| checked(name, &line[at..]))?;
        let parsed: Parsed = serde_json::from_slice(text).ok()?;
        Some((parsed.since, parsed.number))
    });
    let (since, last) = after.fold((0, number), |(since, last), line| (since.max(line.0), last.max(line.1)));
    // A line that is whole and yet of no use is nothing a crash could do. Nor is one that cannot be read
    // when a later one was written at a time when this one was durable.
    if foreign || since > number {
        recorded.damage = Some(Damage { line: number + 1, reason, last });
    } else {
        recorded.torn = true;
    }
    recorded
}

enum Unusable {
    Torn(String),
    Foreign(String),
}

fn header(name: &str, line: &[u8]) -> Result<Header, Unusable> {
    let text = checked(HEADER_SEED, line).ok_or_else(|| Unusable::Torn("its check sum is wrong".to_owned()))?;
    let header: Header = serde_json::from_slice(text).map_err(|error| Unusable::Foreign(format!("it cannot be understood: {error}")))?;
    if header.journal == name { Ok(header) } else { Err(Unusable::Foreign(format!("it is the beginning of journal {}", header.journal))) }
}

fn record(name: &str, line: &[u8], number: u64) -> Result<Entry, Unusable> {
    let text = checked(name, line).ok_or_else(|| Unusable::Torn("its check sum is wrong".to_owned()))?;
    let foreign =
        |error: serde_json::Error| Unusable::Foreign(format!("it cannot be understood, a newer emhost may have written it: {error}"));
    let parsed: Parsed = serde_json::from_slice(text).map_err(foreign)?;
    if parsed.number != number {
        return Err(Unusable::Foreign(format!("it is record {}, and record {number} was expected", parsed.number)));
    }
    serde_json::from_value(parsed.entry).map_err(foreign)
}

/// The journal of this run. Its file is made when the first record comes.
#[derive(Debug)]
pub struct Journal {
    disk: Arc<Disk>,
    queue: Mutex<Queue>,
    turn: Condvar,
    writer: Mutex<Writer>,
}

/// Records that wait for the next write. Whoever comes first while nobody writes takes all that wait,
/// writes them at once, and tells the others.
#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Entry>,
    /// How many came so far, and how many of those were dealt with.
    came: u64,
    settled: u64,
    failed: BTreeMap<u64, io::Error>,
    writing: bool,
}

#[derive(Debug)]
struct Writer {
    header: Header,
    command: String,
    tail: Option<Tail>,
    next: u64,
    poisoned: bool,
    /// Names of journals that the state knows, there or not: what it knows of one must not be taken for this one.
    known: BTreeSet<String>,
}

/// Records that are durable.
#[derive(Debug, Clone, Copy)]
pub struct Durable<'a> {
    /// The journal they are in.
    pub journal: &'a str,
    /// The number of the last of them.
    pub last: u64,
    /// The records.
    pub entries: &'a [Entry],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same error for everybody whose record was in the write.
fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

impl Journal {
    /// A journal that builds on this state.
    pub fn new(disk: Arc<Disk>, state: &State, command: String) -> Self {
        let emhost = env!("CARGO_PKG_VERSION").to_owned();
        let header = Header { journal: String::new(), cluster: state.id.clone(), serial: state.serial, emhost };
        let known = state.journals.keys().cloned().collect();
        let writer = Writer { header, command, tail: None, next: 0, poisoned: false, known };
        Self { disk, queue: Mutex::default(), turn: Condvar::new(), writer: Mutex::new(writer) }
    }

    /// Adds a record. `taken` is called in the order of the records, for each write once, when it is
    /// durable and before any `append` returns that was part of it.
    ///
    /// # Errors
    /// Why it could not be made durable. It then never will be.
    pub fn append(&self, entry: Entry, taken: impl Fn(Durable<'_>)) -> io::Result<()> {
        let mut queue = lock(&self.queue);
        let ticket = queue.came;
        queue.came += 1;
        queue.waiting.push(entry);
        loop {
            if ticket < queue.settled {
                return queue.failed.remove(&ticket).map_or(Ok(()), Err);
            }
            if queue.writing {
                queue = self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.writing = true;
            let (first, end) = (queue.settled, queue.came);
            let batch = std::mem::take(&mut queue.waiting);
            drop(queue);
            let written = self.write(&batch, &taken);
            queue = lock(&self.queue);
            queue.writing = false;
            queue.settled = end;
            if let Err(error) = written {
                queue.failed.extend((first..end).map(|ticket| (ticket, copy(&error))));
            }
            self.turn.notify_all();
        }
    }

    /// Whether a failed write could not be taken back, so that the file's end is not to be believed.
    pub fn poisoned(&self) -> bool {
        lock(&self.writer).poisoned
    }

    fn write(&self, batch: &[Entry], taken: &impl Fn(Durable<'_>)) -> io::Result<()> {
        let mut writer = lock(&self.writer);
        let writer = &mut *writer;
        if writer.poisoned {
            return Err(io::Error::other("an earlier write to the journal failed and could not be taken back"));
        }
        let mut tail = match writer.tail.take() {
            Some(tail) => tail,
            None => self.begin(&mut writer.header, &writer.known)?,
        };
        let (mut bytes, mut number, since) = (Vec::new(), writer.next, writer.next);
        let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let begin = Entry::Begin { command: writer.command.clone(), emhost: writer.header.emhost.clone() };
        let mut encoded = Ok(());
        if number == 0 {
            encoded = serde_json::to_vec(&writer.header).map(|text| push(&mut bytes, HEADER_SEED, &text));
            number = 1;
        }
        for entry in (since == 0).then_some(&begin).into_iter().chain(batch) {
            let line = serde_json::to_vec(&Line { number, since, at: &at, entry });
            encoded = encoded.and(line.map(|text| push(&mut bytes, &writer.header.journal, &text)));
            number += 1;
        }
        let good = tail.length();
        let written = encoded.map_err(io::Error::other).and_then(|()| {
            self.disk.append(&mut tail, &bytes)?;
            if self.disk.broken("no-fsync") { Ok(()) } else { self.disk.sync(&tail) }
        });
        match &written {
            Ok(()) => {
                writer.next = number;
                taken(Durable { journal: &writer.header.journal, last: number - 1, entries: batch });
            }
            Err(_) => writer.poisoned = self.disk.cut(&mut tail, good).is_err(),
        }
        writer.tail = Some(tail);
        written
    }

    /// Makes the run's file, for good.
    fn begin(&self, header: &mut Header, known: &BTreeSet<String>) -> io::Result<Tail> {
        let mut tries = 0;
        let tail = loop {
            header.journal = name(known, rand::random);
            match self.disk.create(&format!("{JOURNALS}/{}", header.journal)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < NAMES => tries += 1,
                other => break other?,
            }
        };
        if let Err(error) = self.disk.sync_folder(JOURNALS) {
            // The next append tries another; an empty journal says nothing.
            let _ = self.disk.remove(tail.name());
            return Err(error);
        }
        Ok(tail)
    }
}
