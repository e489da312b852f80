//! Every way to be cut off, through the real binary on the fixture world: killed at any disk operation and around any change, without
//! power, with a full disk, with half a record, with another process at work, with requests and replies that get lost.
//!
//! Whatever happened, what is remembered can be read, the next run ends what the first began, and the world, which counts every change,
//! saw none of them twice.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::{Duration, Instant};

use emhost_tests::site::{Ran, Site, wait};
use emhost_world::{Change, Fate, Lossy, Outcome};
use serde_json::Value;

const APPLY: &[&str] = &["apply", "--yes"];
const DESTROY: &[&str] = &["destroy", "--yes"];
/// One call at a time, so that every record is a write of its own.
const APPLY_SLOWLY: &[&str] = &["apply", "--yes", "--parallel", "1"];
const DESTROY_SLOWLY: &[&str] = &["destroy", "--yes", "--parallel", "1"];
/// How many cases are under way at once: they mostly wait.
const AT_ONCE: usize = 4;

type Checked<T = ()> = Result<T, String>;

// ---- cases ------------------------------------------------------------------------------------------------

/// Does the same at every point, several at once, and fails with what went wrong anywhere.
#[track_caller]
fn each<T: Send + Copy + std::fmt::Debug, R: Send>(
    points: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Checked<R> + Sync,
) -> Vec<R> {
    let points = Mutex::new(points);
    let (done, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(point) = points.lock().unwrap().next() else { return };
                    match work(point) {
                        Ok(answer) => done.lock().unwrap().push(answer),
                        Err(problem) => failed.lock().unwrap().push(format!("at {point:?}: {problem}")),
                    }
                }
            });
        }
    });
    let (done, failed) = (done.into_inner().unwrap(), failed.into_inner().unwrap());
    let first = &failed[..failed.len().min(5)];
    assert!(failed.is_empty(), "{} of {} went wrong\n{}", failed.len(), failed.len() + done.len(), first.join("\n\n"));
    done
}

/// Goes through the points from 1 on until several runs in a row came to their end, and says how many were cut off before.
#[track_caller]
fn every(cut: impl Fn(u64) -> Checked<bool> + Sync) -> usize {
    let ended = AtomicUsize::new(0);
    let points = (1..).take_while(|_| ended.load(Ordering::SeqCst) < AT_ONCE);
    let cuts = each(points, |point| {
        let cut = cut(point);
        // Not the first that was not cut off: one that wrote several records at once has fewer operations than others.
        match cut {
            Ok(true) => ended.store(0, Ordering::SeqCst),
            _ => _ = ended.fetch_add(1, Ordering::SeqCst),
        }
        cut
    });
    cuts.into_iter().filter(|cut| *cut).count()
}

fn report(what: &str, begun: Instant, points: usize) {
    eprintln!("crash: {what}: {points} points in {:.1?}", begun.elapsed());
}

/// A cluster of which nothing exists, in a world where everything takes as little as it can while it can still be seen.
fn cluster(control_planes: usize, workers: usize) -> Site {
    hurried(Site::new(control_planes, workers))
}

fn hurried(site: Site) -> Site {
    site.world.dial(|dials| (dials.ticks, dials.boot_ticks, dials.config_ticks, dials.restart_ticks) = (1, 0, 1, 1));
    site.add("site.yaml", "settings: {fixture-provisioner: {pause_ms: 0}, fixture-distro: {pause_ms: 0}}\n");
    site
}

/// The same cluster of one control plane and one worker again, in a world of its own.
fn copy(of: &Site) -> Site {
    let site = hurried(Site::on(of.world.fork(), 1, 1));
    let above = |site: &Site| site.path().parent().unwrap().to_owned();
    copy_missing(&above(of), &above(&site));
    site
}

fn copy_missing(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_missing(&entry.path(), &target);
        } else if !target.exists() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A cluster that was applied without any trouble.
fn applied(control_planes: usize, workers: usize) -> Site {
    let site = cluster(control_planes, workers);
    let ended = ends(&site.emhost(APPLY), 0).and_then(|()| exemplary(&site));
    assert_eq!(ended, Ok(()));
    site
}

// ---- what must be so --------------------------------------------------------------------------------------

fn ends(ran: &Ran, exit: i32) -> Checked {
    no_panic(ran)?;
    if ran.exit == Some(exit) { Ok(()) } else { Err(format!("ended with {:?}, not with {exit}\n{}", ran.exit, ran.all())) }
}

