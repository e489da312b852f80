use std::path::PathBuf;
use std::sync::Arc;

use emhost::pipeline::apply::Stop;
use emhost::pipeline::plan::{Action, Change, LAYOUT, Plan, Planned};
use emhost::pipeline::planning::{Prepared, plan_apply};
use emhost::pipeline::{Options, UnitId};

use super::opening::{self, Access, Opening};
use super::{Exit, Failed, Session, reservations};

/// Show what an apply would do, and change nothing
///
/// Missing secrets of the cluster are made and stored (`secrets.sops.yaml`), which the plan says.
#[derive(clap::Args)]
pub struct Arguments {
    /// End with code 2 if there is something to do
    #[arg(long)]
    exit_code: bool,
    /// Save the plan, to be applied later if it is still true
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How many calls are under way at most
    #[arg(long, value_name = "N", default_value_t = Options::default().parallel, value_parser = super::apply::at_least_one)]
    parallel: usize,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let watch = session.ui.watch("plan");
    let options = Options { parallel: arguments.parallel, ..Options::default() };
    let opening = opening::open(session, &Access::Locked { command: "plan" }, options, Arc::clone(&watch) as _)?;
    let prepared = session.stoppable(plan_apply(&opening.run))?;
    let plan = complete(&opening, prepared).plan;
    watch.end();
    session.ui.plan(&plan);
    if let Some(file) = &arguments.out {
        save(&plan, file)?;
        session.ui.success(&format!("saved; apply it with `emhost apply --plan {}`", file.display()));
    }
    if !plan.is_empty() {
        session.ui.next(&format!("emhost apply{}", super::access::at_folder(session)));
    }
    opening.close()?;
    if arguments.exit_code && !plan.is_empty() {
        return Err(Failed { exit: Exit::Pending, diagnostics: Vec::new() });
    }
    Ok(())
}

/// Adds what only the opening knows.
pub fn complete(opening: &Opening, mut prepared: Prepared) -> Prepared {
    prepared.plan.secrets = opening.secrets.made();
    let notes = opening.notes.iter().cloned().chain(opening.secrets.take_notes());
    prepared.plan.notes.splice(0..0, notes);
    let made: Vec<String> =
        prepared.plan.units.iter().filter(|unit| makes_machine(unit)).filter_map(|unit| unit.unit.node().map(str::to_owned)).collect();
    let mut reserved = reservations::of(&opening.run.now.get(), opening.dhcp);
    reserved.retain(|one| made.contains(&one.node));
    prepared.plan.notes.extend(reservations::note(&reserved));
    prepared
}

fn makes_machine(planned: &Planned) -> bool {
    let makes = |action: &Action| matches!(action.change, Change::Create | Change::Replace);
    matches!(planned.unit, UnitId::Machine(_)) && planned.actions.iter().any(makes)
}

/// Writes a plan where only its owner reads it: it says much about the site.
fn save(plan: &Plan, file: &std::path::Path) -> Result<(), Failed> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let fail = |error: std::io::Error| Failed::new(Exit::Input, "plan/save", format!("cannot write {}: {error}", file.display()));
    let text = serde_json::to_vec_pretty(plan).map_err(|error| fail(error.into()))?;
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
    opened.and_then(|mut to| to.write_all(&text).and_then(|()| to.sync_all())).map_err(fail)
}

/// Reads a saved plan.
pub fn read(file: &std::path::Path) -> Result<Plan, Failed> {
    let fail = |why: String| Failed::new(Exit::Input, "plan/read", format!("{}: {why}", file.display()));
    let text = std::fs::read(file).map_err(|error| fail(error.to_string()))?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| fail(format!("is no saved plan: {error}")))?;
    if plan.version != LAYOUT {
        return Err(fail(format!("has layout {}, this emhost knows layout {LAYOUT}: make the plan anew", plan.version)));
    }
    Ok(plan)
}

impl Session<'_> {
    /// Plans, unless a person stops it first.
    pub fn stoppable(
        &self,
        planning: impl Future<Output = Result<Prepared, Vec<emhost::diagnostic::Diagnostic>>>,
    ) -> Result<Prepared, Failed> {
        let mut stop = self.interrupts.claim();
        self.tokio.block_on(async {
            tokio::select! {
                prepared = planning => prepared.map_err(|diagnostics| Failed { exit: opening::exit_of(&diagnostics), diagnostics }),
                _ = stop.wait_for(|stop| *stop > Stop::No) => Err(stopped("stopped while planning; nothing was changed")),
            }
        })
    }
}

pub fn stopped(what: &str) -> Failed {
    let mut failed = Failed::new(Exit::Stopped, "run/stopped", what);
    for diagnostic in &mut failed.diagnostics {
        diagnostic.severity = emhost::diagnostic::Severity::Note;
    }
    failed
}
