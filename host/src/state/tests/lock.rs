//! One run at a time.

use super::super::{Holder, Lock, Seen, StateError};
use super::{Folder, who};

fn leave(folder: &Folder, holder: &Holder) {
    drop(folder.open().unwrap());
    std::fs::write(folder.file("lock"), serde_json::to_vec(holder).unwrap()).unwrap();
}

#[test]
fn the_second_is_told_about_the_first() {
    let folder = Folder::new();
    let first = folder.open().unwrap();
    match folder.open() {
        Err(StateError::Locked { holder: Some(holder), here: true }) => assert_eq!(holder.pid, std::process::id()),
        other => panic!("{other:?}"),
    }
    assert!(matches!(Lock::look(&folder), Ok(Seen::Held(Some(_)))));
    assert!(matches!(Lock::free(&folder, &who()), Err(StateError::Locked { here: true, .. })));
    first.store.close().unwrap();
    assert_eq!(Lock::look(&folder).unwrap(), Seen::Free);
    assert_eq!(std::fs::read(folder.file("lock")).unwrap(), b"", "emptied, not removed");
    assert!(folder.open().unwrap().notes.is_empty());
}

#[test]
fn a_dead_process_of_this_host_is_taken_over_and_one_of_another_host_is_not() {
    let folder = Folder::new();
    let dead = Holder { pid: 1, ..who() };
    leave(&folder, &dead);
    assert_eq!(Lock::look(&folder).unwrap(), Seen::Left(dead));
    let opened = folder.open().unwrap();
    assert_eq!(opened.notes.len(), 1);
    assert!(opened.notes[0].summary.contains("did not end in good order"), "{:?}", opened.notes);
    drop(opened);

    let elsewhere = Holder { host: "elsewhere".to_owned(), ..who() };
    leave(&folder, &elsewhere);
    assert!(matches!(folder.open(), Err(StateError::Locked { holder: Some(holder), here: false }) if *holder == elsewhere));
    // Refused once is refused again: looking does not release it.
    assert!(matches!(folder.open(), Err(StateError::Locked { here: false, .. })));
    let another = Holder { pid: 7, ..elsewhere.clone() };
    assert!(matches!(Lock::free(&folder, &another), Err(StateError::Locked { here: false, .. })), "somebody else has it by now");
    Lock::free(&folder, &elsewhere).unwrap();
    assert!(folder.open().unwrap().notes.is_empty());
}

#[test]
fn a_lock_that_was_cut_off_while_it_was_written_is_nobodys() {
    let folder = Folder::new();
    leave(&folder, &who());
    std::fs::write(folder.file("lock"), br#"{"user":"ali"#).unwrap();
    assert_eq!(Lock::look(&folder).unwrap(), Seen::Free);
    assert!(folder.open().is_ok());
}

#[test]
fn of_many_at_once_one_wins_each_time() {
    let folder = Folder::new();
    drop(folder.open().unwrap());
    let working = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut won = 0;
                while won < 10 {
                    if let Ok(opened) = folder.open() {
                        assert_eq!(working.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        assert_eq!(working.fetch_sub(1, std::sync::atomic::Ordering::SeqCst), 1);
                        drop(opened);
                        won += 1;
                    }
                }
            });
        }
    });
}
