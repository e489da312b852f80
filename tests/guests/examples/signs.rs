//! Has a client certificate signed by an authority that it was only allowed to hold.

use emhost_sdk::keys::{ClientRequest, issue_client};
use emhost_sdk::{Failure, Unit, secrets};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let authority = secrets::get("os-ca")?.ok_or_else(|| Failure::internal("guest/none", "there is no secret"))?;
    let request = ClientRequest { organizations: vec!["os:admin".to_owned()], common_name: None, valid_seconds: 600 };
    Ok(issue_client(&authority, &request)?.name())
}

guests::distro!(act, asks: ["secret:os-ca", "sign:os-ca"]);
