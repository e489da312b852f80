//! What goes wrong at a site: the same way with the same seed, and never more than it says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking")]

mod client;
#[path = "../common/mod.rs"]
mod common;
mod killed;
mod lost;
mod process;
mod seeds;
mod tasks;
