//! Custom objects against the schema of their definition.

use serde_json::Value;

use crate::failure::Cause;

/// Fills in the defaults of a schema, and drops what the schema does not know.
pub(crate) fn fill(schema: &Value, object: &mut Value) {
    if schema.is_object() {
        walk(schema, object, true);
    }
}

fn walk(schema: &Value, value: &mut Value, root: bool) {
    if schema.get("x-kubernetes-preserve-unknown-fields").is_none_or(|keep| keep != true)
        && schema.get("x-kubernetes-embedded-resource").is_none()
        && let (Some(known), Some(map)) = (schema.get("properties").and_then(Value::as_object), value.as_object_mut())
    {
        map.retain(|key, _| known.contains_key(key) || (root && matches!(key.as_str(), "apiVersion" | "kind" | "metadata")));
    }
    if let (Some(properties), Some(map)) = (schema.get("properties").and_then(Value::as_object), value.as_object_mut()) {
        for (key, below) in properties {
            if root && matches!(key.as_str(), "metadata" | "apiVersion" | "kind") {
                continue;
            }
            if !map.contains_key(key)
                && let Some(preset) = below.get("default")
            {
                map.insert(key.clone(), preset.clone());
            }
            if let Some(inner) = map.get_mut(key) {
                walk(below, inner, false);
            }
        }
    }
    if let (Some(below), Some(map)) = (schema.get("additionalProperties").filter(|below| below.is_object()), value.as_object_mut()) {
        for inner in map.values_mut() {
            walk(below, inner, false);
        }
    }
    if let (Some(below), Some(items)) = (schema.get("items"), value.as_array_mut()) {
        for inner in items {
            walk(below, inner, false);
        }
    }
}

/// The fields a schema does not know.
pub(crate) fn unknown(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let open = schema.get("x-kubernetes-preserve-unknown-fields").is_some_and(|keep| keep == true)
        || schema.get("x-kubernetes-embedded-resource").is_some();
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let additional = schema.get("additionalProperties");
            for (key, inner) in map {
                if path.is_empty() && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                    continue;
                }
                match properties.and_then(|known| known.get(key)).or(additional) {
                    Some(below) => unknown(below, inner, &join(key), found),
                    None if open || (properties.is_none() && path.is_empty()) => {}
                    None => found.push(join(key)),
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = schema.get("items") {
                for (at, inner) in items.iter().enumerate() {
                    unknown(below, inner, &format!("{path}[{at}]"), found);
                }
            }
        }
        _ => {}
    }
}

/// What is wrong with a value: types, required fields, enumerations, bounds and patterns.
pub(crate) fn check(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    if schema["x-kubernetes-int-or-string"] == true {
        if !value.is_string() && !value.is_i64() && !value.is_u64() {
            causes.push(wrong_type(path, value, "integer,string"));
        }
        return;
    }
    if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        let fits = match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => true,
        };
        if !fits {
            causes.push(wrong_type(path, value, kind));
            return;
        }
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        causes.push(Cause::unsupported(path, value, &allowed));
    }
    bounds(schema, value, path, causes);
    if let Some(map) = value.as_object() {
        for required in crate::document::list(schema, "/required").iter().filter_map(Value::as_str) {
            if !map.contains_key(required) {
                causes.push(Cause::required(join(required), ""));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, inner) in map {
            if path.is_empty() && matches!(key.as_str(), "metadata" | "apiVersion" | "kind") {
                continue;
            }
            let below = properties.and_then(|known| known.get(key)).or_else(|| schema.get("additionalProperties"));
            if let Some(below) = below {
                check(below, inner, &join(key), causes);
            }
        }
    }
    if let (Some(items), Some(below)) = (value.as_array(), schema.get("items")) {
        for (at, inner) in items.iter().enumerate() {
            check(below, inner, &format!("{path}[{at}]"), causes);
        }
    }
}

fn wrong_type(path: &str, value: &Value, expected: &str) -> Cause {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let message = format!("Invalid value: {}: {path} in body must be of type {expected}: {found:?}", shown(value, found));
    Cause { reason: "FieldValueTypeInvalid", message, field: path.to_owned() }
}

fn shown(value: &Value, kind: &str) -> String {
    if value.is_object() || value.is_array() { format!("{kind:?}") } else { value.to_string() }
}

fn bounds(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let mut wrong = |why: String| causes.push(Cause::invalid(path, value, &format!("{path} in body should {why}")));
    if let Some(number) = value.as_f64() {
        if let Some(least) = limit("minimum").filter(|least| number < *least) {
            wrong(format!("be greater than or equal to {least}"));
        }
        if let Some(most) = limit("maximum").filter(|most| number > *most) {
            wrong(format!("be less than or equal to {most}"));
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count();
        if schema.get("minLength").and_then(Value::as_u64).is_some_and(|least| (length as u64) < least) {
            wrong(format!("be at least {} chars long", schema["minLength"]));
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && regex::Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text))
        {
            wrong(format!("match '{pattern}'"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_fills_drops_and_refuses() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1}, "mode": {"type": "string", "enum": ["a", "b"], "default": "a"}}}}});
        let mut object = json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "n"}, "spec": {"size": 3, "other": 1}, "odd": 1});
        let mut found = Vec::new();
        unknown(&schema, &object, "", &mut found);
        assert_eq!(found, ["odd", "spec.other"]);
        fill(&schema, &mut object);
        assert_eq!(object["spec"], json!({"size": 3, "mode": "a"}));
        assert_eq!(object.get("odd"), None);
        let mut causes = Vec::new();
        check(&schema, &json!({"spec": {"size": "big", "mode": "z"}}), "", &mut causes);
        let texts: Vec<_> = causes.iter().map(|cause| cause.message.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Unsupported value: \"z\": supported values: \"a\", \"b\"",
                "Invalid value: \"big\": spec.size in body must be of type integer: \"string\""
            ]
        );
        causes.clear();
        check(&schema, &json!({"spec": {}}), "", &mut causes);
        assert_eq!((causes[0].field.as_str(), causes[0].message.as_str()), ("spec.size", "Required value"));
    }
}
