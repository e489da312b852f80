//! What is remembered, read back: the last state that was written whole, and what journals say beyond it.

use super::backups;
use super::disk::{Disk, JOURNALS};
use super::error::StateError;
use super::journal::{self, Recorded};
use super::model::{self, Entry, LAYOUT, Open, State};
use super::store::FILE;
use crate::diagnostic::Diagnostic;

/// `state.json` as it is.
pub(super) struct Loaded {
    pub state: State,
    pub bytes: Vec<u8>,
}

/// Reads `state.json`; none where there never was one.
pub(super) fn load(disk: &Disk) -> Result<Option<Loaded>, StateError> {
    let Some(bytes) = disk.read(FILE).map_err(StateError::disk("read .emhost/state.json"))? else {
        let backup = newest(disk)?;
        let journal = journals(disk)?.pop().map(|name| format!(".emhost/journal/{name}"));
        return match backup.as_ref().map(|name| format!(".emhost/{name}")).or(journal) {
            Some(found) => Err(StateError::Gone { found, backup }),
            None => Ok(None),
        };
    };
    match understand(&bytes) {
        Ok(state) => Ok(Some(Loaded { state, bytes })),
        Err(Reason::Newer { layout, emhost }) => Err(StateError::Newer { layout, emhost }),
        Err(Reason::Damaged(reason)) => Err(StateError::Damaged { reason, backup: newest(disk)? }),
    }
}

enum Reason {
    Newer { layout: u64, emhost: Option<String> },
    Damaged(String),
}

fn understand(bytes: &[u8]) -> Result<State, Reason> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| Reason::Damaged(error.to_string()))?;
    let layout = value.get("version").and_then(serde_json::Value::as_u64);
    let emhost = || value.get("emhost").and_then(|emhost| emhost.as_str()).map(str::to_owned);
    match layout {
        Some(layout) if layout > u64::from(LAYOUT) => Err(Reason::Newer { layout, emhost: emhost() }),
        Some(layout) if layout == u64::from(LAYOUT) => serde_json::from_slice(bytes).map_err(|error| Reason::Damaged(error.to_string())),
        _ => Err(Reason::Damaged("it does not say its layout".to_owned())),
    }
}

/// The newest backup that can be used, so that nobody is sent from one damaged file to the next.
fn newest(disk: &Disk) -> Result<Option<String>, StateError> {
    let usable = |name: &String| disk.read(name).ok().flatten().is_some_and(|bytes| understand(&bytes).is_ok());
    Ok(backups::list(disk).map_err(StateError::disk("read .emhost"))?.into_iter().rev().find(usable))
}

/// The names of all journals.
pub(super) fn journals(disk: &Disk) -> Result<Vec<String>, StateError> {
    let mut names = disk.list(JOURNALS).map_err(StateError::disk("read .emhost/journal"))?;
    names.retain(|name| journal::is_journal(name));
    Ok(names)
}

/// A journal and its name.
pub(super) struct Run {
    pub name: String,
    pub recorded: Recorded,
    /// Whether it says something that the state did not know.
    pub news: bool,
}

/// Takes into the state what journals say beyond it, in the order of the runs.
pub(super) fn fold(disk: &Disk, state: &mut State) -> Result<Vec<Run>, StateError> {
    let mut runs = Vec::new();
    for name in journals(disk)? {
        // One that vanished meanwhile was pruned, so it was part of the state long ago.
        if let Some(bytes) = disk.read(&format!("{JOURNALS}/{name}")).map_err(StateError::disk(format!("read .emhost/journal/{name}")))? {
            runs.push(Run { recorded: journal::read(&name, &bytes), name, news: false });
        }
    }
    runs.sort_by_key(|run| run.recorded.header.as_ref().map_or(0, |header| header.serial));
    for run in &mut runs {
        let known = state.journals.get(&run.name).copied();
        let damage = run.recorded.damage.as_ref().filter(|damage| known.is_none_or(|known| known < damage.last));
        if let Some(damage) = damage {
            return Err(StateError::Journal { file: run.name.clone(), line: damage.line, reason: damage.reason.clone() });
        }
        let Some(header) = &run.recorded.header else { continue };
        if header.cluster != state.id {
            let reason = format!("it belongs to the cluster with the id {}, and this one has the id {}", header.cluster, state.id);
            return Err(StateError::Journal { file: run.name.clone(), line: 1, reason });
        }
        let last = run.recorded.entries.len() as u64;
        if known.is_some_and(|known| known >= last) {
            continue;
        }
        let known = usize::try_from(known.unwrap_or_default()).unwrap_or(usize::MAX);
        run.recorded.entries.iter().skip(known).for_each(|entry| state.take(entry));
        state.journals.insert(run.name.clone(), last);
        // A state that was brought back from a backup must not fall behind journals that came after it.
        state.serial = state.serial.max(header.serial);
        run.news = true;
    }
    Ok(runs)
}

/// Makes durable what was read and cuts off what was torn, so that it stays what it was read as.
pub(super) fn settle(disk: &Disk, runs: &[Run]) -> Result<Vec<Diagnostic>, StateError> {
    let mut notes = Vec::new();
    for run in runs {
        let (name, torn) = (format!("{JOURNALS}/{}", run.name), run.recorded.torn);
        let doing = || StateError::disk(format!("write .emhost/{name}"));
        if run.recorded.header.is_none() && run.recorded.damage.is_none() {
            // Nothing in it was ever confirmed to anybody.
            disk.remove(&name).map_err(doing())?;
            disk.sync_folder(JOURNALS).map_err(doing())?;
            continue;
        }
        if !torn && !run.news {
            continue;
        }
        let mut tail = disk.tail(&name).map_err(doing())?;
        if torn {
            disk.cut(&mut tail, run.recorded.length).map_err(doing())?;
            let summary = format!("the last write to .emhost/{name} was cut off, and what was left of it was dropped");
            notes.push(
                Diagnostic::note("state/torn", summary).help(Some("nothing relied on it: emhost acts on a record only once it is whole")),
            );
        } else {
            disk.sync(&tail).map_err(doing())?;
        }
    }
    Ok(notes)
}

/// The steps without an answer: of the last run, and of those before it back to the last one that ended in good order.
pub(super) fn open(runs: &[Run]) -> Vec<Open> {
    let mut last: Vec<&[Entry]> = Vec::new();
    for run in runs.iter().rev().filter(|run| !run.recorded.entries.is_empty()) {
        let entries = &run.recorded.entries;
        if !last.is_empty() && entries.last() == Some(&Entry::End) {
            break;
        }
        last.push(entries);
    }
    // As one run: without the beginnings, and with the numbers of changes apart.
    let mut entries = Vec::new();
    for (run, entry) in last.iter().rev().enumerate().flat_map(|(run, entries)| entries.iter().map(move |entry| (run, entry))) {
        let apart = |number: u64| number | (run as u64) << 40;
        match entry.clone() {
            Entry::Begin { .. } => {}
            Entry::Change { number, unit, change } => entries.push(Entry::Change { number: apart(number), unit, change }),
            Entry::Outcome { number, outcome } => entries.push(Entry::Outcome { number: apart(number), outcome }),
            other => entries.push(other),
        }
    }
    // A step that a later run began again is the same open step.
    let mut steps: Vec<Open> = Vec::new();
    for step in model::open(&entries) {
        match steps.iter_mut().find(|known| known.unit == step.unit) {
            Some(known) => known.changes.extend(step.changes),
            None => steps.push(step),
        }
    }
    steps
}
