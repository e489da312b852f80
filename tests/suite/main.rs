//! The integration tests: what plugins can and cannot do, through the real sandbox and binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking")]

mod apply;
mod apply_faults;
mod apply_killed;
mod archives;
mod boot_sources;
mod cache;
mod cli;
mod commands;
mod configurator;
mod crash;
mod docs;
mod doctor;
mod fixtures;
mod hostile;
mod hostile_answers;
mod hostile_bytes;
mod hostile_network;
mod images;
mod import;
mod inventory;
mod kube;
mod leaving;
mod oraclenode;
mod pipeline;
mod probe;
mod proxmox;
mod record;
mod secrets;
mod slots;
mod sops;
mod state;
mod talos;
mod troubles;
mod versions;
