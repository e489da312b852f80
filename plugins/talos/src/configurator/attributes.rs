//! Keys of the inventory that have no getter: dotted names, values in JSON.

use emhost_sdk::Attribute;
use serde_json::Value;

/// The value of a key, also where it is part of a larger one.
pub(super) fn value(attributes: &[Attribute], key: &str) -> Option<Value> {
    let parsed = |attribute: &Attribute| serde_json::from_str::<Value>(&attribute.value).ok();
    if let Some(found) = attributes.iter().find(|attribute| attribute.key == key) {
        return parsed(found);
    }
    let (parent, last) = key.rsplit_once('.')?;
    value(attributes, parent)?.get(last).cloned()
}

/// A text.
pub(super) fn text(attributes: &[Attribute], key: &str) -> Option<String> {
    value(attributes, key)?.as_str().map(str::to_owned)
}

/// A list of texts; empty where there is none.
pub(super) fn texts(attributes: &[Attribute], key: &str) -> Vec<String> {
    let list = value(attributes, key);
    list.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The plain value of what a plugin attached, which is no JSON.
pub(super) fn plain<'a>(attributes: &'a [Attribute], key: &str) -> Option<&'a str> {
    attributes.iter().find(|attribute| attribute.key == key).map(|attribute| attribute.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_alone_or_inside_a_larger_one() {
        let attribute = |key: &str, value: &str| Attribute { key: key.to_owned(), value: value.to_owned() };
        let all = [
            attribute("network.cni", "\"cilium\""),
            attribute("tailscale", r#"{"auth_key": "secret:x"}"#),
            attribute("taints", "[\"a:NoExecute\"]"),
        ];
        assert_eq!(text(&all, "network.cni").as_deref(), Some("cilium"));
        assert_eq!(text(&all, "tailscale.auth_key").as_deref(), Some("secret:x"));
        assert_eq!(text(&all, "tailscale.login_server"), None);
        assert_eq!(texts(&all, "taints"), ["a:NoExecute"]);
        assert!(texts(&all, "network.cni").is_empty());
    }
}