fn no_panic(ran: &Ran) -> Checked {
    if ran.all().contains("panicked") { Err(ran.all()) } else { Ok(()) }
}

/// Whether it was killed; otherwise it must have come to a good end.
fn was_cut(ran: &Ran) -> Checked<bool> {
    no_panic(ran)?;
    if ran.exit.is_some() { ends(ran, 0).map(|()| false) } else { Ok(true) }
}

/// Nothing happened twice, and nothing that must not happen at all.
fn exemplary(site: &Site) -> Checked {
    let (twice, violations) = (site.world.twice(), site.world.violations());
    if twice.is_empty() && violations.is_empty() {
        return Ok(());
    }
    Err(format!("twice {twice:#?}, violations {violations:#?}, changes {:#?}", site.world.changes()))
}

/// What is remembered can be read, whatever happened; none before there is any.
fn remembered(site: &Site) -> Checked<Option<Value>> {
    let shown = site.emhost(&["state", "show", "--json"]);
    ends(&shown, 0)?;
    let lines: Vec<Value> =
        shown.out.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))).collect::<Checked<_>>()?;
    Ok(lines.into_iter().find_map(|line| line.get("state").cloned()))
}

/// The records of the only run so far, and their file.
fn journal(site: &Site) -> Option<(PathBuf, Vec<Value>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(site.path().join(".emhost/journal")).ok()?.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() < 2, "{files:?}");
    let file = files.pop()?;
    let text = std::fs::read_to_string(&file).unwrap();
    let records = text.split_inclusive('\n').filter_map(|line| serde_json::from_str::<Value>(line.strip_suffix('\n')?.get(9..)?).ok());
    Some((file, records.filter_map(|record| record.get("entry").cloned()).collect()))
}

/// How many records of this kind the only run so far has.
fn count(site: &Site, kind: &str) -> usize {
    journal(site).map_or(0, |(_, records)| records.iter().filter(|record| record["entry"] == kind).count())
}

/// The steps that the only run so far began and did not end.
fn open_steps(site: &Site) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    for record in journal(site).map_or_else(Vec::new, |(_, records)| records) {
        let unit = || record["unit"].as_str().unwrap().to_owned();
        match record["entry"].as_str() {
            Some("call") => _ = open.insert(unit()),
            Some("answer") => _ = open.remove(&unit()),
            _ => {}
        }
    }
    open
}

fn says_what_was_cut_off(ran: &Ran, open: &BTreeSet<String>) -> Checked {
    let said = |unit: &String| ran.all().contains(&format!("the last run was cut off in a step of {unit}"));
    match open.iter().find(|unit| !said(unit)) {
        None => Ok(()),
        Some(unit) => Err(format!("{unit} was cut off, and that is not said:\n{}", ran.all())),
    }
}

/// The next apply ends what was begun, and then there is nothing left to do.
fn recovers(site: &Site, wanted: &Value) -> Checked<Ran> {
    let ran = site.emhost(APPLY);
    ends(&ran, 0)?;
    exemplary(site)?;
    let found = site.world.snapshot();
    if found != *wanted {
        return Err(format!("the world is {found:#}, not {wanted:#}\n{}", ran.all()));
    }
    ends(&site.emhost(&["plan", "--exit-code"]), 0)?;
    Ok(ran)
}

/// The next destroy ends what was begun, and then nothing is left, neither there nor here.
fn vanishes(site: &Site) -> Checked {
    ends(&site.emhost(DESTROY), 0)?;
    exemplary(site)?;
    let state = remembered(site)?.ok_or("not even the cluster's id is remembered")?;
    let (left, units, nodes) = (site.world.machines().len(), &state["units"], &state["nodes"]);
    let nothing = serde_json::json!({});
    if left > 0 || *units != nothing || *nodes != nothing || state["bootstrapped"] != false {
        return Err(format!("{left} machines are left, and this is remembered: {state:#}"));
    }
    Ok(())
}

fn applied_snapshot() -> Value {
    let site = applied(1, 1);
    site.emhost(&["plan", "--exit-code"]).ended(0);
    site.world.snapshot()
}

/// How many disk operations a run makes when nothing goes wrong. Some runs make a few less, where records came together.
fn operations(site: &Site, arguments: &[&str]) -> usize {
    let trace = trace_of(site);
    site.broken(arguments, &format!("trace@{}", trace.display())).ended(0);
    std::fs::read_to_string(trace).unwrap().lines().filter(|line| !line.starts_with("point")).count()
}

