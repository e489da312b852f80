//! The small controllers: each looks at one object and brings the world
//! nearer to what it says. Whatever changes is looked at again, with what
//! depends on it, until nothing changes any more.

pub(crate) mod budgets;
pub(crate) mod daemonsets;
pub(crate) mod definitions;
pub(crate) mod deployments;
pub(crate) mod events;
pub(crate) mod garbage;
pub(crate) mod jobs;
pub(crate) mod kubelet;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod replicasets;
pub(crate) mod scheduling;
pub(crate) mod services;
pub(crate) mod statefulsets;
pub(crate) mod templates;
pub(crate) mod volumes;

use serde_json::Value;

use crate::document::{list, text};
use crate::objects::Key;
use crate::objects::selectors::{has_all, matches};
use crate::world::World;

pub(crate) const DAEMONSETS: &str = "daemonsets.apps";
pub(crate) const DEPLOYMENTS: &str = "deployments.apps";
pub(crate) const REPLICASETS: &str = "replicasets.apps";
pub(crate) const STATEFULSETS: &str = "statefulsets.apps";
pub(crate) const JOBS: &str = "jobs.batch";
pub(crate) const BUDGETS: &str = "poddisruptionbudgets.policy";
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
pub(crate) const CLASSES: &str = "storageclasses.storage.k8s.io";

/// Looks at one object.
pub(crate) fn look(world: &mut World, key: &Key) {
    let Some(object) = world.objects.get(key).cloned() else {
        match &*key.sort {
            DEFINITIONS => definitions::gone(world, &key.name),
            "nodes" => nodes::missing(world, &key.name),
            _ => {}
        }
        return;
    };
    if garbage::collect(world, key, &object) {
        return;
    }
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        garbage::finish(world, key, &object);
        return;
    }
    match &*key.sort {
        "pods" => kubelet::look(world, key, &object),
        "nodes" => nodes::look(world, key, &object),
        "namespaces" => namespaces::look(world, key),
        "services" => services::look(world, key, &object),
        "secrets" => namespaces::token(world, key, &object),
        "persistentvolumeclaims" => volumes::look(world, key, &object),
        DEPLOYMENTS => deployments::look(world, key, &object),
        REPLICASETS | "replicationcontrollers" => replicasets::look(world, key, &object),
        DAEMONSETS => daemonsets::look(world, key, &object),
        STATEFULSETS => statefulsets::look(world, key, &object),
        JOBS => jobs::look(world, key, &object),
        BUDGETS => budgets::look(world, key, &object),
        DEFINITIONS => definitions::look(world, key, &object),
        "apiservices.apiregistration.k8s.io" => definitions::service(world, key),
        _ => {}
    }
}

/// Queues what has to be looked at after a change.
pub(crate) fn touched(world: &mut World, key: &Key, before: Option<&Value>, after: Option<&Value>) {
    world.enqueue(key.clone());
    for object in [before, after].into_iter().flatten() {
        if let Some(owner) = world.controller(object) {
            world.enqueue(owner);
        }
    }
    if let (Some(before), None) = (before, after) {
        for dependent in world.objects.dependents(text(before, "/metadata/uid")) {
            world.enqueue(dependent);
        }
        // Somebody may wait for its dependents to go.
        for owner in list(before, "/metadata/ownerReferences") {
            if let Some(owner) = world.owner_key(owner, &key.namespace) {
                world.enqueue(owner);
            }
        }
        if !key.namespace.is_empty() {
            world.enqueue(Key::new("namespaces", "", &key.namespace));
        }
    }
    match &*key.sort {
        "pods" => pod(world, key, before, after),
        "nodes" => {
            waiting(world, None);
            all(world, DAEMONSETS);
            let ready = |node: Option<&Value>| node.map(nodes::is_ready);
            if ready(before) != ready(after) {
                on_node(world, &key.name);
            }
        }
        "namespaces"
            if before.is_some_and(|one| one.pointer("/metadata/labels") != after.and_then(|one| one.pointer("/metadata/labels"))) =>
        {
            // What the namespace did not take it may take now.
            for sort in [REPLICASETS, DAEMONSETS, STATEFULSETS, JOBS] {
                all(world, sort);
            }
        }
        "configmaps" | "secrets" | "persistentvolumeclaims" => waiting(world, Some(&key.namespace)),
        CLASSES | "persistentvolumes" => {
            all(world, "persistentvolumeclaims");
            waiting(world, None);
        }
        DAEMONSETS if before.is_none() || after.is_none() => all(world, "nodes"),
        _ => {}
    }
}

