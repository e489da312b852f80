//! `emhost schema`: what the files of an inventory look like, for editors.

use emhost::inventory::{SCHEMAS, schema};
use serde_json::{Value, json};

use super::{Exit, Failed, Session};

/// Print the JSON Schema of an inventory's file
///
/// For an editor with a YAML language server: `emhost schema nodes > nodes.schema.json`, and as the first line of nodes.yaml
/// `# yaml-language-server: $schema=nodes.schema.json`. Without a name, all of them in one object.
#[derive(clap::Args)]
pub struct Arguments {
    /// The file
    #[arg(value_parser = SCHEMAS)]
    name: Option<String>,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let found = match &arguments.name {
        Some(name) => schema(name).cloned(),
        None => Some(Value::Object(SCHEMAS.iter().map(|name| ((*name).to_owned(), json!(schema(name)))).collect())),
    };
    let text = found.and_then(|schema| serde_json::to_string_pretty(&schema).ok());
    let text = text.ok_or_else(|| Failed::new(Exit::Bug, "host/bug", "a file of the inventory has no schema"))?;
    session.ui.document(&format!("{text}\n"));
    Ok(())
}
