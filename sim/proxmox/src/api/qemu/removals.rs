//! What a request takes away from a configuration, checked against what it sets.

use std::collections::BTreeMap;

use super::disks::Asked;
use crate::Release;
use crate::call::Fail;
use crate::schema::{list, machine};
use crate::vm::Config;
use crate::vm::drives;

/// The drives with the sources of imports again, which are not part of a stored drive.
pub(super) fn with_imports(set: &Config, drives: &BTreeMap<String, Asked>) -> Config {
    let mut all = set.clone();
    for (key, asked) in drives {
        if let (Some(source), Some(text)) = (&asked.import, all.get_mut(key)) {
            text.push_str(",import-from=");
            text.push_str(source);
        }
    }
    all
}

/// Options to delete and to revert; neither may be set at the same time.
pub(super) fn removals(release: Release, set: &Config, delete: &str, revert: &str) -> Result<(Vec<String>, Vec<String>), Fail> {
    let known = |key: &str| machine::options(release).get(key).is_some() || drives::index(key, "unused").is_some();
    let revert = list::split(revert);
    for key in &revert {
        if !known(key) {
            return Err(Fail::param("revert", format!("unknown option '{key}'")));
        }
        if set.contains_key(key) {
            return Err(Fail::param("delete", format!("you can't use '-{key}' and -revert {key}' at the same time")));
        }
    }
    let mut gone = Vec::new();
    for key in list::split(delete) {
        let key = if key == "cdrom" { "ide2".to_owned() } else { key };
        if set.contains_key(&key) {
            return Err(Fail::param("delete", format!("you can't use '-{key}' and -delete {key}' at the same time")));
        }
        if revert.contains(&key) {
            return Err(Fail::param("revert", format!("you can't use '-delete {key}' and -revert {key}' at the same time")));
        }
        if !known(&key) {
            return Err(Fail::param("delete", format!("unknown option '{key}'")));
        }
        gone.push(key);
    }
    Ok((gone, revert))
}
