//! `emhost plugin`: look at plugins, and say what they may do.

mod add;
mod inspect;
mod list;
mod update;

use std::borrow::Cow;

use emhost::capabilities::policy::{Grant, Policy};
use emhost::capabilities::{Context, MemorySecrets, Slots, events::MemoryEvents, journal::MemoryJournal, record::Tape};
use emhost::inventory::Cluster;
use emhost::plugins::inspect::{Inspection, inspect as inspect_bytes};
use emhost::plugins::locate::{LocateError, Reference};
use emhost::plugins::lock::{self, Lock, LockError};
use emhost::plugins::{Limits, Plugin};
use emhost::redact::Redactor;

use super::{Exit, Failed, Session};

#[derive(clap::Subcommand)]
pub enum Command {
    Inspect(inspect::Arguments),
    Add(add::Arguments),
    List(list::Arguments),
    Update(update::Arguments),
}

pub fn run(session: &Session<'_>, command: Command) -> Result<(), Failed> {
    match command {
        Command::Inspect(arguments) => inspect::run(session, &arguments),
        Command::Add(arguments) => add::run(session, arguments),
        Command::List(arguments) => list::run(session, &arguments),
        Command::Update(arguments) => update::run(session, arguments),
    }
}

impl From<LocateError> for Failed {
    fn from(error: LocateError) -> Self {
        Self::new(Exit::Input, "plugin/locate", error.to_string())
    }
}

impl From<LockError> for Failed {
    fn from(error: LockError) -> Self {
        let exit = match error {
            LockError::Unpinned { .. } | LockError::Changed { .. } | LockError::NotAsked { .. } => Exit::Refused,
            _ => Exit::Input,
        };
        Self::new(exit, "plugin/lock", error.to_string())
    }
}

/// Finds and reads a plugin without running any of it.
fn look(session: &Session<'_>, reference: &Reference) -> Result<(Cow<'static, [u8]>, Inspection), Failed> {
    let bytes = reference.read(&session.folder)?;
    let inspection = inspect_bytes(&bytes).map_err(|error| Failed::new(Exit::Input, "plugin/inspect", format!("{reference}: {error}")))?;
    Ok((bytes, inspection))
}

/// Starts a plugin once without any right, so that one that cannot run is not added.
fn try_start(session: &Session<'_>, bytes: &[u8]) -> Result<Plugin, Failed> {
    let plugin = session.runtime()?.load(bytes)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failed::new(Exit::Bug, "host/runtime", format!("cannot start: {error}")))?;
    runtime.block_on(plugin.try_start(&nothing(plugin.name())))?;
    Ok(plugin)
}

/// A context in which a plugin can do nothing.
fn nothing(plugin: &str) -> Context {
    let cluster = Cluster {
        name: String::new(),
        id: String::new(),
        endpoint: String::new(),
        vip: None,
        os_version: String::new(),
        kubernetes_version: String::new(),
        pod_subnets: Vec::new(),
        service_subnets: Vec::new(),
        resolvers: Vec::new(),
        time_servers: Vec::new(),
        nodes: Vec::new(),
        attributes: Vec::new(),
    };
    Context {
        cluster: cluster.into(),
        settings: serde_json::json!({}),
        policy: Policy::new(plugin, Vec::new(), Vec::new(), Vec::new()),
        limits: Limits::default(),
        slots: Slots::none().into(),
        secrets: std::sync::Arc::new(MemorySecrets::default()),
        redactor: Redactor::new(),
        events: std::sync::Arc::new(MemoryEvents::default()),
        journal: std::sync::Arc::new(MemoryJournal::default()),
        tape: Tape::off(),
    }
}

/// Decides what is granted: what the command line says, or what the person says.
fn decide(session: &Session<'_>, inspection: &Inspection, again: &str, grants: Vec<Grant>, yes: bool) -> Result<Vec<Grant>, Failed> {
    let asked = lock::asked(inspection)?;
    if yes || asked.is_empty() {
        return Ok(asked);
    }
    if !grants.is_empty() {
        return Ok(grants);
    }
    let name = &inspection.manifest.name;
    match session.ui.ask(&format!("Grant all of this to `{name}`?")) {
        Some(true) => Ok(asked),
        Some(false) => {
            Err(Failed::new(Exit::Stopped, "plugin/declined", format!("nothing was granted to `{name}`, and nothing was changed"))
                .help(format!("to grant only some of it, run `{again} --grant …`")))
        }
        None => {
            let each: Vec<String> = asked.iter().map(|grant| format!("--grant {grant}")).collect();
            Err(Failed::new(Exit::Refused, "plugin/undecided", format!("`{name}` asks for rights, and nobody is there to decide"))
                .help(format!("grant all with `{again} --yes`, or some of these:\n{again} {}", each.join(" "))))
        }
    }
}

/// What is granted and what is not, for people.
fn show_grants(session: &Session<'_>, inspection: &Inspection, granted: &[Grant]) {
    if inspection.manifest.asks.is_empty() {
        return;
    }
    session.ui.heading("decided");
    for ask in &inspection.manifest.asks {
        let mark = match ask.grant.parse::<Grant>() {
            Ok(grant) if granted.contains(&grant) => "granted",
            _ => "not granted",
        };
        session.ui.field(mark, &ask.grant);
    }
}

fn load_lock(session: &Session<'_>) -> Result<Lock, Failed> {
    Ok(Lock::load(&session.folder)?)
}
