//! Strategic merge patches: merge patches that know which lists are maps.

use serde_json::{Map, Value};

use super::lists::{ListKind, Shape, same};

/// Applies a patch with its directives.
pub(crate) fn apply(target: &mut Value, patch: &Value, shape: Shape<'_>) -> Result<(), String> {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return Ok(());
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target =
                Value::Object(patch.iter().filter(|(key, _)| *key != "$patch").map(|(key, value)| (key.clone(), value.clone())).collect());
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => return Err(format!("unrecognized patch type: \"{other}\"")),
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(map) = target.as_object_mut() else { return Ok(()) };
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array) {
        map.retain(|key, _| kept.iter().any(|one| one == key.as_str()));
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(items)), Some(gone)) = (map.get_mut(field), value.as_array()) {
                items.retain(|item| !gone.contains(item));
            }
        } else if key.starts_with('$') {
            // Orders come after the merge, the others are done.
        } else if value.is_null() {
            map.remove(key);
        } else if let Some(changes) = value.as_array() {
            merge_list(map.entry(key).or_insert(Value::Null), changes, shape.field(key))?;
        } else if value.is_object() {
            apply(map.entry(key).or_insert(Value::Null), value, shape.field(key))?;
        } else {
            map.insert(key.clone(), value.clone());
        }
    }
    for (key, order) in patch {
        if let Some(field) = key.strip_prefix("$setElementOrder/")
            && let (Some(Value::Array(items)), Some(order)) = (map.get_mut(field), order.as_array())
        {
            arrange(items, order, shape.field(field));
        }
    }
    Ok(())
}

fn merge_list(target: &mut Value, changes: &[Value], shape: Shape<'_>) -> Result<(), String> {
    let replace = changes.iter().any(|change| change.get("$patch").is_some_and(|kind| kind == "replace"));
    let kind = shape.merge_key(changes);
    let Value::Array(items) = target else {
        *target = Value::Array(Vec::new());
        if !replace && kind != ListKind::Atomic {
            return merge_list(target, changes, shape);
        }
        plain(target, changes);
        return Ok(());
    };
    match kind {
        _ if replace => plain(target, changes),
        ListKind::Atomic => plain(target, changes),
        ListKind::Set => {
            for change in changes {
                if !items.contains(change) {
                    items.push(change.clone());
                }
            }
        }
        ListKind::Map(keys) => {
            for change in changes {
                if keys.iter().any(|key| change.get(key).is_none()) {
                    let key = keys.join(", ");
                    return Err(format!("map: {change} does not contain declared merge key: {key}"));
                }
                let at = items.iter().position(|item| same(&keys, item, change));
                if change.get("$patch").is_some_and(|kind| kind == "delete") {
                    if let Some(at) = at {
                        items.remove(at);
                    }
                    continue;
                }
                let at = at.unwrap_or_else(|| {
                    items.push(Value::Object(Map::new()));
                    items.len() - 1
                });
                apply(&mut items[at], change, shape.item())?;
            }
        }
    }
    Ok(())
}

fn plain(target: &mut Value, changes: &[Value]) {
    let kept = changes.iter().filter(|change| change.get("$patch").is_none());
    *target = Value::Array(kept.cloned().collect());
}

/// Sorts the named items as asked; the others stay behind them in their order.
fn arrange(items: &mut [Value], order: &[Value], shape: Shape<'_>) {
    let kind = shape.merge_key(order);
    let rank = |item: &Value| {
        let found = order.iter().position(|wanted| match &kind {
            ListKind::Map(keys) => same(keys, item, wanted),
            _ => item == wanted,
        });
        found.unwrap_or(order.len())
    };
    items.sort_by_key(rank);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_containers_merge_by_name() {
        let mut pod = json!({"spec": {"containers": [{"name": "a", "image": "x", "env": [{"name": "K", "value": "1"}]}, {"name": "b", "image": "y"}],
                             "tolerations": [{"key": "t"}]}, "metadata": {"finalizers": ["one"]}});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "c", "image": "z"}, {"name": "a", "image": "x2", "env": [{"name": "L", "value": "2"}]}, {"$patch": "delete", "name": "b"}],
            "tolerations": [{"key": "u"}]}, "metadata": {"finalizers": ["two"], "$deleteFromPrimitiveList/finalizers": ["one"]}});
        apply(&mut pod, &patch, Shape::Builtin("Pod")).unwrap();
        assert_eq!(
            pod,
            json!({"spec": {"containers": [{"name": "c", "image": "z"}, {"name": "a", "image": "x2", "env": [{"name": "K", "value": "1"}, {"name": "L", "value": "2"}]}],
                   "tolerations": [{"key": "u"}]}, "metadata": {"finalizers": ["two"]}})
        );
        let error = apply(&mut pod, &json!({"spec": {"containers": [{"image": "q"}]}}), Shape::Builtin("Pod")).unwrap_err();
        assert!(error.contains("does not contain declared merge key: name"), "{error}");
    }

    #[test]
    fn maps_are_replaced_or_keep_named_keys_when_told() {
        let mut one = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
        apply(&mut one, &json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}), Shape::Builtin("Deployment")).unwrap();
        assert_eq!(one, json!({"strategy": {"type": "Recreate"}}));
        apply(&mut one, &json!({"strategy": {"$patch": "replace", "x": 1}}), Shape::Builtin("Deployment")).unwrap();
        assert_eq!(one, json!({"strategy": {"x": 1}}));
    }
}
