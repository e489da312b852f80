//! Repeats a refused request for ever.

use emhost_sdk::http::Client;
use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let client = Client::new("other", "");
    loop {
        if client.get("/").is_ok() {
            return Ok("in".to_owned());
        }
    }
}

guests::provisioner!(act, asks: ["http:pve"]);
