//! The shapes of everyday kinds: for fields that a kind does not have, values
//! of the wrong type, and bodies in protobuf.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Whole,
    Flag,
    Bytes,
    Time,
    WholeOrText,
    Quantity,
    Map(Box<Type>),
    List(Box<Type>),
    Message(&'static str),
    Embedded(&'static str),
    Anything,
}

/// One field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u64,
    pub(crate) name: &'static str,
    pub(crate) kind: Type,
}

static MESSAGES: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| table::MESSAGES.lines().filter_map(message).collect());

fn message(line: &'static str) -> Option<(&'static str, Vec<Field>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let field = |word: &'static str| {
        let mut parts = word.splitn(3, ':');
        Some(Field { number: parts.next()?.parse().ok()?, name: parts.next()?, kind: kind(parts.next()?) })
    };
    Some((name, words.filter_map(field).collect()))
}

fn kind(text: &'static str) -> Type {
    match text {
        "s" => Type::Text,
        "i" => Type::Whole,
        "b" => Type::Flag,
        "B" => Type::Bytes,
        "T" => Type::Time,
        "I" => Type::WholeOrText,
        "Q" => Type::Quantity,
        "?" => Type::Anything,
        _ => {
            if let Some(inner) = text.strip_prefix("[]") {
                Type::List(Box::new(kind(inner)))
            } else if let Some(inner) = text.strip_prefix('*') {
                Type::Embedded(inner)
            } else if let Some(inner) = text.strip_prefix('M').filter(|inner| inner.len() == 1) {
                Type::Map(Box::new(kind(inner)))
            } else {
                Type::Message(text)
            }
        }
    }
}

/// The fields of a message, where it is known.
pub(crate) fn fields(message: &str) -> Option<&'static [Field]> {
    MESSAGES.get(message).map(Vec::as_slice)
}

fn find(message: &str, name: &str) -> Option<&'static Field> {
    let fields = fields(message)?;
    fields.iter().find(|field| field.name == name).or_else(|| {
        fields.iter().find_map(|field| match field.kind {
            Type::Embedded(inner) => find(inner, name),
            _ => None,
        })
    })
}

/// The fields of an object that its kind does not have.
pub(crate) fn unknown(kind: &str, object: &Value, found: &mut Vec<String>) {
    if fields(kind).is_some() {
        walk(&Type::Message(message_name(kind)), object, "", &mut |path, _, _| found.push(path.to_owned()), &mut |_, _, _| {});
    }
}

/// What is wrong with the first value of the wrong type, in the words of Go.
pub(crate) fn mistyped(kind: &str, object: &Value) -> Option<String> {
    fields(kind)?;
    let mut wrong = None;
    walk(&Type::Message(message_name(kind)), object, "", &mut |_, _, _| {}, &mut |path, value, expected| {
        let found = match value {
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            _ => "object",
        };
        let owner = path.rsplit_once('.').map_or(kind, |_| kind);
        wrong.get_or_insert_with(|| format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {expected}"));
    });
    wrong
}

fn message_name(kind: &str) -> &'static str {
    MESSAGES.keys().find(|name| **name == kind).copied().unwrap_or("")
}

type Report<'a> = &'a mut dyn FnMut(&str, &Value, &str);

fn walk(kind: &Type, value: &Value, path: &str, unknown: Report<'_>, mistyped: Report<'_>) {
    if value.is_null() {
        return;
    }
    let expected = match kind {
        Type::Text | Type::Bytes | Type::Time if !value.is_string() => "string",
        Type::Whole if !value.is_i64() && !value.is_u64() => "int32",
        Type::Flag if !value.is_boolean() => "bool",
        Type::List(_) if !value.is_array() => "[]interface {}",
        Type::Map(_) | Type::Message(_) if !value.is_object() => "map[string]interface {}",
        _ => "",
    };
    if !expected.is_empty() {
        mistyped(path, value, expected);
        return;
    }
    match (kind, value) {
        (Type::List(inner), Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                walk(inner, item, &format!("{path}[{at}]"), unknown, mistyped);
            }
        }
        (Type::Map(inner), Value::Object(map)) => {
            for (key, item) in map {
                walk(inner, item, &format!("{path}.{key}"), unknown, mistyped);
            }
        }
        (Type::Message(name), Value::Object(map)) if fields(name).is_some() => {
            for (key, item) in map {
                let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match find(name, key) {
                    Some(field) => walk(&field.kind, item, &here, unknown, mistyped),
                    None if path.is_empty() && matches!(key.as_str(), "apiVersion" | "kind") => {}
                    // Patches carry directives among the fields, claims of stateful sets their kind.
                    None if key.starts_with('$') || matches!(key.as_str(), "apiVersion" | "kind") => {}
                    None => unknown(&here, item, ""),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_a_kind_does_not_have_are_found() {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replica": 1, "template": {"spec": {"containers": [{"name": "a", "imagee": "x",
            "livenessProbe": {"httpGet": {"path": "/"}}}], "volumes": [{"name": "v", "emptyDir": {}}]}}}});
        let mut found = Vec::new();
        unknown("Deployment", &deployment, &mut found);
        assert_eq!(found, ["spec.replica", "spec.template.spec.containers[0].imagee"]);
        found.clear();
        unknown("IngressClass", &json!({"spec": {"anything": 1}}), &mut found);
        assert!(found.is_empty(), "kinds that are not in the table are taken as they come");
    }

    #[test]
    fn values_of_the_wrong_type_are_told() {
        let told = mistyped("Deployment", &json!({"spec": {"replicas": "3"}})).unwrap();
        assert_eq!(told, "json: cannot unmarshal string into Go struct field Deployment.spec.replicas of type int32");
        assert_eq!(mistyped("Deployment", &json!({"spec": {"replicas": 3}})), None);
    }

    #[test]
    fn every_message_that_a_field_names_is_there() {
        for fields in MESSAGES.values() {
            for field in fields {
                let mut kind = &field.kind;
                while let Type::List(inner) | Type::Map(inner) = kind {
                    kind = inner;
                }
                if let Type::Message(name) | Type::Embedded(name) = kind {
                    assert!(super::fields(name).is_some(), "{name} of {}", field.name);
                }
            }
        }
    }
}
