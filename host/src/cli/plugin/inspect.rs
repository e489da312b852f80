use emhost::capabilities::policy::Grant;
use emhost::plugins::CONTRACT;
use emhost::plugins::inspect::Inspection;
use emhost::plugins::locate::Reference;
use serde_json::json;

use super::super::{Failed, Session};

/// Say what a plugin fills, imports and asks for, without running it
#[derive(clap::Args)]
pub struct Arguments {
    /// A built-in name, or a path such as ./plugin.wasm
    plugin: String,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let reference: Reference = arguments.plugin.parse()?;
    let (_, inspection) = super::look(session, &reference)?;
    show(session, &reference, &inspection);
    session.ui.event("plugin", json!({ "source": reference.to_string(), "inspection": inspection }));
    Ok(())
}

/// Everything a person needs to know before trusting it.
pub fn show(session: &Session<'_>, reference: &Reference, inspection: &Inspection) {
    let ui = session.ui;
    let manifest = &inspection.manifest;
    ui.heading(&format!("{} {}", manifest.name, manifest.version));
    if let Some(description) = &manifest.description {
        ui.line(&format!("  {description}"));
    }
    let roles: Vec<&str> = inspection.shape.roles.iter().map(|role| role.as_str()).collect();
    ui.field("source", &reference.to_string());
    ui.field("digest", &inspection.digest);
    ui.field("size", &format!("{} kB", inspection.size.div_ceil(1000)));
    ui.field("contract", &format!("{} (this emhost speaks {CONTRACT})", inspection.shape.contract));
    ui.field("fills", &roles.join(", "));
    ui.heading("imports");
    for capability in &inspection.capabilities {
        ui.field(capability.as_str(), capability.meaning());
    }
    ui.heading("asks for");
    if manifest.asks.is_empty() {
        ui.line("  nothing");
    }
    for ask in &manifest.asks {
        let meaning = ask.grant.parse::<Grant>().map_or_else(|error| error.to_string(), |grant| grant.meaning());
        ui.line(&format!("  {}\n    {meaning}\n    because: {}", ask.grant, ask.why));
    }
    for import in &inspection.shape.imports {
        ui.verbose(&format!("  import {import}"));
    }
}
