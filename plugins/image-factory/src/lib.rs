//! Machines start from a disk image of the Image Factory.
//!
//! Everything but [`BootSource::ensure`] works without a network: the id of an image is computed
//! here, and the factory is only told what the id stands for when a machine is to be made.

mod choice;
mod meta;

use emhost_factory_client::{self as factory, Settings, Wanted};
use emhost_sdk::{Boot, BootSource, Diagnostic, Failure, Lifecycle, Operation, Unit};

use choice::choose;

/// Boots images of the Image Factory.
pub struct ImageFactory;

impl Lifecycle for ImageFactory {
    fn validate(settings: String) -> Vec<Diagnostic> {
        Settings::problems(&settings)
    }
}

impl BootSource for ImageFactory {
    fn resolve(unit: Unit<'_>) -> Result<Boot, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        Ok(choose(&Wanted::of(unit)?, &settings)?.boot)
    }

    fn ensure(unit: Unit<'_>, boot: Boot) -> Result<Boot, Failure> {
        let settings: Settings = unit.operation.read_settings()?;
        choose(&Wanted::of(unit)?, &settings)?.ensure(unit, boot)
    }

    fn versions(_: &Operation) -> Result<Vec<String>, Failure> {
        Ok(factory::versions()?.iter().map(ToString::to_string).collect())
    }
}

emhost_sdk::plugin!(ImageFactory: boot_source; "emhost-plugin.json");
