//! Which files there are, who may read them, and what is said when one of them is wrong.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::super::disk::Disk;
use super::super::{Holder, Options, StateError, Store, Timings, backups};
use super::{Folder, answer, who};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn modes(folder: &Path, files: &mut usize) {
    assert_eq!(mode(folder), 0o700, "{}", folder.display());
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            modes(&entry.path(), files);
        } else {
            assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
            *files += 1;
        }
    }
}

#[test]
fn only_their_owner_may_read_them() {
    let folder = Folder::new();
    let store = folder.open().unwrap().store;
    store.append(answer("a", 1)).unwrap();
    store.keep_timings(&Timings::default());
    store.close().unwrap();
    let mut files = 0;
    modes(&folder.file(""), &mut files);
    assert_eq!(files, 6, "state, backup, journal, lock, timings, and what keeps them out of version control");
    std::fs::set_permissions(folder.file(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(folder.open().unwrap());
    assert_eq!(mode(&folder.file("")), 0o700, "taken back");
}

#[test]
fn the_newest_backups_and_journals_are_kept() {
    let folder = Folder::new();
    for run in 0..6 {
        let options = Options { backups: 3, runs: 2 };
        let store = Store::open(&folder, "dev", who(), options).unwrap().store;
        store.append(answer("a", run)).unwrap();
        store.close().unwrap();
    }
    let names = backups::list(&Disk::open(&folder).unwrap()).unwrap();
    assert_eq!(names.len(), 3, "{names:?}");
    let newest: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.file(&names[2])).unwrap()).unwrap();
    assert_eq!(newest["units"]["a"]["state"]["data"], "4");
    assert_eq!(folder.journals().len(), 3, "this run's, and two before it");
    // A run that changes nothing leaves no trace.
    let before = std::fs::read(folder.file("state.json")).unwrap();
    folder.open().unwrap().store.close().unwrap();
    assert_eq!(std::fs::read(folder.file("state.json")).unwrap(), before);
    // Records that say nothing new are no reason for a backup.
    let store = folder.open().unwrap().store;
    store.append(answer("a", 5)).unwrap();
    store.close().unwrap();
    assert_eq!(backups::list(&Disk::open(&folder).unwrap()).unwrap(), names);
}

#[test]
fn backups_of_one_second_are_told_apart() {
    let folder = Folder::new();
    assert_eq!(Store::backup(&folder).unwrap(), None);
    drop(folder.open().unwrap());
    let made: Vec<String> = (0..12).map(|_| Store::backup(&folder).unwrap().unwrap()).collect();
    assert_eq!(backups::list(&Disk::open(&folder).unwrap()).unwrap(), made, "in the order they were made");
    for other in ["state.json.backup.mine", "state.json.backup.20260101-0000000", "state.json.backup.20260101-000000-x"] {
        std::fs::write(folder.file(other), "").unwrap();
    }
    assert_eq!(backups::list(&Disk::open(&folder).unwrap()).unwrap(), made, "files of a person are left alone");
}

/// The error as a person sees it.
fn text(error: &StateError) -> String {
    let diagnostic = error.diagnostic();
    format!("{}: {}\n{}", diagnostic.code, diagnostic.summary, diagnostic.help.unwrap_or_default())
}

