//! Logging in, and passwords.

use serde_json::json;

use super::one;
use crate::access::{Access, Caller, Secret};
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};
use crate::schema;

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/access/ticket", always!(nothing)),
    ("POST", "/access/ticket", at_once!(create)),
    ("PUT", "/access/password", at_once!(change_password)),
];

fn nothing(_: &Call) -> Answer {
    Answer::default()
}

fn create(call: &Call) -> Outcome {
    let params = &call.params;
    let mut user = params.text("username").unwrap_or_default().to_owned();
    if let Some(realm) = params.text("realm") {
        user = format!("{user}@{realm}");
    }
    let state = call.pve.state();
    let access = &state.access;
    // Nobody learns why, or which users there are.
    let refused = || Fail::new(401, "authentication failure\n");
    access.enabled(&user).map_err(|_| refused())?;
    let password = params.text("password").unwrap_or_default();
    let by_ticket = access.verify_ticket(password).ok();
    let who = Caller { id: user.clone() };
    let mut answer = if let (Some(path), true) = (params.text("path"), params.has("privs")) {
        if by_ticket.is_none_or(|ticket| ticket.id != user) {
            access.verify_password(&user, password).map_err(|_| refused())?;
        }
        let path = schema::access::normalise(path).ok_or_else(refused)?;
        let wanted = params.list("privs");
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        access.check(&who, &path, &wanted).map_err(|_| refused())?;
        json!({ "username": user })
    } else {
        // root may have a ticket for anybody.
        if by_ticket.is_none_or(|ticket| !ticket.is_root() && ticket.id != user) {
            access.verify_password(&user, password).map_err(|_| refused())?;
        }
        json!({ "username": user, "ticket": access.ticket(&user), "CSRFPreventionToken": access.csrf_token(&user) })
    };
    answer["cap"] = capabilities(access, &who);
    if let Some(name) = &call.pve.spec.cluster
        && access.allows(&who, "/", &["Sys.Audit"])
    {
        answer["clustername"] = json!(name);
    }
    Ok(Answer::data(answer))
}

/// Which privileges count in which part of the web interface.
const AREAS: [(&str, &[&str]); 7] = [
    ("vms", &["VM."]),
    ("access", &["User.", "Group."]),
    ("storage", &["Datastore."]),
    ("nodes", &["Sys."]),
    ("sdn", &["SDN."]),
    ("dc", &["Sys.Audit", "Sys.Modify", "SDN."]),
    ("mapping", &["Mapping."]),
];

/// What a user can do somewhere, area by area.
fn capabilities(access: &Access, who: &Caller) -> serde_json::Value {
    let mut found = json!({});
    for (area, _) in AREAS {
        found[area] = json!({});
    }
    let always = ["/", "/nodes", "/access/groups", "/vms", "/storage", "/sdn", "/mapping"].map(str::to_owned);
    let paths: std::collections::BTreeSet<String> = access.granted_paths().into_iter().chain(always).collect();
    for path in paths {
        let top = path.split('/').nth(1).filter(|part| !part.is_empty()).unwrap_or("dc");
        for privilege in access.privileges(&who.id, &path).into_keys() {
            for (area, prefixes) in AREAS {
                let own = top == area || top == "pool" && ["vms", "storage"].contains(&area);
                let shared = privilege == "Permissions.Modify" && area != "dc";
                if own && (shared || prefixes.iter().any(|prefix| privilege.starts_with(prefix))) {
                    found[area][&privilege] = one(true);
                }
            }
        }
    }
    found
}

fn change_password(call: &Call) -> Outcome {
    let user = call.params.text("userid").unwrap_or_default();
    super::check_realm(user)?;
    call.pve.change_access(|access| {
        if !call.who.is_root() {
            if let Some(given) = call.params.text("confirmation-password") {
                access.verify_password(&call.who.id, given).map_err(|_| Fail::new(401, "authentication failure\n"))?;
            } else {
                return Err(Fail::param("confirmation-password", "confirmation required"));
            }
            if call.who.id != user && user.ends_with("@pam") {
                return Err(Fail::forbidden());
            }
        }
        let entry = access.users.get_mut(user).ok_or_else(|| Fail::die(format!("no such user ('{user}')\n")))?;
        entry.password = Some(Secret::new(call.params.text("password").unwrap_or_default()));
        Ok(())
    })?;
    Ok(Answer::done(format!("password of {user} changed")))
}
