//! Sends a megabyte.

use emhost_sdk::http::{Body, Client};
use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let answer = Client::new("pve", "").post("/upload", Body::bytes("application/octet-stream", vec![7; 1 << 20]))?;
    Ok(format!("answered {}", answer.status))
}

guests::provisioner!(act, asks: ["http:pve"]);
