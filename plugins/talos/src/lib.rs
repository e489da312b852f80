//! Talos Linux: renders its machine configuration and drives it on the machines.

mod configurator;
mod distro;

use emhost_sdk::Lifecycle;

/// Talos Linux.
pub struct Talos;

impl Lifecycle for Talos {}

emhost_sdk::plugin!(Talos: configurator, distro; "emhost-plugin.json");
