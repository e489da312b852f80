use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use emhost::pipeline::apply::{Stop, apply};
use emhost::pipeline::plan::Purpose;
use emhost::pipeline::planning::{Prepared, discard_job, plan_apply};
use emhost::pipeline::{Event, Options, Phase, Report};

use super::opening::{self, Access, Opening};
use super::plan::{complete, read, stopped};
use super::{Exit, Failed, Session, access};
use crate::ui::Watching;

/// Make the cluster what the inventory says
///
/// Shows the plan and asks first. A run that was stopped or cut off goes on with the next apply.
#[derive(clap::Args)]
pub struct Arguments {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Apply this saved plan, if it is still true
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Stop after this phase: config, boot, machines, os, cluster or addons
    #[arg(long, value_name = "PHASE")]
    until: Option<Phase>,
    /// Also remove machines that carry this cluster's mark and belong to no node
    #[arg(long)]
    discard_orphans: bool,
    /// Add nothing to emhost.lock: refuse an image that is not in it
    #[arg(long)]
    locked: bool,
    /// How long the pods of a node that goes have to find another place, for example 10m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    drain_timeout: Duration,
    #[command(flatten)]
    pace: Pace,
}

/// How fast, and how patient.
#[derive(clap::Args)]
pub struct Pace {
    /// How many calls are under way at most
    #[arg(long, value_name = "N", default_value_t = Options::default().parallel, value_parser = at_least_one)]
    parallel: usize,
    /// How long one unit may take from its first step on, for example 45m
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    deadline: Duration,
}

impl Pace {
    pub fn options(&self, until: Option<Phase>) -> Options {
        Options { parallel: self.parallel, deadline: self.deadline, until, ..Options::default() }
    }
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number, at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| "write a number and s, m, h or d, for example 45m".to_owned())?;
    match &text[digits.len()..] {
        "ms" => Ok(Duration::from_millis(number)),
        "s" | "" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        "h" => Ok(Duration::from_secs(number.saturating_mul(3600))),
        "d" => Ok(Duration::from_secs(number.saturating_mul(86400))),
        unit => Err(format!("`{unit}` is no unit of time; write s, m, h or d")),
    }
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let saved = arguments.plan.as_deref().map(read).transpose()?;
    if let Some(saved) = saved.as_ref().filter(|saved| saved.purpose != Purpose::Apply) {
        return Err(Failed::new(Exit::Input, "plan/purpose", format!("the saved plan is for {:?}, not for an apply", saved.purpose)));
    }
    let until = arguments.until.or_else(|| saved.as_ref().and_then(|saved| saved.until));
    let watch = session.ui.watch("plan");
    let options = Options { locked: arguments.locked, drain: arguments.drain_timeout, ..arguments.pace.options(until) };
    let opening = opening::open(session, &Access::Locked { command: "apply" }, options, Arc::clone(&watch) as _)?;
    let prepared = session.stoppable(plan_apply(&opening.run))?;
    let mut prepared = complete(&opening, prepared);
    watch.end();
    if let Some(saved) = &saved {
        let differences = prepared.plan.differences(saved);
        if saved.id != prepared.plan.id {
            return Err(Failed::new(Exit::Input, "plan/other", format!("the saved plan is for another cluster ({})", saved.cluster)));
        }
        if !differences.is_empty() {
            let diagnostic =
                emhost::diagnostic::Diagnostic::error("plan/conflict", "the saved plan is not true any more, and nothing was done")
                    .detail(format!("- saved, + now\n{}", differences.join("\n")))
                    .help(Some("look at a new plan with `emhost plan --out FILE`, then apply that"));
            return Err(Failed { exit: Exit::Unit, diagnostics: vec![diagnostic] });
        }
    }
    if arguments.discard_orphans {
        discard(session, &opening, &mut prepared)?;
    }
    session.ui.plan(&prepared.plan);
    // A saved plan was approved when it was saved, but it has no machines in it that belong to no node.
    let approved = saved.is_some() && !arguments.discard_orphans;
    if !prepared.plan.is_empty() && !approved && !arguments.yes {
        agree(session, &format!("Apply this to {}: {}?", prepared.plan.cluster, prepared.plan.counts()), "apply")?;
    }
    if !prepared.orphans.is_empty() && !arguments.discard_orphans && !arguments.yes {
        let question = match prepared.orphans.len() {
            1 => "Also remove the machine that belongs to no node? Its data is lost.".to_owned(),
            many => format!("Also remove the {many} machines that belong to no node? Their data is lost."),
        };
        if session.ask(&question)? == Some(true) {
            discard(session, &opening, &mut prepared)?;
        }
    }
    if prepared.jobs.is_empty() {
        opening.close()?;
        if reached(&opening) && !access::is_there(session) {
            access::after_apply(session, &opening);
        }
        return Ok(());
    }
    carry_out(session, &opening, prepared, &watch, "apply")?;
    if reached(&opening) {
        access::after_apply(session, &opening);
    }
    Ok(())
}

