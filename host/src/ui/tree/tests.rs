use emhost::diagnostic::Diagnostic;

use super::*;

fn unit(name: &str) -> UnitId {
    name.parse().expect("a unit")
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn tell(tree: &mut Tree, at: u64, name: &str, progress: Progress) {
    tree.take(&Event::Unit { unit: unit(name), progress }, seconds(at));
}

fn began(tree: &mut Tree, at: u64, name: &str, activity: &str) {
    tell(tree, at, name, Progress::Began { activity: activity.to_owned(), estimate: None });
}

fn done(tree: &mut Tree, at: u64, name: &str) {
    tell(tree, at, name, Progress::Done { elapsed: seconds(1), changed: true });
}

/// A boot medium, nodes with a machine and a system each, and the cluster.
fn tree(nodes: usize) -> Tree {
    let mut tree = Tree::new("apply dev", HashMap::new(), Redactor::new());
    let mut units = vec![(unit("boot/v1.11.5"), vec![])];
    for node in 1..=nodes {
        units.push((unit(&format!("machine/dev-{node}")), vec![unit("boot/v1.11.5")]));
        units.push((unit(&format!("os/dev-{node}")), vec![unit(&format!("machine/dev-{node}"))]));
    }
    units.push((unit("cluster"), vec![unit("os/dev-1")]));
    tree.take(&Event::Run { units }, Duration::ZERO);
    tree
}

fn shown(tree: &Tree, at: u64, size: (usize, usize)) -> String {
    let frame = tree.frame(seconds(at), size);
    assert!(frame.len() < size.1.max(2), "{} lines in {size:?}", frame.len());
    for line in &frame {
        assert!(line.width() < size.0.max(1), "{} columns in {size:?}: {}", line.width(), line.painted(false));
    }
    frame.iter().map(|line| line.painted(false)).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_each_waits_for() {
    let mut tree = tree(2);
    began(&mut tree, 0, "boot/v1.11.5", "image");
    done(&mut tree, 2, "boot/v1.11.5");
    began(&mut tree, 2, "machine/dev-1", "create virtual machine 300");
    tell(&mut tree, 2, "machine/dev-2", Progress::Waits { on: Wait::Holds(vec!["storage:local-lvm".to_owned()]) });
    insta::assert_snapshot!(shown(&tree, 12, (72, 24)), @"
    apply dev   1/6 done   12s
    boot      ✓ v1.11.5
    dev-1
      ⠋ machine  create virtual machine 300                             10s
      · os       waits for machine/dev-1
    dev-2
      · machine  waits for storage:local-lvm
      · os       waits for machine/dev-2
    cluster
      · cluster  waits for os/dev-1
    ");

    let locked = "503: the storage is locked".to_owned();
    tell(&mut tree, 14, "machine/dev-1", Progress::Retries { reason: locked, pause: seconds(4), attempt: 2 });
    let failed = Diagnostic::error("http/status", "500: no such storage");
    began(&mut tree, 14, "machine/dev-2", "create");
    tell(&mut tree, 15, "machine/dev-2", Progress::Failed { diagnostics: vec![failed] });
    tell(&mut tree, 15, "os/dev-2", Progress::Skipped { because: unit("machine/dev-2") });
    tree.take(&Event::Stopping { running: vec![] }, seconds(15));
    insta::assert_snapshot!(shown(&tree, 15, (72, 24)), @"
    apply dev   1/6 done   15s   1 failed
    stopping: no new step starts; waiting for 1 running step (Ctrl-C again
      to leave it)
    boot      ✓ v1.11.5
    dev-1
      ⠋ machine  try 2 in 3s: 503: the storage is locked                13s
      · os       waits for machine/dev-1
    dev-2
      ✗ machine  500: no such storage
      - os       not begun: machine/dev-2 failed
    cluster
      · cluster  waits for os/dev-1
    ");
}

#[test]
fn the_longest_chain_is_what_is_left() {
    let mut tree = tree(2);
    assert_eq!(tree.left(Duration::ZERO), None, "nothing was ever seen");
    tree.estimates = HashMap::new();
    for (row, estimate) in tree.rows.iter_mut().zip([5, 20, 40, 30, 60, 10]) {
        row.estimate = Some(seconds(estimate));
    }
    assert_eq!(tree.left(Duration::ZERO), Some(seconds(95)), "boot, the second machine and its system");
    began(&mut tree, 0, "boot/v1.11.5", "image");
    done(&mut tree, 5, "boot/v1.11.5");
    began(&mut tree, 5, "machine/dev-2", "create");
    assert_eq!(tree.left(seconds(15)), Some(seconds(80)));
    assert_eq!(tree.left(seconds(500)), Some(seconds(70)), "late: the other chain counts, and nothing is negative");
    assert!(shown(&tree, 15, (80, 24)).starts_with("apply dev   1/6 done   15s   about 1m left\n"));
}

#[test]
fn what_this_run_has_seen_serves_for_its_kind() {
    let mut tree = tree(2);
    for (name, took) in [("boot/v1.11.5", 4), ("machine/dev-1", 10), ("os/dev-1", 30), ("cluster", 5)] {
        began(&mut tree, 0, name, "");
        done(&mut tree, took, name);
    }
    assert_eq!(tree.left(seconds(30)), Some(seconds(40)));
}

#[test]
fn it_fits_every_terminal() {
    let mut tree = tree(200);
    for node in 1..=50 {
        began(&mut tree, 1, &format!("machine/dev-{node}"), &"漢字 and more ".repeat(20));
    }
    for node in 1..=10 {
        done(&mut tree, 2, &format!("machine/dev-{node}"));
    }
    tree.take(&Event::Stopping { running: vec![] }, seconds(3));
    for columns in [1, 2, 10, 20, 40, 80, 200] {
        for rows in [1, 2, 3, 5, 10, 24, 1000] {
            shown(&tree, 3, (columns, rows));
        }
    }
    insta::assert_snapshot!(shown(&tree, 3, (80, 10)), @"
    apply dev   10/402 done   3s
    stopping: no new step starts; waiting for 40 running steps (Ctrl-C again to
      leave them)
      ⠋ machine/dev-11  漢字 and more 漢字 and more 漢字 and more 漢字 and mor…  2s
      ⠋ machine/dev-12  漢字 and more 漢字 and more 漢字 and more 漢字 and mor…  2s
      ⠋ machine/dev-13  漢字 and more 漢字 and more 漢字 and more 漢字 and mor…  2s
      ⠋ machine/dev-14  漢字 and more 漢字 and more 漢字 and more 漢字 and mor…  2s
      ⠋ machine/dev-15  漢字 and more 漢字 and more 漢字 and more 漢字 and mor…  2s
      … 35 running, 352 waiting, 10 done
    ");
}

#[test]
fn a_run_of_nothing_is_a_plan_being_made() {
    let mut tree = Tree::new("plan dev", HashMap::new(), Redactor::new());
    tree.take(&Event::Planning { what: "looks at\n\u{1b}[2Jmachine/dev-cp-1".to_owned() }, seconds(1));
    insta::assert_snapshot!(shown(&tree, 2, (80, 24)), @r"⠋ plan dev   2s   looks at \u{1b}[2Jmachine/dev-cp-1");
}
