use emhost::diagnostic::Diagnostic;
use emhost::inventory::site::Site;
use emhost::plugins::inspect::{Inspection, inspect};
use emhost::plugins::locate::{Reference, builtin_names};
use serde_json::json;

use super::super::{Exit, Failed, Session};

/// List the plugins of the site, and whether they are what emhost.lock says
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(session: &Session<'_>, _: &Arguments) -> Result<(), Failed> {
    let lock = super::load_lock(session)?;
    let site = Site::load(&session.folder).map_err(|error| Failed::new(Exit::Input, "site/load", error.to_string()))?;
    let mut refused = Vec::new();
    session.ui.heading("pinned");
    if lock.plugins.is_empty() {
        session.ui.line("  none");
    }
    for (name, pinned) in &lock.plugins {
        let roles: Vec<&str> = pinned.roles.iter().map(|role| role.as_str()).collect();
        let checked = super::look(session, &pinned.source).and_then(|(_, inspection)| Ok(pinned.check(name, &inspection)?));
        let state = if checked.is_ok() { "as pinned" } else { "CHANGED" };
        session.ui.line(&format!("  {name} {} ({}) fills {}: {state}", pinned.version, pinned.source, roles.join(", ")));
        let grants: Vec<String> = pinned.grants.iter().map(ToString::to_string).collect();
        session.ui.field("grants", &if grants.is_empty() { "none".to_owned() } else { grants.join(" ") });
        session.ui.event("plugin", json!({ "name": name, "pinned": pinned, "unchanged": checked.is_ok() }));
        refused.extend(checked.err().into_iter().flat_map(|failed| failed.diagnostics));
    }
    session.ui.heading("named by site.yaml");
    let references = site.plugins.references();
    if references.is_empty() {
        session.ui.line("  none");
    }
    for (role, text) in references {
        let reference: Reference = text.parse()?;
        let known = super::look(session, &reference).and_then(|(_, inspection)| {
            lock.policy(&reference, &inspection)?;
            check_settings(&site, &inspection)
        });
        session.ui.line(&format!("  {role}: {text}{}", if known.is_ok() { "" } else { " (not usable)" }));
        for diagnostic in known.err().into_iter().flat_map(|failed| failed.diagnostics) {
            if !refused.contains(&diagnostic) {
                refused.push(diagnostic);
            }
        }
    }
    session.ui.heading("built in");
    for name in builtin_names() {
        let described = Reference::Builtin(name.to_owned())
            .read(&session.folder)
            .ok()
            .and_then(|bytes| inspect(&bytes).ok())
            .and_then(|inspection| inspection.manifest.description);
        session.ui.field(name, described.as_deref().unwrap_or_default());
    }
    if refused.is_empty() { Ok(()) } else { Err(Failed { exit: Exit::Refused, diagnostics: refused }) }
}

/// The site's settings for a plugin against the plugin's own schema; all problems at once.
fn check_settings(site: &Site, inspection: &Inspection) -> Result<(), Failed> {
    let name = &inspection.manifest.name;
    let Some(settings) = site.settings.get(name) else { return Ok(()) };
    let problems = inspection.manifest.check_settings(settings);
    let diagnostics: Vec<Diagnostic> = problems
        .into_iter()
        .map(|problem| Diagnostic {
            pointer: Some(format!("site.yaml settings.{name}{}", problem.pointer)),
            ..Diagnostic::error("plugin/settings", format!("the settings of plugin `{name}` are not what it takes: {}", problem.message))
        })
        .collect();
    if diagnostics.is_empty() { Ok(()) } else { Err(Failed { exit: Exit::Input, diagnostics }) }
}
