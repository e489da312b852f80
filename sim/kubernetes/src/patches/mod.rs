//! The ways to change a part of an object.

pub(crate) mod apply;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod lists;
pub(crate) mod strategic;

use serde_json::Value;

/// A JSON merge patch (RFC 7386).
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(target) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::merge;
    use serde_json::json;

    #[test]
    fn a_merge_patch_adds_replaces_and_removes() {
        let mut target = json!({"a": "b", "c": {"d": "e", "f": "g"}, "l": [1, 2]});
        merge(&mut target, &json!({"a": "z", "c": {"f": null}, "l": [3], "n": {"x": null, "y": 1}}));
        assert_eq!(target, json!({"a": "z", "c": {"d": "e"}, "l": [3], "n": {"y": 1}}));
    }
}
