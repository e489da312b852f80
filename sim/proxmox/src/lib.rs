//! A Proxmox VE API that its real clients accept.
//!
//! A request goes through `http`, which speaks HTTP as pveproxy does, to the
//! [`schema`], which finds the endpoint and checks its parameters, past
//! `access`, which decides who may, to one function in `api`. What takes
//! long becomes one of the `tasks`.

mod access;
mod api;
mod call;
mod dispatch;
mod hosts;
mod http;
mod locks;
mod pve;
pub mod schema;
mod settings;
mod spec;
mod storage;
mod tasks;
mod vm;

pub use call::Fail;
pub use pve::{Parts, Pve, Serving};
pub use spec::{HostSpec, PciSpec, Release, Spec, StorageSpec};
