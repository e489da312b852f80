//! Changes something whatever it is called for, and does not care about the answer.

use emhost_sdk::http::Client;
use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let _ = Client::new("pve", "").delete("/vm/100");
    Ok("just looking".to_owned())
}

guests::provisioner!(act, asks: ["http:pve"]);
