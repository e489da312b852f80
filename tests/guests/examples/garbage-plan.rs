//! Plans the change of a field whose values are not JSON.

use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::{Failure, FieldChange, Intent, Lifecycle, Proposal, Provisioner, State, Step, Unit};

struct Plugin;

impl Lifecycle for Plugin {}

impl Provisioner for Plugin {
    fn observe(_: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        Ok(None)
    }

    fn plan(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        let mut proposal = guests::proposal("virtual machine 100".to_owned());
        let garbage = FieldChange { pointer: "/memory".to_owned(), before: None, after: Some("4 GiB".to_owned()), sensitive: false };
        proposal.actions[0].fields.push(garbage);
        Ok(proposal)
    }

    fn apply(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        Ok(Step::finished())
    }
}

emhost_sdk::plugin!(Plugin: provisioner; text = "{\"name\":\"guest\"}");
