//! The process is cut off between any two disk operations, with and without the power, and again while the next one recovers.

use std::sync::Arc;

use super::super::disk::Disk;
use super::super::faults::{Faults, Handle, Stop};
use super::super::{Entry, Options, StateError, Store};
use super::{Folder, answer, call, fold, said, who};

/// So few that the runs below make it forget some.
const OPTIONS: Options = Options { backups: 1, runs: 1 };
const POWER: [&str; 5] = ["power", "power-bytes", "power-half", "power-zeros", "power-cuts"];

/// What a process was told is durable, over all processes.
#[derive(Default, Clone)]
struct Told {
    ids: Vec<String>,
    kept: Vec<Entry>,
    /// Whether it is not known: the process was cut off while it was written.
    maybe: Option<Entry>,
}

impl Told {
    fn append(&mut self, store: &Store, entry: Entry) -> Result<(), String> {
        // Whether an earlier one that was cut off is there shows when the next process opened the store.
        self.maybe = Some(entry.clone());
        store.append(entry.clone()).map_err(|error| error.to_string())?;
        self.maybe = None;
        self.kept.push(entry);
        Ok(())
    }

    /// The state must be all that was told, in order, each once, and perhaps the one that was cut off.
    fn check(&mut self, store: &Store) -> Result<(), String> {
        let (id, state) = (store.id(), store.state());
        if let Some(other) = self.ids.iter().find(|known| **known != id) {
            return Err(format!("the id was {other}, and is {id}"));
        }
        self.ids.push(id.clone());
        if said(&state) == fold(&id, &self.kept) {
            self.maybe = None;
        } else if said(&state) == fold(&id, self.kept.iter().chain(&self.maybe)) {
            self.kept.extend(self.maybe.take());
        } else {
            return Err(format!("told {:#?}\nperhaps {:#?}\nbut the state is {state:#?}", self.kept, self.maybe));
        }
        Ok(())
    }
}

fn open(folder: &Folder, faults: &Handle) -> Result<Store, StateError> {
    let disk = Disk::with(folder, Arc::clone(faults)).unwrap();
    Ok(Store::open_on(disk, "dev", None, who(), OPTIONS)?.store)
}

