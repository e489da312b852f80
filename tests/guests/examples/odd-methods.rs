//! Sends a request with the method of its settings.

use emhost_sdk::http::request;
use emhost_sdk::{Failure, Unit};
use wasip2::http::types::Method;

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let method = match unit.operation.read_settings::<String>()?.as_str() {
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    };
    let answer = request(&method, "pve.emhost.internal", "/thing", &[], None).map_err(|trouble| trouble.failure("pve"))?;
    Ok(format!("answered {}", answer.status))
}

guests::provisioner!(act, asks: ["http:pve"]);
