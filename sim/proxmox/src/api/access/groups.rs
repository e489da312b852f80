//! Groups of users.

use serde_json::{Value, json};

use crate::access::Group;
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/access/groups", always!(list)),
    ("POST", "/access/groups", at_once!(create)),
    ("GET", "/access/groups/{groupid}", at_once!(read)),
    ("PUT", "/access/groups/{groupid}", at_once!(update)),
    ("DELETE", "/access/groups/{groupid}", at_once!(delete)),
];

fn id(call: &Call) -> &str {
    call.params.text("groupid").unwrap_or_default()
}

fn missing(id: &str) -> Fail {
    Fail::die(format!("group '{id}' does not exist\n"))
}

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let access = &state.access;
    let needed = ["User.Modify", "Sys.Audit", "Group.Allocate"];
    let seen = access.groups.iter().filter(|(name, _)| access.allows_any(&call.who, &format!("/access/groups/{name}"), &needed));
    let entries: Vec<Value> = seen
        .map(|(name, group)| {
            let users: Vec<&str> = group.users.iter().map(String::as_str).collect();
            let mut entry = json!({ "groupid": name, "users": users.join(",") });
            if let Some(comment) = &group.comment {
                entry["comment"] = json!(comment);
            }
            entry
        })
        .collect();
    Answer::data(entries)
}

fn create(call: &Call) -> Outcome {
    let name = id(call);
    let comment = call.params.text("comment").filter(|text| !text.is_empty()).map(str::to_owned);
    let made = call.pve.change_access(|access| {
        if access.groups.contains_key(name) {
            return Err(Fail::die(format!("group '{name}' already exists\n")));
        }
        access.groups.insert(name.to_owned(), Group { comment, ..Group::default() });
        Ok(())
    });
    made.map_err(|fail| fail.within("create group failed"))?;
    Ok(Answer::done(format!("group {name} created")))
}

fn read(call: &Call) -> Outcome {
    let state = call.pve.state();
    let group = state.access.groups.get(id(call)).ok_or_else(|| missing(id(call)))?;
    let mut entry = json!({ "members": group.users });
    if let Some(comment) = &group.comment {
        entry["comment"] = json!(comment);
    }
    Ok(Answer::data(entry))
}

fn update(call: &Call) -> Outcome {
    let name = id(call);
    let done = call.pve.change_access(|access| {
        let group = access.groups.get_mut(name).ok_or_else(|| missing(name))?;
        if let Some(comment) = call.params.text("comment") {
            group.comment = Some(comment.to_owned());
        }
        Ok(())
    });
    done.map_err(|fail| fail.within("update group failed"))?;
    Ok(Answer::done(format!("group {name} changed")))
}

fn delete(call: &Call) -> Outcome {
    let name = id(call);
    let done = call.pve.change_access(|access| {
        access.groups.remove(name).ok_or_else(|| missing(name))?;
        access.forget_group(name);
        Ok(())
    });
    done.map_err(|fail| fail.within("delete group failed"))?;
    Ok(Answer::done(format!("group {name} removed")))
}
