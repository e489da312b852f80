//! Sends a hundred requests, and does not mind being told no.

use emhost_sdk::http::Client;
use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let client = Client::new("pve", "");
    let answered = (0..100).filter(|number| client.get(&format!("/{number}")).is_ok()).count();
    Ok(format!("{answered} answers"))
}

guests::provisioner!(act, asks: ["http:pve"]);
