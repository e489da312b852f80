//! Server-side apply, and who manages which field of an object.

use serde_json::{Map, Value, json};

use super::fields::{self, Fields};
use super::lists::{ListKind, Shape, same};
use crate::document::{list, now, put, remove, text};

/// One entry of `managedFields`.
#[derive(Debug, Clone)]
struct Manager {
    name: String,
    operation: String,
    version: String,
    subresource: String,
    time: String,
    fields: Fields,
}

fn managers(object: &Value) -> Vec<Manager> {
    let entry = |entry: &Value| Manager {
        name: text(entry, "/manager").to_owned(),
        operation: text(entry, "/operation").to_owned(),
        version: text(entry, "/apiVersion").to_owned(),
        subresource: text(entry, "/subresource").to_owned(),
        time: text(entry, "/time").to_owned(),
        fields: entry.get("fieldsV1").and_then(Value::as_object).cloned().unwrap_or_default(),
    };
    list(object, "/metadata/managedFields").iter().map(entry).collect()
}

fn write(object: &mut Value, mut managers: Vec<Manager>) {
    managers.retain(|manager| !manager.fields.is_empty());
    // Appliers first, and each of the two groups by time, as a real server sorts them.
    managers.sort_by(|one, other| (&one.operation, &one.time, &one.name).cmp(&(&other.operation, &other.time, &other.name)));
    let entry = |manager: Manager| {
        let mut entry = json!({
            "manager": manager.name, "operation": manager.operation, "apiVersion": manager.version, "time": manager.time,
            "fieldsType": "FieldsV1", "fieldsV1": manager.fields,
        });
        if !manager.subresource.is_empty() {
            entry["subresource"] = manager.subresource.into();
        }
        entry
    };
    let entries: Vec<Value> = managers.into_iter().map(entry).collect();
    if entries.is_empty() {
        remove(object, "/metadata/managedFields");
    } else {
        put(object, "/metadata/managedFields", entries);
    }
}

/// Who writes, for the record of managers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) version: &'a str,
    pub(crate) subresource: &'a str,
}

/// Notes who changed what between two states of an object, other than by apply.
pub(crate) fn note(old: &Value, new: &mut Value, shape: Shape<'_>, writer: Writer<'_>) {
    // A client may rewrite the record, as kubectl does when it changes to server-side apply; one empty entry gives it up.
    let mut all = match list(new, "/metadata/managedFields") {
        [] => managers(old),
        [only] if *only == json!({}) => Vec::new(),
        _ => managers(new),
    };
    let (set, gone) = fields::changed(&fields::managed(old), &fields::managed(new), shape);
    for manager in &mut all {
        fields::subtract(&mut manager.fields, &gone);
    }
    if !set.is_empty() {
        for manager in &mut all {
            fields::subtract(&mut manager.fields, &leaves_only(&set));
        }
        let is_writer = |one: &Manager| {
            one.name == writer.manager
                && one.operation == "Update"
                && one.subresource == writer.subresource
                && one.version == writer.version
        };
        match all.iter_mut().find(|one| is_writer(one)) {
            Some(manager) => {
                fields::unite(&mut manager.fields, &set);
                manager.time = now();
            }
            None => all.push(Manager {
                name: writer.manager.to_owned(),
                operation: "Update".to_owned(),
                version: writer.version.to_owned(),
                subresource: writer.subresource.to_owned(),
                time: now(),
                fields: set,
            }),
        }
    }
    write(new, all);
}

/// Without the marks of maps and items themselves, which several managers share.
fn leaves_only(set: &Fields) -> Fields {
    let below = |(key, value): (&String, &Value)| {
        let below = value.as_object().map(leaves_only).unwrap_or_default();
        let was_leaf = value.as_object().is_none_or(|map| map.keys().all(|key| key == "."));
        (!below.is_empty() || was_leaf).then(|| (key.clone(), Value::Object(below)))
    };
    set.iter().filter(|(key, _)| *key != ".").filter_map(below).collect()
}

/// A field that somebody else manages with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) manager: String,
    pub(crate) field: String,
}

