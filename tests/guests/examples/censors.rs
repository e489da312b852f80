//! Declares an ordinary word a secret, so that the host hides it from everybody.

use emhost_sdk::{Failure, Unit, secrets};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let word: String = unit.operation.read_settings()?;
    std::mem::forget(secrets::ephemeral(word.as_bytes()));
    Ok("said".to_owned())
}

guests::provisioner!(act);
