//! Namespaces: what each of them has, and how it ends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::templates::condition;
use crate::document::{list, put, text};
use crate::objects::Key;
use crate::verbs::delete;
use crate::world::World;

/// Every namespace has a service account and the cluster's authority.
pub(crate) fn look(world: &mut World, key: &Key) {
    let namespace = &key.name;
    if world.objects.find("serviceaccounts", namespace, "default").is_none() {
        world.make(
            "serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}),
        );
    }
    let authority = world.builtin.authority.clone();
    let place = Key::new("configmaps", namespace, "kube-root-ca.crt");
    if world.objects.get(&place).is_none() {
        let about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints.";
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "kube-root-ca.crt", "namespace": namespace, "annotations": {"kubernetes.io/description": about}},
            "data": {"ca.crt": authority},
        });
        world.make("configmaps", map);
    } else if !authority.is_empty() {
        world.edit(&place, |map| put(map, "/data/ca.crt", authority));
    }
}

/// Deletes what a namespace holds, and then the namespace.
pub(crate) fn terminate(world: &mut World, key: &Key, object: &Value) {
    let held = world.objects.in_namespace(&key.name);
    for inside in &held {
        let _ = delete::mark(world, inside, &json!({}));
    }
    let held = world.objects.in_namespace(&key.name);
    if held.is_empty() {
        if list(object, "/metadata/finalizers").is_empty() {
            let _ = world.remove(key);
        }
        return;
    }
    let blocked =
        held.iter().filter(|inside| world.objects.get(inside).is_some_and(|one| !list(one, "/metadata/finalizers").is_empty())).count();
    world.edit(key, |namespace| {
        let status = if blocked > 0 { "True" } else { "False" };
        let message = if blocked > 0 {
            "Some content in the namespace has finalizers remaining"
        } else {
            "All content-preserving finalizers finished"
        };
        condition(namespace, "NamespaceFinalizersRemaining", status, "SomeFinalizersRemain", message);
    });
}

/// Fills a secret that asks for the token of a service account.
pub(crate) fn token(world: &mut World, key: &Key, secret: &Value) {
    if text(secret, "/type") != "kubernetes.io/service-account-token" || secret.pointer("/data/token").is_some() {
        return;
    }
    let name = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"].as_str().unwrap_or_default();
    let Some(account) = world.objects.find("serviceaccounts", &key.namespace, name).cloned() else { return };
    let years = 100 * 365 * 86400;
    let (token, _) = crate::access::tokens::issue(world, &account, &[], years);
    let authority = world.builtin.authority.clone();
    world.edit(key, |secret| {
        put(secret, "/metadata/annotations/kubernetes.io~1service-account.uid", text(&account, "/metadata/uid"));
        put(secret, "/data/token", STANDARD.encode(token));
        put(secret, "/data/namespace", STANDARD.encode(&key.namespace));
        put(secret, "/data/ca.crt", STANDARD.encode(authority));
    });
}
