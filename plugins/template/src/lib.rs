//! Machines start as clones of a template that is at the hypervisor already.
//!
//! As a boot source it only looks, and only when a machine is to be made: a cluster that runs does
//! not need the template any more. As a provisioner its machine is the template itself, which
//! `emhost template build` has it make.

mod build;
mod choice;
mod judge;
mod site;

use emhost_factory_client::{self as factory, Settings, Wanted};
use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::{Boot, BootSource, Diagnostic, Failure, Intent, Lifecycle, Operation, Proposal, Provisioner, State, Step, Unit};

use choice::choose;

/// Boots clones of a template, and makes templates.
pub struct Template;

impl Lifecycle for Template {
    fn validate(settings: String) -> Vec<Diagnostic> {
        Settings::problems(&settings)
    }
}

impl BootSource for Template {
    fn resolve(unit: Unit<'_>) -> Result<Boot, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        Ok(choose(&Wanted::of(unit)?, unit.node.template(), &settings).boot)
    }

    fn ensure(unit: Unit<'_>, boot: Boot) -> Result<Boot, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        let wanted = Wanted::of(unit)?;
        let choice = choose(&wanted, unit.node.template(), &settings);
        factory::same(&choice.boot, &boot)?;
        let machines = site::machines(unit.node.placement().as_deref())?;
        for template in judge::find(&machines, &choice.template)? {
            let description = site::description(template)?;
            for told in judge::fits(template, &description, &wanted, &choice.image)? {
                unit.operation.report(&told);
            }
        }
        Ok(boot)
    }

    fn versions(_: &Operation) -> Result<Vec<String>, Failure> {
        Ok(judge::versions(&site::machines(None)?))
    }
}

impl Provisioner for Template {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<Option<Machine>, Failure> {
        build::observe(unit)
    }

    fn plan(unit: Unit<'_>, _: Option<FirstBoot>, intent: Intent, _: Option<State>) -> Result<Proposal, Failure> {
        build::plan(unit, intent)
    }

    fn apply(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Result<Step, Failure> {
        build::apply(unit, first_boot, intent, state.as_ref())
    }
}

emhost_sdk::plugin!(Template: boot_source, provisioner; "emhost-plugin.json");
