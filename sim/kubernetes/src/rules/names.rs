//! How things may be called.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::failure::Cause;
use crate::kinds::Resource;

const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

fn whole(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("^{pattern}$")).ok()
}

fn fits(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

static IS_SUBDOMAIN: LazyLock<Option<Regex>> = LazyLock::new(|| whole(SUBDOMAIN));
static IS_LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| whole(LABEL));
static IS_OLD_LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| whole(OLD_LABEL));
static IS_QUALIFIED: LazyLock<Option<Regex>> = LazyLock::new(|| whole(QUALIFIED));
static IS_LABEL_VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| whole(LABEL_VALUE));

const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const OLD_LABEL_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// What is wrong with an RFC 1123 label.
pub(crate) fn label(text: &str) -> Option<&'static str> {
    if text.len() > 63 { Some("must be no more than 63 characters") } else { (!fits(&IS_LABEL, text)).then_some(LABEL_TEXT) }
}

/// What is wrong with an RFC 1123 subdomain.
pub(crate) fn subdomain(text: &str) -> Option<&'static str> {
    if text.len() > 253 { Some("must be no more than 253 characters") } else { (!fits(&IS_SUBDOMAIN, text)).then_some(SUBDOMAIN_TEXT) }
}

/// What is wrong with a name of this kind.
pub(crate) fn name(resource: &Resource, text: &str) -> Option<&'static str> {
    match resource.kind.as_str() {
        "Namespace" => label(text),
        "Service" if text.len() > 63 => Some("must be no more than 63 characters"),
        "Service" => (!fits(&IS_OLD_LABEL, text)).then_some(OLD_LABEL_TEXT),
        "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" | "CertificateSigningRequest" => match text {
            "." | ".." => Some("may not be '.' or '..'"),
            _ if text.contains('/') => Some("may not contain '/'"),
            _ if text.contains('%') => Some("may not contain '%'"),
            _ => None,
        },
        _ => subdomain(text),
    }
}

/// What is wrong with the metadata of an object.
pub(crate) fn metadata(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let given = crate::document::text(object, "/metadata/name");
    if given.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = name(resource, given) {
        causes.push(Cause::invalid("metadata.name", &given.into(), why));
    }
    causes.extend(labels(object.pointer("/metadata/labels"), "metadata.labels"));
    for (key, value) in crate::document::pairs(object, "/metadata/annotations") {
        if let Some(why) = qualified(&key.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &key.into(), &why));
        }
        if !value.is_string() {
            causes.push(Cause::invalid("metadata.annotations", value, "must be a string"));
        }
    }
    for finalizer in crate::document::list(object, "/metadata/finalizers") {
        let text = finalizer.as_str().unwrap_or_default();
        if let Some(why) = qualified(text) {
            causes.push(Cause::invalid("metadata.finalizers", finalizer, &why));
        }
    }
    causes
}

/// What is wrong with labels.
pub(crate) fn labels(labels: Option<&Value>, field: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        if let Some(why) = qualified(key) {
            causes.push(Cause::invalid(field, &key.as_str().into(), &why));
        }
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 {
            causes.push(Cause::invalid(field, value, "must be no more than 63 bytes"));
        } else if !fits(&IS_LABEL_VALUE, text) {
            let why = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
            causes.push(Cause::invalid(field, value, why));
        }
    }
    causes
}

fn qualified(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Some("prefix part must be non-empty".to_owned());
        }
        if let Some(why) = subdomain(prefix) {
            return Some(format!("prefix part {why}"));
        }
    }
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 characters".to_owned());
    }
    let rule = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    (!fits(&IS_QUALIFIED, name)).then(|| rule.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_labels_follow_the_rules() {
        assert!(subdomain("a.b-c").is_none() && subdomain("A").is_some() && subdomain("-a").is_some());
        assert!(label("a-b").is_none() && label("a.b").is_some());
        assert!(qualified("app.kubernetes.io/name").is_none() && qualified("/x").is_some() && qualified("a b").is_some());
        assert!(labels(Some(&json!({"a": "fine", "b": ""})), "metadata.labels").is_empty());
        let causes = labels(Some(&json!({"a": "not fine"})), "metadata.labels");
        assert!(causes[0].message.starts_with("Invalid value: \"not fine\": a valid label must be"), "{causes:?}");
    }
}
