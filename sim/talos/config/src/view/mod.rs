//! What a configuration says, in the words of those who act on it.

mod cluster;
mod defaults;
mod features;
mod install;
mod links;
mod machine;
mod network;

#[cfg(test)]
mod tests;

pub use cluster::{Cni, Component, InlineManifest};
pub use defaults::kubernetes_range;
pub use features::Features;
pub(crate) use install::glob;
pub use install::{DiskFacts, DiskSelector, Install};
pub use links::{Link, LinkFacts, LinkKind, LinkMatch, Route};
pub use machine::{ExtensionService, MachineType, Mirror, Pem, UserVolume};
pub use network::AutoHostname;
