//! Plans an action on nothing: the subject is what its settings say.

use emhost_sdk::{Failure, Unit};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    unit.operation.read_settings()
}

guests::provisioner!(act);
