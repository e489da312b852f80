//! Deleting objects: at once, after their grace, or when their finalizers are gone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Asked, read};
use crate::document::{list, now, number, put, text};
use crate::failure::{Failure, Outcome};
use crate::objects::Key;
use crate::world::World;

/// DELETE of one object. The answer is the object where it goes on to exist, and a `Status` where it is gone.
pub(crate) fn delete(world: &mut World, asked: &Asked, options: &Value) -> Outcome<Arc<Value>> {
    let live = read::get(world, asked)?;
    if let Some(uid) = options.pointer("/preconditions/uid").and_then(Value::as_str)
        && uid != text(&live, "/metadata/uid")
    {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", text(&live, "/metadata/uid"));
        return Err(Failure::conflict(&asked.resource, &asked.name, &why));
    }
    if let Some(version) = options.pointer("/preconditions/resourceVersion").and_then(Value::as_str)
        && version != text(&live, "/metadata/resourceVersion")
    {
        let why = format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {}",
            text(&live, "/metadata/resourceVersion")
        );
        return Err(Failure::conflict(&asked.resource, &asked.name, &why));
    }
    if asked.resource.kind == "Namespace" && ["default", "kube-system", "kube-public"].contains(&asked.name.as_str()) {
        return Err(Failure::forbidden(&asked.resource, &asked.name, "this namespace may not be deleted"));
    }
    let dry = asked.dry()? || options["dryRun"].as_array().is_some_and(|list| list.iter().any(|one| one == "All"));
    if dry {
        return Ok(live);
    }
    let after = mark(world, &asked.key(), options)?;
    world.settle();
    Ok(after.unwrap_or_else(|| Arc::new(success(asked, &live))))
}

/// What a client hears when an object is gone.
fn success(asked: &Asked, live: &Value) -> Value {
    let mut details = json!({"name": asked.name, "kind": asked.resource.plural, "uid": text(live, "/metadata/uid")});
    if !asked.resource.group.is_empty() {
        details["group"] = asked.resource.group.as_str().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// Deletes an object, or marks it where something has to happen first.
pub(crate) fn mark(world: &mut World, key: &Key, options: &Value) -> Outcome<Option<Arc<Value>>> {
    let Some(live) = world.objects.get(key).cloned() else { return Ok(None) };
    let policy = match (text(options, "/propagationPolicy"), options["orphanDependents"].as_bool()) {
        ("", Some(true)) => "Orphan",
        (given, _) => given,
    };
    let mut object = (*live).clone();
    let mut finalizers: Vec<Value> = list(&live, "/metadata/finalizers").to_vec();
    let dependents = world.objects.dependents(text(&live, "/metadata/uid"));
    match policy {
        "Orphan" => orphan(world, &dependents, text(&live, "/metadata/uid")),
        "Foreground" if !dependents.is_empty() && !finalizers.iter().any(|one| one == "foregroundDeletion") => {
            finalizers.push("foregroundDeletion".into());
            put(&mut object, "/metadata/finalizers", finalizers.clone());
        }
        _ => {}
    }
    let grace = grace_of(key, &live, options);
    let held = !finalizers.is_empty() || (&*key.sort == "namespaces" && !list(&live, "/spec/finalizers").is_empty());
    if !held && grace == 0 {
        world.remove(key)?;
        return Ok(if &*key.sort == "pods" { Some(live) } else { None });
    }
    let already = live.pointer("/metadata/deletionTimestamp").is_some();
    if already && number(&live, "/metadata/deletionGracePeriodSeconds").is_none_or(|before| before <= grace) && object == *live {
        return Ok(Some(live));
    }
    if !already {
        put(&mut object, "/metadata/deletionTimestamp", now());
        if let Some(generation) = number(&live, "/metadata/generation") {
            put(&mut object, "/metadata/generation", generation + 1);
        }
    }
    put(&mut object, "/metadata/deletionGracePeriodSeconds", grace);
    if &*key.sort == "namespaces" {
        put(&mut object, "/status/phase", "Terminating");
    }
    Ok(Some(world.put(&key.sort, object)?))
}

/// Only pods have a grace, and those that run nowhere have none.
fn grace_of(key: &Key, live: &Value, options: &Value) -> i64 {
    if &*key.sort != "pods" || text(live, "/spec/nodeName").is_empty() || matches!(text(live, "/status/phase"), "Succeeded" | "Failed") {
        return 0;
    }
    let own = number(live, "/spec/terminationGracePeriodSeconds").unwrap_or(30);
    number(options, "/gracePeriodSeconds").unwrap_or(own).max(0)
}

/// Takes an owner away from what it owned.
fn orphan(world: &mut World, dependents: &[Key], uid: &str) {
    for key in dependents {
        world.edit(key, |object| {
            if let Some(owners) = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) {
                owners.retain(|owner| owner["uid"] != uid);
            }
            if list(object, "/metadata/ownerReferences").is_empty() {
                crate::document::remove(object, "/metadata/ownerReferences");
            }
        });
    }
}

/// DELETE of a collection.
pub(crate) fn collection(world: &mut World, asked: &Asked, options: &Value) -> Outcome<read::Page> {
    let page = read::list(world, asked)?;
    if !asked.dry()? {
        for object in &page.items {
            mark(world, &Key::of(&asked.resource.sort, object), options)?;
        }
        world.settle();
    }
    Ok(page)
}
