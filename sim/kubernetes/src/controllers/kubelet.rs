//! Pods on their nodes: how they start, run and end.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::templates::{condition, hash, is_over};
use super::{events, nodes, scheduling, volumes};
use crate::document::{flag, list, now, place, put, text};
use crate::objects::Key;
use crate::report::{Node, StaticPod};
use crate::world::World;

/// Marks a pod that only shows what the kubelet runs by itself.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// A static pod as the API shows it.
pub(crate) fn static_pod(owner: &Value, node: &Node, pod: &StaticPod) -> Value {
    let mark = hash(&json!([pod.name, pod.image, pod.config_version, node.boot_id]));
    let version = pod.image.rsplit(':').next().unwrap_or_default();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{}-{}", pod.name, node.name), "namespace": "kube-system",
            "labels": {
                "tier": "control-plane", "k8s-app": pod.name, "component": pod.name, "app.kubernetes.io/name": pod.name,
                "app.kubernetes.io/version": version, "app.kubernetes.io/component": "control-plane", "app.kubernetes.io/managed-by": "Talos",
            },
            "annotations": {
                MIRROR: mark, "kubernetes.io/config.hash": mark, "kubernetes.io/config.source": "http", "kubernetes.io/config.seen": crate::document::now_precise(),
                "talos.dev/config-version": pod.config_version, "talos.dev/secrets-version": "1", "talos.dev/config-file-version": "1",
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": owner["metadata"]["uid"], "controller": true}],
        },
        "spec": {
            "nodeName": node.name, "hostNetwork": true, "priorityClassName": "system-cluster-critical", "enableServiceLinks": true,
            "containers": [{"name": pod.name, "image": pod.image}], "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        },
    })
}

pub(crate) fn look(world: &mut World, key: &Key, pod: &Arc<Value>) {
    if !world.heard {
        return;
    }
    let node = text(pod, "/spec/nodeName").to_owned();
    if node.is_empty() {
        scheduling::look(world, key, pod);
        return;
    }
    if is_over(pod) {
        return;
    }
    let Some(object) = world.objects.find("nodes", "", &node).cloned() else {
        // Its node was deleted.
        let _ = world.remove(key);
        return;
    };
    let Some(report) = world.kubelets.get(&node).filter(|one| one.node.kubelet_running).map(|one| one.node.clone()) else {
        if text(pod, "/status/phase") == "Running" {
            world.edit(key, |pod| condition(pod, "Ready", "False", "", ""));
        }
        return;
    };
    if text(pod, "/status/phase") == "Running" {
        world.edit(key, |pod| condition(pod, "Ready", "True", "", ""));
        ends(world, key, pod);
        return;
    }
    if let Some(why) = obstacle(world, key, pod, &object) {
        waits(world, key, pod, &report, &why);
        return;
    }
    if lasts(world, key, pod, "start", Duration::from_secs(4)) {
        waits(world, key, pod, &report, "");
        return;
    }
    run(world, key, pod, &report, &object);
}

/// Whether something still takes its time; asks to be looked at again when it is over.
fn lasts(world: &mut World, key: &Key, pod: &Value, what: &str, time: Duration) -> bool {
    let name = format!("{} {what}", text(pod, "/metadata/uid"));
    let until = if let Some(until) = world.lasting.get(&name) {
        *until
    } else {
        let time = world.dials.lasts(&format!("pod {what} {}/{}", key.namespace, key.name), time);
        if time.is_zero() {
            return false;
        }
        world.lasting.insert(name.clone(), Instant::now() + time);
        world.again(time, key.clone());
        return true;
    };
    let over = Instant::now() >= until;
    if over {
        world.lasting.remove(&name);
    }
    !over
}

/// What keeps a pod from starting.
fn obstacle(world: &mut World, key: &Key, pod: &Value, node: &Value) -> Option<String> {
    if !flag(pod, "/spec/hostNetwork") && !nodes::is_ready(node) {
        return Some("network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized".to_owned());
    }
    for volume in list(pod, "/spec/volumes") {
        for (source, field, sort) in [("configMap", "name", "configmaps"), ("secret", "secretName", "secrets")] {
            let name = text(volume, &format!("/{source}/{field}"));
            if !name.is_empty() && !flag(volume, &format!("/{source}/optional")) && world.objects.find(sort, &key.namespace, name).is_none()
            {
                return Some(format!(
                    "MountVolume.SetUp failed for volume \"{}\" : {} \"{name}\" not found",
                    text(volume, "/name"),
                    source.to_lowercase()
                ));
            }
        }
    }
    for claim in volumes::claims(pod) {
        if !volumes::bind(world, &Key::new("persistentvolumeclaims", &key.namespace, &claim), true) {
            return Some(format!("persistentvolumeclaim \"{claim}\" is not bound"));
        }
    }
    None
}

