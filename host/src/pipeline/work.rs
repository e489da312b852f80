//! One unit carried out: its turn, the plan once more, its steps, and a last look.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, SemaphorePermit, watch};

use super::apply::{Stop, unwritten};
use super::events::{Progress, Wait};
use super::holds::{Held, Holds};
use super::job::{Job, Task};
use super::plan::{Action, Change, Disruption, Intent, Purpose, differences};
use super::planning::costs;
use super::quorum::{Cost, Verdict};
use super::run::{Run, Turn, key};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::{Again, Step};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plugins::{CallError, Cause};
use crate::state::{Answer, Entry, faults};

/// How one unit ended.
pub(super) enum Ended {
    Done { changed: bool },
    Failed(Vec<Diagnostic>),
    Stopped,
}

/// What all units of a run share.
pub(super) struct Shared {
    pub run: Arc<Run>,
    pub purpose: Purpose,
    pub holds: Holds,
    /// Whoever costs the control plane a member has this, one at a time.
    pub member: Mutex<()>,
    pub stop: watch::Receiver<Stop>,
    /// Whether every control plane that could come up in this run has failed, while there is none yet.
    pub alone: watch::Receiver<bool>,
    /// Nodes whose machine is made in this run: nothing on it can be lost yet.
    pub fresh: BTreeSet<String>,
}

/// The clock of one unit: it stands while the unit waits for others.
struct Clock {
    left: Duration,
    since: Instant,
}

impl Clock {
    fn expired(&self) -> bool {
        self.since.elapsed() >= self.left
    }

    fn stand(&mut self) {
        self.left = self.left.saturating_sub(self.since.elapsed());
    }

    fn go(&mut self) {
        self.since = Instant::now();
    }
}

impl Shared {
    fn stopped(&self) -> bool {
        *self.stop.borrow() > Stop::No
    }

