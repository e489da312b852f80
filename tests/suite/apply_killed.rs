//! emhost is killed after every kind of change that it makes at a site, and the next run completes what it began.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use emhost_tests::example::{Asked, Example};

/// How many clusters are worked on side by side.
const AT_ONCE: usize = 2;

/// What kind of change it was: numbers, identities and names of nodes do not matter.
fn kind(asked: &Asked) -> String {
    let word = |word: &str| if word.chars().any(|letter| letter.is_ascii_digit()) { "*".to_owned() } else { word.to_owned() };
    let path: Vec<String> = asked.request.split('/').map(word).collect();
    format!("{} {}", asked.part, path.join("/"))
}

/// The first change of each kind.
fn firsts(changes: &[Asked]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    changes.iter().enumerate().filter(|(_, asked)| seen.insert(kind(asked))).map(|(index, _)| index + 1).collect()
}

/// Runs a command and kills it once the site has made this many changes more.
fn killed(example: &Example, arguments: &[&str], after: usize) {
    let mut changes = example.counter();
    let mut child = example.command(arguments, "").spawn().unwrap();
    loop {
        if changes.count() >= after {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        if let Some(status) = child.try_wait().unwrap() {
            // Requests of several machines go out in another order each time, so there may be fewer of them than in the first run.
            assert!(status.success(), "{arguments:?} ended with {status} before change {after}");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// No change was made twice, no machine is there twice, and etcd was bootstrapped once.
fn once(example: &Example, at: &str) {
    let changes = example.changes();
    let of = |words: &str| changes.iter().filter(|asked| asked.request.contains(words)).collect::<Vec<_>>();
    assert_eq!(of("MachineService/Bootstrap").len(), 1, "{at}");
    let creates: Vec<&Asked> =
        changes.iter().filter(|asked| asked.request.ends_with("/qemu") && asked.request.starts_with("POST")).collect();
    assert_eq!(creates.len(), 5, "{at}: {creates:#?}");
    let mut seen = BTreeSet::new();
    for asked in &changes {
        assert!(seen.insert((asked.request.clone(), asked.changed.clone())), "{at}: twice: {asked:#?}");
    }
    assert!(!changes.iter().any(|asked| asked.request.contains("upload") && asked.changed.is_empty()), "{at}");
}

/// Does the same for each of many points, some at once.
pub fn each(points: &[usize], work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let hands: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                        work(*point);
                    }
                })
            })
            .collect();
        for hand in hands {
            hand.join().unwrap();
        }
    });
}

#[test]
fn an_apply_that_is_killed_after_any_kind_of_change_is_completed() {
    let whole = Example::new("home").started();
    whole.emhost(&["apply", "--yes"]).ended(0);
    let points = firsts(&whole.changes());
    assert!(points.len() > 4, "{points:?}");
    once(&whole, "not killed");
    each(&points, |point| {
        let at = format!("killed after change {point}");
        let example = Example::new("home").started();
        killed(&example, &["apply", "--yes"], point);
        let ran = example.emhost(&["apply", "--yes"]);
        assert_eq!(ran.exit, Some(0), "{at}: {}", ran.all());
        once(&example, &at);
        example.emhost(&["plan", "--exit-code"]).ended(0);
    });
}

#[test]
fn a_destroy_that_is_killed_after_any_kind_of_change_is_completed() {
    let whole = Example::new("home").started();
    whole.emhost(&["apply", "--yes"]).ended(0);
    let before = whole.changes().len();
    whole.emhost(&["destroy", "--yes"]).ended(0);
    let points = firsts(&whole.changes()[before..]);
    assert!(points.len() > 1, "{points:?}");
    each(&points, |point| {
        let at = format!("killed after change {point}");
        let example = Example::new("home").started();
        example.emhost(&["apply", "--yes"]).ended(0);
        killed(&example, &["destroy", "--yes"], point);
        let ran = example.emhost(&["destroy", "--yes"]);
        assert_eq!(ran.exit, Some(0), "{at}: {}", ran.all());
        example.emhost(&["status"]).ended(0);
        let removed = example
            .changes()
            .iter()
            .filter(|asked| asked.changed.iter().any(|what| what.starts_with("vm ") && what.ends_with(" destroyed")))
            .count();
        assert_eq!(removed, 5, "{at}");
    });
}
