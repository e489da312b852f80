//! Sets of fields, as `managedFields` write them: which manager says what.

use serde_json::{Map, Value};

use super::lists::{ListKind, Shape, key_of};

/// A set of fields in the form of `fieldsV1`.
pub(crate) type Fields = Map<String, Value>;

/// What nobody manages: the server writes it.
const SERVED: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// The part of an object that has managers.
pub(crate) fn managed(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("apiVersion");
        map.remove("kind");
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            for field in SERVED.iter().chain(&["generateName", "selfLink"]) {
                metadata.remove(*field);
            }
            if metadata.is_empty() {
                map.remove("metadata");
            }
        }
    }
    object
}

/// One step into an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Field,
    Item,
}

/// The parts of a value that are owned one by one: fields of a map, items of a list that is a map or a set.
/// Nothing for values that are owned as a whole.
pub(crate) fn parts<'a>(value: &'a Value, shape: Shape<'a>) -> Option<Vec<(String, &'a Value, Shape<'a>, Step)>> {
    match value {
        Value::Object(map) if !shape.is_atomic_map() && !map.is_empty() => {
            Some(map.iter().map(|(key, value)| (format!("f:{key}"), value, shape.field(key), Step::Field)).collect())
        }
        Value::Array(items) if !items.is_empty() => match shape.list(items) {
            ListKind::Atomic => None,
            ListKind::Set => Some(items.iter().map(|item| (format!("v:{item}"), item, shape.item(), Step::Item)).collect()),
            ListKind::Map(keys) => {
                let part = |item: &'a Value| (item_key(&keys, item), item, shape.item(), Step::Item);
                Some(items.iter().map(part).collect())
            }
        },
        _ => None,
    }
}

/// `k:{"name":"a"}`.
pub(crate) fn item_key(keys: &[String], item: &Value) -> String {
    let key: Map<String, Value> = keys.iter().map(|key| (key.clone(), key_of(item, key))).collect();
    format!("k:{}", Value::Object(key))
}

/// Every field an object has.
pub(crate) fn of(value: &Value, shape: Shape<'_>) -> Fields {
    let Some(parts) = parts(value, shape) else { return Fields::new() };
    let field = |(key, value, shape, step): (String, &Value, Shape<'_>, Step)| {
        let mut below = of(value, shape);
        if matches!(step, Step::Item) && key.starts_with("k:") {
            below.insert(".".to_owned(), Value::Object(Map::new()));
        }
        (key, Value::Object(below))
    };
    parts.into_iter().map(field).collect()
}

/// The fields that are in `new` and not the same in `old`, and those that only `old` has.
pub(crate) fn changed(old: &Value, new: &Value, shape: Shape<'_>) -> (Fields, Fields) {
    let (mut set, mut gone) = (Fields::new(), Fields::new());
    let (before, after) = (parts(old, shape).unwrap_or_default(), parts(new, shape).unwrap_or_default());
    for (key, value, shape, step) in &after {
        let former = before.iter().find(|(other, ..)| other == key);
        let Some((_, former, ..)) = former else {
            let mut below = of(value, *shape);
            let owns_itself = matches!(step, Step::Item)
                || (value.is_object() && !below.is_empty() && key != "f:spec" && key != "f:metadata" && key != "f:status");
            if owns_itself && !key.starts_with("v:") {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            set.insert(key.clone(), Value::Object(below));
            continue;
        };
        if former == value {
            continue;
        }
        let (below, lost) = changed(former, value, *shape);
        let whole = parts(former, *shape).is_none() || parts(value, *shape).is_none();
        if whole {
            set.insert(key.clone(), Value::Object(of(value, *shape)));
        } else if !below.is_empty() {
            set.insert(key.clone(), Value::Object(below));
        }
        if !lost.is_empty() {
            gone.insert(key.clone(), Value::Object(lost));
        }
    }
    for (key, value, shape, step) in &before {
        if !after.iter().any(|(other, ..)| other == key) {
            let mut below = of(value, *shape);
            if matches!(step, Step::Item) || value.is_object() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            gone.insert(key.clone(), Value::Object(below));
        }
    }
    (set, gone)
}

/// Adds the fields of another set.
pub(crate) fn unite(one: &mut Fields, other: &Fields) {
    for (key, below) in other {
        let place = one.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let (Value::Object(place), Value::Object(below)) = (place, below) {
            unite(place, below);
        }
    }
}

/// Takes away the leaves of another set.
pub(crate) fn subtract(one: &mut Fields, other: &Fields) {
    for (key, below) in other {
        let Some(Value::Object(place)) = one.get_mut(key) else { continue };
        match below.as_object() {
            Some(below) if !below.is_empty() => {
                subtract(place, below);
                if place.is_empty() {
                    one.remove(key);
                }
            }
            _ => {
                one.remove(key);
            }
        }
    }
}

/// Whether a set has this path as a leaf, or something below it.
pub(crate) fn has(fields: &Fields, path: &[String]) -> bool {
    match path {
        [] => true,
        [first, rest @ ..] => fields.get(first).and_then(Value::as_object).is_some_and(|below| has(below, rest)),
    }
}

/// Every leaf.
pub(crate) fn leaves(fields: &Fields) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    walk(fields, &mut Vec::new(), &mut found);
    found
}

