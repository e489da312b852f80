//! Reports progress a hundred thousand times, well over a hundred per cent.

use emhost_sdk::{Failure, Unit};

fn flood(unit: Unit<'_>) -> Result<String, Failure> {
    for number in 0..100_000 {
        unit.operation.progress(&format!("busy with {number}"), Some(255));
    }
    Ok("flooded".to_owned())
}

guests::provisioner!(flood);
