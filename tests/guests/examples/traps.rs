//! Traps without a word.

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    unimplemented!("a guest is a component")
}

guests::provisioner!(act);
