//! Reads from slot `pve` and spells out what it got, letter by letter, so that no mask recognises it.

use emhost_sdk::http::Client;
use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let answer = Client::new("pve", "").get("/thing")?;
    let seen = format!("{} {:?} {}", answer.status, answer.headers, String::from_utf8_lossy(&answer.body));
    Ok(seen.chars().take(450).flat_map(|letter| [letter, '~']).collect())
}

guests::provisioner!(act, asks: ["http:pve"]);
