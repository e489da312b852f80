//! Never comes back.

use emhost_sdk::{Failure, Unit};

fn spin(_: Unit<'_>) -> Result<String, Failure> {
    let mut number = 1u64;
    loop {
        number = std::hint::black_box(number.wrapping_mul(3) | 1);
    }
}

guests::provisioner!(spin);
