//! All endpoints, and the way from a path to one of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Endpoint, areas};
use crate::Release;
use crate::call::Fail;

/// An endpoint, and what its path says.
#[derive(Debug)]
pub struct Found {
    /// The endpoint.
    pub endpoint: &'static Endpoint,
    /// Parameters of the path by their names.
    pub path_params: BTreeMap<String, String>,
}

static TABLES: LazyLock<[Vec<Endpoint>; 2]> = LazyLock::new(|| [areas::endpoints(Release::V8), areas::endpoints(Release::V9)]);

/// Every endpoint of a release.
pub fn endpoints(release: Release) -> &'static [Endpoint] {
    match release {
        Release::V8 => &TABLES[0],
        Release::V9 => &TABLES[1],
    }
}

/// Finds the endpoint of a path, which is decoded already. Empty parts of the path do not count.
///
/// # Errors
///
/// 501 where there is none.
pub fn find(release: Release, method: &str, path: &str) -> Result<Found, Fail> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    endpoints(release)
        .iter()
        .filter(|endpoint| endpoint.method == method)
        .find_map(|endpoint| Some(Found { endpoint, path_params: matched(endpoint.path, &parts)? }))
        .ok_or_else(|| {
            let shown = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
            Fail::new(501, format!("Method '{method} {shown}' not implemented"))
        })
}

fn matched(template: &str, parts: &[&str]) -> Option<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    let mut rest = parts.iter();
    for wanted in template.split('/').filter(|part| !part.is_empty()) {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            // The name of a volume has slashes itself.
            Some("volume") => {
                let volume = rest.as_slice().join("/");
                rest = [].iter();
                if volume.is_empty() || volume.contains(char::is_whitespace) {
                    return None;
                }
                params.insert("volume".to_owned(), volume);
            }
            Some(name) => {
                let part = rest.next().filter(|part| !part.contains(char::is_whitespace))?;
                params.insert(name.to_owned(), (*part).to_owned());
            }
            None => {
                rest.next().filter(|part| **part == wanted)?;
            }
        }
    }
    rest.next().is_none().then_some(params)
}
