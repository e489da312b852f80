//! Plugins: finding, reading, compiling and calling them.

mod answers;
mod cache;
pub mod contract;
mod error;
pub mod inspect;
mod instances;
mod limits;
pub mod locate;
pub mod lock;
pub mod manifest;
mod roles;

pub use cache::Cache;
pub(crate) use cache::write;
pub use contract::{CONTRACT, Role};
pub use error::{CallError, Cause, LoadError};
pub use inspect::{Inspection, inspect};
pub(crate) use instances::Workshop;
pub use instances::{Plugin, Runtime};
pub use limits::Limits;
pub use manifest::Manifest;

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
