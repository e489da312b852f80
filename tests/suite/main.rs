//! The integration tests: what plugins can and cannot do, through the real sandbox and binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking")]

mod archives;
mod cache;
mod cli;
mod crash;
mod docs;
mod fixtures;
mod hostile;
mod hostile_answers;
mod hostile_bytes;
mod hostile_network;
mod inventory;
mod pipeline;
mod probe;
mod record;
mod secrets;
mod slots;
mod sops;
mod state;
mod versions;