#[test]
fn every_error_says_what_to_do() {
    let folder = Folder::new();
    let error = || text(&folder.open().unwrap_err());
    drop(folder.open().unwrap());
    assert_eq!(
        text(&Store::open(&folder, "prod", who(), Options::default()).unwrap_err()),
        "state/other-cluster: this folder holds the state of cluster `dev`, and cluster.yaml names `prod`\n\
         a cluster keeps its name for life: write `cluster_name: dev` again, or give `prod` a folder of its own"
    );
    std::fs::write(folder.file("state.json"), r#"{"version": 2, "emhost": "3.1.4", "new": true}"#).unwrap();
    assert_eq!(
        error(),
        format!(
            "state/newer: .emhost/state.json has layout 2, and this emhost {} knows layout 1\nuse emhost 3.1.4, which wrote it, or a newer one",
            env!("CARGO_PKG_VERSION")
        )
    );
    std::fs::write(folder.file("state.json"), "").unwrap();
    assert_eq!(
        error(),
        "state/damaged: .emhost/state.json is damaged: EOF while parsing a value at line 1 column 0\n\
         there is no backup: bring .emhost back from a copy of your own. Without it emhost does not know its own machines any more; \
         to begin anew all the same, move the folder away:\nmv .emhost .emhost.old"
    );
    std::fs::remove_file(folder.file("state.json")).unwrap();
    let store = folder.open().unwrap().store;
    store.append(answer("a", 1)).unwrap();
    store.close().unwrap();
    let backup = backups::list(&Disk::open(&folder).unwrap()).unwrap().pop().unwrap();
    // A newer backup that is damaged too is not what a person is sent to.
    std::fs::write(folder.file("state.json.backup.99991231-235959"), "{").unwrap();
    std::fs::write(folder.file("state.json"), "{}").unwrap();
    let bring_back = format!(
        "bring back the newest backup; what happened since is read again from .emhost/journal:\ncp .emhost/{backup} .emhost/state.json"
    );
    assert_eq!(error(), format!("state/damaged: .emhost/state.json is damaged: it does not say its layout\n{bring_back}"));
    std::fs::remove_file(folder.file("state.json")).unwrap();
    assert_eq!(error(), format!("state/damaged: .emhost/state.json is gone, and .emhost/{backup} shows that there was one\n{bring_back}"));
    assert_eq!(text(&Store::read(&folder).unwrap_err()), error());
    // The command does what it says.
    let command = bring_back.lines().last().unwrap();
    assert!(std::process::Command::new("sh").arg("-c").arg(command).current_dir(&*folder).status().unwrap().success());
    assert_eq!(folder.open().unwrap().store.unit("a").unwrap().state.unwrap().data, "1");
}

#[test]
fn the_way_out_of_a_damaged_journal_works() {
    let folder = Folder::new();
    let store = folder.open().unwrap().store;
    for number in 0..4 {
        store.append(answer("a", number)).unwrap();
    }
    drop(store);
    let file = folder.journals().pop().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let damaged = std::fs::read_to_string(&file).unwrap().replace(r#""data":"2""#, r#""data":"7""#);
    std::fs::write(&file, damaged).unwrap();
    let error = text(&folder.open().unwrap_err());
    assert_eq!(
        error,
        format!(
            "state/journal: .emhost/journal/{name} is damaged in line 5: its check sum is wrong\n\
             bring the file back from a copy, or go on without this line and those after it; what they said is then found again by \
             looking at the live systems:\n\
             cp .emhost/journal/{name} .emhost/{name}.damaged && head -n 4 .emhost/{name}.damaged > .emhost/journal/{name}"
        )
    );
    assert_eq!(text(&Store::read(&folder).unwrap_err()), error, "one that only looks is told too");
    let command = error.lines().last().unwrap();
    assert!(std::process::Command::new("sh").arg("-c").arg(command).current_dir(&*folder).status().unwrap().success());
    assert_eq!(folder.open().unwrap().store.unit("a").unwrap().state.unwrap().data, "1");
}

#[test]
fn who_holds_it_and_what_the_disk_says_are_told() {
    let holder = Holder {
        user: "alice".to_owned(),
        host: "build-1".to_owned(),
        pid: 4711,
        time: "2026-03-01T10:00:00Z".to_owned(),
        command: "emhost apply".to_owned(),
    };
    let held = |here| StateError::Locked { holder: Some(Box::new(holder.clone())), here };
    assert_eq!(
        text(&held(true)),
        "state/locked: `emhost apply` of alice on build-1 (process 4711, since 2026-03-01T10:00:00Z) is at work on this cluster\n\
         wait until it ends, or stop it with Ctrl-C where it runs"
    );
    assert_eq!(
        text(&held(false)),
        "state/locked: `emhost apply` of alice on build-1 (process 4711, since 2026-03-01T10:00:00Z) may be at work on this cluster, from another host\n\
         see whether it still runs on build-1; if it does not, free the cluster with `emhost state unlock`"
    );
    assert_eq!(
        text(&StateError::Locked { holder: None, here: true }),
        "state/locked: somebody else is at work on this cluster\nwait until it ends, or stop it with Ctrl-C where it runs"
    );
    assert_eq!(
        text(&StateError::Disk { doing: "write .emhost/state.json".to_owned(), source: std::io::Error::from_raw_os_error(28) }),
        "state/disk: cannot write .emhost/state.json: No space left on device (os error 28)\n\
         make room on the disk, then run the same command again: it goes on where it stopped"
    );
    assert_eq!(
        text(&StateError::NoLocks { source: std::io::Error::from_raw_os_error(37) }),
        "state/no-locks: the file system of .emhost/lock has no locks, so two runs at once could not be kept apart: No locks available (os error 37)\n\
         keep the cluster's folder on a local disk"
    );
    assert_eq!(
        text(&Store::read(Path::new("/nowhere/at/all")).unwrap_err()),
        "state/folder: cannot open the folder /nowhere/at/all: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_folder_that_leads_elsewhere_is_not_followed() {
    let (folder, outside) = (Folder::new(), Folder::new());
    std::os::unix::fs::symlink(&*outside, folder.file("")).ok();
    let link = folder.join(".emhost");
    if !link.exists() {
        std::os::unix::fs::symlink(&*outside, &link).unwrap();
    }
    assert!(matches!(folder.open(), Err(StateError::Disk { .. })));
    assert_eq!(std::fs::read_dir(&*outside).unwrap().count(), 0);
}

#[test]
fn one_that_only_looks_makes_nothing() {
    let folder = Folder::new();
    assert_eq!(Store::read(&folder).unwrap(), None);
    let view = Store::view(&folder, "dev").unwrap();
    assert_eq!(view.id(), "");
    assert!(view.append(answer("a", 1)).is_err());
    view.keep_timings(&Timings::default());
    view.checkpoint().unwrap();
    view.close().unwrap();
    assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), 0);
    let opened = folder.open().unwrap();
    assert!(opened.fresh && opened.store.id().len() == 32);
    assert_eq!(Store::view(&folder, "dev").unwrap().id(), opened.store.id(), "also while another works");
    assert!(matches!(Store::view(&folder, "prod"), Err(StateError::OtherCluster { .. })));
    drop(opened);
    assert!(!folder.open().unwrap().fresh);
}

#[test]
fn how_long_things_take_is_learnt_from_the_last_twenty() {
    let folder = Folder::new();
    let mut timings = Timings::load(&folder);
    assert_eq!(timings.estimate("machines proxmox create"), None);
    for seconds in 0..30 {
        timings.learn("machines proxmox create", Duration::from_secs(seconds));
    }
    timings.learn("os talos update", Duration::from_millis(1500));
    timings.save(&folder).unwrap();
    let timings = Timings::load(&folder);
    assert_eq!(timings.estimate("machines proxmox create"), Some(Duration::from_millis(19_500)));
    assert_eq!(timings.estimate("os talos update"), Some(Duration::from_millis(1500)));
    std::fs::write(folder.file("timings.json"), "{\"a\": [1,").unwrap();
    assert_eq!(Timings::load(&folder), Timings::default());
    assert_eq!(Timings::load(Path::new("/nowhere/at/all")), Timings::default());
}
