//! `emhost state`: look at what is remembered of a cluster. Works whatever the inventory says.

use emhost::state::{Holder, Lock, Seen, State, StateError, Store};
use serde_json::json;

use super::{Exit, Failed, Session};

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the units and nodes that something is remembered of
    List,
    /// Show what is remembered, as JSON
    Show {
        /// A unit or a node; all of it when absent
        #[arg(value_name = "UNIT|NODE")]
        name: Option<String>,
    },
    /// Put a copy of the state aside
    Backup,
    /// Free a cluster whose last run did not release it
    Unlock {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub fn run(session: &Session<'_>, command: Command) -> Result<(), Failed> {
    match command {
        Command::List => list(session),
        Command::Show { name } => show(session, name.as_deref()),
        Command::Backup => backup(session),
        Command::Unlock { yes } => unlock(session, yes),
    }
}

impl From<StateError> for Failed {
    fn from(error: StateError) -> Self {
        let exit = if matches!(error, StateError::Locked { .. }) { Exit::Locked } else { Exit::Input };
        Self { exit, diagnostics: vec![error.diagnostic()] }
    }
}

/// This process, as the lock names it to others.
pub fn holder(command: &str) -> Holder {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    Holder::here(user.unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw())), command)
}

const NOTHING: &str = "nothing is remembered of a cluster in this folder yet";

fn list(session: &Session<'_>) -> Result<(), Failed> {
    let Some(state) = Store::read(&session.folder)? else {
        session.ui.line(NOTHING);
        return Ok(());
    };
    let State { cluster, id, bootstrapped, serial, .. } = &state;
    session.ui.event("cluster", json!({ "name": cluster, "id": id, "bootstrapped": bootstrapped, "serial": serial }));
    session.ui.line(&format!("cluster {cluster} ({id}), {}", if *bootstrapped { "bootstrapped" } else { "not bootstrapped" }));
    session.ui.heading("units");
    if state.units.is_empty() {
        session.ui.line("  none");
    }
    let width = state.units.keys().chain(state.nodes.keys()).map(|name| name.chars().count()).max().unwrap_or_default();
    let plugins = state.units.values().map(|unit| unit.plugin.chars().count()).max().unwrap_or_default();
    for (name, unit) in &state.units {
        session.ui.event("unit", json!({ "name": name, "plugin": unit.plugin, "done": unit.done }));
        session.ui.line(&format!("  {name:<width$}  {:<plugins$}  {}", unit.plugin, if unit.done { "done" } else { "not done" }));
    }
    session.ui.heading("nodes");
    if state.nodes.is_empty() {
        session.ui.line("  none");
    }
    for (name, applied) in &state.nodes {
        let machine = applied.node.machine_id.as_deref();
        session.ui.event("node", json!({ "name": name, "machine": machine, "joined": applied.joined }));
        let joined = if applied.joined.is_some() { ", joined" } else { "" };
        session
            .ui
            .line(&format!("  {name:<width$}  {}{joined}", machine.map_or("no machine yet".to_owned(), |id| format!("machine {id}"))));
    }
    Ok(())
}

fn show(session: &Session<'_>, name: Option<&str>) -> Result<(), Failed> {
    let state = Store::read(&session.folder)?;
    let value = match (state, name) {
        (None, None) => {
            session.ui.line(NOTHING);
            return Ok(());
        }
        (None, Some(_)) => return Err(Failed::new(Exit::Input, "state/nothing", NOTHING)),
        (Some(state), None) => serde_json::to_value(state),
        (Some(state), Some(name)) => match (state.units.get(name), state.nodes.get(name)) {
            (Some(unit), _) => serde_json::to_value(unit),
            (None, Some(applied)) => serde_json::to_value(applied),
            (None, None) => {
                return Err(Failed::new(Exit::Input, "state/unknown", format!("nothing is remembered of a unit or node `{name}`"))
                    .help("`emhost state list` names them all"));
            }
        },
    };
    let value = value.map_err(|error| Failed::new(Exit::Bug, "host/json", error.to_string()))?;
    session.ui.line(&format!("{value:#}"));
    session.ui.event("state", json!({ "name": name, "state": value }));
    Ok(())
}

fn backup(session: &Session<'_>) -> Result<(), Failed> {
    let Some(name) = Store::backup(&session.folder)? else { return Err(Failed::new(Exit::Input, "state/nothing", NOTHING)) };
    session.ui.success(&format!("the state is also in .emhost/{name}"));
    session.ui.event("backup", json!({ "file": format!(".emhost/{name}") }));
    Ok(())
}

fn unlock(session: &Session<'_>, yes: bool) -> Result<(), Failed> {
    let left = match Lock::look(&session.folder)? {
        Seen::Free => {
            session.ui.line("nobody holds this cluster");
            session.ui.event("unlocked", json!({ "holder": null }));
            return Ok(());
        }
        Seen::Held(holder) => return Err(StateError::Locked { holder: holder.map(Box::new), here: true }.into()),
        Seen::Left(left) => left,
    };
    let here = left.host == holder("").host;
    session.ui.line(&format!("held by {left}"));
    session.ui.line(if here {
        "that process is dead"
    } else {
        "that host cannot be asked from here: see there that it does not run any more"
    });
    let free = if yes { Some(true) } else { session.ask("Free the cluster?")? };
    match free {
        Some(true) => {}
        Some(false) => return Err(Failed::new(Exit::Stopped, "state/declined", "the cluster was not freed, and nothing was changed")),
        None => {
            return Err(Failed::new(
                Exit::Refused,
                "state/undecided",
                format!("{left} did not release the cluster, and nobody is there to decide"),
            )
            .help("free it with `emhost state unlock --yes`"));
        }
    }
    Lock::free(&session.folder, &left)?;
    session.ui.success("the cluster is free");
    session.ui.event("unlocked", json!({ "holder": left }));
    Ok(())
}
