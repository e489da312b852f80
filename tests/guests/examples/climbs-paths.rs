//! Sends a request by the path of its settings, in the hope that it leads out of the slot.

use emhost_sdk::http::Client;
use emhost_sdk::{Failure, Unit};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let path: String = unit.operation.read_settings()?;
    let answer = Client::new("pve", "").get(&path)?;
    Ok(format!("answered {}", answer.status))
}

guests::provisioner!(act, asks: ["http:pve"]);
