//! Roles, the built-in ones and others.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::one;
use crate::access::{builtin_names, builtin_role, privileges};
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/access/roles", always!(list)),
    ("POST", "/access/roles", at_once!(create)),
    ("GET", "/access/roles/{roleid}", at_once!(read)),
    ("PUT", "/access/roles/{roleid}", at_once!(update)),
    ("DELETE", "/access/roles/{roleid}", at_once!(delete)),
];

fn id(call: &Call) -> &str {
    call.params.text("roleid").unwrap_or_default()
}

fn missing(id: &str) -> Fail {
    Fail::die(format!("role '{id}' does not exist\n"))
}

fn is_special(call: &Call, id: &str) -> bool {
    builtin_role(call.pve.release(), id).is_some()
}

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let mut names = builtin_names();
    names.extend(state.access.custom_roles.keys().cloned());
    let entries: Vec<Value> = names
        .into_iter()
        .map(|name| {
            let privileges: Vec<String> = state.access.role(&name).into_iter().flatten().collect();
            json!({ "roleid": name, "privs": privileges.join(","), "special": one(is_special(call, &name)) })
        })
        .collect();
    Answer::data(entries)
}

/// The privileges that were given, every one of which has to exist.
fn given(call: &Call) -> Result<BTreeSet<String>, Fail> {
    let known = privileges(call.pve.release());
    let given = call.params.list("privs");
    match given.iter().find(|name| !known.contains(*name)) {
        Some(name) => Err(Fail::die(format!("invalid privilege '{name}'\n"))),
        None => Ok(given.into_iter().collect()),
    }
}

fn create(call: &Call) -> Outcome {
    let name = id(call);
    if name.to_ascii_lowercase().starts_with("pve") {
        let text = "cannot use role ID starting with the (case-insensitive) 'PVE' namespace";
        return Err(Fail::param("roleid", text));
    }
    let made = call.pve.change_access(|access| {
        if access.role(name).is_some() {
            return Err(Fail::die(format!("role '{name}' already exists\n")));
        }
        access.custom_roles.insert(name.to_owned(), given(call)?);
        Ok(())
    });
    made.map_err(|fail| fail.within("create role failed"))?;
    Ok(Answer::done(format!("role {name} created")))
}

fn read(call: &Call) -> Outcome {
    let role = call.pve.state().access.role(id(call)).ok_or_else(|| missing(id(call)))?;
    Ok(Answer::data(role.into_iter().map(|name| (name, one(true))).collect::<Map<_, _>>()))
}

fn update(call: &Call) -> Outcome {
    let name = id(call);
    if is_special(call, name) {
        return Err(Fail::die(format!("auto-generated role '{name}' cannot be modified\n")));
    }
    let done = call.pve.change_access(|access| {
        let role = access.custom_roles.get_mut(name).ok_or_else(|| missing(name))?;
        if !call.params.flag("append").unwrap_or(false) {
            role.clear();
        }
        role.extend(given(call)?);
        Ok(())
    });
    done.map_err(|fail| fail.within("update role failed"))?;
    Ok(Answer::done(format!("role {name} changed")))
}

fn delete(call: &Call) -> Outcome {
    let name = id(call);
    if is_special(call, name) {
        return Err(Fail::die(format!("auto-generated role '{name}' cannot be deleted\n")));
    }
    let done = call.pve.change_access(|access| {
        access.custom_roles.remove(name).ok_or_else(|| missing(name))?;
        Ok(())
    });
    done.map_err(|fail| fail.within("delete role failed"))?;
    Ok(Answer::done(format!("role {name} removed")))
}
