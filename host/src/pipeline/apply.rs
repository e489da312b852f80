//! Carries a plan out: as wide as names, turns and the quorum rule allow, every step written down first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use super::events::{Event, Progress, Report, Took, Wait};
use super::holds::Holds;
use super::job::Task;
use super::plan::{Action, Change, Purpose};
use super::planning::Prepared;
use super::run::Run;
use super::schedule::Schedule;
use super::unit::{Phase, UnitId};
use super::work::{Ended, Shared};
use crate::diagnostic::Diagnostic;
use crate::state::Entry;

/// How far a person wants the run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Go on.
    No,
    /// Start no new step; those that run end first.
    Soon,
    /// Leave at once what runs.
    Now,
}

/// Carries out what was approved.
///
/// # Errors
/// Only what keeps the run from beginning; whatever happens to units is in the report.
pub async fn apply(run: &Arc<Run>, prepared: Prepared, mut stop: watch::Receiver<Stop>) -> Result<Report, Vec<Diagnostic>> {
    let begun = Instant::now();
    let _ = run.began.set(());
    let journal = |error: std::io::Error| vec![unwritten(&error)];
    if let Some(assignments) = prepared.assignments {
        run.store.append(Entry::Assigned { assignments }).map_err(journal)?;
    }
    let makes = |action: &Action| matches!(action.change, Change::Create | Change::Replace);
    let machines = prepared.jobs.iter().filter(|job| matches!(job.task, Task::Machine { .. }) && job.planned.actions.iter().any(makes));
    let fresh = machines.filter_map(|job| job.planned.unit.node().map(str::to_owned)).collect();
    let mut hopes = Hopes::of(run);
    let (alone, told) = watch::channel(false);
    let shared = Arc::new(Shared {
        run: Arc::clone(run),
        purpose: prepared.plan.purpose,
        holds: Holds::default(),
        member: Mutex::new(()),
        stop: stop.clone(),
        alone: told,
        fresh,
    });
    run.watch.event(Event::Run { units: prepared.jobs.iter().map(|job| (job.planned.unit.clone(), job.planned.after.clone())).collect() });

    // What only waits is nothing that was done.
    let planned: BTreeSet<UnitId> =
        prepared.jobs.iter().filter(|job| !job.planned.actions.is_empty()).map(|job| job.planned.unit.clone()).collect();
    let mut report = Report { unchanged: prepared.plan.unchanged, ..Report::default() };
    for job in prepared.jobs.iter().filter(|job| !job.planned.after.is_empty()) {
        run.say(&job.planned.unit, Progress::Waits { on: Wait::Units(job.planned.after.clone()) });
    }
    let mut schedule = Schedule::new(prepared.jobs.into_iter().map(|job| (job.planned.unit.clone(), job.planned.after.clone(), job)));
    let stopped = |report: &mut Report, unit: UnitId| {
        run.say(&unit, Progress::Stopped);
        report.stopped.push(unit);
    };
    let mut tasks: JoinSet<(UnitId, Ended)> = JoinSet::new();
    let mut running: BTreeMap<UnitId, Instant> = BTreeMap::new();
    let mut phases: BTreeMap<Phase, (Instant, Instant)> = BTreeMap::new();
    loop {
        for job in schedule.ready() {
            let unit = job.planned.unit.clone();
            if *stop.borrow() > Stop::No {
                stopped(&mut report, unit);
                continue;
            }
            running.insert(unit.clone(), Instant::now());
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { (unit, shared.work(job).await) });
        }
        let ended = tokio::select! {
            ended = tasks.join_next() => ended,
            () = leaving(&mut stop) => None,
        };
        let (unit, ended) = match ended {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => {
                // Which of them it was cannot be told, so none that waits may go on.
                report.failed.push((UnitId::Cluster, vec![Diagnostic::error("host/bug", format!("a step panicked: {panic}"))]));
                break;
            }
            // All are done; or it is the second Ctrl-C: what is under way is in the journal, and the next run looks at it.
            None => break,
        };
        let since = running.remove(&unit);
        match ended {
            Ended::Done { changed } => {
                if let Some(since) = since.filter(|_| changed) {
                    let span = phases.entry(unit.phase()).or_insert((since, since));
                    *span = (span.0.min(since), Instant::now());
                }
                if planned.contains(&unit) {
                    *(if changed { &mut report.done } else { &mut report.unchanged }) += 1;
                }
                schedule.done(&unit);
            }
            Ended::Failed(diagnostics) => {
                run.say(&unit, Progress::Failed { diagnostics: diagnostics.clone() });
                hopes.lost(&unit, &alone);
                for next in schedule.failed(&unit) {
                    hopes.lost(&next, &alone);
                    run.say(&next, Progress::Skipped { because: unit.clone() });
                    report.skipped.push((next, unit.clone()));
                }
                report.failed.push((unit, diagnostics));
            }
            Ended::Stopped => stopped(&mut report, unit),
        }
    }
    tasks.abort_all();
    for unit in running.into_keys().chain(schedule.left()) {
        stopped(&mut report, unit);
    }
    if shared.purpose == Purpose::Destroy && report.failed.is_empty() && report.stopped.is_empty() && report.skipped.is_empty() {
        forget_all(run).map_err(|error| vec![unwritten(&error)])?;
    }
    report.phases = phases.into_iter().map(|(phase, (from, to))| Took { phase, elapsed: to.duration_since(from) }).collect();
    for took in &report.phases {
        run.timings.lock().unwrap_or_else(PoisonError::into_inner).learn(&format!("phase {}", took.phase), took.elapsed);
    }
    run.store.keep_timings(&run.timings.lock().unwrap_or_else(PoisonError::into_inner));
    report.elapsed = begun.elapsed();
    Ok(report)
}

/// The control planes that may still come up, while there is none.
struct Hopes(BTreeSet<UnitId>);

impl Hopes {
    fn of(run: &Run) -> Self {
        let cluster = run.now.get();
        let voters = cluster.nodes.iter().filter(|node| run.votes(&node.name)).map(|node| UnitId::Os(node.name.clone()));
        // Where the cluster is there already, somebody answers.
        Self(if run.bootstrapped() { BTreeSet::new() } else { voters.collect() })
    }

    /// Tells who waits when the last of them is lost.
    fn lost(&mut self, unit: &UnitId, alone: &watch::Sender<bool>) {
        if self.0.remove(unit) && self.0.is_empty() {
            alone.send_replace(true);
        }
    }
}

async fn leaving(stop: &mut watch::Receiver<Stop>) {
    if stop.wait_for(|stop| *stop == Stop::Now).await.is_err() {
        // Nobody can ask any more.
        std::future::pending::<()>().await;
    }
}

pub(super) fn unwritten(error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("journal/write", format!("the journal cannot be written, so nothing is done that could not be found again: {error}"))
        .help(Some("make room or mend the folder .emhost, then run the command again: it goes on where it stopped"))
}

/// Nothing of the cluster is left, so nothing of it is remembered but its name and id.
fn forget_all(run: &Run) -> std::io::Result<()> {
    for unit in run.store.units() {
        run.store.append(Entry::Gone { unit })?;
    }
    for node in run.store.nodes() {
        run.store.append(Entry::NodeGone { node })?;
    }
    run.store.append(Entry::Gone { unit: UnitId::Cluster.to_string() })
}
