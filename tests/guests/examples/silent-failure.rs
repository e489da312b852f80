//! Fails without saying why: with no diagnostic, or with one that says nothing.

use emhost_sdk::{Failure, Unit};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let mut failure = Failure::internal("", "");
    if unit.operation.settings() != "\"empty\"" {
        failure.diagnostics.clear();
    }
    Err(failure)
}

guests::provisioner!(act);
