//! Asks the host for a terabyte of random bytes at once.

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    Ok(wasip2::random::random::get_random_bytes(1 << 40).len().to_string())
}

guests::provisioner!(act);
