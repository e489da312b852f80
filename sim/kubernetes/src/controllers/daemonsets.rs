//! One pod on every node that fits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::templates::{self, is_over, is_ready, share};
use super::{nodes, scheduling};
use crate::document::{flag, list, place, put, text};
use crate::objects::Key;
use crate::world::World;

pub(crate) fn look(world: &mut World, key: &Key, set: &Value) {
    let hash = templates::hash(&set["spec"]["template"]);
    templates::revision(world, set, &format!("{}-{hash}", key.name));
    let mut sample = json!({"spec": set["spec"]["template"]["spec"]});
    tolerate(&mut sample);
    let nodes: Vec<Arc<Value>> = world.objects.list("nodes", None).cloned().collect();
    let wanted: Vec<String> = nodes.iter().filter(|node| fits(&sample, node)).map(|node| text(node, "/metadata/name").to_owned()).collect();
    let mut there: BTreeMap<String, Vec<(Key, Arc<Value>)>> = BTreeMap::new();
    for (pod, object) in templates::pods(world, text(set, "/metadata/uid")) {
        there.entry(text(&object, "/spec/nodeName").to_owned()).or_default().push((pod, object));
    }
    let known: Vec<&str> = nodes.iter().map(|node| text(node, "/metadata/name")).collect();
    for (node, pods) in &there {
        let keep = usize::from(wanted.contains(node));
        for (pod, object) in pods.iter().skip(keep).chain(pods.iter().take(keep).filter(|(_, pod)| text(pod, "/status/phase") == "Failed"))
        {
            if known.contains(&node.as_str()) || !object["spec"]["nodeName"].is_null() {
                templates::delete(world, set, pod);
            }
        }
    }
    let leaving: Vec<String> = leaving(world, set);
    let template = set["spec"]["template"].clone();
    for node in wanted.iter().filter(|node| !there.contains_key(*node) && !leaving.contains(*node)) {
        templates::pod(world, set, &template, None, |pod| {
            put(pod, "/metadata/labels/controller-revision-hash", hash.as_str());
            put(pod, "/metadata/labels/pod-template-generation", set["metadata"]["generation"].to_string());
            tolerate(pod);
            let term = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]});
            put(pod, "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms", json!([term]));
            put(pod, "/spec/nodeName", node.as_str());
        });
    }
    update(world, set, &hash, wanted.len());
    status(world, key, set, &hash, &wanted);
}

/// Nodes where a pod of the set is on its way out; the next one comes after it.
fn leaving(world: &World, set: &Value) -> Vec<String> {
    let keys = world.objects.dependents(text(set, "/metadata/uid")).into_iter();
    let pods = keys.filter_map(|key| world.objects.get(&key));
    pods.filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_some()).map(|pod| text(pod, "/spec/nodeName").to_owned()).collect()
}

/// Pods of an older template go, a few at a time.
fn update(world: &mut World, set: &Value, hash: &str, wanted: usize) {
    if text(set, "/spec/updateStrategy/type") == "OnDelete" {
        return;
    }
    let pods = templates::pods(world, text(set, "/metadata/uid"));
    let whole = i64::try_from(wanted).unwrap_or(0);
    let most = share(set.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable"), whole, true).max(1);
    let ready = i64::try_from(pods.iter().filter(|(_, pod)| is_ready(pod)).count()).unwrap_or(0);
    let mut room = most - (whole - ready).max(0);
    for (key, pod) in pods.iter().filter(|(_, pod)| pod["metadata"]["labels"]["controller-revision-hash"] != hash) {
        if !is_ready(pod) || room > 0 {
            room -= i64::from(is_ready(pod));
            templates::delete(world, set, key);
        }
    }
}

fn status(world: &mut World, key: &Key, set: &Value, hash: &str, wanted: &[String]) {
    let pods = templates::pods(world, text(set, "/metadata/uid"));
    let count = |fits: &dyn Fn(&Value) -> bool| pods.iter().filter(|(_, pod)| fits(pod)).count();
    let on_wanted = |pod: &Value| wanted.iter().any(|node| pod["spec"]["nodeName"] == node.as_str());
    let ready = count(&|pod| is_ready(pod) && on_wanted(pod));
    let current = count(&|pod| on_wanted(pod) && !is_over(pod));
    let updated = count(&|pod| on_wanted(pod) && pod["metadata"]["labels"]["controller-revision-hash"] == hash);
    world.edit(key, |set| {
        let generation = set["metadata"]["generation"].clone();
        let status = place(set, "/status");
        for (field, value) in [
            ("currentNumberScheduled", current),
            ("desiredNumberScheduled", wanted.len()),
            ("numberAvailable", ready),
            ("numberMisscheduled", 0),
            ("numberReady", ready),
            ("numberUnavailable", wanted.len().saturating_sub(ready)),
            ("updatedNumberScheduled", updated),
        ] {
            let optional = matches!(field, "numberAvailable" | "numberUnavailable" | "updatedNumberScheduled");
            if value == 0 && optional {
                crate::document::remove(status, &format!("/{field}"));
            } else {
                status[field] = value.into();
            }
        }
        status["observedGeneration"] = generation;
    });
}

/// What pods of daemon sets always tolerate.
fn tolerate(pod: &mut Value) {
    let mut tolerations = list(pod, "/spec/tolerations").to_vec();
    let mut add = |key: &str, effect: &str| {
        let one = json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": effect});
        if !tolerations.contains(&one) {
            tolerations.push(one);
        }
    };
    add("not-ready", "NoExecute");
    add("unreachable", "NoExecute");
    for key in ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"] {
        add(key, "NoSchedule");
    }
    if flag(pod, "/spec/hostNetwork") {
        add("network-unavailable", "NoSchedule");
    }
    put(pod, "/spec/tolerations", tolerations);
}

/// A node that is not ready yet gets its daemons nevertheless: one of them may be the network.
fn fits(sample: &Value, node: &Value) -> bool {
    let waived = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    let tainted = nodes::taints(node).iter().any(|taint| {
        let hard = matches!(text(taint, "/effect"), "NoSchedule" | "NoExecute");
        hard && !waived.contains(&text(taint, "/key")) && !scheduling::tolerated(sample, taint)
    });
    !tainted && scheduling::selected(sample, node)
}