fn trace_of(site: &Site) -> PathBuf {
    site.path().parent().unwrap().join("trace")
}

#[track_caller]
fn nearly_all(cuts: usize, operations: usize) {
    assert!(operations > 70 && cuts * 10 >= operations * 9, "{cuts} cuts of {operations} operations");
}

// ---- killed, and without power ------------------------------------------------------------------------------

/// An apply is cut off by this fault, and the next one goes on.
fn apply_cut(wanted: &Value, arguments: &[&str], fault: &str, point: u64) -> Checked<bool> {
    let site = cluster(1, 1);
    let cut = was_cut(&site.broken(arguments, &format!("{fault}@{point}")))?;
    remembered(&site)?;
    let open = open_steps(&site);
    // By turns, since a plan recovers as well.
    let planned = point.is_multiple_of(2).then(|| site.emhost(&["plan"]));
    planned.as_ref().map_or(Ok(()), |planned| ends(planned, 0))?;
    let ran = recovers(&site, wanted)?;
    says_what_was_cut_off(planned.as_ref().unwrap_or(&ran), &open)?;
    Ok(cut)
}

/// A destroy is cut off by this fault, and the next one goes on.
fn destroy_cut(of: &Site, arguments: &[&str], fault: &str, point: u64) -> Checked<bool> {
    let site = copy(of);
    site.world.teardown(true);
    let cut = was_cut(&site.broken(arguments, &format!("{fault}@{point}")))?;
    remembered(&site)?;
    vanishes(&site)?;
    Ok(cut)
}

#[test]
fn an_apply_may_be_killed_at_any_disk_operation() {
    let (begun, wanted) = (Instant::now(), applied_snapshot());
    let cuts = every(|point| apply_cut(&wanted, APPLY, "kill", point));
    report("apply, kill", begun, cuts);
    nearly_all(cuts, operations(&cluster(1, 1), APPLY));
}

#[test]
fn an_apply_may_lose_the_power_at_any_disk_operation() {
    let (begun, wanted) = (Instant::now(), applied_snapshot());
    let cuts = every(|point| apply_cut(&wanted, APPLY_SLOWLY, "power", point));
    report("apply, power", begun, cuts);
    nearly_all(cuts, operations(&cluster(1, 1), APPLY_SLOWLY));
}

#[test]
fn a_destroy_may_be_killed_at_any_disk_operation() {
    let (begun, site) = (Instant::now(), applied(1, 1));
    let cuts = every(|point| destroy_cut(&site, DESTROY, "kill", point));
    report("destroy, kill", begun, cuts);
    nearly_all(cuts, operations(&site, DESTROY));
}

#[test]
fn a_destroy_may_lose_the_power_at_any_disk_operation() {
    let (begun, site) = (Instant::now(), applied(1, 1));
    let cuts = every(|point| destroy_cut(&site, DESTROY_SLOWLY, "power", point));
    report("destroy, power", begun, cuts);
    nearly_all(cuts, operations(&site, DESTROY_SLOWLY));
}

#[test]
fn a_recovery_may_be_cut_off_again_and_again() {
    let (begun, wanted) = (Instant::now(), applied_snapshot());
    let pairs = each((1..200).step_by(7), |first| {
        let site = cluster(1, 1);
        let (mut cut, mut pairs) = (was_cut(&site.broken(APPLY, &format!("kill@{first}")))?, 0);
        for second in (5..).step_by(5) {
            if !cut {
                break;
            }
            let fault = if second % 2 == 0 { "kill" } else { "power" };
            cut = was_cut(&site.broken(APPLY, &format!("{fault}@{second}")))?;
            remembered(&site)?;
            pairs += usize::from(cut);
        }
        recovers(&site, &wanted)?;
        Ok(pairs)
    });
    let pairs = pairs.into_iter().sum();
    report("recovery", begun, pairs);
    assert!(pairs > 150, "{pairs}");
}

// ---- around a change ----------------------------------------------------------------------------------------

