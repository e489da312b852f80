//! Pools, in the old form with the name in the path and the new one without.

use serde_json::{Value, json};

use super::resources;
use crate::access::{Access, Pool};
use crate::call::{Answer, Call, Fail, Outcome, Route, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/pools", at_once!(list)),
    ("POST", "/pools", at_once!(create)),
    ("PUT", "/pools", at_once!(update)),
    ("DELETE", "/pools", at_once!(delete)),
    ("GET", "/pools/{poolid}", at_once!(read)),
    ("PUT", "/pools/{poolid}", at_once!(update)),
    ("DELETE", "/pools/{poolid}", at_once!(delete)),
];

fn id(call: &Call) -> &str {
    call.params.text("poolid").unwrap_or_default()
}

fn missing(id: &str) -> Fail {
    Fail::die(format!("pool '{id}' does not exist\n"))
}

fn list(call: &Call) -> Outcome {
    if call.params.has("poolid") {
        return Ok(Answer::data(vec![one(call)?]));
    }
    let state = call.pve.state();
    let access = &state.access;
    let seen = access.pools.iter().filter(|(name, _)| access.allows(&call.who, &format!("/pool/{name}"), &["Pool.Audit"]));
    let entries = seen.map(|(name, pool)| {
        let mut entry = json!({ "poolid": name });
        if let Some(comment) = &pool.comment {
            entry["comment"] = json!(comment);
        }
        entry
    });
    Ok(Answer::data(entries.collect::<Vec<_>>()))
}

fn read(call: &Call) -> Outcome {
    let mut entry = one(call)?;
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("poolid");
    }
    Ok(Answer::data(entry))
}

/// A pool with its members.
fn one(call: &Call) -> Result<Value, Fail> {
    let state = call.pve.state();
    let name = id(call);
    let pool = state.access.pools.get(name).ok_or_else(|| missing(name))?;
    let kind = call.params.text("type");
    let mut members: Vec<Value> = Vec::new();
    if kind.is_none_or(|kind| kind == "qemu") {
        members.extend(pool.vms.iter().filter_map(|id| state.vms.get(id)).map(|vm| resources::machine(&call.pve, vm)));
    }
    if kind.is_none_or(|kind| kind == "storage") {
        for storage in pool.storage.iter().filter_map(|id| state.storages.spec(id).ok()) {
            let local = storage.nodes.is_empty() || storage.nodes.contains(&call.asked);
            let host = if local { &call.asked } else { storage.nodes.first().unwrap_or(&call.asked) };
            members.push(resources::storage(&call.pve, &state, storage, host));
        }
    }
    let mut entry = json!({ "poolid": name, "members": members });
    if let Some(comment) = &pool.comment {
        entry["comment"] = json!(comment);
    }
    Ok(entry)
}

fn create(call: &Call) -> Outcome {
    let name = id(call);
    let comment = call.params.text("comment").filter(|text| !text.is_empty()).map(str::to_owned);
    let made = call.pve.change_access(|access| {
        if access.pools.contains_key(name) {
            return Err(Fail::die(format!("pool '{name}' already exists\n")));
        }
        let leaf = match name.rsplit_once('/') {
            Some((parent, _)) if !access.pools.contains_key(parent) => {
                return Err(Fail::die(format!("parent '{parent}' of pool '{name}' does not exist\n")));
            }
            Some((_, leaf)) => leaf,
            None => name,
        };
        if !leaf.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(Fail::die("pool name must start with a letter\n"));
        }
        access.pools.insert(name.to_owned(), Pool { comment, ..Pool::default() });
        Ok(())
    });
    made.map_err(|fail| fail.within("create pool failed"))?;
    Ok(Answer::done(format!("pool {name} created")))
}

fn update(call: &Call) -> Outcome {
    let name = id(call);
    call.pve.change_access(|access| change(call, access, name)).map_err(|fail| fail.within("update pools failed"))?;
    Ok(Answer::done(format!("pool {name} changed")))
}

fn change(call: &Call, access: &mut Access, name: &str) -> Result<(), Fail> {
    let params = &call.params;
    let delete = params.flag("delete").unwrap_or(false);
    let mut pool = access.pools.get(name).cloned().ok_or_else(|| missing(name))?;
    if let Some(comment) = params.text("comment") {
        pool.comment = Some(comment.to_owned());
    }
    for text in params.list("vms") {
        access.check_grants(&call.who, &format!("/vms/{text}"))?;
        let id: u32 = text.parse().map_err(|_| Fail::die(format!("VM {text} is not a pool member\n")))?;
        if delete {
            if !pool.vms.remove(&id) {
                return Err(Fail::die(format!("VM {id} is not a pool member\n")));
            }
            continue;
        }
        if pool.vms.contains(&id) {
            return Err(Fail::die(format!("VM {id} is already a pool member\n")));
        }
        if let Some(other) = access.pool_of(id).map(str::to_owned) {
            if !params.flag("allow-move").unwrap_or(false) {
                return Err(Fail::die(format!("VM {id} belongs already to pool '{other}' and 'allow-move' is not set\n")));
            }
            access.check(&call.who, &format!("/pool/{other}"), &["Pool.Allocate"])?;
            access.pools.entry(other).or_default().vms.remove(&id);
        }
        pool.vms.insert(id);
    }
    for id in params.list("storage") {
        access.check_grants(&call.who, &format!("/storage/{id}"))?;
        if delete {
            if !pool.storage.remove(&id) {
                return Err(Fail::die(format!("Storage '{id}' is not a pool member\n")));
            }
        } else if !pool.storage.insert(id.clone()) {
            return Err(Fail::die(format!("Storage '{id}' is already a pool member\n")));
        }
    }
    access.pools.insert(name.to_owned(), pool);
    Ok(())
}

fn delete(call: &Call) -> Outcome {
    let name = id(call);
    let (vms, storages) = {
        let state = call.pve.state();
        let vms: Vec<u32> = state.vms.keys().copied().collect();
        (vms, state.storages.specs().map(|storage| storage.id.clone()).collect::<Vec<_>>())
    };
    let done = call.pve.change_access(|access| {
        let pool = access.pools.get(name).ok_or_else(|| missing(name))?;
        let holds = |what: String| Fail::die(format!("pool '{name}' is not empty (contains {what})\n"));
        let below = format!("{name}/");
        if let Some(inner) = access.pools.keys().find(|other| other.starts_with(&below)) {
            return Err(holds(format!("pool '{inner}'")));
        }
        if let Some(id) = pool.vms.iter().find(|id| vms.contains(id)) {
            return Err(holds(format!("VM {id}")));
        }
        if let Some(id) = pool.storage.iter().find(|id| storages.contains(id)) {
            return Err(holds(format!("storage '{id}'")));
        }
        access.pools.remove(name);
        access.acl.remove(&format!("/pool/{name}"));
        Ok(())
    });
    done.map_err(|fail| fail.within("delete pool failed"))?;
    Ok(Answer::done(format!("pool {name} removed")))
}
