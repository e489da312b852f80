//! What is read back from a journal that was cut, damaged or written by many.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::disk::Disk;
use super::super::faults::{Faults, Stop};
use super::super::journal::{name, read};
use super::super::{Entry, Options, StateError, Store, UnitJournal};
use super::{Folder, answer, call, fold, said, who};
use crate::capabilities::journal::{Change, Journal as _, Outcome};

/// A run that was cut off after these records, each written on its own.
fn cut_off(folder: &Folder, entries: &[Entry]) -> PathBuf {
    let store = folder.open().unwrap().store;
    for entry in entries {
        store.append(entry.clone()).unwrap();
    }
    drop(store);
    folder.journals().pop().unwrap()
}

fn three() -> Vec<Entry> {
    vec![call("a"), answer("a", 1), answer("a", 2)]
}

#[test]
fn a_record_that_was_cut_anywhere_is_dropped_and_the_rest_is_kept() {
    let folder = Folder::quick();
    let file = cut_off(&folder, &three());
    let whole = std::fs::read(&file).unwrap();
    let state = std::fs::read(folder.file("state.json")).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for length in last..whole.len() {
        std::fs::write(&file, &whole[..length]).unwrap();
        std::fs::write(folder.file("state.json"), &state).unwrap();
        let opened = folder.open().unwrap();
        assert_eq!(said(&opened.store.state()), fold(&opened.store.id(), &three()[..2]), "cut at {length}");
        assert_eq!(opened.notes.iter().filter(|note| note.code == "state/torn").count(), usize::from(length > last));
        assert_eq!(std::fs::read(&file).unwrap(), &whole[..last], "what was torn is cut off");
        drop(opened);
        // Rubbish of the same length is as torn as nothing.
        let mut rubbish = whole[..last].to_vec();
        rubbish.resize(length, 0);
        std::fs::write(&file, &rubbish).unwrap();
        std::fs::write(folder.file("state.json"), &state).unwrap();
        let opened = folder.open().unwrap();
        assert_eq!(said(&opened.store.state()), fold(&opened.store.id(), &three()[..2]));
    }
}

#[test]
fn damage_to_what_was_durable_is_never_passed_over() {
    let folder = Folder::quick();
    let file = cut_off(&folder, &three());
    let whole = std::fs::read(&file).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for at in 0..last {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        let line = whole[..at].split(|byte| *byte == b'\n').count() as u64;
        match folder.open() {
            Err(StateError::Journal { line: found, .. }) if found == line => {}
            other => panic!("byte {at} in line {line}: {other:?}"),
        }
    }
}

#[test]
fn a_line_from_elsewhere_or_out_of_order_is_noticed() {
    let folder = Folder::new();
    let file = cut_off(&folder, &three());
    let name = file.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 5);
    let other = Folder::new();
    let foreign = std::fs::read_to_string(cut_off(&other, &three())).unwrap();
    let foreign: Vec<&str> = foreign.split_inclusive('\n').collect();
    let reason = |lines: &[&str]| read(name, lines.concat().as_bytes()).damage.map(|damage| (damage.line, damage.reason));
    assert_eq!(reason(&lines), None);
    assert_eq!(
        reason(&[lines[0], lines[1], lines[3], lines[2], lines[4]]).unwrap(),
        (3, "it is record 3, and record 2 was expected".to_owned())
    );
    assert_eq!(reason(&[lines[0], lines[1], lines[2], lines[2]]).unwrap(), (4, "it is record 2, and record 3 was expected".to_owned()));
    assert_eq!(reason(&[lines[0], lines[1], lines[2], foreign[3], lines[4]]).unwrap(), (4, "its check sum is wrong".to_owned()));
    let (line, why) = reason(&foreign).unwrap();
    assert!(line == 1 && why.starts_with("it is the beginning of journal "), "{why}");
    // A whole journal of another cluster, under its own name.
    let moved = other.journals().pop().unwrap();
    std::fs::copy(&moved, file.with_file_name(moved.file_name().unwrap())).unwrap();
    let error = folder.open().unwrap_err().to_string();
    assert!(error.contains("it belongs to the cluster with the id "), "{error}");
}

#[test]
fn pages_of_one_write_may_reach_the_disk_in_any_order() {
    let folder = Folder::new();
    let file = cut_off(&folder, &three());
    let name = file.file_name().unwrap().to_str().unwrap();
    // The first write has three lines: the beginning, the run's first record and the first of ours.
    let mut bytes = std::fs::read(&file).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    bytes.truncate(ends[2]);
    bytes[ends[0]..ends[1]].fill(0);
    let recorded = read(name, &bytes);
    assert!(recorded.torn && recorded.damage.is_none() && recorded.entries.is_empty());
    assert_eq!(recorded.length, ends[0] as u64);
}