/// Kills the run at the change that is meant: before the world processed it, or before it answered. Says whether there was one.
fn killed_at(site: &Site, arguments: &[&str], processed: bool, meant: impl Fn(u64, &Change) -> bool + Send + Sync + 'static) -> bool {
    let (reached, there) = mpsc::channel();
    let (dead, died) = mpsc::channel::<()>();
    let died = Mutex::new(died);
    let hook = move |number: u64, change: &Change| {
        if !meant(number, change) || reached.send(()).is_err() {
            return Fate::Answer;
        }
        let _ = died.lock().unwrap().recv();
        Fate::LoseRequest
    };
    if processed {
        site.world.after_change(hook);
    } else {
        site.world.on_change(hook);
    }
    let mut child = site.command(arguments, "").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let cut = loop {
        if there.recv_timeout(Duration::from_millis(5)).is_ok() {
            child.kill().unwrap();
            break true;
        }
        if child.try_wait().unwrap().is_some() {
            break false;
        }
    };
    child.wait().unwrap();
    // Whoever waits goes on, now that nobody hears it.
    drop(dead);
    site.world.calm();
    cut
}

#[test]
fn a_run_may_be_killed_before_and_after_any_change() {
    let (begun, site) = (Instant::now(), applied(1, 1));
    let (wanted, changes) = (site.world.snapshot(), site.world.changes().len());
    let cuts = |changes: usize| (1..=changes as u64).flat_map(|number| [(number, false), (number, true)]);
    let done = each(cuts(changes), |(number, processed)| {
        let site = cluster(1, 1);
        if !killed_at(&site, APPLY, processed, move |at, _| at == number) {
            return Err("there is no such change".to_owned());
        }
        let open = open_steps(&site);
        says_what_was_cut_off(&recovers(&site, &wanted)?, &open)
    });
    report("apply, changes", begun, done.len());

    let begun = Instant::now();
    let last = copy(&site);
    last.world.teardown(true);
    last.emhost(DESTROY).ended(0);
    let gone = last.world.changes().len();
    // What is gone can be made again, down to the bootstrap.
    last.world.teardown(false);
    assert_eq!(recovers(&last, &wanted).map(drop), Ok(()));
    let done = each(cuts(gone), |(number, processed)| {
        let site = copy(&site);
        site.world.teardown(true);
        if !killed_at(&site, DESTROY, processed, move |at, _| at == number) {
            return Err("there is no such change".to_owned());
        }
        remembered(&site)?;
        vanishes(&site)
    });
    report("destroy, changes", begun, done.len());
    assert!(changes >= 11 && gone >= 4, "{changes} and {gone} changes");
}

// ---- a disk that is full, and half a record ---------------------------------------------------------------

/// The path that a write of this number went to, as the trace has it.
fn write_to(trace: &Path, number: u64) -> Option<String> {
    let trace = std::fs::read_to_string(trace).unwrap();
    let line = trace.lines().find(|line| line.ends_with(&format!(", write {number}")))?;
    line.split(' ').nth(2).map(str::to_owned)
}

/// The disk is full at a write; the run says so, and once there is room the next one goes on.
fn full_at(wanted: &Value, fault: &str, number: u64) -> Checked<bool> {
    let site = cluster(1, 1);
    let trace = trace_of(&site);
    let ran = site.broken(APPLY, &format!("{fault}@{number},trace@{}", trace.display()));
    no_panic(&ran)?;
    let path = write_to(&trace, number);
    // Only two things are not needed: an estimate, and how a change ended, which the step's answer says as well.
    let needless = || path.as_ref().is_some_and(|path| path.contains("timings")) || count(&site, "change") > count(&site, "outcome");
    let may_succeed = path.is_none() || (fault == "full-once" && needless());
    let told = ran.all().contains("No space left on device") && !matches!(ran.exit, None | Some(0 | 70));
    let succeeded = may_succeed && ran.exit == Some(0);
    if !told && !succeeded {
        return Err(format!("{path:?} was not written, and it ended with {:?}\n{}", ran.exit, ran.all()));
    }
    remembered(&site)?;
    recovers(&site, wanted)?;
    Ok(path.is_some())
}

#[test]
fn the_disk_may_be_full_at_any_write() {
    let wanted = applied_snapshot();
    for fault in ["full", "full-once"] {
        let begun = Instant::now();
        let writes = every(|number| full_at(&wanted, fault, number));
        report(&format!("apply, {fault}"), begun, writes);
        assert!(writes > 70, "{writes}");
    }
}

