//! What is remembered, with real processes: killed, in each other's way, and as a person sees it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::bindings::emhost::plugin::types;
use emhost::inventory::Node;
use emhost::state::{Answer, Entry, Holder, Options, State, Store, faults};
use emhost_tests::site::binary;

const KILLED: Option<i32> = Some(9);

fn answer(unit: &str, number: u32) -> Entry {
    let state = Some(types::State { schema: 1, data: number.to_string() });
    Entry::Answer { unit: unit.to_owned(), step: 1, answer: Answer::Done { state } }
}

fn who() -> Holder {
    Holder::here("alice", "emhost apply")
}

/// A process of its own that does with a store what it is told, a line each.
#[test]
#[ignore = "started by the tests below"]
fn process() {
    let Some(folder) = std::env::var_os("EMHOST_TEST_STORE").map(PathBuf::from) else { return };
    faults::configure(&std::env::var("EMHOST_TEST_FAULTS").unwrap_or_default()).expect("faults");
    let say = |text: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "> {text}").and_then(|()| out.flush()).expect("somebody reads");
    };
    let store = match Store::open(&folder, "dev", who(), Options { backups: 1, runs: 1 }) {
        Ok(opened) => {
            let notes: Vec<&str> = opened.notes.iter().map(|note| note.code.as_str()).collect();
            say(&format!("opened {} {}", opened.store.id(), notes.join(" ")));
            opened.store
        }
        Err(error) => return say(&format!("failed {} {error}", error.diagnostic().code)),
    };
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| -> u32 { words[at].parse().expect("a number") };
        match words[0] {
            "append" => store.append(answer("shared", number(1))).expect("appended"),
            "point" => faults::point(words[1]).expect("passed"),
            "checkpoint" => store.checkpoint().expect("written"),
            "close" => store.close().expect("closed"),
            "storm" => std::thread::scope(|scope| {
                for thread in 0..number(1) {
                    let (store, say) = (&store, &say);
                    scope.spawn(move || {
                        for count in 0.. {
                            store.append(answer(&format!("unit-{thread}"), count)).expect("appended");
                            say(&format!("{thread} {count}"));
                        }
                    });
                }
            }),
            other => panic!("{other}"),
        }
        say(&line);
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(folder: &Path, faults: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this test has a path"))
            .args(["state::process", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("EMHOST_TEST_STORE", folder)
            .env("EMHOST_TEST_FAULTS", faults)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let (input, output) = (child.stdin.take().expect("piped"), BufReader::new(child.stdout.take().expect("piped")));
        Self { child, input, output }
    }

    /// What it says next; none when it is dead.
    fn says(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("text") == 0 {
                return None;
            }
            // The test harness speaks too, before us on the same line.
            if let Some((_, said)) = line.trim_end_matches('\n').split_once("> ") {
                return Some(said.to_owned());
            }
        }
    }

    /// Tells it to do something, and whether it did.
    fn tell(&mut self, line: &str) -> bool {
        // A dead process does not listen, which shows below.
        let _ = writeln!(self.input, "{line}");
        self.says().as_deref() == Some(line)
    }

    fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("dead");
    }

    /// The signal that ended it, if one did.
    fn ended(mut self) -> Option<i32> {
        drop(self.input);
        self.child.wait().expect("an end").signal()
    }
}

fn shared(state: &State) -> Option<u32> {
    state.units.get("shared").map(|unit| unit.state.as_ref().expect("a state").data.parse().expect("a number"))
}

/// Does a run's work and says how far it got.
fn work(folder: &Path, faults: &str) -> (Process, Option<String>, Option<u32>) {
    let mut process = Process::start(folder, faults);
    let (mut id, mut kept) = (None, None);
    if let Some(opened) = process.says() {
        id = opened.split(' ').nth(1).map(str::to_owned);
        let tells = ["append 1", "append 2", "checkpoint", "append 3", "checkpoint", "append 4", "close"];
        for tell in tells {
            if !process.tell(tell) {
                break;
            }
            kept = tell.strip_prefix("append ").map(|number| number.parse().expect("a number")).or(kept);
        }
    }
    (process, id, kept)
}

