//! Plans more actions than anybody could read.

use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::{Failure, Intent, Lifecycle, Proposal, Provisioner, State, Step, Unit};

struct Plugin;

impl Lifecycle for Plugin {}

impl Provisioner for Plugin {
    fn observe(_: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        Ok(None)
    }

    fn plan(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        let one = guests::proposal("a machine".to_owned()).actions;
        Ok(Proposal { actions: one.into_iter().cycle().take(20_000).collect(), holds: Vec::new() })
    }

    fn apply(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        Ok(Step::finished())
    }
}

emhost_sdk::plugin!(Plugin: provisioner; text = "{\"name\":\"guest\"}");