#[test]
fn the_last_record_may_be_cut_off_at_any_byte() {
    let (begun, wanted) = (Instant::now(), applied_snapshot());
    // The record of a change that happened and must not happen again.
    let site = cluster(1, 1);
    assert!(killed_at(&site, APPLY_SLOWLY, true, |_, change| change.what == "bootstrap"));
    let (file, records) = journal(&site).expect("a journal");
    assert_eq!((&records[records.len() - 1]["entry"], &records[records.len() - 1]["unit"]), (&"change".into(), &"cluster".into()));
    let file = file.strip_prefix(site.path()).unwrap();
    let text = std::fs::read(site.path().join(file)).unwrap();
    let last = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let done = each(last..text.len(), |length| {
        let site = copy(&site);
        std::fs::write(site.path().join(file), &text[..length]).unwrap();
        // By turns, since a plan recovers as well.
        let planned = length.is_multiple_of(2).then(|| site.emhost(&["plan"]));
        planned.as_ref().map_or(Ok(()), |planned| ends(planned, 0))?;
        let ran = recovers(&site, &wanted)?;
        let ran = planned.unwrap_or(ran);
        let torn = ran.all().contains("was cut off, and what was left of it was dropped");
        if torn == (length > last) { Ok(()) } else { Err(ran.all()) }
    });
    report("journal, bytes", begun, done.len());
    assert!(done.len() > 100);
}

// ---- two at once ------------------------------------------------------------------------------------------

