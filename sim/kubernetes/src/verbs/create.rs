//! Creating objects.

use std::sync::Arc;

use serde_json::Value;

use super::Asked;
use crate::document::{now, put, remove, suffix, text, uid};
use crate::failure::{Failure, Outcome};
use crate::kinds::Resource;
use crate::objects::Key;
use crate::patches::apply::{Writer, note};
use crate::patches::lists::Shape;
use crate::rules;
use crate::world::World;

/// Keeps a new object and answers with it.
pub(crate) fn create(world: &mut World, asked: &Asked, mut object: Value) -> Outcome<Arc<Value>> {
    let resource = &asked.resource;
    fitting(asked, &mut object)?;
    if text(&object, "/metadata/name").is_empty() && !text(&object, "/metadata/generateName").is_empty() {
        let name = format!("{}{}", text(&object, "/metadata/generateName"), suffix(5));
        put(&mut object, "/metadata/name", name);
    }
    prepare(world, resource, &mut object)?;
    let shape = Shape::of(resource);
    let manager = asked.manager();
    remove(&mut object, "/metadata/managedFields");
    note(&Value::Null, &mut object, shape, Writer { manager: &manager, version: &resource.api_version(), subresource: "" });
    finish_new(world, asked, object)
}

/// Fills in what the server fills in, and checks the rules.
pub(crate) fn prepare(world: &mut World, resource: &Resource, object: &mut Value) -> Outcome<()> {
    let namespace = text(object, "/metadata/namespace").to_owned();
    if resource.namespaced {
        rules::namespaces::accepts(world, resource, &namespace, text(object, "/metadata/name"))?;
    }
    for field in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"] {
        remove(object, &format!("/metadata/{field}"));
    }
    put(object, "/metadata/uid", uid());
    put(object, "/metadata/creationTimestamp", now());
    if resource.has("status") {
        remove(object, "/status");
    }
    if rules::has_generation(resource) {
        put(object, "/metadata/generation", 1);
    }
    rules::defaults::fill(world, resource, object);
    rules::validation::new(world, resource, object)?;
    if resource.kind == "Pod" {
        let account = text(object, "/spec/serviceAccountName");
        if world.objects.find("serviceaccounts", &namespace, account).is_none() {
            let why = format!("error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found");
            return Err(Failure::forbidden(resource, text(object, "/metadata/name"), &why));
        }
        if let Some(why) = rules::security::refusal(world, &namespace, object) {
            return Err(Failure::forbidden(resource, text(object, "/metadata/name"), &why));
        }
    }
    Ok(())
}

/// Keeps a prepared object unless it is only asked for.
pub(crate) fn finish_new(world: &mut World, asked: &Asked, object: Value) -> Outcome<Arc<Value>> {
    let key = Key::of(&asked.resource.sort, &object);
    if world.objects.get(&key).is_some() {
        return Err(Failure::already_exists(&asked.resource, &key.name));
    }
    if asked.dry()? {
        return Ok(Arc::new(object));
    }
    let made = world.put(&asked.resource.sort, object)?;
    world.settle();
    Ok(made)
}

/// The object must say what the request says: kind, version, namespace, name.
pub(crate) fn fitting(asked: &Asked, object: &mut Value) -> Outcome<()> {
    let resource = &asked.resource;
    if !object.is_object() {
        return Err(Failure::bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        ));
    }
    let expected = resource.api_version();
    if text(object, "/kind").is_empty() {
        object["kind"] = resource.kind.as_str().into();
    }
    if text(object, "/apiVersion").is_empty() {
        object["apiVersion"] = expected.as_str().into();
    }
    let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    if version != expected {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if kind != resource.kind {
        return Err(Failure::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: converting ({}).{kind} to ({}).{}: unknown conversion",
            kind, resource.version, resource.kind, version, version, resource.kind
        )));
    }
    if resource.namespaced {
        let namespace = text(object, "/metadata/namespace");
        if namespace.is_empty() {
            put(object, "/metadata/namespace", asked.namespace.as_str());
        } else if namespace != asked.namespace {
            return Err(Failure::bad_request("the namespace of the provided object does not match the namespace sent on the request"));
        }
    } else {
        remove(object, "/metadata/namespace");
    }
    let name = text(object, "/metadata/name");
    if !asked.name.is_empty() && name != asked.name {
        if name.is_empty() {
            put(object, "/metadata/name", asked.name.as_str());
        } else {
            return Err(Failure::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                asked.name
            )));
        }
    }
    Ok(())
}
