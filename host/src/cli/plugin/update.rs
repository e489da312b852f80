use emhost::capabilities::policy::Grant;
use emhost::plugins::locate::Reference;
use emhost::plugins::lock::{self, FILE, Pinned};
use serde_json::json;

use super::super::{Exit, Failed, Session};

/// Accept a changed plugin, or grant it more or less
#[derive(clap::Args)]
pub struct Arguments {
    /// The plugin's name in emhost.lock
    name: String,
    /// Take it from here from now on
    #[arg(long)]
    source: Option<String>,
    /// Grant this as well (may be given several times)
    #[arg(long = "grant", value_name = "GRANT", conflicts_with = "yes")]
    grants: Vec<Grant>,
    /// Take this grant away (may be given several times)
    #[arg(long = "revoke", value_name = "GRANT")]
    revoked: Vec<Grant>,
    /// Grant everything it asks for
    #[arg(long)]
    yes: bool,
}

pub fn run(session: &Session<'_>, arguments: Arguments) -> Result<(), Failed> {
    let name = arguments.name;
    let mut lock = super::load_lock(session)?;
    let Some(was) = lock.plugins.get(&name).cloned() else {
        let known: Vec<&str> = lock.plugins.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has: {}", known.join(", ")) };
        return Err(Failed::new(Exit::Input, "plugin/unknown", format!("{FILE} has no plugin `{name}`; {known}"))
            .help("add one with `emhost plugin add`"));
    };
    let source = arguments.source.map(|text| text.parse::<Reference>()).transpose()?.unwrap_or_else(|| was.source.clone());
    let (bytes, inspection) = super::look(session, &source)?;
    if inspection.manifest.name != name {
        return Err(Failed::new(Exit::Refused, "plugin/name", format!("{source} is plugin `{}`, not `{name}`", inspection.manifest.name)));
    }
    let asked = lock::asked(&inspection)?;
    let kept: Vec<Grant> = was.grants.iter().filter(|grant| asked.contains(grant)).cloned().collect();
    let now = Pinned::new(source.clone(), &inspection, Vec::new(), Vec::new())?;
    let difference = was.difference(&now, &asked);
    if difference.is_empty() {
        session.ui.line("the component is the one that was pinned");
    } else {
        session.ui.heading("what changed");
        session.ui.line(&difference);
    }
    super::try_start(session, &bytes)?;
    let fresh: Vec<&Grant> = asked.iter().filter(|grant| !was.grants.contains(grant)).collect();
    let mut grants = kept.clone();
    if arguments.yes {
        grants.clone_from(&asked);
    } else if !arguments.grants.is_empty() || !arguments.revoked.is_empty() {
        grants.extend(arguments.grants);
    } else if was.digest != now.digest {
        let again = format!("emhost plugin update {name}");
        let question = if fresh.is_empty() { "Accept this change?" } else { "Accept this change, and grant what is new in it?" };
        match session.ui.ask(question) {
            Some(true) => grants.clone_from(&asked),
            Some(false) => return Err(Failed::new(Exit::Stopped, "plugin/declined", format!("`{name}` stays as it was pinned"))),
            None => {
                return Err(Failed::new(Exit::Refused, "plugin/undecided", format!("`{name}` changed, and nobody is there to decide"))
                    .help(format!("accept it with `{again} --yes`, or with `{again} --grant …` for some of what it asks")));
            }
        }
    }
    grants.retain(|grant| !arguments.revoked.contains(grant));
    let roles = was.roles.iter().filter(|role| inspection.shape.roles.contains(role)).copied().collect();
    let pinned = Pinned::new(source, &inspection, roles, grants)?;
    let granted = pinned.grants.clone();
    if pinned == was {
        session.ui.line(&format!("`{name}` stays as it is; to change its rights, name them with --grant or --revoke"));
        return Ok(());
    }
    lock.plugins.insert(name.clone(), pinned);
    lock.save(&session.folder)?;
    super::show_grants(session, &inspection, &granted);
    session.ui.success(&format!("`{name}` is updated in {FILE}"));
    session.ui.event("plugin-updated", json!({ "name": name, "digest": inspection.digest, "grants": granted }));
    Ok(())
}
