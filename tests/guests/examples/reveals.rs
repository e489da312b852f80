//! Reads the value of a secret that it was only allowed to use.

use emhost_sdk::{Failure, Unit, reveal, secrets};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let secret = secrets::get("site-token")?.ok_or_else(|| Failure::internal("guest/none", "there is no secret"))?;
    Ok(reveal::reveal(&secret).len().to_string())
}

guests::distro!(act, asks: ["secret:site-token", "reveal:site-token"]);
