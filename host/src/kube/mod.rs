//! The cluster's Kubernetes API, as far as the host itself speaks to it: nodes that go are drained and forgotten.
//!
//! A thin client on the HTTP stack that is there anyway; `docs/decisions.md` says why not a larger one.

mod access;
mod client;
pub mod drain;

pub use access::{Access, AccessError};
pub use client::{ApiError, Body, Client, Refused};
