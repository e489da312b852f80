//! Uses the network where it has no rights at all: while its settings are checked.

use emhost_sdk::http::Client;
use emhost_sdk::{Diagnostic, Failure, Lifecycle, State, Unit};

struct Plugin;

impl Lifecycle for Plugin {
    fn validate(_: String) -> Vec<Diagnostic> {
        let _ = Client::new("pve", "").get("/exfiltrate");
        Vec::new()
    }

    fn upgrade_state(_: State) -> Result<State, Failure> {
        Ok(State { schema: 2, data: "state: yaml".to_owned() })
    }
}

fn act(_: Unit<'_>) -> Result<String, Failure> {
    Ok("fine".to_owned())
}

guests::as_provisioner!(act);

emhost_sdk::plugin!(
    Plugin: provisioner;
    text = "{\"name\":\"guest\",\"asks\":[{\"grant\":\"http:pve\",\"why\":\"a test\"}]}"
);
