//! The endpoints, one file for every area.

mod access;
mod agent;
mod cluster;
mod ha;
mod mapping;
mod network;
mod nodes;
mod pools;
mod qemu;
mod storage;
mod storage_config;
mod tasks;

use std::sync::Arc;

use super::Endpoint;
use super::field::{Field, flag, int, number, properties};
use super::property::Format;
use crate::Release;

/// Every endpoint of a release.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    [
        access::endpoints(release),
        agent::endpoints(release),
        cluster::endpoints(release),
        ha::endpoints(release),
        mapping::endpoints(release),
        network::endpoints(release),
        nodes::endpoints(release),
        pools::endpoints(),
        qemu::endpoints(release),
        storage::endpoints(release),
        storage_config::endpoints(release),
        tasks::endpoints(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How far back statistics go.
const TIMEFRAMES: &[&str] = &["hour", "day", "week", "month", "year"];

/// Limits of bandwidth for single operations.
fn bwlimit(release: Release) -> Field {
    let operations = ["clone", "default", "migration", "move", "restore"];
    properties(&Arc::new(Format::new(release, operations.map(|name| (name, number().min(0).optional())))))
}

/// Which backups are kept.
fn prune(release: Release) -> Arc<Format> {
    let kept = ["keep-last", "keep-hourly", "keep-daily", "keep-weekly", "keep-monthly", "keep-yearly"];
    let kept = kept.map(|name| (name, int().min(0).optional()));
    let format = Format::new(release, kept.into_iter().chain([("keep-all", flag().optional())]));
    Arc::new(format.validated(|kept| {
        let some = kept.iter().any(|(name, number)| name != "keep-all" && !number.trim_start_matches(['+', '0']).is_empty());
        let everything = kept.get("keep-all").is_some_and(|flag| flag == "1");
        if some && everything { Err("keep-all cannot be set together with other options.".to_owned()) } else { Ok(()) }
    }))
}
