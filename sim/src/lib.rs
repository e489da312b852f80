//! A simulated site to run against: Proxmox VE, an Image Factory, Talos nodes and their Kubernetes API.

mod access;
mod administrator;
mod furnish;
mod ground;
mod plan;
mod site;

pub use access::Access;
pub use administrator::{Administrator, ApiError};
pub use emhost_sim_kit::store::StoreError;
pub use emhost_sim_kit::{Fault, Network, Profile};
pub use emhost_sim_proxmox::{PciSpec, Release, StorageSpec};
pub use emhost_sim_talos::NodeView;
pub use plan::{Gpu, Lan, Plan, Template, Wanted};
pub use site::{Site, SiteError};
