//! What is granted to whom, where.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::one;
use crate::access::{Access, Roles};
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};
use crate::schema;

pub(super) const ROUTES: &[Route] = &[("GET", "/access/acl", always!(list)), ("PUT", "/access/acl", at_once!(update))];

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let access = &state.access;
    let sees_all = access.allows(&call.who, "/access", &["Sys.Audit"]);
    let mut found: Vec<Value> = Vec::new();
    for (path, grants) in &access.acl {
        if !sees_all && access.check_grants(&call.who, path).is_err() {
            continue;
        }
        for (kind, subjects) in [("user", &grants.users), ("group", &grants.groups), ("token", &grants.tokens)] {
            for (id, roles) in subjects {
                let entries = roles
                    .iter()
                    .map(|(role, below)| json!({ "path": path, "type": kind, "ugid": id, "roleid": role, "propagate": one(*below) }));
                found.extend(entries);
            }
        }
    }
    Answer::data(found)
}

fn update(call: &Call) -> Outcome {
    let params = &call.params;
    let subjects = ["users", "groups", "tokens"];
    if subjects.iter().all(|kind| params.text(kind).unwrap_or_default().is_empty()) {
        let text = "either 'users', 'groups' or 'tokens' is required.";
        return Err(Fail::params(subjects.map(|kind| (kind.to_owned(), text.to_owned())).into()));
    }
    let given = params.text("path").unwrap_or_default();
    let delete = params.flag("delete").unwrap_or(false);
    let known = if delete { schema::access::normalise(given) } else { schema::acl_path(call.pve.release(), given) };
    let path = known.ok_or_else(|| Fail::param("path", format!("invalid ACL path '{given}'")))?;
    let below = params.flag("propagate").unwrap_or(true);
    let changed = call.pve.change_access(|access| change(call, access, &path, below, delete));
    changed.map_err(|fail| fail.within("ACL update failed"))?;
    Ok(Answer::done(format!("grants on {path} changed")))
}

fn change(call: &Call, access: &mut Access, path: &str, below: bool, delete: bool) -> Result<(), Fail> {
    let params = &call.params;
    let own = access.privileges(&call.who.id, path);
    for role in params.list("roles") {
        let privileges = access.role(&role).ok_or_else(|| Fail::die(format!("role '{role}' does not exist\n")))?;
        if !own.contains_key("Permissions.Modify") {
            // Who may only because the object is theirs gives away no more than they have.
            let verb = if delete { "remove" } else { "add" };
            for privilege in &privileges {
                match own.get(privilege) {
                    None => {
                        let text = format!("Cannot {verb} role '{role}' - requires 'Permissions.Modify' or superset of privileges.");
                        return Err(Fail::param("role", text));
                    }
                    Some(own_below) if below && !own_below && !delete => {
                        let text = format!(
                            "Cannot {verb} role '{role}' with propagation - requires 'Permissions.Modify' or propagated superset of privileges."
                        );
                        return Err(Fail::param("role", text));
                    }
                    Some(_) => {}
                }
            }
            if role == "NoAccess" {
                return Err(Fail::param("role", format!("Cannot {verb} role '{role}' - requires 'Permissions.Modify'")));
            }
        }
        for group in params.list("groups") {
            if !access.groups.contains_key(&group) {
                return Err(Fail::die(format!("group '{group}' does not exist\n")));
            }
            set(&mut access.acl.entry(path.to_owned()).or_default().groups, &group, &role, below, delete);
        }
        for user in params.list("users") {
            if !access.users.contains_key(&user) {
                return Err(Fail::die(format!("user '{user}' does not exist\n")));
            }
            set(&mut access.acl.entry(path.to_owned()).or_default().users, &user, &role, below, delete);
        }
        for token in params.list("tokens") {
            super::tokens::find(access, &token)?;
            set(&mut access.acl.entry(path.to_owned()).or_default().tokens, &token, &role, below, delete);
        }
    }
    access.forget_empty_grants();
    Ok(())
}

fn set(subjects: &mut BTreeMap<String, Roles>, id: &str, role: &str, below: bool, delete: bool) {
    let roles = subjects.entry(id.to_owned()).or_default();
    if delete {
        roles.remove(role);
    } else {
        roles.insert(role.to_owned(), below);
    }
    if roles.is_empty() {
        subjects.remove(id);
    }
}
