//! Machines start from an ISO of the Image Factory, and find their configuration on a second one.
//!
//! Nothing is sent to a machine that anybody on its network could have asked for: it installs
//! itself to its empty disk with what is on the volume, which goes once it has joined.

mod choice;
mod volume;

use emhost_factory_client::{self as factory, Settings, Wanted};
use emhost_sdk::{Boot, BootSource, Diagnostic, Document, Failure, Lifecycle, Medium, Operation, Unit};

use choice::choose;

/// Boots ISOs with a configuration beside them.
pub struct ConfigIso;

impl Lifecycle for ConfigIso {
    fn validate(settings: String) -> Vec<Diagnostic> {
        Settings::problems(&settings)
    }
}

impl BootSource for ConfigIso {
    fn resolve(unit: Unit<'_>) -> Result<Boot, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        Ok(choose(&Wanted::of(unit)?, &settings)?.boot)
    }

    fn media(unit: Unit<'_>, _: Boot, config: Vec<Document>) -> Result<Vec<Medium>, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        let wanted = Wanted::of(unit)?;
        Ok(vec![volume::of(&wanted, &unit.cluster.id(), settings.platform, &config)?])
    }

    fn ensure(unit: Unit<'_>, boot: Boot) -> Result<Boot, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        choose(&Wanted::of(unit)?, &settings)?.ensure(unit, boot)
    }

    fn versions(_: &Operation) -> Result<Vec<String>, Failure> {
        Ok(factory::versions()?.iter().map(ToString::to_string).collect())
    }
}

emhost_sdk::plugin!(ConfigIso: boot_source; "emhost-plugin.json");
