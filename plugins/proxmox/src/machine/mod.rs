//! The shape of a machine: what the inventory wants, what Proxmox has, and what lies between.

pub mod config;
pub mod differences;
pub mod drives;
pub mod parameters;
#[cfg(test)]
pub mod samples;
pub mod texts;
pub mod wanted;

pub use config::Config;
pub use differences::Differences;
pub use wanted::Wanted;
