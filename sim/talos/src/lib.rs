//! Talos nodes that talosctl accepts.
//!
//! A [`Fleet`] holds every node of a site. A node boots when its machine does,
//! answers on its addresses, and lives until power goes off; what must outlive
//! that is on its disks, or in the store for what belongs to a cluster.

pub(crate) mod apid;
pub use emhost_talos_schema as config;
pub(crate) mod cosi;
mod etcd;
mod fleet;
mod health;
mod node;
pub(crate) mod seam;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

pub use fleet::{Boot, Fleet, Ground, Link, NodeView, Parts};
pub use node::power::fall_back;
