//! Secrets in manifests: named by `emhost-secret:NAME`, and put in when the object goes out. Pure.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::capabilities::SecretValue;
use crate::capabilities::policy::is_name;

/// What stands for the value of a secret.
const PLACEHOLDER: &str = "emhost-secret:";

/// The secrets that an object names. The values of a `Secret` are then all in `data`, where the server keeps them too.
///
/// # Errors
/// A name where no value can be put in, or one that is none.
pub fn named(object: &mut Value) -> Result<BTreeSet<String>, String> {
    if object["kind"] == "Secret" && object["apiVersion"] == "v1" {
        gather(object)?;
    }
    let mut names = BTreeSet::new();
    if let Some(data) = data(object) {
        for value in data.values() {
            names.extend(placeholder(value));
        }
    }
    for name in &names {
        if !is_name(name) {
            return Err(format!("`{PLACEHOLDER}{}` is not a secret's name", crate::redact::one_line(name, 80)));
        }
    }
    // Whatever is written elsewhere would go out as it stands, and look like a value.
    let mut rest = object.clone();
    if let Some(data) = data_mut(&mut rest) {
        data.retain(|_, value| placeholder(value).is_none());
    }
    if rest.to_string().contains(PLACEHOLDER) {
        return Err(format!("`{PLACEHOLDER}NAME` may only be a whole value in `data` or `stringData` of a Secret"));
    }
    Ok(names)
}

/// Puts the values in.
pub fn fill(object: &mut Value, values: &BTreeMap<String, SecretValue>) {
    let Some(data) = data_mut(object) else { return };
    for value in data.values_mut() {
        if let Some(secret) = placeholder(value).and_then(|name| values.get(&name)) {
            *value = STANDARD.encode(secret.as_slice()).into();
        }
    }
}

/// Whether nothing at this place of an object may be shown.
pub fn hides(kind: &str, pointer: &str) -> bool {
    let within = |start: &str| pointer == start || pointer.starts_with(&format!("{start}/"));
    // What `kubectl apply` remembers of a Secret has its values too.
    kind == "Secret" && (within("/data") || within("/stringData") || pointer.is_empty() || pointer.contains("last-applied-configuration"))
}

fn data(object: &Value) -> Option<&Map<String, Value>> {
    object.get("data").filter(|_| object["kind"] == "Secret")?.as_object()
}

fn data_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    if object["kind"] != "Secret" {
        return None;
    }
    object.get_mut("data")?.as_object_mut()
}

/// Moves `stringData`, which nobody could compare, into `data`.
fn gather(object: &mut Value) -> Result<(), String> {
    let Some(Value::Object(plain)) = object.as_object_mut().and_then(|all| all.remove("stringData")) else { return Ok(()) };
    if !object["data"].is_object() {
        object["data"] = Value::Object(Map::new());
    }
    for (key, value) in plain {
        let Some(text) = value.as_str() else { return Err(format!("`stringData.{key}` is no text")) };
        let kept = if text.starts_with(PLACEHOLDER) { text.to_owned() } else { STANDARD.encode(text) };
        object["data"][key] = kept.into();
    }
    Ok(())
}

/// The name that a value stands for: as it is, or as charts encode it.
fn placeholder(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    if let Some(name) = text.strip_prefix(PLACEHOLDER) {
        return Some(name.to_owned());
    }
    let decoded = String::from_utf8(STANDARD.decode(text.as_bytes()).ok()?).ok()?;
    decoded.strip_prefix(PLACEHOLDER).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use zeroize::Zeroizing;

    use super::*;

    fn secret(data: Value, plain: Value) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
        (object["data"], object["stringData"]) = (data, plain);
        object
    }

    #[test]
    fn values_are_put_in_wherever_a_secret_names_them() {
        let mut object = secret(
            json!({"a": "emhost-secret:one", "b": STANDARD.encode("emhost-secret:two"), "c": STANDARD.encode("plain")}),
            json!({"d": "emhost-secret:one", "e": "text"}),
        );
        let names = named(&mut object).expect("names");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(object.get("stringData"), None);
        let value = |text: &str| Arc::new(Zeroizing::new(text.as_bytes().to_vec()));
        fill(&mut object, &BTreeMap::from([("one".to_owned(), value("1111")), ("two".to_owned(), value("2222"))]));
        let expected = [("a", "1111"), ("b", "2222"), ("c", "plain"), ("d", "1111"), ("e", "text")];
        for (key, text) in expected {
            assert_eq!(object["data"][key], STANDARD.encode(text), "{key}");
        }
    }

    #[test]
    fn a_name_that_would_go_out_as_it_stands_is_refused() {
        for mut object in [
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "emhost-secret:one"}}),
            secret(json!({"a": "x emhost-secret:one"}), json!({})),
            secret(json!({}), json!({"a": "emhost-secret:../one"})),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "emhost-secret:one"}}),
        ] {
            assert!(named(&mut object).is_err(), "{object}");
        }
    }

    #[test]
    fn nothing_of_a_secret_is_shown() {
        assert!(hides("Secret", "/data/a") && hides("Secret", "/data") && !hides("Secret", "/metadata/labels/a"));
        assert!(!hides("ConfigMap", "/data/a") && !hides("Secret", "/database"));
    }
}
