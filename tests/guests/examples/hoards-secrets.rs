//! Gives the host large values to keep secret, again and again.

use emhost_sdk::{Failure, Unit, secrets};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    for number in 0..16u8 {
        std::mem::forget(secrets::ephemeral(&vec![number; 1 << 20]));
    }
    Ok("kept".to_owned())
}

guests::provisioner!(act);
