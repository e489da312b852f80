//! Making pods and other objects from templates, for whoever owns them.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::document::{flag, list, put, suffix, text};
use crate::objects::Key;
use crate::world::World;

/// A short name for what a template says.
pub(crate) fn hash(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let digest = Sha256::digest(template.to_string());
    digest.iter().take(10).map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

/// How many pods may wait for a node before controllers make no more: a mistaken number of replicas must not fill the memory.
const WAITING: usize = 2000;

/// How many more pods may be made now.
pub(crate) fn room(world: &World) -> i64 {
    i64::try_from(WAITING.saturating_sub(world.waiting.len())).unwrap_or(0)
}

/// The reference by which an object owns others.
pub(crate) fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod of a template; without a name it gets one made from its owner's.
pub(crate) fn pod(
    world: &mut World,
    owner_object: &Value,
    template: &Value,
    name: Option<&str>,
    change: impl FnOnce(&mut Value),
) -> Option<Arc<Value>> {
    let base = text(owner_object, "/metadata/name");
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name.map_or_else(|| format!("{base}-{}", suffix(5)), str::to_owned), "namespace": owner_object["metadata"]["namespace"],
            "ownerReferences": [owner(owner_object)],
        },
        "spec": template["spec"],
    });
    if name.is_none() {
        put(&mut pod, "/metadata/generateName", format!("{base}-"));
    }
    for field in ["labels", "annotations"] {
        if let Some(value) = template["metadata"].get(field).filter(|value| !value.is_null()) {
            put(&mut pod, &format!("/metadata/{field}"), value.clone());
        }
    }
    change(&mut pod);
    crate::rules::pods::fill(crate::document::place(&mut pod, "/spec"));
    if let Some(why) = crate::rules::security::refusal(world, text(owner_object, "/metadata/namespace"), &pod) {
        let told = format!("Error creating: pods \"{base}-\" is forbidden: {why}");
        super::events::tell(world, owner_object, "Warning", "FailedCreate", &told, &controller_name(owner_object));
        return None;
    }
    let made = world.make("pods", pod)?;
    let told = format!("Created pod: {}", text(&made, "/metadata/name"));
    super::events::tell(world, owner_object, "Normal", "SuccessfulCreate", &told, &controller_name(owner_object));
    Some(made)
}

fn controller_name(owner: &Value) -> String {
    format!("{}-controller", text(owner, "/kind").to_lowercase())
}

/// The pods something owns, those on their way out left aside.
pub(crate) fn pods(world: &World, uid: &str) -> Vec<(Key, Arc<Value>)> {
    let keys = world.objects.dependents(uid).into_iter().filter(|key| &*key.sort == "pods");
    let found = keys.filter_map(|key| world.objects.get(&key).cloned().map(|pod| (key, pod)));
    found.filter(|(_, pod)| pod.pointer("/metadata/deletionTimestamp").is_none()).collect()
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    list(pod, "/status/conditions").iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

pub(crate) fn is_over(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Deletes a pod for its controller.
pub(crate) fn delete(world: &mut World, owner: &Value, key: &Key) {
    let told = format!("Deleted pod: {}", key.name);
    super::events::tell(world, owner, "Normal", "SuccessfulDelete", &told, &controller_name(owner));
    // A disk that refuses is told to the request that comes next.
    let _ = crate::verbs::delete::mark(world, key, &json!({}));
}

/// Writes down a state of a template, for the history of daemon and stateful sets.
pub(crate) fn revision(world: &mut World, set: &Value, name: &str) {
    const REVISIONS: &str = "controllerrevisions.apps";
    let uid = text(set, "/metadata/uid");
    let all: Vec<Arc<Value>> = world
        .objects
        .dependents(uid)
        .into_iter()
        .filter(|key| &*key.sort == REVISIONS)
        .filter_map(|key| world.objects.get(&key).cloned())
        .collect();
    let highest = all.iter().filter_map(|one| one["revision"].as_i64()).max().unwrap_or(0);
    let key = Key::new(REVISIONS, text(set, "/metadata/namespace"), name);
    if let Some(there) = world.objects.get(&key) {
        if there["revision"].as_i64().unwrap_or(0) < highest {
            world.edit(&key, |one| one["revision"] = (highest + 1).into());
        }
        return;
    }
    let mut template = set["spec"]["template"].clone();
    template["$patch"] = "replace".into();
    let mut made = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": highest + 1, "data": {"spec": {"template": template}},
        "metadata": {"name": name, "namespace": set["metadata"]["namespace"], "ownerReferences": [owner(set)]},
    });
    if let Some(labels) = set.pointer("/spec/template/metadata/labels") {
        put(&mut made, "/metadata/labels", labels.clone());
    }
    put(&mut made, "/metadata/labels/controller-revision-hash", name.rsplit('-').next().unwrap_or_default());
    world.make(REVISIONS, made);
    let limit = usize::try_from(set["spec"]["revisionHistoryLimit"].as_i64().unwrap_or(10)).unwrap_or(10);
    let mut old = all;
    old.sort_by_key(|one| one["revision"].as_i64());
    for one in old.iter().take(old.len().saturating_sub(limit)) {
        let _ = world.remove(&Key::of(&REVISIONS.into(), one));
    }
}

/// Sets a condition; its time moves only with its status.
pub(crate) fn condition(object: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
    let now = crate::document::now();
    let conditions = crate::document::place(object, "/status/conditions");
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let found = conditions.iter_mut().find(|one| one["type"] == kind);
    match found {
        Some(one)
            if one["status"] == status
                && one["reason"].as_str().unwrap_or_default() == reason
                && one["message"].as_str().unwrap_or_default() == message => {}
        Some(one) => {
            let same = one["status"] == status;
            let time = if same { one["lastTransitionTime"].clone() } else { now.as_str().into() };
            let has_update = one.get("lastUpdateTime").is_some();
            *one = json!({"type": kind, "status": status, "lastTransitionTime": time});
            if has_update {
                one["lastUpdateTime"] = now.into();
            }
            said(one, reason, message);
        }
        None => {
            let mut one = json!({"type": kind, "status": status, "lastTransitionTime": now});
            said(&mut one, reason, message);
            conditions.push(one);
        }
    }
}

fn said(one: &mut Value, reason: &str, message: &str) {
    if !reason.is_empty() {
        one["reason"] = reason.into();
    }
    if !message.is_empty() {
        one["message"] = message.into();
    }
}

/// A number or a share of a whole, such as `25%`.
pub(crate) fn share(value: Option<&Value>, whole: i64, up: bool) -> i64 {
    match value {
        Some(Value::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let part = whole.saturating_mul(percent);
            if up { part.saturating_add(99) / 100 } else { part / 100 }
        }
        Some(number) => number.as_i64().unwrap_or(0),
        None => 0,
    }
}

/// Which pods go first: those without a node, not ready, young.
pub(crate) fn least_wanted(pods: &mut [(Key, Arc<Value>)]) {
    pods.sort_by_key(|(_, pod)| {
        let bound = !text(pod, "/spec/nodeName").is_empty();
        let born = std::cmp::Reverse(text(pod, "/metadata/creationTimestamp").to_owned());
        (bound, is_ready(pod), flag(pod, "/spec/unschedulable"), born)
    });
}
