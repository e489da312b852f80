//! The endpoints, their parameters, and how Proxmox checks and prints values.
//!
//! [`find`] leads from a method and a path to an [`Endpoint`], [`check()`] from
//! what a client sent to [`Params`] that handlers read. The rest reads and
//! prints what stands inside single values: property strings, drives, network
//! cards, identifiers of tasks and names of volumes.

pub mod access;
mod areas;
mod check;
pub mod drive;
mod endpoint;
mod field;
mod formats;
pub mod list;
pub mod machine;
pub mod net;
mod params;
mod perl;
pub mod property;
pub mod size;
mod table;
#[cfg(test)]
mod tests;
pub mod upid;
pub mod volume;

pub use access::acl_path;
pub use check::{Fields, check, merge};
pub use endpoint::{Endpoint, GroupsParam, Permission, UserParam};
pub use field::{Check, Field, Kind, Shape};
pub use params::{Given, Params, Value};
pub use table::{Found, endpoints, find};
