//! Pods with names and claims of their own, one after the other.

use std::sync::Arc;

use serde_json::{Value, json};

use super::templates::{self, is_over, is_ready};
use crate::document::{number, place, put, text};
use crate::objects::Key;
use crate::world::World;

pub(crate) fn look(world: &mut World, key: &Key, set: &Value) {
    let wanted = number(set, "/spec/replicas").unwrap_or(1);
    let name = text(set, "/metadata/name");
    let revision = format!("{name}-{}", templates::hash(&set["spec"]["template"]));
    templates::revision(world, set, &revision);
    let parallel = text(set, "/spec/podManagementPolicy") == "Parallel";
    let first = number(set, "/spec/ordinals/start").unwrap_or(0);
    let pod_key = |ordinal: i64| Key::new("pods", &key.namespace, &format!("{name}-{ordinal}"));
    for ordinal in first..first + wanted {
        let place = pod_key(ordinal);
        match world.objects.get(&place).cloned() {
            None => {
                create(world, set, &place, ordinal, &revision);
                if !parallel || templates::room(world) == 0 {
                    break;
                }
            }
            Some(pod) if is_over(&pod) => templates::delete(world, set, &place),
            Some(pod) if !is_ready(&pod) && !parallel => break,
            Some(_) => {}
        }
    }
    let mut pods: Vec<(i64, Key, Arc<Value>)> = templates::pods(world, text(set, "/metadata/uid"))
        .into_iter()
        .filter_map(|(key, pod)| Some((key.name.rsplit('-').next()?.parse().ok()?, key, pod)))
        .collect();
    pods.sort_by_key(|(ordinal, ..)| std::cmp::Reverse(*ordinal));
    let leaving = world.objects.dependents(text(set, "/metadata/uid")).len() > pods.len();
    let extra: Vec<Key> = pods.iter().filter(|(ordinal, ..)| *ordinal >= first + wanted).map(|(_, key, _)| key.clone()).collect();
    if !extra.is_empty() {
        let take = if parallel { extra.len() } else { usize::from(!leaving) };
        extra.iter().take(take).for_each(|pod| templates::delete(world, set, pod));
    } else if text(set, "/spec/updateStrategy/type") != "OnDelete" && pods.iter().all(|(_, _, pod)| is_ready(pod)) && !leaving {
        let partition = number(set, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
        let outdated = pods
            .iter()
            .find(|(ordinal, _, pod)| *ordinal >= partition && pod["metadata"]["labels"]["controller-revision-hash"] != revision.as_str());
        if let Some((_, pod, _)) = outdated {
            templates::delete(world, set, pod);
        }
    }
    status(world, key, set, &revision);
}

fn create(world: &mut World, set: &Value, place: &Key, ordinal: i64, revision: &str) {
    for claim in crate::document::list(set, "/spec/volumeClaimTemplates").to_vec() {
        let name = format!("{}-{}", text(&claim, "/metadata/name"), place.name);
        if world.objects.find("persistentvolumeclaims", &place.namespace, &name).is_none() {
            let labels = set["spec"]["selector"]["matchLabels"].clone();
            let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": place.namespace, "labels": labels}, "spec": claim["spec"]});
            world.make("persistentvolumeclaims", claim);
        }
    }
    let template = set["spec"]["template"].clone();
    templates::pod(world, set, &template, Some(&place.name), |pod| {
        put(pod, "/metadata/labels/controller-revision-hash", revision);
        put(pod, "/metadata/labels/statefulset.kubernetes.io~1pod-name", place.name.as_str());
        put(pod, "/metadata/labels/apps.kubernetes.io~1pod-index", ordinal.to_string());
        put(pod, "/spec/hostname", place.name.as_str());
        if let Some(service) = set.pointer("/spec/serviceName") {
            put(pod, "/spec/subdomain", service.clone());
        }
        let mut volumes = crate::document::list(pod, "/spec/volumes").to_vec();
        for claim in crate::document::list(set, "/spec/volumeClaimTemplates") {
            let name = text(claim, "/metadata/name");
            volumes.retain(|volume| volume["name"] != name);
            volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": format!("{name}-{}", place.name)}}));
        }
        if !volumes.is_empty() {
            put(pod, "/spec/volumes", volumes);
        }
    });
}

fn status(world: &mut World, key: &Key, set: &Value, revision: &str) {
    let pods = templates::pods(world, text(set, "/metadata/uid"));
    let ready = pods.iter().filter(|(_, pod)| is_ready(pod)).count();
    let updated = pods.iter().filter(|(_, pod)| pod["metadata"]["labels"]["controller-revision-hash"] == revision).count();
    let wanted = number(set, "/spec/replicas").unwrap_or(1);
    let done = i64::try_from(updated).unwrap_or(0) >= wanted && i64::try_from(ready).unwrap_or(0) >= wanted;
    let former = text(set, "/status/currentRevision").to_owned();
    let current = if done || former.is_empty() { revision.to_owned() } else { former };
    let on_current = pods.iter().filter(|(_, pod)| pod["metadata"]["labels"]["controller-revision-hash"] == current.as_str()).count();
    world.edit(key, |set| {
        let generation = set["metadata"]["generation"].clone();
        let status = place(set, "/status");
        *status = json!({
            "availableReplicas": ready, "collisionCount": 0, "currentReplicas": on_current, "currentRevision": current, "observedGeneration": generation,
            "readyReplicas": ready, "replicas": pods.len(), "updateRevision": revision, "updatedReplicas": updated,
        });
    });
}
