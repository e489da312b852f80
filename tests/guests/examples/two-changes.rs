//! Makes two changes in one step, one after the other.

use emhost_sdk::http::{Body, Client};
use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let client = Client::new("pve", "");
    client.post("/first", Body::form(&[("a", "1")]))?;
    client.post("/second", Body::form(&[("b", "2")]))?;
    Ok("both".to_owned())
}

guests::provisioner!(act, asks: ["http:pve"]);
