//! Reports the same long warning again and again.

use emhost_sdk::{Diagnostic, Failure, Unit};

fn flood(unit: Unit<'_>) -> Result<String, Failure> {
    let warning = Diagnostic::warning("guest/again", "look at me").detail("x".repeat(10_000));
    for _ in 0..5_000 {
        unit.operation.report(&warning);
    }
    Ok("flooded".to_owned())
}

guests::provisioner!(flood);
