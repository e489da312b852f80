//! Package `machine`: what one node is told and asked.

mod configuration;
mod etcd;
mod events;
mod files;
mod generate;
mod images;
mod network;
mod power;
mod services;
mod system;

pub use configuration::*;
pub use etcd::*;
pub use events::*;
pub use files::*;
pub use generate::*;
pub use images::*;
pub use network::*;
pub use power::*;
pub use services::*;
pub use system::*;