#[test]
fn many_that_write_at_once_share_the_disk() {
    const EACH: usize = 50;
    // How many disk operations it takes, and how long: every sync is a real one.
    let cost = |threads: usize| {
        let (folder, faults) = (Folder::new(), Faults::new("", Stop::Kill).unwrap());
        let disk = Disk::with(&folder, Arc::clone(&faults)).unwrap();
        let store = Store::open_on(disk, "dev", None, who(), Options::default()).unwrap().store;
        let (begun, before) = (Instant::now(), faults.counts().0);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let store = &store;
                scope.spawn(move || {
                    for count in 0..EACH {
                        store.append(answer(&format!("unit-{thread}"), count)).unwrap();
                        assert_eq!(store.unit(&format!("unit-{thread}")).unwrap().state.unwrap().data, count.to_string());
                    }
                });
            }
        });
        let (taken, operations) = (begun.elapsed(), faults.counts().0 - before);
        let state = store.state();
        drop(store);
        let recorded = std::fs::read_to_string(folder.journals().pop().unwrap()).unwrap();
        assert_eq!(recorded.lines().count(), threads * EACH + 2);
        assert_eq!(said(&folder.open().unwrap().store.state()), said(&state));
        (operations, taken)
    };
    let ((one, taken), (eight, _)) = (cost(1), cost(8));
    eprintln!("disk operations for {EACH} records each: 1 thread {one} in {taken:?}, 8 threads {eight}");
    // Where a sync costs nothing, there is nothing to share.
    assert!(taken < Duration::from_millis(5) || eight < one * 6, "1 thread {one}, 8 threads {eight}");
}

#[test]
fn changes_without_an_answer_are_handed_to_the_next_run() {
    let folder = Folder::new();
    let change = |request: &str| Change {
        plugin: "demo".to_owned(),
        verb: "apply".to_owned(),
        unit: Some("a".to_owned()),
        operation: "op".to_owned(),
        request: request.to_owned(),
    };
    let store = Arc::new(folder.open().unwrap().store);
    let (a, b) =
        (UnitJournal { store: Arc::clone(&store), unit: "a".to_owned() }, UnitJournal { store: Arc::clone(&store), unit: "b".to_owned() });
    for unit in ["a", "b", "c"] {
        store.append(call(unit)).unwrap();
    }
    let numbers = [a.before(&change("POST /1")).unwrap(), b.before(&change("POST /2")).unwrap(), a.before(&change("POST /3")).unwrap()];
    assert_eq!(numbers.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    a.after(numbers[0], &Outcome::Answered(200)).unwrap();
    b.after(numbers[1], &Outcome::Unknown("reset".to_owned())).unwrap();
    store.append(answer("c", 1)).unwrap();
    // The state being written in between hides nothing.
    store.checkpoint().unwrap();
    drop((a, b, store));
    let open = |opened: &super::Opened| -> Vec<(String, Vec<String>)> {
        let changes = |step: &super::super::Open| step.changes.iter().map(|change| change.request.clone()).collect();
        opened.open.iter().map(|step| (step.unit.clone(), changes(step))).collect()
    };
    let left = vec![("a".to_owned(), vec!["POST /3".to_owned()]), ("b".to_owned(), vec!["POST /2".to_owned()])];
    assert_eq!(open(&folder.open().unwrap()), left);
    // A run that was cut off before it looked at them leaves them to the next.
    let opened = folder.open().unwrap();
    assert_eq!(open(&opened), left);
    opened.store.append(call("c")).unwrap();
    opened.store.append(answer("b", 2)).unwrap();
    drop(opened);
    let opened = folder.open().unwrap();
    assert_eq!(open(&opened), [left[0].clone(), ("c".to_owned(), vec![])]);
    opened.store.append(answer("a", 3)).unwrap();
    opened.store.append(answer("c", 3)).unwrap();
    opened.store.close().unwrap();
    assert_eq!(opened.store.append(call("a")).unwrap_err().to_string(), "nothing can be recorded: this run only looks, or it has ended");
    assert_eq!(open(&folder.open().unwrap()), []);
}

#[test]
fn one_that_only_looks_sees_whole_records_while_another_writes() {
    let folder = Folder::new();
    let store = folder.open().unwrap().store;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..200 {
                store.append(answer("a", number)).unwrap();
                if number % 20 == 0 {
                    store.checkpoint().unwrap();
                }
            }
            store.close().unwrap();
        });
        let mut seen = 0;
        while seen < 199 {
            let state = Store::read(&folder).unwrap().unwrap();
            let now = state.units.get("a").map_or(0, |unit| unit.state.as_ref().unwrap().data.parse().unwrap());
            assert!(now >= seen, "{now} after {seen}");
            seen = now;
        }
    });
}

#[test]
fn a_name_that_the_state_knows_is_never_used_again() {
    let mut known = std::collections::BTreeSet::new();
    for number in 0..100 {
        // As unlucky as can be: each number is the one before, once more.
        let mut unlucky = (number - 1..).map(|number| u16::try_from(number.max(0)).unwrap());
        let name = name(&known, || unlucky.next().unwrap());
        assert!(known.insert(name.clone()), "{name}");
    }
}