/// Several runs: some end well, some do not, some write the state in between.
fn work(folder: &Folder, faults: &Handle, told: &mut Told, runs: usize) -> Result<(), String> {
    for run in 0..runs {
        let store = open(folder, faults).map_err(|error| error.to_string())?;
        told.check(&store)?;
        for record in 0..3 {
            let number = run * 10 + record;
            let entry = if record == 1 { call(&format!("own-{number}")) } else { answer("shared", number) };
            told.append(&store, entry)?;
            if run % 3 == 1 && record == 1 {
                store.checkpoint().map_err(|error| error.to_string())?;
            }
        }
        if run % 2 == 0 {
            store.close().map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// After everything, and one more run.
fn verify(folder: &Folder, faults: &Handle, told: &mut Told) -> Result<(), String> {
    settled(folder, faults, told)?;
    work(folder, faults, told, 1).and_then(|()| told.check(&open(folder, faults).map_err(|error| error.to_string())?))
}

/// After everything: opened twice without faults, it says what was told, and the second time there is nothing left to take in.
fn settled(folder: &Folder, faults: &Handle, told: &mut Told) -> Result<(), String> {
    faults.restart("").unwrap();
    let store = open(folder, faults).map_err(|error| error.to_string())?;
    told.check(&store)?;
    let first = store.state();
    drop(store);
    let store = open(folder, faults).map_err(|error| error.to_string())?;
    if store.state() != first {
        return Err("opening it again changed it".to_owned());
    }
    if Store::read(folder).map_err(|error| error.to_string())?.as_ref() != Some(&*first) {
        return Err("reading it without the lock gives something else".to_owned());
    }
    Ok(())
}

/// How many operations the work takes when nothing goes wrong.
fn operations(runs: usize, spec: &str) -> u64 {
    let (folder, faults) = (Folder::quick(), Faults::new(spec, Stop::Fail).unwrap());
    work(&folder, &faults, &mut Told::default(), runs).unwrap();
    faults.counts().0
}

/// Cuts one process off, as the words say, and looks what the next one finds.
fn cut_once(first: &str, runs: usize) -> Result<(), String> {
    let (folder, faults) = (Folder::quick(), Faults::new(first, Stop::Fail).unwrap());
    let mut told = Told::default();
    let ended = work(&folder, &faults, &mut told, runs);
    assert!(faults.stopped(), "{first} did not happen: {ended:?}");
    verify(&folder, &faults, &mut told).map_err(|error| format!("{first}: {error}"))
}

#[test]
fn a_run_may_be_cut_off_between_any_two_operations() {
    let all = operations(5, "");
    assert!(all > 100, "{all} operations are too few to mean much");
    let cuts = ["kill", "kill-after"].into_iter().chain(POWER);
    let failed: Vec<String> = cuts.flat_map(|cut| (1..=all).filter_map(move |at| cut_once(&format!("{cut}@{at}"), 5).err())).collect();
    assert!(failed.is_empty(), "{} cuts lost something, the first: {}", failed.len(), failed[0]);
}

/// What the run after does, in short.
fn go_on(folder: &Folder, faults: &Handle, told: &mut Told) -> Result<(), String> {
    let store = open(folder, faults).map_err(|error| error.to_string())?;
    told.check(&store)?;
    told.append(&store, answer("shared", 99))?;
    store.close().map_err(|error| error.to_string())
}

#[test]
fn the_power_may_go_while_a_killed_run_is_recovered() {
    let mut cuts = 0;
    for first in 1..=operations(2, "") {
        for second in 1.. {
            let (folder, faults) = (Folder::quick(), Faults::new(&format!("kill@{first}"), Stop::Fail).unwrap());
            let mut told = Told::default();
            let _ = work(&folder, &faults, &mut told, 2);
            assert!(faults.stopped());
            // What the killed one did not sync is still only in memory.
            faults.restart(&format!("power@{second}")).unwrap();
            let ended = go_on(&folder, &faults, &mut told);
            if !faults.stopped() {
                ended.unwrap();
                break;
            }
            settled(&folder, &faults, &mut told).unwrap_or_else(|error| panic!("kill@{first}, then power@{second}: {error}"));
            cuts += 1;
        }
    }
    assert!(cuts > 1000, "{cuts}");
}

#[test]
fn what_was_read_from_a_journal_stays_in_it() {
    let (folder, faults) = (Folder::quick(), Faults::new("", Stop::Fail).unwrap());
    let store = open(&folder, &faults).unwrap();
    store.append(answer("shared", 1)).unwrap();
    // Killed when the record is written and not yet synced: the next one sees it, and takes it in.
    faults.restart("kill@2").unwrap();
    store.append(answer("shared", 2)).unwrap_err();
    drop(store);
    faults.restart("").unwrap();
    let store = open(&folder, &faults).unwrap();
    let told = [answer("shared", 1), answer("shared", 2)];
    assert_eq!(said(&store.state()), fold(&store.id(), &told));
    faults.restart("power@1").unwrap();
    drop(store);
    assert!(faults.stopped());
    // The state before that, brought back, still leads to the one after it.
    let backup = super::super::backups::list(&Disk::open(&folder).unwrap()).unwrap().pop().unwrap();
    std::fs::copy(folder.file(&backup), folder.file("state.json")).unwrap();
    faults.restart("").unwrap();
    let store = open(&folder, &faults).unwrap();
    assert_eq!(said(&store.state()), fold(&store.id(), &told));
}

#[test]
fn a_journal_that_is_not_synced_is_found_out() {
    let all = operations(2, "broken@no-fsync");
    let lost = (1..=all).filter(|at| cut_once(&format!("power@{at},broken@no-fsync"), 2).is_err()).count();
    assert!(lost > 0, "a broken rule must show");
}

#[test]
fn a_full_disk_loses_nothing_and_invents_nothing() {
    let (folder, faults) = (Folder::quick(), Faults::new("", Stop::Fail).unwrap());
    work(&folder, &faults, &mut Told::default(), 3).unwrap();
    let (_, writes) = faults.counts();
    for kind in ["full", "full-once"] {
        for at in 1..=writes {
            let (folder, faults) = (Folder::quick(), Faults::new(&format!("{kind}@{at}"), Stop::Fail).unwrap());
            let mut told = Told::default();
            let error = work(&folder, &faults, &mut told, 3).unwrap_err();
            assert!(error.contains("No space left on device"), "{error}");
            // It failed and did not crash: the record is known not to be there.
            told.maybe = None;
            verify(&folder, &faults, &mut told).unwrap_or_else(|error| panic!("{kind}@{at}: {error}"));
        }
    }
}

#[test]
fn a_full_disk_may_have_room_again_within_the_run() {
    // The first writes are those of opening it.
    let opening = {
        let (folder, faults) = (Folder::quick(), Faults::new("", Stop::Fail).unwrap());
        drop(open(&folder, &faults).unwrap());
        faults.counts().1
    };
    for at in opening + 1..=opening + 6 {
        let (folder, faults) = (Folder::quick(), Faults::new(&format!("full-once@{at}"), Stop::Fail).unwrap());
        let store = open(&folder, &faults).unwrap();
        let kept: Vec<Entry> = (0..6).map(|number| answer("shared", number)).filter(|entry| store.append(entry.clone()).is_ok()).collect();
        assert!(kept.len() >= 5);
        assert_eq!(said(&store.state()), fold(&store.id(), &kept));
        drop(store);
        faults.restart("").unwrap();
        let store = open(&folder, &faults).unwrap();
        assert_eq!(said(&store.state()), fold(&store.id(), &kept), "full-once@{at}");
    }
}

#[test]
fn a_write_that_cannot_be_taken_back_ends_the_journal() {
    let (folder, faults) = (Folder::quick(), Faults::new("", Stop::Fail).unwrap());
    let store = open(&folder, &faults).unwrap();
    store.append(answer("shared", 1)).unwrap();
    let (operations, _) = faults.counts();
    // The write goes well, and neither its sync nor the cut that should take it back.
    faults.restart("fail@2,fail@3").unwrap();
    assert!(operations > 3);
    assert_eq!(store.append(answer("shared", 2)).unwrap_err().to_string(), "failed on purpose");
    faults.restart("").unwrap();
    let error = store.append(answer("shared", 3)).unwrap_err();
    assert_eq!(error.to_string(), "an earlier write to the journal failed and could not be taken back");
    assert_eq!(said(&store.state()), fold(&store.id(), &[answer("shared", 1)]));
    // The bytes of the second record are in the file, whole. Once the state is written they count for nothing.
    store.checkpoint().unwrap();
    drop(store);
    let store = open(&folder, &faults).unwrap();
    assert_eq!(said(&store.state()), fold(&store.id(), &[answer("shared", 1)]));
}

#[test]
fn a_write_that_was_taken_back_never_comes_back() {
    let (folder, faults) = (Folder::quick(), Faults::new("", Stop::Fail).unwrap());
    let store = open(&folder, &faults).unwrap();
    store.append(answer("shared", 1)).unwrap();
    // The record is in the file, whole, when the sync fails.
    faults.restart("fail@2").unwrap();
    store.append(answer("shared", 2)).unwrap_err();
    faults.restart("power-cuts@1").unwrap();
    store.append(answer("shared", 3)).unwrap_err();
    assert!(faults.stopped());
    drop(store);
    faults.restart("").unwrap();
    let store = open(&folder, &faults).unwrap();
    assert_eq!(said(&store.state()), fold(&store.id(), &[answer("shared", 1)]));
}

#[test]
fn any_backup_leads_back_to_the_same_state() {
    let folder = Folder::new();
    let mut told = Vec::new();
    for run in 0..4 {
        let store = folder.open().unwrap().store;
        for record in 0..3 {
            let entry = answer(if record == 1 { "other" } else { "shared" }, run * 10 + record);
            store.append(entry.clone()).unwrap();
            told.push(entry);
            store.checkpoint().unwrap();
        }
        store.close().unwrap();
    }
    let backups = super::super::backups::list(&Disk::open(&folder).unwrap()).unwrap();
    assert!(backups.len() > 8, "{backups:?}");
    // And the runs after it come after those before, however often somebody goes back.
    for (number, backup) in backups.iter().step_by(3).rev().enumerate() {
        std::fs::copy(folder.file(backup), folder.file("state.json")).unwrap();
        let store = folder.open().unwrap().store;
        assert_eq!(said(&store.state()), fold(&store.id(), &told), "{backup}");
        told.push(answer("shared", 1000 + number));
        store.append(answer("shared", 1000 + number)).unwrap();
        store.close().unwrap();
    }
}
