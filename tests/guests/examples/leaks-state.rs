//! Wants a secret kept in its state, in clear or, as its settings say, as the bytes of a list or in a failure.

use emhost_sdk::{Failure, State, Unit, reveal, secrets};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let secret = secrets::get("site-token")?.ok_or_else(|| Failure::internal("guest/none", "there is no secret"))?;
    let value = String::from_utf8_lossy(&reveal::reveal(&secret)).into_owned();
    let data = serde_json::json!({ "token": value }).to_string();
    match unit.operation.settings().as_str() {
        "\"fail\"" => Err(Failure::unavailable("guest/later", "not now").state(State { schema: 1, data })),
        "\"hex\"" => {
            let digits: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
            Ok(serde_json::json!({ "token": digits }).to_string())
        }
        _ => Ok(data),
    }
}

guests::distro!(act, asks: ["secret:site-token", "reveal:site-token"]);