/// Whether there is a cluster that can be used by now.
fn reached(opening: &Opening) -> bool {
    opening.run.options.reaches(Phase::Cluster) && opening.run.store.bootstrapped()
}

/// Adds the removal of machines that belong to no node to what is done.
fn discard(session: &Session<'_>, opening: &Opening, prepared: &mut Prepared) -> Result<(), Failed> {
    for machine in &prepared.orphans {
        let job = session.tokio.block_on(discard_job(&opening.run, machine));
        let job = job.map_err(|diagnostics| Failed { exit: Exit::Unit, diagnostics })?;
        prepared.plan.units.push(job.planned.clone());
        prepared.jobs.push(job);
    }
    prepared.plan.orphans.clear();
    Ok(())
}

/// Asks a person to agree. Nobody there, or no, is not agreeing.
pub fn agree(session: &Session<'_>, question: &str, command: &str) -> Result<(), Failed> {
    let saved = if command == "apply" {
        ", or save the plan, look at it and apply exactly that:\nemhost plan --out FILE\nemhost apply --plan FILE"
    } else {
        ""
    };
    let unapproved =
        |summary: &str| Err(Failed::new(Exit::Refused, "run/unapproved", summary).help(format!("run `emhost {command} --yes`{saved}")));
    if session.ui.is_quiet() {
        return unapproved("there is something to do, and with -q nobody was shown what");
    }
    match session.ask(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(stopped("nothing was changed")),
        None => unapproved("there is something to do, and nobody is there to approve it"),
    }
}

/// Does what was approved, and says how it went.
pub fn carry_out(session: &Session<'_>, opening: &Opening, prepared: Prepared, watch: &Arc<Watching>, command: &str) -> Result<(), Failed> {
    let estimates = prepared.jobs.iter().filter_map(|job| Some((job.planned.unit.clone(), opening.run.estimate(job)?)));
    watch.begin(&format!("{command} {}", prepared.plan.cluster), estimates.collect());
    let stop = session.interrupts.claim();
    let report = session.tokio.block_on(async {
        let told = tokio::spawn(tell_stop(stop.clone(), Arc::clone(watch)));
        let report = apply(&opening.run, prepared, stop).await;
        told.abort();
        report
    });
    watch.end();
    let report = report.map_err(|diagnostics| Failed { exit: Exit::Unit, diagnostics });
    // Whatever happened, what is known is kept.
    let closed = opening.close();
    let report = report?;
    session.ui.finish(command, &report);
    closed?;
    ended(&report)
}

async fn tell_stop(mut stop: tokio::sync::watch::Receiver<Stop>, watch: Arc<Watching>) {
    if stop.wait_for(|stop| *stop > Stop::No).await.is_ok() {
        emhost::pipeline::Watch::event(&*watch, Event::Stopping { running: Vec::new() });
    }
}

fn ended(report: &Report) -> Result<(), Failed> {
    // What failed was shown already.
    if !report.failed.is_empty() {
        return Err(Failed { exit: Exit::Unit, diagnostics: Vec::new() });
    }
    if !report.stopped.is_empty() {
        return Err(stopped("stopped; the next apply goes on where this one ended"));
    }
    Ok(())
}