fn walk(fields: &Fields, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if fields.is_empty() && !path.is_empty() {
        found.push(path.clone());
    }
    for (key, below) in fields {
        if key == "." {
            continue;
        }
        path.push(key.clone());
        walk(below.as_object().unwrap_or(&Map::new()), path, found);
        path.pop();
    }
}

/// A path as conflicts tell it: `.spec.containers[name="a"].image`.
pub(crate) fn spelled(path: &[String]) -> String {
    let step = |step: &String| match step.split_once(':') {
        Some(("k", keys)) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            format!("[{}]", keys.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(","))
        }
        Some(("v", value)) => format!("[={value}]"),
        Some((_, field)) => format!(".{field}"),
        None => step.clone(),
    };
    path.iter().map(step).collect()
}

/// The value at a path.
pub(crate) fn value_at<'a>(value: &'a Value, path: &[String], shape: Shape<'a>) -> Option<&'a Value> {
    match path {
        [] => Some(value),
        [first, rest @ ..] => {
            let (_, below, shape, _) = parts(value, shape)?.into_iter().find(|(key, ..)| key == first)?;
            value_at(below, rest, shape)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POD: Shape<'static> = Shape::Builtin("Pod");

    #[test]
    fn fields_are_named_as_managed_fields_do() {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": "x"}], "replicas": 1}, "metadata": {"finalizers": ["f"]}});
        let expected = json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}}}, "f:replicas": {}},
                              "f:metadata": {"f:finalizers": {"v:\"f\"": {}}}});
        assert_eq!(Value::Object(of(&pod, POD)), expected);
        let path: Vec<String> = vec!["f:spec".into(), "f:containers".into(), "k:{\"name\":\"a\"}".into(), "f:image".into()];
        assert_eq!(spelled(&path), ".spec.containers[name=\"a\"].image");
        assert_eq!(value_at(&pod, &path, POD), Some(&json!("x")));
    }

    #[test]
    fn changes_are_told_apart_from_what_stayed() {
        let old = json!({"data": {"a": "1", "b": "2"}, "spec": {"x": 1}});
        let new = json!({"data": {"a": "1", "b": "3", "c": "4"}, "spec": {}});
        let (set, gone) = changed(&old, &new, Shape::Builtin("ConfigMap"));
        assert_eq!(Value::Object(set), json!({"f:data": {"f:b": {}, "f:c": {}}, "f:spec": {}}));
        assert_eq!(Value::Object(gone), json!({"f:spec": {"f:x": {}}}));
        let (set, gone) = changed(&json!({"data": {"a": "1", "b": "2"}}), &json!({"data": {"a": "1"}}), Shape::Builtin("ConfigMap"));
        assert_eq!((Value::Object(set), Value::Object(gone)), (json!({}), json!({"f:data": {"f:b": {}}})));
    }
}
