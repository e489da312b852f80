//! Answers with a text of 8 MiB.

use emhost_sdk::{Failure, Unit};

fn answer(_: Unit<'_>) -> Result<String, Failure> {
    Ok("x".repeat(8 << 20))
}

guests::provisioner!(answer);
