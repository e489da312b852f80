//! Replacing objects, wholly or their status.

use std::sync::Arc;

use serde_json::Value;

use super::Asked;
use crate::document::{list, put, remove, text};
use crate::failure::{Failure, Outcome};
use crate::patches::apply::{Writer, note};
use crate::patches::lists::Shape;
use crate::rules;
use crate::world::World;

/// PUT.
pub(crate) fn update(world: &mut World, asked: &Asked, mut object: Value) -> Outcome<Arc<Value>> {
    super::create::fitting(asked, &mut object)?;
    let Some(live) = world.objects.get(&asked.key()).cloned() else {
        return Err(Failure::not_found(&asked.resource, &asked.name));
    };
    let version = text(&object, "/metadata/resourceVersion");
    if version.is_empty() && asked.resource.custom.is_some() {
        let cause = crate::failure::Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
        return Err(Failure::invalid(&asked.resource, &asked.name, &[cause]));
    }
    if !version.is_empty() && version != text(&live, "/metadata/resourceVersion") {
        return Err(Failure::modified(&asked.resource, &asked.name));
    }
    replace(world, asked, &live, object, true)
}

/// Puts a new state in an object's place: what a client may not change stays as it was.
pub(crate) fn replace(world: &mut World, asked: &Asked, live: &Value, mut object: Value, noted: bool) -> Outcome<Arc<Value>> {
    let resource = &asked.resource;
    let wanted_uid = text(&object, "/metadata/uid");
    if !wanted_uid.is_empty() && wanted_uid != text(live, "/metadata/uid") {
        let why = format!("Precondition failed: UID in precondition: {wanted_uid}, UID in object meta: {}", text(live, "/metadata/uid"));
        return Err(Failure::conflict(resource, &asked.name, &why));
    }
    for field in
        ["uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generateName"]
    {
        match live.pointer(&format!("/metadata/{field}")) {
            Some(value) => put(&mut object, &format!("/metadata/{field}"), value.clone()),
            None => drop(remove(&mut object, &format!("/metadata/{field}"))),
        }
    }
    if asked.subresource == "status" {
        let status = object.get("status").cloned();
        sound(status.as_ref())?;
        let metadata = object["metadata"].clone();
        object = live.clone();
        match status {
            Some(status) => object["status"] = status,
            None => drop(remove(&mut object, "/status")),
        }
        // A status write may carry labels and annotations with it, and the record of managers.
        for field in ["labels", "annotations", "managedFields"] {
            match metadata.get(field) {
                Some(value) => put(&mut object, &format!("/metadata/{field}"), value.clone()),
                None => drop(remove(&mut object, &format!("/metadata/{field}"))),
            }
        }
    } else {
        if resource.has("status") {
            match live.get("status") {
                Some(status) => object["status"] = status.clone(),
                None => drop(remove(&mut object, "/status")),
            }
        }
        rules::defaults::keep(resource, live, &mut object);
        rules::defaults::fill(world, resource, &mut object);
        rules::validation::changed(world, resource, live, &object)?;
        if rules::has_generation(resource) && rules::without_status(live) != rules::without_status(&object) {
            put(&mut object, "/metadata/generation", live["metadata"]["generation"].as_i64().unwrap_or(0) + 1);
        }
    }
    if noted {
        let manager = asked.manager();
        let writer = Writer { manager: &manager, version: &resource.api_version(), subresource: &asked.subresource };
        note(live, &mut object, Shape::of(resource), writer);
    }
    if object == *live {
        return Ok(Arc::new(object));
    }
    if asked.dry()? {
        return Ok(Arc::new(object));
    }
    let gone = object.pointer("/metadata/deletionTimestamp").is_some() && list(&object, "/metadata/finalizers").is_empty();
    let held = resource.kind == "Namespace" && resource.group.is_empty() && !list(&object, "/spec/finalizers").is_empty();
    let waits = gone && !held && !(resource.kind == "Pod" && object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0);
    let kept = world.put(&resource.sort, object)?;
    if waits {
        world.remove(&asked.key())?;
    }
    world.settle();
    Ok(kept)
}

/// A status that controllers can go on with.
fn sound(status: Option<&Value>) -> Outcome<()> {
    let Some(status) = status else { return Ok(()) };
    let lists = ["conditions", "containerStatuses", "initContainerStatuses"].iter().filter_map(|field| status.get(field));
    let plain = |list: &Value| list.is_null() || list.as_array().is_some_and(|items| items.iter().all(Value::is_object));
    if (status.is_object() || status.is_null()) && lists.into_iter().all(plain) {
        return Ok(());
    }
    Err(Failure::bad_request("json: cannot unmarshal the status of the object"))
}
