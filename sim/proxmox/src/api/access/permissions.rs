//! What somebody may do, for clients that ask before they act.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::one;
use crate::call::{Answer, Call, Outcome, Route, at_once};

pub(super) const ROUTES: &[Route] = &[("GET", "/access/permissions", at_once!(list))];

/// Paths that are listed even where nothing is granted on them.
const TOP: [&str; 9] = ["/", "/access", "/access/groups", "/mapping", "/nodes", "/pool", "/sdn", "/storage", "/vms"];

fn list(call: &Call) -> Outcome {
    let state = call.pve.state();
    let access = &state.access;
    let of = call.params.text("userid").unwrap_or(&call.who.id);
    let owner = of.split_once('!').map(|(user, _)| user);
    if of != call.who.id && owner != Some(&call.who.id) {
        access.check(&call.who, "/access", &["Sys.Audit"])?;
    }
    let on = |path: &str| -> Value {
        let privileges = access.privileges(of, path);
        privileges.into_iter().map(|(name, below)| (name, one(below))).collect::<Map<_, _>>().into()
    };
    if let Some(path) = call.params.text("path") {
        return Ok(Answer::data(json!({ path: on(path) })));
    }
    let mut paths: BTreeSet<String> = TOP.map(str::to_owned).into();
    paths.extend(access.granted_paths());
    for pool in access.pools.values() {
        paths.extend(pool.vms.iter().map(|id| format!("/vms/{id}")));
        paths.extend(pool.storage.iter().map(|id| format!("/storage/{id}")));
    }
    let all =
        paths.into_iter().map(|path| (on(&path), path)).filter(|(privileges, _)| privileges.as_object().is_some_and(|map| !map.is_empty()));
    Ok(Answer::data(all.map(|(privileges, path)| (path, privileges)).collect::<Map<_, _>>()))
}
