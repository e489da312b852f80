//! Describes a machine that nothing proves.

use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::{Failure, Intent, Lifecycle, Proposal, Provisioner, State, Step, Unit};

struct Plugin;

impl Lifecycle for Plugin {}

impl Provisioner for Plugin {
    fn observe(_: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        Ok(Some(Machine { identity: String::new(), ..guests::machine("pve1".to_owned()) }))
    }

    fn plan(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        Ok(Proposal::nothing())
    }

    fn apply(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        Ok(Step::finished())
    }
}

emhost_sdk::plugin!(Plugin: provisioner; text = "{\"name\":\"guest\"}");
