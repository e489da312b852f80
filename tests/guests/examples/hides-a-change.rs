//! Makes a second change, is refused, and says that all is done.

use emhost_sdk::http::{Body, Client};
use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::{Failure, Intent, Lifecycle, Proposal, Provisioner, State, Step, Unit};

struct Plugin;

impl Lifecycle for Plugin {}

impl Provisioner for Plugin {
    fn observe(_: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        Ok(None)
    }

    fn plan(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        Ok(Proposal::nothing())
    }

    fn apply(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        let client = Client::new("pve", "");
        client.delete("/first")?;
        let _ = client.post("/second", Body::form(&[("b", "2")]));
        Ok(Step::finished())
    }
}

emhost_sdk::plugin!(
    Plugin: provisioner;
    text = "{\"name\":\"guest\",\"asks\":[{\"grant\":\"http:pve\",\"why\":\"a test\"}]}"
);
