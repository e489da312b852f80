//! What goes: objects whose owners are gone, and objects on their way out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{kubelet, namespaces, volumes};
use crate::document::{list, text};
use crate::objects::Key;
use crate::verbs::delete;
use crate::world::World;

/// Deletes an object whose owners are all gone; says whether it did.
pub(crate) fn collect(world: &mut World, key: &Key, object: &Value) -> bool {
    let owners = list(object, "/metadata/ownerReferences");
    if owners.is_empty() || object.pointer("/metadata/deletionTimestamp").is_some() {
        return false;
    }
    let gone = |owner: &Value| {
        // An owner of an unknown kind cannot be looked for, so it counts as there.
        let Some(place) = world.owner_key(owner, &key.namespace) else { return false };
        world.objects.get(&place).is_none_or(|found| found["metadata"]["uid"] != owner["uid"])
    };
    let waits = |owner: &Value| {
        let place = world.owner_key(owner, &key.namespace);
        place
            .and_then(|place| world.objects.get(&place))
            .is_some_and(|found| list(found, "/metadata/finalizers").iter().any(|one| one == "foregroundDeletion"))
    };
    if owners.iter().all(gone) {
        let _ = delete::mark(world, key, &json!({}));
        return true;
    }
    if owners.iter().all(|owner| gone(owner) || waits(owner)) {
        let _ = delete::mark(world, key, &json!({"propagationPolicy": "Foreground"}));
        return true;
    }
    false
}

/// Brings an object that is to go nearer to its end.
pub(crate) fn finish(world: &mut World, key: &Key, object: &Arc<Value>) {
    let finalizers = list(object, "/metadata/finalizers");
    let has = |name: &str| finalizers.iter().any(|one| one == name);
    if has("foregroundDeletion") {
        let dependents = world.objects.dependents(text(object, "/metadata/uid"));
        if dependents.is_empty() {
            drop_finalizer(world, key, "foregroundDeletion");
        } else {
            for dependent in dependents {
                world.enqueue(dependent);
            }
        }
        return;
    }
    if has("kubernetes.io/pvc-protection") {
        if !volumes::is_used(world, key) {
            drop_finalizer(world, key, "kubernetes.io/pvc-protection");
        }
        return;
    }
    if has("kubernetes.io/pv-protection") {
        drop_finalizer(world, key, "kubernetes.io/pv-protection");
        return;
    }
    if has("batch.kubernetes.io/job-tracking") {
        drop_finalizer(world, key, "batch.kubernetes.io/job-tracking");
        return;
    }
    match &*key.sort {
        "namespaces" => namespaces::terminate(world, key, object),
        "pods" => kubelet::terminate(world, key, object),
        _ if finalizers.is_empty() => {
            let _ = world.remove(key);
            if &*key.sort == "persistentvolumeclaims" {
                volumes::released(world, object);
            }
        }
        _ => {}
    }
}

fn drop_finalizer(world: &mut World, key: &Key, name: &str) {
    world.edit(key, |object| {
        if let Some(finalizers) = object.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|one| one != name);
        }
        if list(object, "/metadata/finalizers").is_empty() {
            crate::document::remove(object, "/metadata/finalizers");
        }
    });
    world.enqueue(key.clone());
}