    /// Pauses, or notices that the run is being stopped.
    async fn rest(&self, pause: Duration) {
        let mut stop = self.stop.clone();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.wait_for(|stop| *stop > Stop::No) => {}
        }
    }

    /// The same between two steps of a unit. What needs a control plane does not wait for one that cannot come.
    async fn rest_of(&self, job: &Job, pause: Duration, waits_for: &str) -> Result<(), Ended> {
        let worker = matches!((&job.task, job.planned.intent), (Task::Os { node, .. }, Intent::Present) if !self.run.votes(node));
        if !worker {
            self.rest(pause).await;
            return Ok(());
        }
        let mut alone = self.alone.clone();
        tokio::select! {
            () = self.rest(pause) => Ok(()),
            Ok(_) = alone.wait_for(|alone| *alone) => {
                let summary = format!("{} cannot be finished without a control plane, and none came up; it was waiting for: {waits_for}", job.planned.unit);
                let help = "mend what failed on the control planes, then apply again: it goes on where it is";
                Err(Ended::Failed(vec![Diagnostic::error("unit/no-control-plane", summary).help(Some(help))]))
            }
        }
    }

    pub async fn work(&self, job: Job) -> Ended {
        let unit = job.planned.unit.clone();
        match self.carry_out(&job).await {
            Ok(elapsed) => {
                let changed = elapsed.is_some();
                let elapsed = elapsed.unwrap_or_default();
                if changed {
                    self.run.timings.lock().unwrap_or_else(PoisonError::into_inner).learn(&timing(&job), elapsed);
                }
                self.run.say(&unit, Progress::Done { elapsed, changed });
                Ended::Done { changed }
            }
            Err(ended) => ended,
        }
    }

    /// How long it took from the first step on; none if there was nothing to do.
    async fn carry_out(&self, job: &Job) -> Result<Option<Duration>, Ended> {
        let run = &*self.run;
        let unit = &job.planned.unit;
        if let (Task::Media { node }, Some(known)) = (&job.task, unit.node().and_then(|node| run.node(node))) {
            // From here on it belongs to the cluster, whatever becomes of its media.
            if let Some(identity) = known.machine_identity.clone().filter(|_| !run.joined(&known)) {
                self.write(Entry::Joined { node: node.clone(), identity })?;
            }
        }
        let member = self.member(job).await?;
        let Some(first) = self.first_turn(job).await? else {
            self.finish(job)?;
            return Ok(None);
        };
        let begun = Instant::now();
        if let (Task::Machine { node, .. }, Intent::Present) = (&job.task, job.planned.intent)
            && let Some(node) = run.node(node)
        {
            self.write(run.snapshot(&node))?;
        }
        run.say(unit, Progress::Began { activity: activity(job), estimate: run.estimate(job) });
        self.steps(job, first).await?;
        self.pin(job, begun).await?;
        self.settled(job).await?;
        self.finish(job)?;
        if let Some((node, guard)) = member {
            self.recovered(&node, begun).await?;
            drop(guard);
        }
        Ok(Some(begun.elapsed()))
    }

    fn write(&self, entry: Entry) -> Result<(), Ended> {
        self.run.store.append(entry).map_err(|error| Ended::Failed(vec![unwritten(&error)]))
    }

    // ---- before the first step ------------------------------------------------------------------------

    /// Waits until the control plane can spare the member that this unit costs.
    async fn member(&self, job: &Job) -> Result<Option<(String, tokio::sync::MutexGuard<'_, ()>)>, Ended> {
        let run = &*self.run;
        if self.purpose == Purpose::Destroy || !run.bootstrapped() || faults::broken("no-quorum") {
            return Ok(None);
        }
        let Some((node, cost)) = costs(run, &job.planned) else { return Ok(None) };
        let unit = &job.planned.unit;
        let guard = if let Ok(guard) = self.member.try_lock() {
            guard
        } else {
            run.say(unit, Progress::Waits { on: Wait::Quorum("another control-plane node is at work".to_owned()) });
            self.member.lock().await
        };
        let deadline = Instant::now() + run.options.deadline;
        loop {
            if self.stopped() {
                return Err(Ended::Stopped);
            }
            let why = match run.quorum().await {
                Ok(quorum) => match quorum.judge(&node, cost) {
                    Verdict::Free => return Ok(None),
                    Verdict::Fine(_) | Verdict::Outage(_) if cost == Cost::Leaves => return Ok(Some((String::new(), guard))),
                    Verdict::Fine(_) | Verdict::Outage(_) => return Ok(Some((node, guard))),
                    Verdict::Wait(why) => why,
                },
                Err(error) => format!("the members cannot be told: {error}"),
            };
            if Instant::now() >= deadline {
                let summary = format!("{unit} was not begun: the control plane would lose its majority ({why})");
                let help = "see why a member is not healthy (`emhost status`), mend that, then apply again";
                return Err(Ended::Failed(vec![Diagnostic::error("quorum/majority", summary).help(Some(help))]));
            }
            run.say(unit, Progress::Waits { on: Wait::Quorum(why) });
            self.rest(run.pause(2, None)).await;
        }
    }

    /// Waits until the member that was away is healthy again, so that the next one may go.
    async fn recovered(&self, node: &str, begun: Instant) -> Result<(), Ended> {
        if node.is_empty() {
            return Ok(());
        }
        let run = &*self.run;
        loop {
            let healthy = run
                .quorum()
                .await
                .ok()
                .and_then(|quorum| quorum.members.iter().find(|(name, _)| name == node).map(|(_, healthy)| *healthy));
            if healthy.unwrap_or(false) {
                return Ok(());
            }
            if self.stopped() {
                return Err(Ended::Stopped);
            }
            if begun.elapsed() > run.options.deadline {
                let summary = format!("the control-plane member of {node} did not come back within {:?}", run.options.deadline);
                let help = "no other control-plane node is touched while it is away; see `emhost status`";
                return Err(Ended::Failed(vec![Diagnostic::error("quorum/away", summary).help(Some(help))]));
            }
            self.rest(run.pause(1, None)).await;
        }
    }

    /// Waits for the unit's turn, and plans it again right before its first step: in the same turn, so that nothing
    /// of ours comes between. None: there is nothing left to do.
    async fn first_turn(&self, job: &Job) -> Result<Option<(Vec<String>, Held, SemaphorePermit<'_>)>, Ended> {
        let mut holds = job.planned.holds.clone();
        loop {
            let held = self.turn_to(&job.planned.unit, &holds).await;
            let turn = self.run.turns.acquire().await.map_err(|_| Ended::Stopped)?;
            if self.stopped() {
                return Err(Ended::Stopped);
            }
            let Some(now) = self.replan(job).await? else { return Ok(None) };
            if now.iter().all(|name| holds.contains(name)) {
                return Ok(Some((holds, held, turn)));
            }
            holds = now;
        }
    }

    /// What the first step may not share, if the unit would still do what was approved.
    async fn replan(&self, job: &Job) -> Result<Option<Vec<String>>, Ended> {
        if matches!(job.task, Task::Ensure { .. } | Task::Health { .. }) || faults::broken("no-replan") {
            return Ok(Some(job.planned.holds.clone()));
        }
        let now = job.propose(&self.run, Turn::Have).await.map_err(|error| self.failed(&error))?;
        if now.notes.iter().any(|note| note.severity == Severity::Error) {
            return Err(Ended::Failed(now.notes.into_iter().filter(|note| note.severity == Severity::Error).collect()));
        }
        if now.actions.is_empty() && !now.unfinished {
            return Ok(None);
        }
        let allowed = |action: &Action| match &job.task {
            // What it is can only be told now; that it does no harm was approved.
            Task::Media { .. } => action.change == Change::Update && action.disruption == Disruption::None,
            // Nothing is on a machine that was just made.
            Task::Os { node, .. } if self.fresh.contains(node) => matches!(action.change, Change::Create | Change::Update),
            // In a cluster that was just made there is nothing but what it came with.
            Task::Addon { addon } if addon.blind => matches!(action.change, Change::Create | Change::Update),
            _ => job.planned.actions.iter().any(|approved| approved.same(action)),
        };
        if now.actions.iter().all(allowed) {
            return Ok(Some(now.holds));
        }
        let unit = &job.planned.unit;
        let lines = differences(unit, &job.planned.actions, &now.actions);
        let diagnostic = Diagnostic::error("plan/conflict", format!("{unit}: the world is not what the approved plan was made for"))
            .detail(format!("- approved, + now\n{}", lines.join("\n")))
            .help(Some("nothing was done to it; look at a new plan with `emhost plan`, then apply that"));
        Err(Ended::Failed(vec![diagnostic]))
    }

    // ---- steps ----------------------------------------------------------------------------------------

    async fn steps(&self, job: &Job, first: (Vec<String>, Held, SemaphorePermit<'_>)) -> Result<(), Ended> {
        let run = &*self.run;
        let unit = &job.planned.unit;
        let mut clock = Clock { left: limit(run, job), since: Instant::now() };
        let (mut number, mut attempt) = (0, 0);
        let mut waits_for = String::from("its first step");
        let (mut holds, held, turn) = first;
        let mut first = Some((held, turn));
        loop {
            if self.stopped() {
                return Err(Ended::Stopped);
            }
            if clock.expired() {
                return Err(self.too_long(job, &waits_for));
            }
            number += 1;
            clock.stand();
            let answer = {
                let turn = match first.take() {
                    Some(turn) => turn,
                    None => (self.turn_to(unit, &holds).await, run.turns.acquire().await.map_err(|_| Ended::Stopped)?),
                };
                if self.stopped() {
                    return Err(Ended::Stopped);
                }
                clock.go();
                let answer = self.step(job, number).await?;
                drop(turn);
                answer
            };
            match answer {
                Ok(Step::Done(_)) => return Ok(()),
                Ok(Step::Again(Again { after_ms, reason, holds: next, .. })) => {
                    attempt = 0;
                    let pause = Duration::from_millis(after_ms.into());
                    run.say(unit, Progress::Again { reason: reason.clone(), pause });
                    (waits_for, holds) = (reason, next);
                    self.rest_of(job, pause.min(clock.left), &waits_for).await?;
                }
                Err(error) if error.is_passing() => {
                    attempt += 1;
                    let pause = run.pause(attempt - 1, error.retry_after());
                    run.say(unit, Progress::Retries { reason: error.cause.to_string(), pause, attempt: attempt + 1 });
                    waits_for = error.to_string();
                    self.rest_of(job, pause.min(clock.left), &waits_for).await?;
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    async fn turn_to(&self, unit: &UnitId, holds: &[String]) -> Held {
        if let Some(held) = self.holds.try_take(holds) {
            return held;
        }
        self.run.say(unit, Progress::Waits { on: Wait::Holds(holds.to_vec()) });
        self.holds.take(holds).await
    }

    /// One step, written down before it is taken and when it has ended.
    async fn step(&self, job: &Job, number: u32) -> Result<Result<Step, CallError>, Ended> {
        let run = &*self.run;
        let unit = key(&job.planned.unit);
        if job.only_waits() {
            return Ok(job.step(run).await);
        }
        self.write(Entry::Call { unit: unit.clone(), plugin: job.planned.plugin.clone(), step: number })?;
        let answer = job.step(run).await;
        let written = match &answer {
            Ok(Step::Done(state)) => Answer::Done { state: state.clone() },
            Ok(Step::Again(again)) => Answer::Again { reason: again.reason.clone(), state: again.state.clone() },
            Err(error) => Answer::Failed { reason: error.to_string(), state: learnt(error) },
        };
        self.write(Entry::Answer { unit, step: number, answer: written })?;
        Ok(answer)
    }

    /// Reads the image that new machines start from, unless its digest is known. What was read of one that is cut off is read again.
    async fn pin(&self, job: &Job, begun: Instant) -> Result<(), Ended> {
        let Task::Ensure { inputs, .. } = &job.task else { return Ok(()) };
        let run = &*self.run;
        let unit = &job.planned.unit;
        let mut attempt = 0;
        loop {
            let left = run.options.deadline.saturating_sub(begun.elapsed());
            let mut stop = self.stop.clone();
            let read = tokio::select! {
                read = tokio::time::timeout(left, run.pin(unit, inputs)) => read,
                _ = stop.wait_for(|stop| *stop > Stop::No) => return Err(Ended::Stopped),
            };
            let unread = match read {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(unread)) => unread,
                Err(_) => return Err(self.too_long(job, "the rest of its image")),
            };
            attempt += 1;
            let pause = run.pause(attempt - 1, None);
            if !unread.passing || begun.elapsed() + pause >= run.options.deadline {
                return Err(Ended::Failed(vec![Diagnostic::error("boot/image", unread.summary).help(unread.help)]));
            }
            run.say(unit, Progress::Retries { reason: unread.summary, pause, attempt: attempt + 1 });
            self.rest(pause).await;
        }
    }

    // ---- after the last step --------------------------------------------------------------------------

    /// Looks once more: what is left after `done` did not settle, whoever moved it.
    async fn settled(&self, job: &Job) -> Result<(), Ended> {
        // A pod that nothing keeps off the node may be back on it at once.
        if matches!(job.task, Task::Ensure { .. } | Task::Health { .. } | Task::Discard { .. } | Task::Drain { .. }) {
            return Ok(());
        }
        let left = job.propose(&self.run, Turn::Take).await.map_err(|error| self.failed(&error))?.actions;
        if left.is_empty() {
            return Ok(());
        }
        let unit = &job.planned.unit;
        let lines: Vec<String> = differences(unit, &[], &left).iter().map(|line| line.trim_start_matches("+ ").to_owned()).collect();
        let diagnostic = Diagnostic::error(
            "unit/unsettled",
            format!("{unit} did not settle: plugin `{}` said it was done, and more is to do", job.planned.plugin),
        )
        .detail(lines.join("\n"))
        .help(Some("apply again; if it stays so, somebody else changes it, or the plugin cannot do what it says"));
        Err(Ended::Failed(vec![diagnostic]))
    }

    /// Remembers what a unit that is as intended means for the cluster.
    fn finish(&self, job: &Job) -> Result<(), Ended> {
        let run = &*self.run;
        let unit = &job.planned.unit;
        match (&job.task, job.planned.intent) {
            (Task::Machine { node, .. }, Intent::Present) => {
                if let Some(node) = run.node(node) {
                    self.write(run.snapshot(&node))?;
                }
            }
            (Task::Machine { node, .. }, Intent::Absent) => {
                for unit in [UnitId::Machine, UnitId::Os, UnitId::Drain, UnitId::Node].map(|unit| unit(node.clone())) {
                    if run.store.unit(&unit.to_string()).is_some() {
                        self.write(Entry::Gone { unit: unit.to_string() })?;
                    }
                }
                if run.store.node(node).is_some() && !run.kept().contains(node) {
                    self.write(Entry::NodeGone { node: node.clone() })?;
                }
            }
            (Task::Forget { node }, _) => {
                self.write(Entry::Gone { unit: unit.to_string() })?;
                if run.store.node(node).is_some() {
                    self.write(Entry::NodeGone { node: node.clone() })?;
                }
            }
            (Task::Os { .. } | Task::Addon { .. }, Intent::Absent) | (Task::Discard { .. } | Task::Drain { .. }, _) => {
                self.write(Entry::Gone { unit: unit.to_string() })?;
            }
            (Task::Cluster, _) if !run.store.bootstrapped() => self.write(Entry::Bootstrapped)?,
            _ => {}
        }
        Ok(())
    }

    // ---- what went wrong ------------------------------------------------------------------------------

    #[expect(clippy::unused_self, reason = "reads as a sentence where it is used")]
    fn failed(&self, error: &CallError) -> Ended {
        Ended::Failed(error.diagnostics())
    }

    fn too_long(&self, job: &Job, waits_for: &str) -> Ended {
        let limit = limit(&self.run, job);
        let summary = format!("{} was not done within {limit:?}; it was waiting for: {waits_for}", job.planned.unit);
        if matches!(job.task, Task::Drain { .. }) {
            let help = "the node is closed to new pods and its machine stays; make room for its pods elsewhere, or change the budget, \
                        then apply again (`--drain-timeout` gives more time)";
            return Ended::Failed(vec![Diagnostic::error("drain/timeout", summary).help(Some(help))]);
        }
        let help = format!(
            "see whether that can come true, then apply again: it goes on where it is (`--deadline` gives more time). Plugin `{}` answers for it",
            job.planned.plugin
        );
        Ended::Failed(vec![Diagnostic::error("unit/deadline", summary).help(Some(help))])
    }
}

/// How long a unit may take from its first step on.
fn limit(run: &Run, job: &Job) -> Duration {
    if matches!(job.task, Task::Drain { .. }) { run.options.drain } else { run.options.deadline }
}

/// What a failed call learnt on the way and must not be lost.
fn learnt(error: &CallError) -> Option<crate::bindings::emhost::plugin::types::State> {
    if let Cause::Failed { state, .. } = &error.cause { state.clone() } else { None }
}

/// What is going to happen, in a few words.
fn activity(job: &Job) -> String {
    match (&job.task, job.planned.actions.first()) {
        (Task::Ensure { .. }, _) => format!("makes sure that {} can be had", job.planned.unit.to_string().trim_start_matches("boot/")),
        (Task::Health { .. }, _) => "waits for the cluster to be healthy".to_owned(),
        (Task::Drain { .. }, Some(action)) => format!("finds another place for the {}", action.subject),
        (Task::Addon { addon }, _) if addon.stage.is_none() => "takes its objects away".to_owned(),
        (Task::Addon { .. }, _) => "applies its objects".to_owned(),
        (_, Some(action)) => format!("{} {}", action.change, action.subject),
        (_, None) => "brings it to what was planned".to_owned(),
    }
}

impl Run {
    /// How long a unit of this kind took earlier.
    pub fn estimate(&self, job: &Job) -> Option<Duration> {
        self.timings.lock().unwrap_or_else(PoisonError::into_inner).estimate(&timing(job))
    }
}

/// By what the time it took is remembered.
fn timing(job: &Job) -> String {
    let change = job.planned.actions.first().map_or("wait".to_owned(), |action| action.change.to_string());
    format!("{} {} {change}", job.planned.unit.kind(), job.planned.plugin)
}
