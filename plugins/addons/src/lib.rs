//! What runs in a cluster beside Kubernetes itself: rendered here, applied by the host.
//!
//! Everything is a function of the inventory and the settings. There is no network, no credential and no secret in here:
//! manifests name secrets as `emhost-secret:NAME`, and the host puts the values in.

mod builtin;
mod entry;
mod free;
mod manifest;
mod order;
mod settings;
mod site;
#[cfg(test)]
mod tests;
mod values;

use emhost_sdk::addon::Stage;
use emhost_sdk::{Addon, Contribution, Diagnostic, Failure, Lifecycle, Site, Unit};

use order::Plan;
use settings::Settings;
use site::Machine;

/// The addons that emhost knows, and those of the site.
pub struct Addons;

impl Lifecycle for Addons {
    fn validate(settings: String) -> Vec<Diagnostic> {
        Settings::problems(&settings)
    }
}

impl Addon for Addons {
    fn contribute(unit: Unit<'_>) -> Result<Contribution, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        let plan = Plan::of(site::Site::of(unit.cluster)?, entry::list(&unit.cluster.attributes())?, settings)?;
        Ok(plan.contribute(&Machine::of(unit.node)).contribution())
    }

    fn render(site: Site<'_>) -> Result<Vec<Stage>, Failure> {
        let settings: Settings = site.operation.read_settings()?;
        let plan = Plan::of(site::Site::of(site.cluster)?, entry::list(&site.cluster.attributes())?, settings)?;
        for told in plan.remarks() {
            site.operation.report(&told);
        }
        plan.render()
    }
}

emhost_sdk::plugin!(Addons: addon; "emhost-plugin.json");
