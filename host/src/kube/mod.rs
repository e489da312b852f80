//! The cluster's Kubernetes API, as far as the host itself speaks to it: nodes that go are drained and forgotten, addons are applied.
//!
//! A thin client on the HTTP stack that is there anyway; `docs/decisions.md` says why not a larger one.

mod access;
mod client;
pub mod diff;
pub mod discovery;
pub mod documents;
pub mod drain;
pub mod inventory;
pub mod object;
pub mod owner;
pub mod readiness;

pub use access::{Access, AccessError};
pub use client::{ApiError, Body, Client, Refused};
