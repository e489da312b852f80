//! As many pods of a template as are wanted.

use serde_json::{Value, json};

use super::templates::{self, is_over, is_ready};
use crate::document::{number, place, put, text};
use crate::objects::Key;
use crate::objects::selectors::{has_all, matches};
use crate::world::World;

pub(crate) fn look(world: &mut World, key: &Key, set: &Value) {
    let wanted = number(set, "/spec/replicas").unwrap_or(1);
    let mut pods = templates::pods(world, text(set, "/metadata/uid"));
    pods.retain(|(_, pod)| !is_over(pod));
    if count(&pods) < wanted {
        adopt(world, key, set);
        pods = templates::pods(world, text(set, "/metadata/uid"));
        pods.retain(|(_, pod)| !is_over(pod));
    }
    let missing = wanted - count(&pods);
    let template = &set["spec"]["template"];
    for _ in 0..missing.clamp(0, templates::room(world)) {
        templates::pod(world, set, template, None, |_| {});
    }
    if missing < 0 {
        templates::least_wanted(&mut pods);
        for (pod, _) in pods.iter().take(usize::try_from(-missing).unwrap_or(0)) {
            templates::delete(world, set, pod);
        }
    }
    let mut pods = templates::pods(world, text(set, "/metadata/uid"));
    pods.retain(|(_, pod)| !is_over(pod));
    let ready = count(&pods.iter().filter(|(_, pod)| is_ready(pod)).cloned().collect::<Vec<_>>());
    world.edit(key, |set| {
        let generation = set["metadata"]["generation"].clone();
        let status = place(set, "/status");
        put(status, "/replicas", count(&pods));
        for (field, value) in [("fullyLabeledReplicas", count(&pods)), ("readyReplicas", ready), ("availableReplicas", ready)] {
            if value > 0 {
                status[field] = value.into();
            } else {
                crate::document::remove(status, &format!("/{field}"));
            }
        }
        status["observedGeneration"] = generation;
    });
}

fn count<T>(pods: &[T]) -> i64 {
    i64::try_from(pods.len()).unwrap_or(i64::MAX)
}

/// Takes over pods that fit and have no controller.
fn adopt(world: &mut World, key: &Key, set: &Value) {
    let selector = set.pointer("/spec/selector");
    let fits = |pod: &Value| {
        let labels = pod.pointer("/metadata/labels");
        let alone = pod.pointer("/metadata/ownerReferences").is_none() && pod.pointer("/metadata/deletionTimestamp").is_none();
        alone
            && (matches(selector, labels) && &*key.sort != "replicationcontrollers"
                || (&*key.sort == "replicationcontrollers" && has_all(selector, labels)))
    };
    let found: Vec<Key> =
        world.objects.list("pods", Some(&key.namespace)).filter(|pod| fits(pod)).map(|pod| Key::of(&"pods".into(), pod)).collect();
    for pod in found {
        world.edit(&pod, |pod| put(pod, "/metadata/ownerReferences", json!([templates::owner(set)])));
    }
}