fn waits(world: &mut World, key: &Key, pod: &Value, report: &Node, why: &str) {
    let containers: Vec<Value> = list(pod, "/spec/containers")
        .iter()
        .map(|one| json!({"name": one["name"], "image": one["image"], "imageID": "", "ready": false, "restartCount": 0, "started": false, "state": {"waiting": {"reason": "ContainerCreating"}}}))
        .collect();
    world.edit(key, |pod| {
        condition(pod, "PodScheduled", "True", "", "");
        condition(pod, "Initialized", "True", "", "");
        condition(pod, "Ready", "False", "ContainersNotReady", "containers are not ready");
        condition(pod, "ContainersReady", "False", "ContainersNotReady", "containers are not ready");
        let status = place(pod, "/status");
        crate::document::default(status, "/startTime", now());
        put(status, "/hostIP", report.address.to_string());
        put(status, "/hostIPs", json!([{"ip": report.address.to_string()}]));
        put(status, "/containerStatuses", containers);
    });
    if !why.is_empty() {
        let reason = if why.starts_with("network") { "NetworkNotReady" } else { "FailedMount" };
        let said = world
            .objects
            .list("events", Some(&key.namespace))
            .any(|event| event["involvedObject"]["uid"] == pod["metadata"]["uid"] && event["message"] == why);
        if !said {
            events::tell(world, pod, "Warning", reason, why, "kubelet");
        }
    }
}

fn run(world: &mut World, key: &Key, pod: &Arc<Value>, report: &Node, node: &Value) {
    let address =
        if flag(pod, "/spec/hostNetwork") { report.address } else { free_address(world, text(node, "/spec/podCIDR"), &report.name) };
    let started = now();
    let container = |one: &Value| {
        let image = text(one, "/image");
        let digest: String = hash(&json!(image));
        json!({
            "name": one["name"], "image": image, "imageID": format!("{}@sha256:{}", image.split(['@']).next().unwrap_or(image).trim_end_matches(":latest"), hex(image)),
            "containerID": format!("containerd://{}", hex(&format!("{}{digest}{}", text(pod, "/metadata/uid"), text(one, "/name")))),
            "ready": true, "restartCount": 0, "started": true, "state": {"running": {"startedAt": started}}, "lastState": {},
        })
    };
    let finished = |one: &Value| {
        let mut told = container(one);
        told["started"] = false.into();
        told["state"] = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started, "containerID": told["containerID"]}});
        told
    };
    let containers: Vec<Value> = list(pod, "/spec/containers").iter().map(container).collect();
    let before: Vec<Value> = list(pod, "/spec/initContainers")
        .iter()
        .map(|one| if text(one, "/restartPolicy") == "Always" { container(one) } else { finished(one) })
        .collect();
    world.edit(key, |pod| {
        for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
            condition(pod, kind, "True", "", "");
        }
        let status = place(pod, "/status");
        put(status, "/phase", "Running");
        crate::document::default(status, "/startTime", started.as_str());
        put(status, "/hostIP", report.address.to_string());
        put(status, "/hostIPs", json!([{"ip": report.address.to_string()}]));
        put(status, "/podIP", address.to_string());
        put(status, "/podIPs", json!([{"ip": address.to_string()}]));
        put(status, "/containerStatuses", containers);
        if !before.is_empty() {
            put(status, "/initContainerStatuses", before);
        }
    });
    if let Some(pod) = world.objects.get(key).cloned() {
        let name = list(&pod, "/spec/containers").first().map(|one| text(one, "/name").to_owned()).unwrap_or_default();
        events::tell(world, &pod, "Normal", "Started", &format!("Started container {name}"), "kubelet");
        ends(world, key, &pod);
    }
}

fn hex(text: &str) -> String {
    use sha2::Digest as _;
    crate::document::hex(&sha2::Sha256::digest(text))
}

/// Pods of jobs come to an end.
fn ends(world: &mut World, key: &Key, pod: &Value) {
    let of_job = list(pod, "/metadata/ownerReferences").iter().any(|owner| text(owner, "/kind") == "Job");
    if !of_job || lasts(world, key, pod, "job", Duration::from_secs(3)) {
        return;
    }
    let ended = now();
    world.edit(key, |pod| {
        put(pod, "/status/phase", "Succeeded");
        for kind in ["Ready", "ContainersReady"] {
            condition(pod, kind, "False", "PodCompleted", "");
        }
        for one in pod.pointer_mut("/status/containerStatuses").and_then(Value::as_array_mut).into_iter().flatten() {
            let started = one.pointer("/state/running/startedAt").cloned().unwrap_or_default();
            one["state"] = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": ended, "containerID": one["containerID"]}});
            one["ready"] = false.into();
            one["started"] = false.into();
        }
    });
}

/// The next address of a node's part of the pod network.
fn free_address(world: &World, cidr: &str, node: &str) -> Ipv4Addr {
    let (start, _) = crate::rules::defaults::network(cidr);
    let used: std::collections::HashSet<String> =
        world.usage.on(node).filter_map(|key| world.objects.get(key)).map(|pod| text(pod, "/status/podIP").to_owned()).collect();
    let address = |offset: u32| Ipv4Addr::from(u32::from(start) + offset);
    (2..255).map(address).find(|one| !used.contains(&one.to_string())).unwrap_or(start)
}

/// A pod that is to go is stopped by its kubelet. Without one it stays as it is.
pub(crate) fn terminate(world: &mut World, key: &Key, pod: &Arc<Value>) {
    if !list(pod, "/metadata/finalizers").is_empty() {
        return;
    }
    let node = text(pod, "/spec/nodeName");
    let known = world.objects.find("nodes", "", node).is_some();
    let forced = pod["metadata"]["deletionGracePeriodSeconds"] == 0;
    let runs = world.kubelets.get(node).is_some_and(|one| one.node.kubelet_running);
    if node.is_empty() || !known || forced || is_over(pod) {
        let _ = world.remove(key);
    } else if runs && !lasts(world, key, pod, "stop", Duration::from_secs(2)) {
        events::tell(world, pod, "Normal", "Killing", "Stopping container", "kubelet");
        let _ = world.remove(key);
    }
}
