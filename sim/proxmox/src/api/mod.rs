//! One function for every endpoint, one file for every area.

mod access;
mod cluster;
mod execute;
mod ha;
mod mapping;
mod network;
mod nodes;
mod pools;
pub(crate) mod qemu;
mod resources;
mod storage;
mod storage_config;
mod tasks;
mod version;

use sha1::{Digest as _, Sha1};

pub(crate) use resources::Statistics;

pub(crate) use crate::call::Route;

/// Every function that answers something.
pub(crate) fn routes() -> Vec<Route> {
    let areas: &[&[Route]] = &[
        &access::routes(),
        cluster::ROUTES,
        execute::ROUTES,
        ha::ROUTES,
        mapping::ROUTES,
        network::ROUTES,
        nodes::ROUTES,
        pools::ROUTES,
        qemu::ROUTES,
        resources::ROUTES,
        storage::ROUTES,
        storage_config::ROUTES,
        tasks::ROUTES,
        version::ROUTES,
    ];
    areas.concat()
}

/// What tells whether a file was changed in between.
pub(crate) fn digest(text: &str) -> String {
    let bytes: Vec<String> = Sha1::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::routes;
    use crate::Release;
    use crate::schema::endpoints;

    #[test]
    fn every_function_answers_an_endpoint_of_the_schema() {
        let known: BTreeSet<(&str, &str)> = [Release::V8, Release::V9]
            .iter()
            .flat_map(|release| endpoints(*release))
            .map(|endpoint| (endpoint.method, endpoint.path))
            .collect();
        let unknown: Vec<_> = routes().into_iter().map(|route| (route.0, route.1)).filter(|route| !known.contains(route)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
