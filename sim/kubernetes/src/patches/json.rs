//! JSON patches (RFC 6902).

use serde_json::Value;

/// Applies the operations in order.
pub(crate) fn apply(target: &mut Value, operations: &Value) -> Result<(), String> {
    let operations = operations.as_array().ok_or("json: cannot unmarshal object into Go value of type jsonpatch.Patch")?;
    for operation in operations {
        let path = operation["path"].as_str().ok_or("missing value")?;
        let value = || operation.get("value").cloned().ok_or("missing value");
        match operation["op"].as_str().unwrap_or_default() {
            "add" => add(target, path, value()?)?,
            "remove" => drop(remove(target, path)?),
            "replace" => {
                let value = value()?;
                let there = target.pointer_mut(path).ok_or_else(|| missing("replace", path))?;
                *there = value;
            }
            "move" => {
                let from = operation["from"].as_str().ok_or("missing value")?;
                let value = remove(target, from)?;
                add(target, path, value)?;
            }
            "copy" => {
                let from = operation["from"].as_str().ok_or("missing value")?;
                let value = target.pointer(from).cloned().ok_or_else(|| missing("copy", from))?;
                add(target, path, value)?;
            }
            "test" => {
                if target.pointer(path).unwrap_or(&Value::Null) != operation.get("value").unwrap_or(&Value::Null) {
                    return Err(format!("testing value {path} failed"));
                }
            }
            other => return Err(format!("Unexpected kind: {other}")),
        }
    }
    Ok(())
}

fn missing(what: &str, path: &str) -> String {
    format!("{what} operation does not apply: doc is missing path: {path}: missing value")
}

fn split(path: &str) -> Result<(&str, String), String> {
    let (parent, last) = path.rsplit_once('/').ok_or_else(|| missing("add", path))?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (parent, last) = split(path)?;
    match target.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.insert(last, value);
            Ok(())
        }
        Some(Value::Array(items)) => {
            let at = if last == "-" { Some(items.len()) } else { last.parse().ok().filter(|at| *at <= items.len()) };
            items.insert(at.ok_or_else(|| missing("add", path))?, value);
            Ok(())
        }
        _ => Err(missing("add", path)),
    }
}

fn remove(target: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = split(path)?;
    let removed = match target.pointer_mut(parent) {
        Some(Value::Object(map)) => map.remove(&last),
        Some(Value::Array(items)) => last.parse().ok().filter(|at: &usize| *at < items.len()).map(|at| items.remove(at)),
        _ => None,
    };
    removed.ok_or_else(|| missing("remove", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_apply_in_order_or_say_why_not() {
        let mut target = json!({"a": {"b/c": 1}, "l": [1, 2]});
        let patch = json!([
            {"op": "test", "path": "/a/b~1c", "value": 1}, {"op": "replace", "path": "/a/b~1c", "value": 2},
            {"op": "add", "path": "/l/-", "value": 3}, {"op": "remove", "path": "/l/0"}, {"op": "move", "from": "/a", "path": "/z"},
        ]);
        apply(&mut target, &patch).unwrap();
        assert_eq!(target, json!({"z": {"b/c": 2}, "l": [2, 3]}));
        let error = apply(&mut target, &json!([{"op": "remove", "path": "/x/y"}])).unwrap_err();
        assert_eq!(error, "remove operation does not apply: doc is missing path: /x/y: missing value");
        assert!(apply(&mut target, &json!([{"op": "test", "path": "/l/0", "value": 9}])).is_err());
    }
}
