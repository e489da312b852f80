//! Wants state kept that is not JSON.

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    Ok("{\"task\": UPID:pve1}".to_owned())
}

guests::distro!(act);
