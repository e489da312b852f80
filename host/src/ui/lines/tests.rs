use emhost::diagnostic::Diagnostic;

use super::*;

fn text(log: &mut Log, at: u64, event: &Event) -> Vec<String> {
    let line = |message: Message| match message {
        Message::Line(line) => line.painted(false),
        Message::Report { by, diagnostic } => format!("{}{}", by.painted(false), diagnostic.summary),
    };
    log.take(event, Duration::from_millis(at)).into_iter().map(line).collect()
}

fn said(verbose: bool, events: &[(u64, Event)]) -> String {
    let mut log = Log::new(verbose);
    events.iter().flat_map(|(at, event)| text(&mut log, *at, event)).collect::<Vec<_>>().join("\n")
}

fn unit(name: &str, progress: Progress) -> Event {
    Event::Unit { unit: name.parse().expect("a unit"), progress }
}

fn progress(activity: &str) -> Event {
    let source = plugin::Source { plugin: "proxmox".to_owned(), call: "apply", unit: None };
    let said = plugin::Event::Progress { source, activity: activity.to_owned(), percent: Some(40) };
    Event::Plugin { unit: Some(UnitId::Machine("dev-cp-1".to_owned())), said }
}

fn run() -> Vec<(u64, Event)> {
    let again = |reason: &str| Progress::Again { reason: reason.to_owned(), pause: Duration::from_secs(2) };
    let machine = |name: &str| UnitId::Machine(name.to_owned());
    let held = || Progress::Waits { on: Wait::Holds(vec!["storage:local-lvm".to_owned()]) };
    let error = Diagnostic::error("http/status", "pve1 answered 500:\u{1b}[2J no such storage");
    let estimate = Some(Duration::from_secs(70));
    vec![
        (100, Event::Planning { what: "reads the inventory".to_owned() }),
        (900, Event::Run { units: vec![(machine("dev-cp-1"), vec![]), (UnitId::Cluster, vec![machine("dev-cp-1")])] }),
        (950, unit("cluster", Progress::Waits { on: Wait::Units(vec![machine("dev-cp-1")]) })),
        (1200, unit("machine/dev-cp-1", Progress::Began { activity: "create virtual machine 300".to_owned(), estimate })),
        (1300, unit("machine/dev-cp-1", again("UPID:pve1:0003 runs"))),
        (3300, unit("machine/dev-cp-1", again("UPID:pve1:0003 runs"))),
        (3400, progress("imports the disk")),
        (3500, progress("imports the disk, really")),
        (9900, progress("imports the next disk")),
        (10_000, unit("machine/dev-wk-1", held())),
        (10_100, unit("machine/dev-wk-1", held())),
        (
            12_000,
            unit(
                "machine/dev-cp-1",
                Progress::Retries { reason: "503: storage is locked".to_owned(), pause: Duration::from_secs(4), attempt: 2 },
            ),
        ),
        (13_000, Event::Stopping { running: vec![] }),
        (72_000, unit("machine/dev-cp-1", Progress::Done { elapsed: Duration::from_millis(70_800), changed: true })),
        (72_100, unit("machine/dev-cp-2", Progress::Done { elapsed: Duration::ZERO, changed: false })),
        (72_200, unit("machine/dev-wk-1", Progress::Failed { diagnostics: vec![error] })),
        (72_300, unit("os/dev-wk-1", Progress::Skipped { because: machine("dev-wk-1") })),
        (7_200_000, unit("cluster", Progress::Stopped)),
    ]
}

#[test]
fn one_line_for_each_thing_that_is_worth_one() {
    insta::assert_snapshot!(said(false, &run()), @r"
    [   0.1s] planning: reads the inventory
    [   0.9s] 2 units to look after
    [   1.2s] machine/dev-cp-1  began: create virtual machine 300 (about 1m10s earlier)
    [   1.3s] machine/dev-cp-1  UPID:pve1:0003 runs
    [   3.4s] machine/dev-cp-1  imports the disk 40 %
    [   9.9s] machine/dev-cp-1  imports the next disk 40 %
    [    10s] machine/dev-wk-1  waits for storage:local-lvm
    [    12s] machine/dev-cp-1  503: storage is locked (try 2 in 4.0s)
    [    13s] stopping: no new step starts; waiting for 1 running step (Ctrl-C again to leave it)
    [  1m12s] machine/dev-cp-1  done in 1m10s
    [  1m12s] machine/dev-cp-2  as it is
    [  1m12s] machine/dev-wk-1  failed: pve1 answered 500:\u{1b}[2J no such storage
    [  1m12s] os/dev-wk-1       not begun: machine/dev-wk-1 failed
    [  2h00m] cluster           stopped; the next run goes on with it
    ");
}

#[test]
fn who_wants_more_sees_every_wait() {
    let all = said(true, &run());
    assert!(all.contains("cluster           waits for machine/dev-cp-1"), "{all}");
}

#[test]
fn a_plugin_that_never_stops_talking_gets_a_line_every_five_seconds() {
    let mut log = Log::new(false);
    let lines: usize = (0..1000).map(|number| text(&mut log, number * 10, &progress(&format!("block {number}"))).len()).sum();
    assert_eq!(lines, 2);
}
