//! The schema against what Proxmox's own code answered, and against the schema it publishes.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail by panicking and say what they skip")]

mod captured;
mod dump;
mod published;
mod recorded;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;

use emhost_sim_proxmox::schema::{Given, Params, check, find, merge};
use emhost_sim_proxmox::{Fail, Release};

const BOTH: [Release; 2] = [Release::V8, Release::V9];

/// The folder of recorded answers, or none where this checkout has no such neighbour.
fn facts(name: &str) -> Option<String> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/facts");
    let folder = std::env::var_os("EMHOST_FACTS").map_or(beside, PathBuf::from);
    let text = std::fs::read_to_string(folder.join(name)).ok();
    if text.is_none() {
        eprintln!("SKIPPED: no {name} in {}, set EMHOST_FACTS", folder.display());
    }
    text
}

/// A request from its path to the parameters that a handler would read.
fn call(release: Release, method: &str, path: &str, given: BTreeMap<String, Given>) -> Result<Params, Fail> {
    let found = find(release, method, path)?;
    check(release, found.endpoint, merge(&found.path_params, given)?)
}
