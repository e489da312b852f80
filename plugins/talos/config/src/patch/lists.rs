//! Lists: most are joined end to end, some have items that are told apart by a key.

use super::Problem;
use super::strategic::Merge;
use crate::schema::Shape;
use crate::tree::Node;

/// Merges a list into one that is there; `named` is the list's type, where it has one of its own.
pub(super) fn merge(
    merge: &mut Merge,
    left: &mut Vec<Node>,
    right: Vec<Node>,
    element: &Shape,
    named: Option<&str>,
) -> Result<(), Problem> {
    let length = left.len();
    for item in right {
        let found = match named {
            Some("v1alpha1.NetworkDeviceList") => device(left, &item),
            Some("v1alpha1.VlanList") => left.iter().position(|known| number(known, "vlanId") == number(&item, "vlanId")),
            Some("v1alpha1.AdmissionPluginConfigList") => same(left, &item, "name"),
            Some("extensions.ConfigFileList") => same(left, &item, "mountPath"),
            // Of several rules with one pattern the last is meant, and those of the patch are not compared with each other.
            Some("security.ImageVerificationRules") => left[..length].iter().rposition(|known| key(known, "image") == key(&item, "image")),
            _ => None,
        };
        match found {
            // A rule is taken as it is.
            Some(at) if named == Some("security.ImageVerificationRules") => left[at] = item,
            Some(at) => merge.value(&mut left[at], item, Some(element), true)?,
            None => left.push(item),
        }
    }
    Ok(())
}

fn same(left: &[Node], item: &Node, key: &str) -> Option<usize> {
    left.iter().position(|known| self::key(known, key) == self::key(item, key))
}

fn key<'item>(item: &'item Node, key: &str) -> &'item str {
    item.text_of(key).unwrap_or_default()
}

fn number(item: &Node, key: &str) -> serde_json::Value {
    item.get(key).map_or(0.into(), Node::data)
}

/// An interface by its name, or else by what it is selected with.
fn device(left: &[Node], item: &Node) -> Option<usize> {
    if let Some(name) = item.text_of("interface").filter(|name| !name.is_empty()) {
        return left.iter().position(|known| known.text_of("interface") == Some(name));
    }
    let selector = selector(item)?;
    left.iter().position(|known| self::selector(known).as_ref() == Some(&selector))
}

/// What an interface is selected with. Talos never takes two for the same when they say `physical`.
fn selector(item: &Node) -> Option<Vec<(String, String)>> {
    let Node::Map(entries) = item.get("deviceSelector")? else { return None };
    let mut parts = Vec::new();
    for (key, value) in entries {
        let text = value.as_text().unwrap_or_default();
        if key == "physical" && !value.is_null() {
            return None;
        }
        if !text.is_empty() {
            parts.push((key.clone(), text.to_owned()));
        }
    }
    parts.sort();
    Some(parts)
}
