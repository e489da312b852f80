//! Keeps asking for memory.

use emhost_sdk::{Failure, Unit};

fn grow(_: Unit<'_>) -> Result<String, Failure> {
    let mut kept = Vec::new();
    loop {
        kept.push(std::hint::black_box(vec![1u8; 1 << 20]));
    }
}

guests::provisioner!(grow);