/// Kills a process by these faults, and says what was lost.
fn cut(faults: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (process, id, kept) = work(folder.path(), faults);
    assert_eq!(process.ended(), KILLED, "{faults}");
    let before = Store::read(folder.path()).expect("readable");
    let opened = match Store::open(folder.path(), "dev", who(), Options::default()) {
        Ok(opened) => opened,
        Err(error) => return Some(format!("{faults}: {error}")),
    };
    let state = opened.store.state();
    let found = shared(&state);
    // One record may have been on its way.
    let whole = found == kept || found == Some(kept.unwrap_or_default() + 1);
    if !whole || id.is_some_and(|id| id != state.id) {
        return Some(format!("{faults}: was told of {kept:?}, found {found:?}"));
    }
    if before.is_some_and(|before| shared(&before) != found) {
        return Some(format!("{faults}: one that only looked saw something else"));
    }
    None
}

#[test]
fn a_killed_process_loses_nothing_it_was_told_is_durable() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let (process, _, kept) = work(folder.path(), &format!("trace@{}", trace.display()));
    assert_eq!((process.ended(), kept), (None, Some(4)));
    let trace = std::fs::read_to_string(trace).expect("a trace");
    let operations = trace.lines().count();
    assert!(operations > 30 && trace.contains(" rename .emhost/.state.json.new to .emhost/state.json\n"), "{trace}");
    assert!(trace.lines().enumerate().all(|(at, line)| line.starts_with(&format!("{} ", at + 1))), "numbered: {trace}");
    let lost: Vec<String> = (1..=operations).flat_map(|at| [cut(&format!("kill@{at}")), cut(&format!("power@{at}"))]).flatten().collect();
    assert!(lost.is_empty(), "{lost:#?}");
    // The same must show when a rule is broken, or it shows nothing.
    let lost = (1..operations - 8).any(|at| cut(&format!("power@{at},broken@no-fsync")).is_some());
    assert!(lost, "nothing was lost without a sync");
}

#[test]
fn a_named_point_is_where_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut process = Process::start(folder.path(), "kill@change.sent:3");
    assert!(process.says().is_some_and(|said| said.starts_with("opened ")));
    assert!(process.tell("point change.sent") && process.tell("point other") && process.tell("point change.sent"));
    assert!(!process.tell("point change.sent"));
    assert_eq!(process.ended(), KILLED);
}

#[test]
fn what_many_threads_were_told_is_there_after_a_power_cut() {
    for at in [25, 40, 60, 90] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = Process::start(folder.path(), &format!("power-half@{at}"));
        assert!(process.says().is_some_and(|said| said.starts_with("opened ")));
        writeln!(process.input, "storm 8").expect("told");
        let mut told = [None; 8];
        while let Some(said) = process.says() {
            let (thread, count) = said.split_once(' ').expect("two numbers");
            told[thread.parse::<usize>().expect("a thread")] = Some(count.parse::<u32>().expect("a count"));
        }
        assert_eq!(process.ended(), KILLED);
        let state = Store::read(folder.path()).expect("readable").expect("a state");
        for (thread, told) in told.iter().enumerate() {
            let found: Option<u32> = state
                .units
                .get(&format!("unit-{thread}"))
                .map(|unit| unit.state.as_ref().expect("a state").data.parse().expect("a number"));
            assert!(found >= *told, "thread {thread} was told of {told:?}, found {found:?}");
        }
        assert!(told.iter().any(Option::is_some), "power-half@{at} came before anything happened");
    }
}

#[test]
fn of_many_processes_at_once_one_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..5 {
        let mut processes: Vec<Process> = (0..6).map(|_| Process::start(folder.path(), "")).collect();
        let said: Vec<String> = processes.iter_mut().map(|process| process.says().expect("an answer")).collect();
        let (won, lost): (Vec<usize>, Vec<usize>) = (0..6).partition(|at| said[*at].starts_with("opened "));
        assert_eq!(won.len(), 1, "{said:?}");
        let pid = processes[won[0]].child.id();
        for at in lost {
            assert!(said[at].starts_with("failed state/locked `emhost apply` of alice on "), "{}", said[at]);
            assert!(said[at].contains(&format!("(process {pid}, since ")), "{}", said[at]);
        }
        assert_eq!(said[won[0]].ends_with("state/taken-over"), round > 0, "{}", said[won[0]]);
        for process in processes {
            process.kill();
        }
    }
}

