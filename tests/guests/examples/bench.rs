//! Does the measured work as many times as its settings say.

use emhost_sdk::{Failure, Unit};

#[derive(serde::Deserialize)]
struct Settings {
    rounds: u32,
}

fn measured(unit: Unit<'_>) -> Result<String, Failure> {
    let settings: Settings = unit.operation.read_settings()?;
    Ok(guests::work(settings.rounds).to_string())
}

guests::provisioner!(measured);
