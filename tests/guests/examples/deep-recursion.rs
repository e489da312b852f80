//! Calls itself until the stack is full.

use emhost_sdk::{Failure, Unit};

#[inline(never)]
fn deeper(depth: u64) -> u64 {
    let below = if std::hint::black_box(depth) == u64::MAX { 0 } else { deeper(depth + 1) };
    std::hint::black_box(below) ^ depth
}

fn recurse(_: Unit<'_>) -> Result<String, Failure> {
    Ok(deeper(0).to_string())
}

guests::provisioner!(recurse);
