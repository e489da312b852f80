//! Manifests as people and charts write them: YAML or JSON, several in a text, lists among them. Pure.

use serde_json::Value;

use super::object::Id;

/// The largest text that is read.
pub const LARGEST: usize = 16 << 20;

/// What an apply must not carry: the server refuses or overrides it.
const SERVERS: [&str; 6] = ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"];

/// The objects of a text, in their order.
///
/// # Errors
/// What is wrong, and in which document.
pub fn parse(text: &str) -> Result<Vec<Value>, String> {
    if text.len() > LARGEST {
        return Err(format!("it is larger than {} MiB", LARGEST >> 20));
    }
    // As clients of Kubernetes read it: `0644` is a file's mode in octal.
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| format!("it is no YAML: {}", crate::inventory::yaml_error(&error)))?;
    let mut objects = Vec::new();
    for (index, document) in documents.into_iter().enumerate() {
        unroll(document, &mut objects).map_err(|why| format!("document {}: {why}", index + 1))?;
    }
    Ok(objects)
}

/// Takes an object, or each of a list.
fn unroll(document: Value, objects: &mut Vec<Value>) -> Result<(), String> {
    let is_list = document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document {
        // What a template left empty.
        Value::Null => Ok(()),
        Value::Object(mut all) if is_list && all.get("items").is_some_and(Value::is_array) => {
            let Some(Value::Array(items)) = all.remove("items") else { return Ok(()) };
            items.into_iter().try_for_each(|item| unroll(item, objects))
        }
        document => {
            objects.push(clean(document)?);
            Ok(())
        }
    }
}

/// An object without what belongs to the server.
fn clean(mut object: Value) -> Result<Value, String> {
    if Id::of(&object).is_none() {
        let what = match object.get("kind").and_then(Value::as_str) {
            Some(kind) => format!("a {kind} without `apiVersion` or `metadata.name`"),
            None => "something without `kind`".to_owned(),
        };
        return Err(format!("{what} is no object that can be applied"));
    }
    if let Some(all) = object.as_object_mut() {
        all.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, value| !SERVERS.contains(&key.as_str()) && !value.is_null());
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn several_documents_and_lists_become_objects() {
        let text = "
---
# only a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, creationTimestamp: null, uid: x, annotations: null}
data: {mode: '0644'}
status: {x: 1}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Namespace, metadata: {name: b}}
  - {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]}
---
{\"apiVersion\": \"apps/v1\", \"kind\": \"DaemonSet\", \"metadata\": {\"name\": \"d\"}, \"spec\": {\"mode\": 1}}
";
        let objects = parse(text).expect("objects");
        let names: Vec<&str> = objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(objects[0], json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"mode": "0644"}}));
    }

    #[test]
    fn modes_of_files_are_octal() {
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {mode: 0644, yes: on, quoted: '0644', number: 10, zero: 0}}";
        let object = parse(text).expect("an object").remove(0);
        assert_eq!(object["spec"]["mode"], 420);
        assert_eq!(
            (&object["spec"]["quoted"], &object["spec"]["number"], &object["spec"]["zero"]),
            (&json!("0644"), &json!(10), &json!(0))
        );
    }

    #[test]
    fn what_is_no_object_is_told_with_its_place() {
        for (text, part) in [
            ("a: [", "it is no YAML"),
            (
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{kind: ConfigMap, metadata: {}}",
                "document 2: a ConfigMap without",
            ),
            ("hello", "document 1: something without `kind`"),
            ("{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}", "a Pod without `apiVersion` or `metadata.name`"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