struct Ran {
    exit: i32,
    out: String,
    err: String,
}

/// The binary in this folder; what differs from run to run is left out.
fn emhost(folder: &Path, arguments: &[&str], faults: &str) -> Ran {
    let output = Command::new(binary())
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("EMHOST_FAULTS", faults)
        .env("USER", "bob")
        .output()
        .expect("the binary runs; `cargo xtask test` builds it");
    let id = Store::read(folder).ok().flatten().map_or("no id".to_owned(), |state| state.id);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace(&id, "ID").replace(&who().host, "HOST");
    Ran { exit: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// A folder in which something is remembered.
fn remembered() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    // Whatever is wrong with the inventory is no reason not to look.
    std::fs::write(folder.path().join("cluster.yaml"), "cluster_name: [").expect("a file");
    let store = Store::open(folder.path(), "dev", who(), Options::default()).expect("opened").store;
    let node = |name: &str, machine: Option<&str>| {
        let mut node = Node::new(name, NodeRole::Worker);
        node.machine_id = machine.map(str::to_owned);
        Entry::Node { node: Box::new(node), host: None }
    };
    let entries = [
        node("dev-cp-1", Some("pve1/300")),
        node("dev-wk-1", None),
        Entry::Joined { node: "dev-cp-1".to_owned(), identity: "x".to_owned() },
        Entry::Call { unit: "machine:dev-cp-1".to_owned(), plugin: "proxmox".to_owned(), step: 1 },
        answer("machine:dev-cp-1", 7),
        Entry::Call { unit: "os:dev-cp-1".to_owned(), plugin: "talos".to_owned(), step: 1 },
        Entry::Bootstrapped,
    ];
    for entry in entries {
        store.append(entry).expect("appended");
    }
    folder
}

#[test]
fn a_person_can_look_at_it() {
    let folder = remembered();
    let ran = emhost(folder.path(), &["state", "list"], "");
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!(ran.out, @r"
    cluster dev (ID), bootstrapped
    units
      machine:dev-cp-1  proxmox  done
      os:dev-cp-1       talos    not done
    nodes
      dev-cp-1          machine pve1/300, joined
      dev-wk-1          no machine yet
    ");
    insta::assert_snapshot!(emhost(folder.path(), &["state", "show", "machine:dev-cp-1"], "").out, @r#"
    {
      "done": true,
      "plugin": "proxmox",
      "state": {
        "data": "7",
        "schema": 1
      }
    }
    "#);
    let all: serde_json::Value = serde_json::from_str(&emhost(folder.path(), &["state", "show"], "").out).expect("JSON");
    assert_eq!((all["cluster"].as_str(), all["nodes"]["dev-cp-1"]["joined"].as_str()), (Some("dev"), Some("x")));
    assert!(emhost(folder.path(), &["state", "show", "dev-wk-1"], "").out.contains("\"name\": \"dev-wk-1\""));
    let ran = emhost(folder.path(), &["state", "show", "dev-wk-9"], "");
    assert_eq!(ran.exit, 3);
    insta::assert_snapshot!(ran.err, @r"
    error: nothing is remembered of a unit or node `dev-wk-9`
      help: `emhost state list` names them all
    ");
    let events = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let ran = emhost(folder.path(), arguments, "");
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let listed: Vec<String> =
        events(&["--json", "state", "list"]).iter().map(|event| event["event"].as_str().expect("a name").to_owned()).collect();
    assert_eq!(listed, ["cluster", "unit", "unit", "node", "node", "summary"]);
    assert_eq!(events(&["state", "show", "--json", "os:dev-cp-1"])[0]["state"]["plugin"], "talos");
    assert!(events(&["state", "backup", "--json"])[0]["file"].as_str().is_some_and(|file| folder.path().join(file).exists()));
    assert_eq!(events(&["state", "unlock", "--json"])[0]["event"], "unlocked");
}

#[test]
fn nothing_is_remembered_of_a_new_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, exit) in
        [(&["list"][..], 0), (&["show"], 0), (&["show", "x"], 3), (&["backup"], 3), (&["unlock"], 0), (&["list", "--json"], 0)]
    {
        let ran = emhost(folder.path(), &[&["state"], arguments].concat(), "");
        assert_eq!(ran.exit, exit, "{arguments:?}: {}{}", ran.out, ran.err);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "looking leaves nothing behind");
    assert_eq!(emhost(folder.path(), &["state", "list"], "kill@x:y").exit, 3);
}

#[test]
fn a_backup_is_there_whole_or_not_at_all() {
    let folder = remembered();
    let backups = || {
        let names = std::fs::read_dir(folder.path().join(".emhost")).expect("a folder").map(|entry| entry.expect("an entry").path());
        names.filter(|path| path.to_string_lossy().contains("/state.json.backup.")).collect::<Vec<_>>()
    };
    for at in 1..=5 {
        assert_eq!(emhost(folder.path(), &["state", "backup"], &format!("kill@{at}")).exit, -1, "killed at {at}");
    }
    for backup in backups() {
        serde_json::from_slice::<State>(&std::fs::read(backup).expect("readable")).expect("whole");
    }
    let before = backups().len();
    let ran = emhost(folder.path(), &["state", "backup"], "");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.out.starts_with("✓ the state is also in .emhost/state.json.backup.2"), "{}", ran.out);
    assert_eq!(backups().len(), before + 1);
    let ran = emhost(folder.path(), &["state", "backup"], "full@1");
    assert_eq!(ran.exit, 3);
    insta::assert_snapshot!(ran.err, @r"
    error: cannot write a backup to .emhost: No space left on device (os error 28)
      help: make room on the disk, then run the same command again: it goes on where it stopped
    ");
    assert_eq!(backups().len(), before + 1);
}

#[test]
fn a_cluster_is_freed_only_from_who_does_not_hold_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = |text: &str, process: &Process| {
        let text = text.replace(&format!("process {}", process.child.id()), "process PID");
        match text.split_once("since ").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1))) {
            Some((before, after)) => format!("{before}since TIME){after}"),
            None => text,
        }
    };
    let mut process = Process::start(folder.path(), "");
    assert!(process.says().is_some_and(|said| said.starts_with("opened ")));
    let ran = emhost(folder.path(), &["state", "unlock", "--yes"], "");
    assert_eq!(ran.exit, 6);
    insta::assert_snapshot!(plain(&ran.err, &process), @r"
    error: `emhost apply` of alice on HOST (process PID, since TIME) is at work on this cluster
      help: wait until it ends, or stop it with Ctrl-C where it runs
    ");
    process.child.kill().expect("killed");
    process.child.wait().expect("dead");
    let ran = emhost(folder.path(), &["state", "unlock"], "");
    assert_eq!(ran.exit, 4);
    insta::assert_snapshot!(plain(&ran.out, &process) + &plain(&ran.err, &process), @r"
    held by `emhost apply` of alice on HOST (process PID, since TIME)
    that process is dead
    error: `emhost apply` of alice on HOST (process PID, since TIME) did not release the cluster, and nobody is there to decide
      help: free it with `emhost state unlock --yes`
    ");
    assert_eq!(emhost(folder.path(), &["state", "unlock", "--yes"], "").exit, 0);
    assert_eq!(emhost(folder.path(), &["state", "unlock"], "").out, "nobody holds this cluster\n");

    let elsewhere = Holder { host: "elsewhere".to_owned(), time: "2026-03-01T10:00:00Z".to_owned(), pid: 4711, ..who() };
    let lock = folder.path().join(".emhost/lock");
    std::fs::write(&lock, serde_json::to_vec(&elsewhere).expect("JSON")).expect("written");
    let error = Store::open(folder.path(), "dev", who(), Options::default()).expect_err("refused");
    assert!(error.diagnostic().help.is_some_and(|help| help.contains("`emhost state unlock`")));
    let ran = emhost(folder.path(), &["state", "unlock", "--yes"], "");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    insta::assert_snapshot!(ran.out, @r"
    held by `emhost apply` of alice on elsewhere (process 4711, since 2026-03-01T10:00:00Z)
    that host cannot be asked from here: see there that it does not run any more
    ✓ the cluster is free
    ");
    assert!(Store::open(folder.path(), "dev", who(), Options::default()).is_ok());
}
