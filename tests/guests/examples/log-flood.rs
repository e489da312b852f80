//! Logs a hundred thousand lines.

use emhost_sdk::log::{Level, write};
use emhost_sdk::{Failure, Unit};

fn flood(_: Unit<'_>) -> Result<String, Failure> {
    for number in 0..100_000 {
        write(Level::Info, &format!("line {number}"), &[]);
    }
    Ok("flooded".to_owned())
}

guests::provisioner!(flood);
