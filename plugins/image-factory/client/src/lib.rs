//! What boot sources share that take their images from an Image Factory.
//!
//! [`Wanted`] is what a node asks of its image, [`Image`] the file that fulfils it, and [`ensure`]
//! makes sure that the factory can build that file. Only the last one needs a network.

mod extensions;
mod factory;
mod image;
mod network;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod settings;
mod version;
mod wanted;

pub use emhost_schematic::{Node, Schematic, document};
pub use extensions::nearest;
pub use factory::{Choice, ensure, same, versions};
pub use image::{Image, Medium, Platform};
pub use network::{Card, Static};
pub use settings::Settings;
pub use version::Version;
pub use wanted::Wanted;

/// Where the public factory keeps its installers.
pub const REGISTRY: &str = "factory.talos.dev";