/// Merges what a manager applies into an object; `live` is null where it is new.
pub(crate) fn apply(live: &Value, applied: &Value, shape: Shape<'_>, writer: Writer<'_>, force: bool) -> Result<Value, Vec<Conflict>> {
    let wanted = fields::managed(applied);
    let set = fields::of(&wanted, shape);
    let mut all = managers(live);
    let is_writer = |one: &Manager| one.name == writer.manager && one.operation == "Apply" && one.subresource == writer.subresource;
    let mut conflicts = Vec::new();
    for path in fields::leaves(&set) {
        let asked = fields::value_at(&wanted, &path, shape);
        let there = fields::value_at(live, &path, shape);
        if asked == there {
            continue;
        }
        for manager in all.iter_mut().filter(|one| !is_writer(one)) {
            if !fields::has(&manager.fields, &path) {
                continue;
            }
            if force {
                fields::subtract(&mut manager.fields, &nested(&path));
            } else {
                let part = match manager.subresource.as_str() {
                    "" => String::new(),
                    part => format!(" with subresource \"{part}\""),
                };
                let version =
                    if manager.operation == "Update" { format!(" using {} at {}", manager.version, manager.time) } else { String::new() };
                let told = format!("\"{}\"{part}{version}", manager.name);
                conflicts.push(Conflict { manager: told, field: fields::spelled(&path) });
            }
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut merged = if live.is_null() { json!({}) } else { live.clone() };
    // What this manager applied before and leaves out now goes, unless somebody else wants it too.
    if let Some(before) = all.iter().find(|one| is_writer(one)) {
        let mut dropped = before.fields.clone();
        fields::subtract(&mut dropped, &set);
        keep_apart(&mut dropped, &set);
        for other in all.iter().filter(|one| !is_writer(one)) {
            fields::subtract(&mut dropped, &other.fields);
            keep_apart(&mut dropped, &other.fields);
        }
        prune(&mut merged, &dropped, shape);
    }
    overlay(&mut merged, &wanted, shape);
    for field in ["apiVersion", "kind"] {
        merged[field] = applied[field].clone();
    }
    for field in ["name", "namespace", "generateName"] {
        if let Some(value) = applied.pointer(&format!("/metadata/{field}")) {
            put(&mut merged, &format!("/metadata/{field}"), value.clone());
        }
    }
    let same_set = all.iter().find(|one| is_writer(one)).is_some_and(|one| one.fields == set && one.version == writer.version);
    if !same_set {
        all.retain(|one| !is_writer(one));
        all.push(Manager {
            name: writer.manager.to_owned(),
            operation: "Apply".to_owned(),
            version: writer.version.to_owned(),
            subresource: writer.subresource.to_owned(),
            time: now(),
            fields: set,
        });
    }
    write(&mut merged, all);
    Ok(merged)
}

fn nested(path: &[String]) -> Fields {
    match path {
        [] => Fields::new(),
        [first, rest @ ..] => Map::from_iter([(first.clone(), Value::Object(nested(rest)))]),
    }
}

/// Takes the mark of an item away where another set has the item.
fn keep_apart(dropped: &mut Fields, kept: &Fields) {
    for (key, below) in kept {
        if let (Some(Value::Object(mine)), Some(theirs)) = (dropped.get_mut(key), below.as_object()) {
            mine.remove(".");
            keep_apart(mine, theirs);
            if mine.is_empty() {
                dropped.remove(key);
            }
        }
    }
}

/// Removes fields from a value.
fn prune(value: &mut Value, gone: &Fields, shape: Shape<'_>) {
    match value {
        Value::Object(map) => {
            for (key, below) in gone {
                let Some(field) = key.strip_prefix("f:") else { continue };
                let below = below.as_object().filter(|below| !below.is_empty());
                match (below, map.get_mut(field)) {
                    (Some(below), Some(place)) => {
                        prune(place, below, shape.field(field));
                        // A list or map that had nothing else is gone with its last part.
                        if place.as_object().is_some_and(Map::is_empty) || place.as_array().is_some_and(Vec::is_empty) {
                            map.remove(field);
                        }
                    }
                    _ => {
                        map.remove(field);
                    }
                }
            }
        }
        Value::Array(items) => {
            let kind = shape.list(items);
            items.retain_mut(|item| {
                let key = match &kind {
                    ListKind::Map(keys) => fields::item_key(keys, item),
                    _ => format!("v:{item}"),
                };
                match gone.get(&key).and_then(Value::as_object) {
                    None => true,
                    Some(below) if below.is_empty() || below.contains_key(".") => false,
                    Some(below) => {
                        prune(item, below, shape.item());
                        true
                    }
                }
            });
        }
        _ => {}
    }
}

/// Lays the applied values over a value.
fn overlay(value: &mut Value, applied: &Value, shape: Shape<'_>) {
    match applied {
        Value::Object(map) if !shape.is_atomic_map() => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            if let Some(target) = value.as_object_mut() {
                for (key, below) in map {
                    overlay(target.entry(key).or_insert(Value::Null), below, shape.field(key));
                }
            }
        }
        Value::Array(wanted) => {
            let kind = shape.list(wanted);
            let Some(items) = value.as_array_mut().filter(|_| kind != ListKind::Atomic) else {
                *value = applied.clone();
                return;
            };
            for one in wanted {
                match &kind {
                    ListKind::Map(keys) => match items.iter_mut().find(|item| same(keys, item, one)) {
                        Some(item) => overlay(item, one, shape.item()),
                        None => items.push(one.clone()),
                    },
                    _ if !items.contains(one) => items.push(one.clone()),
                    _ => {}
                }
            }
        }
        other => *value = other.clone(),
    }
}

/// The words of a refusal.
pub(crate) fn told(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", only.manager, only.field);
    }
    let mut by_manager: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for conflict in conflicts {
        by_manager.entry(&conflict.manager).or_default().push(&conflict.field);
    }
    let lines = by_manager.iter().flat_map(|(manager, fields)| {
        std::iter::once(format!("conflicts with {manager}:")).chain(fields.iter().map(|field| format!("- {field}")))
    });
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape<'static> = Shape::Builtin("Deployment");

    fn by(manager: &str) -> Writer<'_> {
        Writer { manager, version: "apps/v1", subresource: "" }
    }

    fn deployment(replicas: i64, image: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"a": "1"}},
               "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
    }

    #[test]
    fn another_managers_field_is_a_conflict_until_forced() {
        let live = apply(&Value::Null, &deployment(1, "x"), SHAPE, by("one"), false).unwrap();
        let conflicts = apply(&live, &deployment(2, "y"), SHAPE, by("two"), false).unwrap_err();
        let expected =
            "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.replicas\n- .spec.template.spec.containers[name=\"c\"].image";
        assert_eq!(told(&conflicts), expected);
        let forced = apply(&live, &deployment(2, "y"), SHAPE, by("two"), true).unwrap();
        assert_eq!(forced["spec"]["replicas"], 2);
        let one = managers(&forced).into_iter().find(|one| one.name == "one").unwrap();
        assert!(!fields::has(&one.fields, &["f:spec".into(), "f:replicas".into()]));
        assert!(fields::has(&one.fields, &["f:metadata".into(), "f:labels".into(), "f:a".into()]));
        let again = apply(&forced, &deployment(2, "y"), SHAPE, by("two"), false).unwrap();
        assert_eq!(again, forced, "the same once more changes nothing");
    }

    #[test]
    fn what_is_left_out_goes_unless_somebody_else_has_it() {
        let live = apply(&Value::Null, &deployment(1, "x"), SHAPE, by("one"), false).unwrap();
        let mut shared = deployment(1, "x");
        remove(&mut shared, "/metadata/labels");
        let live = apply(&live, &shared, SHAPE, by("two"), false).unwrap();
        let little = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        let left = apply(&live, &little, SHAPE, by("one"), false).unwrap();
        assert_eq!(left.pointer("/metadata/labels"), None, "only one had it");
        assert_eq!(left["spec"]["replicas"], 1, "two has it still");
        let left = apply(&left, &little, SHAPE, by("two"), false).unwrap();
        assert_eq!(left.pointer("/spec/template/spec/containers"), None);
    }

    #[test]
    fn an_update_takes_fields_over() {
        let live = apply(&Value::Null, &deployment(1, "x"), SHAPE, by("one"), false).unwrap();
        let mut updated = live.clone();
        updated["spec"]["replicas"] = json!(5);
        note(&live, &mut updated, SHAPE, by("kubectl-scale"));
        let told = told(&apply(&updated, &deployment(1, "x"), SHAPE, by("one"), false).unwrap_err());
        assert!(
            told.starts_with("Apply failed with 1 conflict: conflict with \"kubectl-scale\" using apps/v1 at ")
                && told.ends_with(": .spec.replicas"),
            "{told}"
        );
    }
}
