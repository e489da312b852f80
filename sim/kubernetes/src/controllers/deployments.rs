//! Deployments: one replica set for each state of the template, the new one
//! growing as the old ones shrink.

use std::sync::Arc;

use serde_json::{Value, json};

use super::templates::{self, condition, share};
use super::{REPLICASETS, events};
use crate::document::{flag, list, number, place, put, remove, text};
use crate::objects::Key;
use crate::world::World;

const REVISION: &str = "/metadata/annotations/deployment.kubernetes.io~1revision";

pub(crate) fn look(world: &mut World, key: &Key, deployment: &Value) {
    let wanted = number(deployment, "/spec/replicas").unwrap_or(1);
    let hash = templates::hash(&deployment["spec"]["template"]);
    let sets = sets(world, deployment);
    let newest = sets.iter().find(|set| set["metadata"]["labels"]["pod-template-hash"] == hash.as_str()).cloned();
    if flag(deployment, "/spec/paused") && newest.is_none() {
        status(world, key, deployment, &hash);
        return;
    }
    let highest = sets.iter().filter_map(|set| text(set, REVISION).parse::<i64>().ok()).max().unwrap_or(0);
    let newest = match newest {
        Some(set) => {
            if text(&set, REVISION).parse::<i64>().unwrap_or(0) < highest {
                let next = (highest + 1).to_string();
                world.edit(&Key::of(&REPLICASETS.into(), &set), |set| put(set, REVISION, next));
            }
            set
        }
        None => match create(world, deployment, &hash, highest + 1) {
            Some(set) => set,
            None => return,
        },
    };
    let revision = world.objects.get(&Key::of(&REPLICASETS.into(), &newest)).map(|set| text(set, REVISION).to_owned()).unwrap_or_default();
    world.edit(key, |deployment| put(deployment, REVISION, revision));
    roll(world, deployment, wanted, &newest);
    cleanup(world, deployment, &hash);
    status(world, key, deployment, &hash);
}

fn sets(world: &World, deployment: &Value) -> Vec<Arc<Value>> {
    let keys = world.objects.dependents(text(deployment, "/metadata/uid")).into_iter().filter(|key| &*key.sort == REPLICASETS);
    keys.filter_map(|key| world.objects.get(&key).cloned()).filter(|set| set.pointer("/metadata/deletionTimestamp").is_none()).collect()
}

fn create(world: &mut World, deployment: &Value, hash: &str, revision: i64) -> Option<Arc<Value>> {
    let mut template = deployment["spec"]["template"].clone();
    put(&mut template, "/metadata/labels/pod-template-hash", hash);
    let mut selector = deployment["spec"]["selector"].clone();
    put(&mut selector, "/matchLabels/pod-template-hash", hash);
    let labels = template["metadata"]["labels"].clone();
    let wanted = number(deployment, "/spec/replicas").unwrap_or(1);
    let mut annotations = json!({
        "deployment.kubernetes.io/revision": revision.to_string(), "deployment.kubernetes.io/desired-replicas": wanted.to_string(),
        "deployment.kubernetes.io/max-replicas": (wanted + surge(deployment, wanted)).to_string(),
    });
    // What kubectl says about the change goes with it, for the history.
    if let Some(cause) = deployment["metadata"]["annotations"].get("kubernetes.io/change-cause") {
        annotations["kubernetes.io/change-cause"] = cause.clone();
    }
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", text(deployment, "/metadata/name")), "namespace": deployment["metadata"]["namespace"],
            "labels": labels, "annotations": annotations, "ownerReferences": [templates::owner(deployment)],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template, "minReadySeconds": deployment["spec"]["minReadySeconds"]},
    });
    let mut set = set;
    if set["spec"]["minReadySeconds"].is_null() {
        remove(&mut set, "/spec/minReadySeconds");
    }
    world.make(REPLICASETS, set)
}

fn surge(deployment: &Value, wanted: i64) -> i64 {
    if text(deployment, "/spec/strategy/type") == "Recreate" {
        0
    } else {
        share(deployment.pointer("/spec/strategy/rollingUpdate/maxSurge"), wanted, true)
    }
}

