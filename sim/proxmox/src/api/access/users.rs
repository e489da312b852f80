//! Users.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{check_realm, one, tokens};
use crate::access::{Access, Secret, User};
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/access/users", always!(list)),
    ("POST", "/access/users", at_once!(create)),
    ("GET", "/access/users/{userid}", at_once!(read)),
    ("PUT", "/access/users/{userid}", at_once!(update)),
    ("DELETE", "/access/users/{userid}", at_once!(delete)),
];

/// What is kept as it was given.
const DETAILS: [&str; 5] = ["firstname", "lastname", "email", "comment", "keys"];

fn id(call: &Call) -> &str {
    call.params.text("userid").unwrap_or_default()
}

pub(super) fn missing(id: &str) -> Fail {
    Fail::die(format!("no such user ('{id}')\n"))
}

fn entry(user: &User) -> Value {
    let mut entry = json!({ "enable": one(user.enable), "expire": user.expire });
    for (name, text) in &user.details {
        entry[name] = json!(text);
    }
    entry
}

fn groups_of<'a>(access: &'a Access, id: &str) -> Vec<&'a str> {
    access.groups.iter().filter(|(_, group)| group.users.contains(id)).map(|(name, _)| name.as_str()).collect()
}

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let access = &state.access;
    let needed = ["User.Modify", "Sys.Audit"];
    let sees_all = access.allows_any(&call.who, "/access/groups", &needed);
    let groups = access.groups.iter().filter(|(name, _)| access.allows_any(&call.who, &format!("/access/groups/{name}"), &needed));
    let seen: BTreeSet<&String> = groups.flat_map(|(_, group)| &group.users).collect();
    let full = call.params.flag("full").unwrap_or(false);
    let enabled = call.params.flag("enabled");
    let mut found: Vec<Value> = Vec::new();
    for (id, user) in &access.users {
        if !(sees_all || *id == call.who.id || seen.contains(id)) || enabled.is_some_and(|wanted| wanted != user.enable) {
            continue;
        }
        let mut entry = entry(user);
        if full {
            entry["groups"] = json!(groups_of(access, id).join(","));
            let tokens = user.tokens.iter().map(|(name, token)| {
                let mut entry = tokens::entry(token);
                entry["tokenid"] = json!(name);
                entry
            });
            entry["tokens"] = tokens.collect();
        }
        entry["userid"] = json!(id);
        entry["realm-type"] = json!(id.rsplit_once('@').map_or("", |(_, realm)| realm));
        found.push(entry);
    }
    Answer::data(found)
}

fn create(call: &Call) -> Outcome {
    let name = id(call);
    let params = &call.params;
    let made = call.pve.change_access(|access| {
        if access.users.contains_key(name) {
            return Err(Fail::die(format!("user '{name}' already exists\n")));
        }
        let mut user = User { enable: params.flag("enable").unwrap_or(true), ..User::default() };
        user.expire = params.int("expire").and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
        if let Some(password) = params.text("password") {
            check_realm(name)?;
            user.password = Some(Secret::new(password));
        }
        for detail in DETAILS {
            if let Some(text) = params.text(detail).filter(|text| !text.is_empty()) {
                user.details.insert(detail.to_owned(), text.to_owned());
            }
        }
        access.users.insert(name.to_owned(), user);
        join(access, name, &params.list("groups"))
    });
    made.map_err(|fail| fail.within("create user failed"))?;
    Ok(Answer::done(format!("user {name} created")))
}

fn join(access: &mut Access, user: &str, groups: &[String]) -> Result<(), Fail> {
    for name in groups {
        let group = access.groups.get_mut(name).ok_or_else(|| Fail::die(format!("no such group '{name}'\n")))?;
        group.users.insert(user.to_owned());
    }
    Ok(())
}

fn read(call: &Call) -> Outcome {
    let state = call.pve.state();
    let user = state.access.users.get(id(call)).ok_or_else(|| missing(id(call)))?;
    let mut entry = entry(user);
    entry["groups"] = json!(groups_of(&state.access, id(call)));
    if !user.tokens.is_empty() {
        entry["tokens"] = user.tokens.iter().map(|(name, token)| (name.clone(), tokens::entry(token))).collect::<Map<_, _>>().into();
    }
    Ok(Answer::data(entry))
}

fn update(call: &Call) -> Outcome {
    let name = id(call);
    let params = &call.params;
    let done = call.pve.change_access(|access| {
        let user = access.users.get_mut(name).ok_or_else(|| missing(name))?;
        user.enable = params.flag("enable").unwrap_or(user.enable);
        user.expire = params.int("expire").and_then(|time| u64::try_from(time).ok()).unwrap_or(user.expire);
        for detail in DETAILS {
            if let Some(text) = params.text(detail) {
                user.details.insert(detail.to_owned(), text.to_owned());
            }
        }
        if params.has("groups") && !params.flag("append").unwrap_or(false) {
            access.groups.values_mut().for_each(|group| {
                group.users.remove(name);
            });
        }
        join(access, name, &params.list("groups"))
    });
    done.map_err(|fail| fail.within("update user failed"))?;
    Ok(Answer::done(format!("user {name} changed")))
}

fn delete(call: &Call) -> Outcome {
    let name = id(call);
    call.pve.change_access(|access| {
        access.users.remove(name);
        access.groups.values_mut().for_each(|group| {
            group.users.remove(name);
        });
        access.forget_subject(name);
        Ok(())
    })?;
    Ok(Answer::done(format!("user {name} removed")))
}
