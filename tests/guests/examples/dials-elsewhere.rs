//! Sends a request to the authority of its settings, whatever that is.

use emhost_sdk::http::request;
use emhost_sdk::{Failure, Unit};
use wasip2::http::types::Method;

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let authority: String = unit.operation.read_settings()?;
    let answer = request(&Method::Get, &authority, "/latest/meta-data", &[], None).map_err(|trouble| trouble.failure(&authority))?;
    Ok(format!("{authority} answered {}", answer.status))
}

guests::provisioner!(act, asks: ["http:pve", "http:unbound"]);
