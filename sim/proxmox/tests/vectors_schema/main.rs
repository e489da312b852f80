//! The schema against what Proxmox's own code answered, and against the schema it publishes.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod captured;
mod dump;
mod published;
mod recorded;
mod values;

use std::collections::BTreeMap;

use emhost_sim_proxmox::schema::{Given, Params, check, find, merge};
use emhost_sim_proxmox::{Fail, Release};

const BOTH: [Release; 2] = [Release::V8, Release::V9];

/// A request from its path to the parameters that a handler would read.
fn call(release: Release, method: &str, path: &str, given: BTreeMap<String, Given>) -> Result<Params, Fail> {
    let found = find(release, method, path)?;
    check(release, found.endpoint, merge(&found.path_params, given)?)
}
