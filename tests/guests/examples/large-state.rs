//! Wants a megabyte of state kept, after success or, as its settings say, after failure.

use emhost_sdk::{Failure, State, Unit};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let data = format!("\"{}\"", "x".repeat(1 << 20));
    if unit.operation.settings() == "\"fail\"" {
        return Err(Failure::unavailable("guest/later", "not now").state(State { schema: 1, data }));
    }
    Ok(data)
}

guests::distro!(act);
