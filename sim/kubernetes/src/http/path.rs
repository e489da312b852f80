//! What a path asks for.

use std::collections::HashMap;

/// A path of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Resource(Found),
    Other(String),
}

pub(super) fn parse(path: &str) -> Target {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Target::Other(path.to_owned()),
    };
    let found = |namespace: &str, plural: &str, name: &str, subresource: &str| {
        Target::Resource(Found {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
        })
    };
    match rest {
        [] => Target::Other(path.to_owned()),
        ["namespaces", name, part @ ("status" | "finalize")] => found("", "namespaces", name, part),
        ["namespaces", namespace, plural] => found(namespace, plural, "", ""),
        ["namespaces", namespace, plural, name] => found(namespace, plural, name, ""),
        ["namespaces", namespace, plural, name, part, ..] => found(namespace, plural, name, part),
        [plural] => found("", plural, "", ""),
        [plural, name] => found("", plural, name, ""),
        [plural, name, part, ..] => found("", plural, name, part),
    }
}

/// Percent signs taken out.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let raw = text.as_bytes();
    let mut at = 0;
    while at < raw.len() {
        let hex = (raw[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(hex.unwrap_or(raw[at]));
        at += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The options of a request. Of one given twice the first counts.
pub(super) fn query(text: &str) -> HashMap<String, String> {
    let mut options = HashMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        options.entry(decoded(&key.replace('+', " "))).or_insert_with(|| decoded(&value.replace('+', " ")));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_kinds_and_their_parts() {
        let resource = |path: &str| match parse(path) {
            Target::Resource(found) => {
                format!("{}|{}|{}|{}|{}|{}", found.group, found.version, found.plural, found.namespace, found.name, found.subresource)
            }
            Target::Other(path) => path,
        };
        assert_eq!(resource("/api/v1/namespaces/default/pods/a/log"), "|v1|pods|default|a|log");
        assert_eq!(resource("/api/v1/namespaces/default"), "|v1|namespaces||default|");
        assert_eq!(resource("/api/v1/namespaces/x/finalize"), "|v1|namespaces||x|finalize");
        assert_eq!(resource("/apis/apps/v1/deployments"), "apps|v1|deployments|||");
        assert_eq!(
            resource("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"),
            "rbac.authorization.k8s.io|v1|clusterroles||system:node|"
        );
        assert_eq!(resource("/apis/apps/v1"), "/apis/apps/v1");
        assert_eq!(query("labelSelector=a%3Db%2Cc&x").get("labelSelector").map(String::as_str), Some("a=b,c"));
    }
}
