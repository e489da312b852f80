//! emhost turns a folder of YAML into a running Talos Linux cluster on Proxmox VE. Every phase of
//! the work is done by a sandboxed WebAssembly component.
//!
//! This crate is the host: it loads plugins ([`plugins`]), lends them what the site granted
//! ([`capabilities`]). It prints nothing, reads no
//! environment and never exits; the binary does.

pub mod access;
pub mod bindings;
pub mod capabilities;
pub mod charts;
pub mod diagnostic;
pub mod inventory;
pub mod keys;
pub mod kube;
pub mod pipeline;
pub mod plugins;
pub mod redact;
pub mod secrets;
pub mod state;
