use emhost::capabilities::policy::Grant;
use emhost::plugins::Role;
use emhost::plugins::locate::Reference;
use emhost::plugins::lock::{FILE, Pinned};
use serde_json::json;

use super::super::{Exit, Failed, Session};

/// Pin a plugin in emhost.lock, with what it may do
#[derive(clap::Args)]
pub struct Arguments {
    /// A built-in name, or a path such as ./plugin.wasm
    plugin: String,
    /// Grant only this (may be given several times)
    #[arg(long = "grant", value_name = "GRANT", conflicts_with = "yes")]
    grants: Vec<Grant>,
    /// Give it only this role (may be given several times)
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<Role>,
    /// Grant everything it asks for
    #[arg(long)]
    yes: bool,
}

pub fn run(session: &Session<'_>, arguments: Arguments) -> Result<(), Failed> {
    let reference: Reference = arguments.plugin.parse()?;
    let (bytes, inspection) = super::look(session, &reference)?;
    let name = inspection.manifest.name.clone();
    let mut lock = super::load_lock(session)?;
    if let Some(pinned) = lock.plugins.get(&name) {
        return Err(Failed::new(Exit::Refused, "plugin/exists", format!("{FILE} has a plugin `{name}` already, from {}", pinned.source))
            .help(format!("run `emhost plugin update {name} --source {reference}` to put this one in its place")));
    }
    super::inspect::show(session, &reference, &inspection);
    super::try_start(session, &bytes)?;
    let again = format!("emhost plugin add {reference}");
    let grants = super::decide(session, &inspection, &again, arguments.grants, arguments.yes)?;
    let roles = if arguments.roles.is_empty() { inspection.shape.roles.clone() } else { arguments.roles };
    let pinned = Pinned::new(reference, &inspection, roles, grants)?;
    let granted = pinned.grants.clone();
    lock.plugins.insert(name.clone(), pinned);
    lock.save(&session.folder)?;
    super::show_grants(session, &inspection, &granted);
    session.ui.success(&format!("`{name}` is in {FILE}"));
    session.ui.event("plugin-added", json!({ "name": name, "digest": inspection.digest, "grants": granted }));
    Ok(())
}
