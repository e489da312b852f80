//! `/access`: users, tokens, groups, roles, grants, tickets.

mod acl;
mod groups;
mod permissions;
mod roles;
mod ticket;
mod tokens;
mod users;

use serde_json::{Value, json};

use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};

/// Every area below.
pub(super) fn routes() -> Vec<Route> {
    let own: &[Route] = &[
        ("GET", "/access", always!(index)),
        ("GET", "/access/domains", always!(domains)),
        ("GET", "/access/domains/{realm}", at_once!(domain)),
    ];
    [own, acl::ROUTES, groups::ROUTES, permissions::ROUTES, roles::ROUTES, ticket::ROUTES, tokens::ROUTES, users::ROUTES].concat()
}

fn index(_: &Call) -> Answer {
    let areas = ["users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"];
    Answer::data(areas.map(|area| json!({ "subdir": area })).to_vec())
}

/// Realms that every installation has: name, type, description.
const REALMS: [(&str, &str); 2] = [("pam", "Linux PAM standard authentication"), ("pve", "Proxmox VE authentication server")];

fn domains(_: &Call) -> Answer {
    Answer::data(REALMS.map(|(realm, comment)| json!({ "realm": realm, "type": realm, "comment": comment })).to_vec())
}

fn domain(call: &Call) -> Outcome {
    let asked = call.params.text("realm").unwrap_or_default();
    let found = REALMS.iter().find(|(realm, _)| *realm == asked);
    let (realm, comment) = found.ok_or_else(|| Fail::die(format!("domain '{asked}' does not exist\n")))?;
    Ok(Answer::data(json!({ "type": realm, "comment": comment, "digest": super::digest(comment) })))
}

/// Whether a user of this realm can exist.
fn check_realm(userid: &str) -> Result<(), Fail> {
    let realm = userid.rsplit_once('@').map_or("", |(_, realm)| realm);
    let known = REALMS.iter().any(|(known, _)| *known == realm);
    if known { Ok(()) } else { Err(Fail::die(format!("auth domain '{realm}' does not exist\n"))) }
}

fn one(value: bool) -> Value {
    json!(u8::from(value))
}
