//! The API of nodes over real connections, with nodes behind it that only look alive.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../tests/client/mod.rs"]
mod client;
mod connections;
mod forwarding;
mod node;
mod resources;
mod talosctl;
