//! What a cluster has before anybody puts anything into it.

mod access;
mod talos;

use std::io;

use serde_json::{Value, json};

use crate::document::text;
use crate::objects::Key;
use crate::world::World;

/// Makes what every cluster has, where it is not there.
pub(crate) fn defaults(world: &mut World) -> io::Result<()> {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        make(world, "namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    let first = world.settings.service_cidrs.first().map_or("10.96.0.0/12", String::as_str);
    let (start, _) = crate::rules::defaults::network(first);
    let address = std::net::Ipv4Addr::from(u32::from(start) + 1).to_string();
    make(
        world,
        "services",
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"clusterIP": address, "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
        }),
    );
    for (name, value) in [("system-cluster-critical", 2_000_000_000_i64), ("system-node-critical", 2_000_001_000)] {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            "description": "Used for system critical pods.",
        });
        make(world, "priorityclasses.scheduling.k8s.io", class);
    }
    access::place(world);
    world.settle();
    if world.objects.is_empty() {
        return Err(io::Error::other("the default objects of the cluster cannot be kept"));
    }
    Ok(())
}

fn make(world: &mut World, sort: &str, object: Value) {
    let key = Key::of(&sort.into(), &object);
    if world.objects.get(&key).is_none() {
        world.make(sort, object);
    }
}

/// Makes what Talos puts into the cluster, where it is not there.
pub(crate) fn place(world: &mut World) {
    let builtin = world.builtin.clone();
    let mut objects = talos::objects(&builtin, &world.settings);
    for (_, manifest) in &builtin.manifests {
        // A document that is none is left out, as Talos only writes it into its log.
        objects.extend(serde_saphyr::from_multiple::<Value>(manifest).unwrap_or_default());
    }
    let mut left: Vec<Value> = objects.into_iter().flat_map(unpacked).filter(Value::is_object).collect();
    // Kinds and namespaces may come after what needs them, so whatever fails is tried again while anything succeeds.
    loop {
        let count = left.len();
        left.retain(|object| !create(world, object));
        world.settle();
        if left.is_empty() || left.len() == count {
            return;
        }
    }
}

/// The items of a list are objects of their own.
fn unpacked(object: Value) -> Vec<Value> {
    if text(&object, "/kind") == "List" { crate::document::list(&object, "/items").to_vec() } else { vec![object] }
}

/// Creates an object unless it is there; says whether it is there now.
fn create(world: &mut World, object: &Value) -> bool {
    let (group, version) = text(object, "/apiVersion").split_once('/').unwrap_or(("", text(object, "/apiVersion")));
    let Some(resource) = world.kinds.by_kind(group, version, text(object, "/kind")) else { return false };
    let namespace = match text(object, "/metadata/namespace") {
        "" if resource.namespaced => "default".to_owned(),
        given if resource.namespaced => given.to_owned(),
        _ => String::new(),
    };
    let name = text(object, "/metadata/name").to_owned();
    if world.objects.find(&resource.sort, &namespace, &name).is_some() {
        return true;
    }
    let asked = crate::verbs::Asked {
        resource,
        namespace,
        name: String::new(),
        subresource: String::new(),
        query: std::collections::HashMap::from([("fieldManager".to_owned(), "talos".to_owned())]),
        user: crate::access::User::default(),
        agent: "talos".to_owned(),
    };
    crate::verbs::create::create(world, &asked, object.clone()).is_ok()
}
