//! Tokens of service accounts: JSON web tokens signed with the cluster's own key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::User;
use crate::document::text;
use crate::world::World;

/// A new token of an account, and when it ends.
pub(crate) fn issue(world: &World, account: &Value, audiences: &[Value], seconds: i64) -> (String, String) {
    let now = jiff::Timestamp::now().as_second();
    let (namespace, name) = (text(account, "/metadata/namespace"), text(account, "/metadata/name"));
    let issuer = format!("https://kubernetes.default.svc.{}", world.settings.dns_domain);
    let audiences = if audiences.is_empty() { vec![issuer.as_str().into()] } else { audiences.to_vec() };
    let claims = json!({
        "aud": audiences, "exp": now + seconds, "iat": now, "nbf": now, "iss": issuer, "jti": crate::document::uid(),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": text(account, "/metadata/uid")}},
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let body = format!("{}.{}", encode(&json!({"alg": "HS256", "kid": "emhost"})), encode(&claims));
    let token = format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature(&world.builtin.service_account_key, &body)));
    let end = jiff::Timestamp::from_second(now + seconds).map(|end| end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    (token, end.unwrap_or_default())
}

fn signature(key: &[u8], body: &str) -> Vec<u8> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Whose token this is, where it is one of this cluster that still holds.
pub(crate) fn user(world: &World, token: &str) -> Option<User> {
    let (body, given) = token.rsplit_once('.')?;
    let expected = signature(&world.builtin.service_account_key, body);
    if expected.is_empty() || URL_SAFE_NO_PAD.decode(given).ok()? != expected {
        return None;
    }
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body.split_once('.')?.1).ok()?).ok()?;
    if claims["exp"].as_i64()? < jiff::Timestamp::now().as_second() {
        return None;
    }
    let (namespace, name) = (text(&claims, "/kubernetes.io/namespace"), text(&claims, "/kubernetes.io/serviceaccount/name"));
    let account = world.objects.find("serviceaccounts", namespace, name)?;
    let uid = text(account, "/metadata/uid");
    (uid == text(&claims, "/kubernetes.io/serviceaccount/uid")).then(|| User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid: uid.to_owned(),
        groups: vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}"), "system:authenticated".to_owned()],
    })
}
