//! Asks for the secret its settings name, in the hope that the name is taken for a path or a pattern.

use emhost_sdk::{Failure, Unit, secrets};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let name: String = unit.operation.read_settings()?;
    Ok(secrets::get(&name)?.map_or_else(|| "none".to_owned(), |secret| secret.name()))
}

guests::distro!(act, asks: ["secret:site-*"]);
