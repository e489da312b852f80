//! JSON Schemas of the files, generated from their types: for editors, and for the reader.

use std::sync::OnceLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::site::Site;
use super::written::{ClusterFile, NodesFile};

/// The files that have a schema.
pub const NAMES: [&str; 3] = ["cluster", "nodes", "site"];

/// The schema of `cluster.yaml`, `nodes.yaml` or `site.yaml`, by the name without `.yaml`.
pub fn schema(name: &str) -> Option<&'static Value> {
    static CLUSTER: OnceLock<Value> = OnceLock::new();
    static NODES: OnceLock<Value> = OnceLock::new();
    static SITE: OnceLock<Value> = OnceLock::new();
    match name {
        "cluster" => Some(CLUSTER.get_or_init(generate::<ClusterFile>)),
        "nodes" => Some(NODES.get_or_init(generate::<NodesFile>)),
        "site" => Some(SITE.get_or_init(generate::<Site>)),
        _ => None,
    }
}

fn generate<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    finish(&mut schema);
    schema
}

/// Gives each other spelling a property of its own, and lets every key that may be absent be empty, as YAML people leave keys.
fn finish(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // Of no use in a generated file: the width of the Rust type.
            if matches!(object.get("format").and_then(Value::as_str), Some("uint8" | "uint16" | "uint32" | "uint64")) {
                object.remove("format");
            }
            let required: Vec<String> = object
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
                spellings(properties);
                for (name, property) in properties.iter_mut() {
                    // What lies deeper has its own defaults.
                    if matches!(property.get("default"), Some(Value::Null | Value::Object(_) | Value::Array(_))) {
                        property.as_object_mut().map(|object| object.remove("default"));
                    }
                    if !required.contains(name) {
                        nullable(property);
                    }
                }
            }
            object.values_mut().for_each(finish);
        }
        Value::Array(items) => items.iter_mut().for_each(finish),
        _ => {}
    }
}

fn spellings(properties: &mut Map<String, Value>) {
    let mut more = Map::new();
    for (name, property) in properties.iter_mut() {
        let Some(Value::Array(spellings)) = property.as_object_mut().and_then(|object| object.remove("x-spellings")) else { continue };
        for spelling in spellings.iter().filter_map(Value::as_str) {
            let mut other = property.clone();
            other["description"] = json!(format!("Another spelling of `{name}`."));
            other["x-spelling-of"] = json!(name);
            more.insert(spelling.to_owned(), other);
        }
    }
    properties.extend(more);
}

fn nullable(property: &mut Value) {
    let Some(object) = property.as_object_mut() else { return };
    match object.get_mut("type") {
        Some(Value::Array(types)) if types.iter().all(|one| one != "null") => types.push(json!("null")),
        Some(Value::String(one)) if one != "null" => {
            let types = json!([one, "null"]);
            object.insert("type".to_owned(), types);
        }
        Some(_) => {}
        None => {
            // Without a type it is a reference or a choice; without either it can be anything already.
            let has_null = object.get("anyOf").and_then(Value::as_array).is_some_and(|all| all.contains(&json!({ "type": "null" })));
            if has_null {
                return;
            }
            let mut inner = Map::new();
            for key in ["$ref", "anyOf", "oneOf"] {
                if let Some(value) = object.remove(key) {
                    inner.insert(key.to_owned(), value);
                }
            }
            if !inner.is_empty() {
                object.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
            }
        }
    }
}