fn pod(world: &mut World, key: &Key, before: Option<&Value>, after: Option<&Value>) {
    world.usage.moved(key, before, after);
    if after.is_some_and(|pod| text(pod, "/status/phase") == "Pending" && pod.pointer("/metadata/deletionTimestamp").is_none()) {
        world.waiting.insert(key.clone());
    } else {
        world.waiting.remove(key);
    }
    let node = after.or(before).map(|pod| text(pod, "/spec/nodeName").to_owned()).unwrap_or_default();
    let changed = |pointer: &str| before.and_then(|pod| pod.pointer(pointer)) != after.and_then(|pod| pod.pointer(pointer));
    let daemon = after
        .or(before)
        .is_some_and(|pod| list(pod, "/metadata/ownerReferences").iter().any(|owner| matches!(text(owner, "/kind"), "DaemonSet" | "Node")));
    if daemon && !node.is_empty() && (changed("/status/phase") || after.is_none()) {
        world.enqueue(Key::new("nodes", "", &node));
    }
    if after.is_none() {
        // Room for others.
        waiting(world, None);
        claims(world, &key.namespace, before);
    }
    if !changed("/status/podIP") && !changed("/metadata/labels") && !changed("/status/conditions") && after.is_some() && before.is_some() {
        return;
    }
    let labels = |pod: Option<&Value>| pod.and_then(|pod| pod.pointer("/metadata/labels").cloned());
    let (old, new) = (labels(before), labels(after));
    let mut found: Vec<Key> = Vec::new();
    for service in world.objects.list("services", Some(&key.namespace)) {
        let selector = service.pointer("/spec/selector");
        if has_all(selector, old.as_ref()) || has_all(selector, new.as_ref()) {
            found.push(Key::new("services", &key.namespace, text(service, "/metadata/name")));
        }
    }
    for budget in world.objects.list(BUDGETS, Some(&key.namespace)) {
        let selector = budget.pointer("/spec/selector");
        if matches(selector, old.as_ref()) || matches(selector, new.as_ref()) {
            found.push(Key::new(BUDGETS, &key.namespace, text(budget, "/metadata/name")));
        }
    }
    for key in found {
        world.enqueue(key);
    }
}

/// Claims that a pod no longer uses may go now.
fn claims(world: &mut World, namespace: &str, pod: Option<&Value>) {
    let names: Vec<String> = pod.map(volumes::claims).unwrap_or_default();
    for name in names {
        world.enqueue(Key::new("persistentvolumeclaims", namespace, &name));
    }
}

/// Pods that do not run yet.
fn waiting(world: &mut World, namespace: Option<&str>) {
    let mut keys: Vec<Key> =
        world.waiting.iter().filter(|key| namespace.is_none_or(|namespace| key.namespace == namespace)).cloned().collect();
    keys.sort();
    for key in keys {
        world.enqueue(key);
    }
}

fn all(world: &mut World, sort: &str) {
    let sort: crate::kinds::Sort = sort.into();
    let keys: Vec<Key> = world.objects.list(&sort, None).map(|object| Key::of(&sort, object)).collect();
    for key in keys {
        world.enqueue(key);
    }
}

/// The pods of a node.
pub(crate) fn on_node(world: &mut World, node: &str) {
    let keys: Vec<Key> = world.usage.on(node).cloned().collect();
    for key in keys {
        world.enqueue(key);
    }
}
