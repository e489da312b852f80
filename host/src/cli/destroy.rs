use std::sync::Arc;

use emhost::pipeline::Options;
use emhost::pipeline::planning::plan_destroy;

use super::apply::{Pace, agree, carry_out};
use super::opening::{self, Access};
use super::plan::complete;
use super::{Failed, Session};

/// Take the cluster down: every machine that is proved to be its own
///
/// Shows what goes and asks first. Secrets and files of the cluster's folder stay.
#[derive(clap::Args)]
pub struct Arguments {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Also remove the images that machines were made from; other clusters may have to fetch them again
    #[arg(long)]
    delete_images: bool,
    #[command(flatten)]
    pace: Pace,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let watch = session.ui.watch("plan");
    let options = Options { delete_images: arguments.delete_images, ..arguments.pace.options(None) };
    let opening = opening::open(session, &Access::Locked { command: "destroy" }, options, Arc::clone(&watch) as _)?;
    let prepared = session.stoppable(plan_destroy(&opening.run))?;
    let prepared = complete(&opening, prepared);
    watch.end();
    session.ui.plan(&prepared.plan);
    if prepared.jobs.is_empty() {
        return opening.close();
    }
    if !prepared.plan.is_empty() && !arguments.yes {
        let question = format!("Destroy all of {}: {}? This cannot be undone.", prepared.plan.cluster, prepared.plan.counts());
        agree(session, &question, "destroy")?;
    }
    carry_out(session, &opening, prepared, &watch, "destroy")
}