/// Starts two at the same instant. The one that works is held at its first change until the other one has ended.
fn at_once(site: &Site, commands: [&[&str]; 2]) -> [(u32, Ran); 2] {
    let ended = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&ended);
    site.world.on_change(move |_, _| {
        let begun = Instant::now();
        while other.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_mins(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Fate::Answer
    });
    let barrier = Barrier::new(2);
    let ran = std::thread::scope(|scope| {
        let threads = commands.map(|arguments| {
            scope.spawn(|| {
                let mut command = site.command(arguments, "");
                barrier.wait();
                let child = command.spawn().unwrap();
                let (pid, ran) = (child.id(), wait(child));
                ended.fetch_add(1, Ordering::SeqCst);
                (pid, ran)
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    site.world.calm();
    ran
}

/// Which of two worked while the other was told who did.
fn winner(ran: &[(u32, Ran); 2]) -> Checked<usize> {
    let won = usize::from(ran[0].1.exit != Some(0));
    let (pid, other) = (ran[won].0, &ran[1 - won].1);
    ends(&ran[won].1, 0)?;
    ends(other, 6)?;
    if other.all().contains(&format!("process {pid}")) { Ok(won) } else { Err(format!("process {pid} is not named:\n{}", other.all())) }
}

#[test]
fn of_two_at_once_one_works_and_the_other_is_told_who_does() {
    let (begun, site) = (Instant::now(), applied(1, 1));
    let wanted = site.world.snapshot();
    let rounds = each(0..12, |_| {
        let site = cluster(1, 1);
        winner(&at_once(&site, [APPLY, APPLY]))?;
        exemplary(&site)?;
        recovers(&site, &wanted)
    });
    let more = each(0..6, |_| {
        let site = copy(&site);
        site.world.teardown(true);
        site.edit("nodes.yaml", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 4096", "dev-wk-1, ip: 10.0.10.21, cpu: 2, ram: 8192");
        let won = winner(&at_once(&site, [APPLY, DESTROY]))?;
        exemplary(&site)?;
        let memory = site.world.machine("dev-wk-1").map(|machine| machine.memory);
        if memory != [Some(8192), None][won] {
            return Err(format!("number {won} worked, and dev-wk-1 has {memory:?}"));
        }
        vanishes(&site)
    });
    let plans = each(0..6, |_| {
        let site = cluster(1, 1);
        let ran = at_once(&site, [APPLY, &["plan"]]);
        // A plan makes no change at which it could be held, so it may be done before the apply begins.
        if ran.iter().any(|(_, ran)| ran.exit != Some(0)) {
            winner(&ran)?;
        }
        exemplary(&site)?;
        recovers(&site, &wanted)
    });
    report("two at once", begun, rounds.len() + more.len() + plans.len());
}

// ---- losses -----------------------------------------------------------------------------------------------

#[test]
fn requests_and_replies_may_get_lost() {
    let (begun, wanted) = (Instant::now(), applied_snapshot());
    let seeds = each(1..=10, |seed| {
        let site = cluster(1, 1);
        let lossy = Lossy { seed, requests: 0.1, replies: 0.1 };
        site.world.lossy(Some(lossy));
        let applies = until_done(&site, APPLY)?;
        exemplary(&site)?;
        site.world.calm();
        recovers(&site, &wanted)?;
        site.world.teardown(true);
        site.world.lossy(Some(lossy));
        let destroys = until_done(&site, DESTROY)?;
        site.world.calm();
        vanishes(&site)?;
        let lost = site.world.changes().iter().filter(|change| change.outcome == Outcome::Lost).count();
        Ok((applies + destroys, lost))
    });
    let (runs, lost) = seeds.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    report(&format!("losses, {lost} changes lost, {runs} runs"), begun, seeds.len());
    assert!(lost > 0);
}

/// How many runs it takes to come to a good end.
fn until_done(site: &Site, arguments: &[&str]) -> Checked<usize> {
    const MOST: usize = 4;
    for run in 1..=MOST {
        let ran = site.emhost(arguments);
        no_panic(&ran)?;
        match ran.exit {
            Some(0) => return Ok(run),
            Some(1) if run < MOST => {}
            _ => return ends(&ran, 0).map(|()| run),
        }
    }
    Ok(MOST)
}

// ---- rules that are broken on purpose ---------------------------------------------------------------------

/// A scenario holds, and shows this when the rule is broken.
#[track_caller]
fn caught(rule: &str, shows: &str, scenario: impl Fn(&str) -> Checked) {
    assert_eq!(scenario(""), Ok(()));
    let problem = scenario(&format!("broken@{rule}")).expect_err("a broken rule must show");
    let line = problem.lines().find(|line| line.contains(shows)).unwrap_or_else(|| panic!("`{shows}` is not in:\n{problem}"));
    eprintln!("crash: {rule} is caught: {}", line.trim());
}

/// The power goes during an apply, and then the worker is not wanted any more: its machine must not be left behind.
#[test]
fn records_that_are_not_durable_lose_a_machine() {
    caught("no-fsync", "of dev-wk-1 is left", |broken| {
        let found: Vec<Checked> = each((20..180).step_by(8), |point| {
            let site = cluster(1, 1);
            let faults = format!("power@{point},{broken}");
            was_cut(&site.broken(APPLY_SLOWLY, &faults))?;
            remembered(&site)?;
            let nodes = site.read("nodes.yaml");
            let (kept, _) = nodes.split_once("workers:").unwrap();
            std::fs::write(site.path().join("nodes.yaml"), format!("{kept}workers: []\n")).unwrap();
            Ok(ends(&site.emhost(APPLY), 0).and_then(|()| exemplary(&site)).and_then(|()| match site.world.machine("dev-wk-1") {
                None => Ok(()),
                Some(machine) => Err(format!("after {faults}, machine {} of dev-wk-1 is left", machine.id)),
            }))
        });
        found.into_iter().collect()
    });
}

/// A machine is deleted, and the answer gets lost.
#[test]
fn a_change_without_an_answer_is_not_made_again_blindly() {
    let applied = applied(1, 1);
    caught("blind-retry", "it was deleted before", |broken| {
        let site = copy(&applied);
        site.world.teardown(true);
        let lost = AtomicUsize::new(0);
        site.world.after_change(move |_, change| match change.what.as_str() {
            "delete" if lost.fetch_add(1, Ordering::SeqCst) == 0 => Fate::LoseReply,
            _ => Fate::Answer,
        });
        let ran = site.broken(DESTROY, broken);
        exemplary(&site)?;
        ends(&ran, 0)
    });
}

/// Several machines are made on one storage, which can only make one at a time.
#[test]
fn machines_on_one_storage_are_made_one_after_the_other() {
    caught("no-holds", "two at once on storage", |broken| {
        let site = cluster(1, 3);
        site.world.dial(|dials| dials.create_latency = Duration::from_millis(50));
        let ran = site.broken(APPLY, broken);
        exemplary(&site)?;
        ends(&ran, 0)
    });
}

/// Every control plane gets another configuration, and restarts with it.
#[test]
fn control_planes_restart_one_after_the_other() {
    caught("no-quorum", "quorum lost", |broken| {
        let site = applied(3, 0);
        site.world.dial(|dials| dials.restart_ticks = 20);
        for number in 1..=3 {
            let node = format!("name: dev-cp-{number}, ");
            site.edit("nodes.yaml", &node, &format!("{node}labels: {{rack: r1}}, "));
        }
        let ran = site.broken(APPLY, broken);
        exemplary(&site)?;
        ends(&ran, 0)?;
        ends(&site.emhost(&["plan", "--exit-code"]), 0)
    });
}
