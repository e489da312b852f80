//! Tokens of users.

use rand::Rng as _;
use serde_json::{Value, json};

use super::{one, users};
use crate::access::{Access, Secret, Token};
use crate::call::{Answer, Call, Fail, Outcome, Route, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/access/users/{userid}/token", at_once!(list)),
    ("GET", "/access/users/{userid}/token/{tokenid}", at_once!(read)),
    ("POST", "/access/users/{userid}/token/{tokenid}", at_once!(create)),
    ("PUT", "/access/users/{userid}/token/{tokenid}", at_once!(update)),
    ("DELETE", "/access/users/{userid}/token/{tokenid}", at_once!(delete)),
];

fn ids(call: &Call) -> (&str, &str) {
    (call.params.text("userid").unwrap_or_default(), call.params.text("tokenid").unwrap_or_default())
}

fn missing(user: &str, name: &str) -> Fail {
    Fail::die(format!("no such token '{name}' for user '{user}'\n"))
}

/// The token with this whole name.
pub(super) fn find<'a>(access: &'a Access, id: &str) -> Result<&'a Token, Fail> {
    let (user, name) = id.split_once('!').unwrap_or((id, ""));
    let owner = access.users.get(user).ok_or_else(|| users::missing(user))?;
    owner.tokens.get(name).ok_or_else(|| missing(user, name))
}

/// What is told of a token.
pub(super) fn entry(token: &Token) -> Value {
    let mut entry = json!({ "privsep": one(token.privsep), "expire": token.expire });
    if let Some(comment) = &token.comment {
        entry["comment"] = json!(comment);
    }
    entry
}

fn list(call: &Call) -> Outcome {
    let state = call.pve.state();
    let (user, _) = ids(call);
    let owner = state.access.users.get(user).ok_or_else(|| users::missing(user))?;
    let entries = owner.tokens.iter().map(|(name, token)| {
        let mut entry = entry(token);
        entry["tokenid"] = json!(name);
        entry
    });
    Ok(Answer::data(entries.collect::<Vec<_>>()))
}

fn read(call: &Call) -> Outcome {
    let (user, name) = ids(call);
    Ok(Answer::data(entry(find(&call.pve.state().access, &format!("{user}!{name}"))?)))
}

/// A random UUID, as every secret is.
fn secret() -> String {
    let bits: u128 = rand::thread_rng().r#gen();
    // The version and variant of a random UUID.
    let bits = bits & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let text = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

fn create(call: &Call) -> Outcome {
    let (user, name) = ids(call);
    let params = &call.params;
    let value = secret();
    let token = Token {
        privsep: params.flag("privsep").unwrap_or(true),
        expire: params.int("expire").and_then(|time| u64::try_from(time).ok()).unwrap_or(0),
        comment: params.text("comment").filter(|text| !text.is_empty()).map(str::to_owned),
        secret: Secret::new(&value),
    };
    // What was given comes back as it was given.
    let mut info = json!({ "privsep": params.text("privsep").map_or(json!(1), |text| json!(text)) });
    for detail in ["expire", "comment"] {
        if let Some(text) = params.text(detail) {
            info[detail] = json!(text);
        }
    }
    call.pve.change_access(|access| {
        let owner = access.users.get_mut(user).ok_or_else(|| users::missing(user))?;
        if owner.tokens.contains_key(name) {
            return Err(Fail::param("tokenid", "Token already exists."));
        }
        owner.tokens.insert(name.to_owned(), token);
        Ok(())
    })?;
    let id = format!("{user}!{name}");
    Ok(Answer::changed(json!({ "full-tokenid": id, "info": info, "value": value }), format!("token {id} created")))
}

fn update(call: &Call) -> Outcome {
    let (user, name) = ids(call);
    let params = &call.params;
    let changed = call.pve.change_access(|access| {
        let owner = access.users.get_mut(user).ok_or_else(|| users::missing(user))?;
        let token = owner.tokens.get_mut(name).ok_or_else(|| missing(user, name))?;
        token.privsep = params.flag("privsep").unwrap_or(token.privsep);
        token.expire = params.int("expire").and_then(|time| u64::try_from(time).ok()).unwrap_or(token.expire);
        if let Some(comment) = params.text("comment") {
            token.comment = Some(comment.to_owned()).filter(|text| !text.is_empty());
        }
        for option in params.list("delete") {
            match option.as_str() {
                "comment" => token.comment = None,
                _ => return Err(Fail::param("delete", format!("unknown option '{option}'"))),
            }
        }
        let mut entry = entry(token);
        if params.flag("regenerate").unwrap_or(false) {
            let value = secret();
            token.secret = Secret::new(&value);
            entry["value"] = json!(value);
            entry["full-tokenid"] = json!(format!("{user}!{name}"));
        }
        Ok(entry)
    });
    let entry = changed.map_err(|fail| fail.within("updating token info failed"))?;
    Ok(Answer::changed(entry, format!("token {user}!{name} changed")))
}

fn delete(call: &Call) -> Outcome {
    let (user, name) = ids(call);
    let done = call.pve.change_access(|access| {
        let owner = access.users.get_mut(user).ok_or_else(|| users::missing(user))?;
        owner.tokens.remove(name).ok_or_else(|| missing(user, name))?;
        access.forget_subject(&format!("{user}!{name}"));
        Ok(())
    });
    done.map_err(|fail| fail.within("deleting token failed"))?;
    Ok(Answer::done(format!("token {user}!{name} removed")))
}
