//! What the parts of the simulated site share.
//!
//! Each part (Proxmox, machines, Talos, Kubernetes) is a crate of its own and
//! knows the others only through the types here: [`hardware`] is the seam
//! between the hypervisor and what runs on it.

pub mod addresses;
pub mod audit;
pub mod certificates;
pub mod dials;
pub mod hardware;
pub mod store;
pub mod tls;

pub use addresses::Network;
pub use audit::Audit;
pub use dials::{Dials, Fault, Profile};
pub use hardware::{Disk, Drive, DriveKind, Firmware, Guests, Hypervisor, Image, Interface, Machine, Medium, Nic, Platform};
pub use store::Store;
