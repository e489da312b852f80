//! Who asks: a ticket in a cookie, or a token in a header.

use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, Method};

use super::decode;
use super::reply::Draft;
use crate::access::{Access, Caller};

const COOKIE_NAME: &str = "PVEAuthCookie";
const TOKEN_NAME: &str = "PVEAPIToken";

/// What is known of who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Credentials {
    /// None where nobody has to say who they are.
    pub who: Option<Caller>,
    /// Whether a token was given, which some calls refuse.
    pub by_token: bool,
    /// Whether the body is a file.
    pub is_upload: bool,
}

/// Calls for which nobody has to say who they are.
const OPEN: &[(&str, &str)] = &[
    ("GET", "/access/domains"),
    ("GET", "/access/ticket"),
    ("POST", "/access/ticket"),
    ("POST", "/access/openid/login"),
    ("POST", "/access/openid/auth-url"),
];

/// Finds out who asks, or what is answered instead.
pub(super) fn authenticate(access: &Access, method: &Method, path: &str, headers: &HeaderMap) -> Result<Credentials, Draft> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let ticket = value_of(header(COOKIE), COOKIE_NAME).or_else(|| value_of(header(AUTHORIZATION), COOKIE_NAME));
    let token = if ticket.is_none() { value_of(header(AUTHORIZATION), TOKEN_NAME) } else { None };
    let by_token = token.is_some();
    if OPEN.contains(&(method.as_str(), path)) {
        return Ok(Credentials { who: None, by_token, is_upload: false });
    }
    let known = match (&ticket, &token) {
        (Some(ticket), _) => access.verify_ticket(ticket),
        (None, Some(token)) => access.verify_token(token),
        (None, None) => return Err(Draft::bare(401, "No ticket")),
    };
    // Since early 2026 the reason is only in the host's log (facts §2).
    let who = known.map_err(|_| Draft::bare(401, "Authentication failed!"))?;
    let storage = upload_storage(method, path);
    if let Some(storage) = storage {
        let path = format!("/storage/{storage}");
        access.check(&who, &path, &["Datastore.AllocateTemplate"]).map_err(|fail| Draft::bare(fail.status, fail.message))?;
    }
    let is_upload = storage.is_some();
    if method != Method::GET && !by_token && !is_upload {
        let csrf = headers.get("CSRFPreventionToken").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !access.verify_csrf_token(&who.id, csrf) {
            return Err(Draft::bare(401, "Permission denied - invalid csrf token"));
        }
    }
    Ok(Credentials { who: Some(who), by_token, is_upload })
}

/// The storage a file is uploaded to.
fn upload_storage<'a>(method: &Method, path: &'a str) -> Option<&'a str> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["", "nodes", node, "storage", storage, "upload"] if method == Method::POST && !node.is_empty() && !storage.is_empty() => {
            Some(storage)
        }
        _ => None,
    }
}

/// `NAME=VALUE` out of a header, the value without escapes. A cookie ends at `;`.
fn value_of(header: &str, name: &str) -> Option<String> {
    let found = header.split(';').find_map(|part| {
        let rest = part.trim_start().strip_prefix(name)?;
        rest.strip_prefix(['=', ' '])
    })?;
    let value = decode::path(found.trim());
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_cookies_and_headers() {
        let cookie = "a=b; PVEAuthCookie=PVE%3Aroot@pam%3A1; c=d";
        assert_eq!(value_of(cookie, COOKIE_NAME).as_deref(), Some("PVE:root@pam:1"));
        assert_eq!(value_of("PVEAPIToken=a@pve!ci=s", TOKEN_NAME).as_deref(), Some("a@pve!ci=s"));
        assert_eq!(value_of("PVEAPIToken a@pve!ci=s", TOKEN_NAME).as_deref(), Some("a@pve!ci=s"));
        assert_eq!(value_of("Bearer x", TOKEN_NAME), None);
    }

    #[test]
    fn only_a_post_to_a_storage_is_an_upload() {
        assert_eq!(upload_storage(&Method::POST, "/nodes/pve1/storage/local/upload"), Some("local"));
        assert_eq!(upload_storage(&Method::GET, "/nodes/pve1/storage/local/upload"), None);
        assert_eq!(upload_storage(&Method::POST, "/nodes/pve1/storage/local/download-url"), None);
    }
}
