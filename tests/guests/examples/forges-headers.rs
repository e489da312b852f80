//! Sets the header of its settings, a name and a value, which is the host's to set or splits the request.

use emhost_sdk::http::request;
use emhost_sdk::{Failure, Unit};
use wasip2::http::types::Method;

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let (name, value): (String, String) = unit.operation.read_settings()?;
    let answer = request(&Method::Get, "pve.emhost.internal", "/thing", &[(&name, value.as_bytes())], None)
        .map_err(|trouble| trouble.failure("pve"))?;
    Ok(format!("answered {}", answer.status))
}

guests::provisioner!(act, asks: ["http:pve"]);
