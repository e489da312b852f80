use std::sync::Arc;

use emhost::diagnostic::Diagnostic;
use emhost::pipeline::Options;
use emhost::pipeline::looking::{Status, look};

use super::opening::{self, Access};
use super::plan::stopped;
use super::{Exit, Failed, Session};
use crate::ui::{Cell, Style};

/// Show how every machine and node is now
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(session: &Session<'_>, _: &Arguments) -> Result<(), Failed> {
    let watch = session.ui.watch("status");
    let opening = opening::open(session, &Access::View, Options::default(), Arc::clone(&watch) as _)?;
    let mut stop = session.interrupts.claim();
    let status = session.tokio.block_on(async {
        tokio::select! {
            status = look(&opening.run) => Ok(status),
            _ = stop.wait_for(|stop| *stop > emhost::pipeline::apply::Stop::No) => Err(stopped("stopped; nothing was changed")),
        }
    });
    watch.end();
    let status = status?;
    show(session, &status);
    let blind = !status.nodes.is_empty() && status.nodes.iter().all(|seen| seen.trouble.is_some() && seen.machine.is_none());
    if blind { Err(Failed { exit: Exit::Unit, diagnostics: Vec::new() }) } else { Ok(()) }
}

fn show(session: &Session<'_>, status: &Status) {
    let ui = session.ui;
    ui.event("status", serde_json::json!({ "status": status }));
    let quorum = status.quorum.map_or_else(String::new, |(members, healthy, needed)| {
        format!("; {healthy} of {members} control-plane members healthy, {needed} needed")
    });
    let bootstrapped = if status.bootstrapped { "bootstrapped" } else { "not bootstrapped" };
    ui.heading(&format!("{}: {bootstrapped}{quorum}", status.cluster));
    let text = |text: &Option<String>| (Style::Plain, text.clone().unwrap_or_else(|| "-".to_owned()));
    let rows: Vec<Vec<Cell>> = status
        .nodes
        .iter()
        .map(|seen| {
            let good = seen.stage == Some("running") && seen.member != Some(false);
            let stage = match (seen.stage, seen.member) {
                (Some(stage), Some(false)) => format!("{stage}, member unhealthy"),
                (Some(stage), _) => stage.to_owned(),
                (None, _) if seen.machine.is_none() && seen.trouble.is_none() => "no machine".to_owned(),
                (None, _) => "unknown".to_owned(),
            };
            vec![
                (Style::Bold, seen.node.clone()),
                (Style::Dim, seen.role.to_owned()),
                text(&seen.machine),
                text(&seen.host),
                (Style::Plain, seen.power.unwrap_or("-").to_owned()),
                (if good { Style::Green } else { Style::Yellow }, stage),
                text(&seen.os_version),
                text(&seen.kubernetes_version),
                text(&seen.address),
            ]
        })
        .collect();
    ui.table(&["node", "role", "machine", "host", "power", "system", "os", "kubernetes", "address"], &rows);
    let troubles = status.nodes.iter().filter_map(|seen| seen.trouble.clone()).chain(status.trouble.clone());
    for trouble in troubles {
        ui.diagnostic(&Diagnostic::warning("status/trouble", trouble));
    }
}
