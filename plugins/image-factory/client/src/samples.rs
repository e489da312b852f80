//! Wishes for the tests of boot sources.
#![allow(clippy::unwrap_used, reason = "only tests have this")]

use std::net::Ipv4Addr;

use crate::{Card, Static, Version, Wanted};

/// A node with an address of its own, and nothing beyond plain Talos.
///
/// # Panics
/// Never: its version is one.
pub fn wanted() -> Wanted {
    let fixed = Static { address: Ipv4Addr::new(10, 0, 10, 11), prefix: 16, gateway: Ipv4Addr::new(10, 0, 0, 1) };
    Wanted {
        node: "dev-cp-1".into(),
        version: Version::parse("v1.11.5").unwrap(),
        architecture: "amd64",
        secure_boot: false,
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        card: Some(Card { mac: "bc:24:11:00:00:01".into(), fixed: Some(fixed) }),
        resolvers: vec!["1.1.1.1".into(), "8.8.8.8".into()],
    }
}

/// The same on a site that gives out addresses.
pub fn leased() -> Wanted {
    Wanted { card: wanted().card.map(|card| Card { fixed: None, ..card }), ..wanted() }
}
