//! The smallest provisioner: machines that somebody else keeps, at the addresses of the inventory.

use emhost_sdk::provisioner::{FirstBoot, Machine, Power};
use emhost_sdk::{Failure, Intent, Lifecycle, Proposal, Provisioner, Site, State, Step, Unit};

/// Keeps no machines.
pub struct Noop;

impl Lifecycle for Noop {}

impl Provisioner for Noop {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        let name = unit.node.name();
        Ok(Some(Machine {
            id: name.clone(),
            identity: format!("{}/{name}", unit.cluster.id()),
            node: Some(name),
            host: "unmanaged".to_owned(),
            power: Power::On,
            addresses: unit.node.addresses(),
            attributes: Vec::new(),
        }))
    }

    fn plan(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        Ok(Proposal::nothing())
    }

    fn apply(_: Unit<'_>, _: Option<FirstBoot>, _: Intent, _: Option<State>) -> Result<Step, Failure> {
        Ok(Step::finished())
    }

    fn discard(_: Site<'_>, machine: Machine, _: Option<State>) -> Result<Step, Failure> {
        Err(Failure::denied("noop/discard", format!("{} is not emhost's to remove", machine.id)).help("remove it where it is kept"))
    }
}

emhost_sdk::plugin!(Noop: provisioner; "emhost-plugin.json");
