//! How the server is.

use std::collections::HashMap;

use super::Answer;
use crate::cluster::Cluster;

const CHECKS: [&str; 12] = [
    "ping",
    "log",
    "etcd",
    "informer-sync",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/bootstrap-controller",
    "poststarthook/apiservice-registration-controller",
    "autoregister-completion",
];

/// `/healthz`, `/livez` and `/readyz`, whole or one check.
pub(super) fn answer(cluster: &Cluster, path: &str, query: &HashMap<String, String>) -> Option<Answer> {
    let path = path.trim_matches('/');
    let (name, check) = path.split_once('/').unwrap_or((path, ""));
    if !["healthz", "livez", "readyz"].contains(&name) {
        return None;
    }
    let healthy = cluster.read(|world| world.writable);
    let fine = |check: &str| healthy || check != "etcd";
    if !check.is_empty() {
        if !CHECKS.contains(&check) {
            return None;
        }
        return Some(if fine(check) {
            Answer::text(200, "ok")
        } else {
            Answer::text(500, "internal server error: etcd failed: reason withheld\n")
        });
    }
    let line = |check: &&str| if fine(check) { format!("[+]{check} ok\n") } else { format!("[-]{check} failed: reason withheld\n") };
    let lines: String = CHECKS.iter().map(line).collect();
    Some(match (healthy, query.contains_key("verbose")) {
        (true, false) => Answer::text(200, "ok"),
        (true, true) => Answer::text(200, &format!("{lines}{name} check passed\n")),
        (false, _) => Answer::text(500, &format!("{lines}{name} check failed\n")),
    })
}
