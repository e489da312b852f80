//! Values of charts: ours below, those of the site on top.

use serde_json::{Map, Value};

/// What the chart is told. Maps are merged, everything else is replaced.
pub fn merged(ours: Value, theirs: &Map<String, Value>) -> Value {
    let mut all = ours;
    put(&mut all, theirs);
    all
}

fn put(into: &mut Value, from: &Map<String, Value>) {
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let Value::Object(into) = into else { return };
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(below @ Value::Object(_)), Value::Object(above)) => put(below, above),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Whether a switch is on, in whichever way charts write that.
pub fn is_on(values: &Value, pointer: &str) -> bool {
    match values.pointer(pointer) {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(word)) => ["true", "strict"].contains(&word.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_site_has_the_last_word() {
        let theirs = json!({"a": {"b": 2, "d": null}, "list": [3], "map": 1, "new": {"x": 1}});
        let all = merged(json!({"a": {"b": 1, "c": 1, "d": 1}, "list": [1, 2], "map": {"y": 1}}), theirs.as_object().unwrap());
        assert_eq!(all, json!({"a": {"b": 2, "c": 1, "d": null}, "list": [3], "map": 1, "new": {"x": 1}}));
    }

    #[test]
    fn a_switch_may_be_a_word() {
        let values = json!({"a": true, "b": "true", "c": "false", "d": {"e": false}});
        assert!(is_on(&values, "/a") && is_on(&values, "/b"));
        assert!(!is_on(&values, "/c") && !is_on(&values, "/d/e") && !is_on(&values, "/f"));
    }
}
