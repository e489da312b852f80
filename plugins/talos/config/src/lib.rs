//! Secrets and machine configurations of Talos clusters, as Talos's own generator makes them.
//!
//! A [`Bundle`] holds what a cluster keeps secret, an [`Input`] what is to be said about one machine; [`generate()`] makes the
//! configuration of both for the version of Talos that will read it, [`patch`] changes it as Talos would, [`check()`] says what that
//! version would refuse, and [`diff`] what sets it apart from another. Nothing here does I/O, knows the time or has random numbers of
//! its own: the same inputs give the same bytes.

mod check;
mod contract;
pub mod diff;
mod generate;
mod input;
pub mod patch;
pub mod pki;
mod pointer;
mod schema;
mod secrets;
mod tree;

pub use check::{Refused, check};
pub use contract::{Contract, Unsupported};
pub use generate::{Impossible, generate};
pub use input::{Cni, Input, Link, Platform, Role, Tailscale};
pub use secrets::{Bundle, Unreadable};

/// Where random bytes come from.
pub type Random<'a> = dyn FnMut(&mut [u8]) + 'a;