fn roll(world: &mut World, deployment: &Value, wanted: i64, newest: &Arc<Value>) {
    let sort = REPLICASETS.into();
    let current = world.objects.get(&Key::of(&sort, newest)).cloned();
    let Some(newest) = current else { return };
    let others: Vec<Arc<Value>> =
        sets(world, deployment).into_iter().filter(|set| set["metadata"]["uid"] != newest["metadata"]["uid"]).collect();
    let size = |set: &Value| number(set, "/spec/replicas").unwrap_or(0);
    let exists = |set: &Value| number(set, "/status/replicas").unwrap_or(0);
    let ready = |set: &Value| number(set, "/status/availableReplicas").unwrap_or(0);
    let old: i64 = others.iter().map(|set| size(set)).sum();
    if text(deployment, "/spec/strategy/type") == "Recreate" {
        for set in others.iter().filter(|set| size(set) > 0) {
            scale(world, deployment, set, 0);
        }
        let left: i64 = others.iter().map(|set| exists(set)).sum();
        let pods: usize = others.iter().map(|set| templates::pods(world, text(set, "/metadata/uid")).len()).sum();
        if left == 0 && pods == 0 {
            scale(world, deployment, &newest, wanted);
        }
        return;
    }
    let most = wanted + surge(deployment, wanted);
    let mut unavailable = share(deployment.pointer("/spec/strategy/rollingUpdate/maxUnavailable"), wanted, false);
    if unavailable == 0 && surge(deployment, wanted) == 0 {
        unavailable = 1;
    }
    if size(&newest) > wanted || others.is_empty() || old == 0 {
        scale(world, deployment, &newest, wanted);
    } else if size(&newest) < wanted {
        let room = (most - old - size(&newest)).clamp(0, wanted - size(&newest));
        if room > 0 {
            scale(world, deployment, &newest, size(&newest) + room);
        }
    }
    let Some(newest) = world.objects.get(&Key::of(&sort, &newest)).cloned() else { return };
    let available: i64 = others.iter().chain([&newest]).map(|set| ready(set)).sum();
    let mut spare = available - (wanted - unavailable);
    let unhealthy_new = size(&newest) - ready(&newest);
    spare = spare.min(old + size(&newest) - (wanted - unavailable) - unhealthy_new);
    for set in &others {
        let broken = (size(set) - ready(set)).max(0).min(size(set));
        let gone = (broken + spare.max(0)).min(size(set));
        if gone > 0 {
            spare -= gone - broken;
            scale(world, deployment, set, size(set) - gone);
        }
    }
}

fn scale(world: &mut World, deployment: &Value, set: &Value, size: i64) {
    let before = number(set, "/spec/replicas").unwrap_or(0);
    if before == size {
        return;
    }
    world.edit(&Key::of(&REPLICASETS.into(), set), |set| put(set, "/spec/replicas", size));
    let way = if size > before { "up" } else { "down" };
    let told = format!("Scaled {way} replica set {} from {before} to {size}", text(set, "/metadata/name"));
    events::tell(world, deployment, "Normal", "ScalingReplicaSet", &told, "deployment-controller");
}

/// Old sets beyond the history go.
fn cleanup(world: &mut World, deployment: &Value, hash: &str) {
    let limit = usize::try_from(number(deployment, "/spec/revisionHistoryLimit").unwrap_or(10)).unwrap_or(10);
    let mut old: Vec<Arc<Value>> = sets(world, deployment);
    old.retain(|set| {
        set["metadata"]["labels"]["pod-template-hash"] != hash
            && number(set, "/spec/replicas") == Some(0)
            && number(set, "/status/replicas").unwrap_or(0) == 0
    });
    old.sort_by_key(|set| text(set, REVISION).parse::<i64>().unwrap_or(0));
    for set in old.iter().take(old.len().saturating_sub(limit)) {
        let _ = world.remove(&Key::of(&REPLICASETS.into(), set));
    }
}

fn status(world: &mut World, key: &Key, deployment: &Value, hash: &str) {
    let sets = sets(world, deployment);
    let sum = |field: &str| -> i64 { sets.iter().filter_map(|set| number(set, &format!("/status/{field}"))).sum() };
    let newest = sets.iter().find(|set| set["metadata"]["labels"]["pod-template-hash"] == hash);
    let updated = newest.and_then(|set| number(set, "/status/replicas")).unwrap_or(0);
    let (replicas, ready, available) = (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
    let wanted = number(deployment, "/spec/replicas").unwrap_or(1);
    let least = wanted - share(deployment.pointer("/spec/strategy/rollingUpdate/maxUnavailable"), wanted, false);
    let set_name = newest.map(|set| text(set, "/metadata/name").to_owned()).unwrap_or_default();
    world.edit(key, |deployment| {
        let generation = deployment["metadata"]["generation"].clone();
        let status = place(deployment, "/status");
        status["observedGeneration"] = generation;
        let counts = [
            ("replicas", replicas),
            ("updatedReplicas", updated),
            ("readyReplicas", ready),
            ("availableReplicas", available),
            ("unavailableReplicas", wanted.max(replicas) - available),
        ];
        for (field, value) in counts {
            if value > 0 {
                status[field] = value.into();
            } else {
                remove(status, &format!("/{field}"));
            }
        }
        let enough = available >= least;
        let (state, reason, message) = if enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        condition(deployment, "Available", state, reason, message);
        let done = updated == wanted && replicas == wanted && available == wanted;
        let (reason, message) = if done {
            ("NewReplicaSetAvailable", format!("ReplicaSet \"{set_name}\" has successfully progressed."))
        } else {
            ("ReplicaSetUpdated", format!("ReplicaSet \"{set_name}\" is progressing."))
        };
        condition(deployment, "Progressing", "True", reason, &message);
        for one in deployment.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten() {
            if one.get("lastUpdateTime").is_none() {
                one["lastUpdateTime"] = one["lastTransitionTime"].clone();
            }
        }
    });
    let _ = list(deployment, "/status/conditions");
}
