//! Nodes: what their kubelets report, and what follows from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::templates::{self, condition};
use super::{DAEMONSETS, events};
use crate::document::{flag, list, now, pairs, put, remove, text};
use crate::objects::Key;
use crate::report::Node;
use crate::world::World;

/// How long pods stay on a node that is lost.
const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) fn is_ready(node: &Value) -> bool {
    list(node, "/status/conditions").iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

pub(crate) fn taints(node: &Value) -> &[Value] {
    list(node, "/spec/taints")
}

/// A kubelet that has just started makes its node.
pub(crate) fn missing(world: &mut World, name: &str) {
    let Some(kubelet) = world.kubelets.get_mut(name).filter(|one| one.node.kubelet_running && !one.registered) else { return };
    kubelet.registered = true;
    let node = kubelet.node.clone();
    register(world, &node);
}

fn register(world: &mut World, node: &Node) {
    let key = Key::new("nodes", "", &node.name);
    if world.objects.get(&key).is_some() {
        return;
    }
    let mut taints: Vec<Value> = node.taints.iter().map(taint).collect();
    taints.push(json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}));
    let mut object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}, "spec": {"taints": taints}});
    if let Some(cidr) = free_network(world) {
        put(&mut object, "/spec/podCIDR", cidr.as_str());
        put(&mut object, "/spec/podCIDRs", json!([cidr]));
    }
    if let Some(made) = world.make("nodes", object) {
        let told = format!("Node {} event: Registered Node {} in Controller", node.name, node.name);
        events::tell(world, &made, "Normal", "RegisteredNode", &told, "node-controller");
    }
}

fn taint(taint: &crate::report::Taint) -> Value {
    let mut told = json!({"key": taint.key, "effect": taint.effect});
    if !taint.value.is_empty() {
        told["value"] = taint.value.as_str().into();
    }
    told
}

/// The next /24 of the pod network.
fn free_network(world: &World) -> Option<String> {
    let (start, length) = crate::rules::defaults::network(world.settings.pod_cidrs.first()?);
    let used: std::collections::HashSet<&str> = world.objects.list("nodes", None).map(|node| text(node, "/spec/podCIDR")).collect();
    let count = 1_u32.checked_shl(24_u32.checked_sub(length)?)?;
    let network = |at: u32| format!("{}/24", std::net::Ipv4Addr::from(u32::from(start) + at * 256));
    (0..count).map(network).find(|one| !used.contains(one.as_str()))
}

pub(crate) fn look(world: &mut World, key: &Key, object: &Arc<Value>) {
    if !world.heard {
        return;
    }
    if let Some(kubelet) = world.kubelets.get_mut(&key.name) {
        kubelet.registered = kubelet.node.kubelet_running;
    }
    let running = world.kubelets.get(&key.name).filter(|one| one.node.kubelet_running).map(|one| one.node.clone());
    let was_ready = is_ready(object);
    if let Some(node) = &running {
        world.lasting.remove(&format!("{} lost", key.name));
        let network = has_network(world, node);
        let gpus = if device_plugin(world, &key.name) { node.gpus } else { 0 };
        world.edit(key, |object| {
            labels(object, node);
            status(object, node, gpus);
            let (state, reason, message) = if network {
                ("True", "KubeletReady", "kubelet is posting ready status")
            } else {
                ("False", "KubeletNotReady", "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
            };
            condition(object, "Ready", state, reason, message);
        });
        mirror(world, node);
    } else {
        world.edit(key, |object| {
            for kind in ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"] {
                condition(object, kind, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.");
            }
        });
        lost(world, key);
    }
    let Some(object) = world.objects.get(key).cloned() else { return };
    tainted(world, key, &object);
    if was_ready != is_ready(&object) {
        let (reason, told) = if was_ready {
            ("NodeNotReady", format!("Node {} status is now: NodeNotReady", key.name))
        } else {
            ("NodeReady", format!("Node {} status is now: NodeReady", key.name))
        };
        events::tell(world, &object, "Normal", reason, &told, if was_ready { "node-controller" } else { "kubelet" });
        super::on_node(world, &key.name);
    }
}

/// Whether the network's daemon has been on the node since it booted.
fn has_network(world: &mut World, node: &Node) -> bool {
    if world.networked.get(&node.name) == Some(&node.boot_id) {
        return true;
    }
    let is_network = |set: &&Arc<Value>| {
        let spec = &set["spec"]["template"]["spec"];
        let mounts = list(spec, "/volumes").iter().any(|volume| {
            let path = text(volume, "/hostPath/path");
            path.starts_with("/etc/cni/net.d") || path.starts_with("/opt/cni/bin")
        });
        flag(spec, "/hostNetwork") && mounts
    };
    let sets: Vec<String> =
        world.objects.list(DAEMONSETS, None).filter(is_network).map(|set| text(set, "/metadata/uid").to_owned()).collect();
    let there = sets.iter().any(|uid| runs(world, uid, &node.name));
    if there {
        world.networked.insert(node.name.clone(), node.boot_id.clone());
    }
    there
}

fn runs(world: &World, uid: &str, node: &str) -> bool {
    templates::pods(world, uid).iter().any(|(_, pod)| text(pod, "/spec/nodeName") == node && text(pod, "/status/phase") == "Running")
}

/// Whether a device plugin tells the node's GPUs.
fn device_plugin(world: &World, node: &str) -> bool {
    let sets = world.objects.list(DAEMONSETS, None).filter(|set| {
        let containers = list(set, "/spec/template/spec/containers");
        containers
            .iter()
            .any(|one| text(one, "/image").contains("k8s-device-plugin") || text(one, "/name").contains("nvidia-device-plugin"))
    });
    let uids: Vec<&str> = sets.map(|set| text(set, "/metadata/uid")).collect();
    uids.iter().any(|uid| runs(world, uid, node))
}

/// Labels of the kubelet and of the machine's configuration; those no longer in the configuration go.
fn labels(object: &mut Value, node: &Node) {
    let mut all = vec![
        ("beta.kubernetes.io/arch".to_owned(), node.arch.clone()),
        ("beta.kubernetes.io/os".to_owned(), "linux".to_owned()),
        ("kubernetes.io/arch".to_owned(), node.arch.clone()),
        ("kubernetes.io/hostname".to_owned(), node.name.clone()),
        ("kubernetes.io/os".to_owned(), "linux".to_owned()),
    ];
    if node.control_plane {
        all.push(("node-role.kubernetes.io/control-plane".to_owned(), String::new()));
    }
    owned(object, "labels", node.labels.keys());
    owned(object, "annotations", node.annotations.keys());
    all.extend(node.labels.clone());
    for (key, value) in all {
        put(object, &format!("/metadata/labels/{}", crate::document::escaped(&key)), value);
    }
    for (key, value) in &node.annotations {
        put(object, &format!("/metadata/annotations/{}", crate::document::escaped(key)), value.as_str());
    }
}

/// Talos writes down which labels and annotations are its own, so that it can take them away.
fn owned<'a>(object: &mut Value, what: &str, keys: impl Iterator<Item = &'a String>) {
    let place = format!("/metadata/annotations/talos.dev~1owned-{what}");
    let before: Vec<String> = serde_json::from_str(text(object, &place)).unwrap_or_default();
    let now: Vec<&String> = keys.collect();
    for key in before.iter().filter(|key| !now.contains(key)) {
        remove(object, &format!("/metadata/{what}/{}", crate::document::escaped(key)));
    }
    if now.is_empty() {
        remove(object, &place);
    } else {
        put(object, &place, json!(now).to_string());
    }
}

fn status(object: &mut Value, node: &Node, gpus: u32) {
    let mut capacity = json!({
        "cpu": node.cpus.to_string(), "memory": format!("{}Ki", node.memory / 1024), "pods": "110", "ephemeral-storage": "40G", "hugepages-2Mi": "0",
    });
    let kept = (node.memory / 1024).saturating_sub(300 * 1024);
    let mut allocatable = json!({
        "cpu": format!("{}m", (u64::from(node.cpus) * 1000).saturating_sub(50)), "memory": format!("{kept}Ki"), "pods": "110", "ephemeral-storage": "36G", "hugepages-2Mi": "0",
    });
    for amounts in [&mut capacity, &mut allocatable] {
        if gpus > 0 {
            amounts["nvidia.com/gpu"] = gpus.to_string().into();
        }
    }
    // What somebody else told about the node stays.
    for (field, told) in [("capacity", capacity), ("allocatable", allocatable)] {
        let mut all = object["status"][field].clone();
        if !all.is_object() {
            all = json!({});
        }
        if let (Some(all), Some(told)) = (all.as_object_mut(), told.as_object()) {
            all.extend(told.clone());
            if gpus == 0 {
                all.remove("nvidia.com/gpu");
            }
        }
        put(object, &format!("/status/{field}"), all);
    }
    let mut addresses = vec![json!({"type": "InternalIP", "address": node.address.to_string()})];
    if node.dialled != node.address && !node.dialled.is_unspecified() {
        addresses.push(json!({"type": "ExternalIP", "address": node.dialled.to_string()}));
    }
    addresses.push(json!({"type": "Hostname", "address": node.name}));
    put(object, "/status/addresses", addresses);
    put(object, "/status/daemonEndpoints", json!({"kubeletEndpoint": {"Port": 10250}}));
    put(
        object,
        "/status/nodeInfo",
        json!({
            "architecture": node.arch, "bootID": node.boot_id, "containerRuntimeVersion": node.runtime, "kernelVersion": node.kernel,
            "kubeProxyVersion": "", "kubeletVersion": node.kubelet_version, "machineID": node.machine_id, "operatingSystem": "linux",
            "osImage": node.os_image, "systemUUID": node.system_uuid, "swap": {"capacity": 0},
        }),
    );
    for (kind, reason, message) in [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ] {
        condition(object, kind, "False", reason, message);
    }
    for one in object.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if one.get("lastHeartbeatTime").is_none() {
            one["lastHeartbeatTime"] = now().into();
        }
    }
}

/// The taints that follow from a node's state, beside those it was given.
fn tainted(world: &mut World, key: &Key, object: &Value) {
    let ready = list(object, "/status/conditions").iter().find(|one| one["type"] == "Ready").map_or("Unknown", |one| text(one, "/status"));
    let wanted: &[(&str, &str)] = match ready {
        "True" => &[],
        "False" => &[("not-ready", "NoSchedule"), ("not-ready", "NoExecute")],
        _ => &[("unreachable", "NoSchedule"), ("unreachable", "NoExecute")],
    };
    let cordoned = flag(object, "/spec/unschedulable");
    let given: Vec<Value> = world.kubelets.get(&key.name).map(|one| one.node.taints.iter().map(taint).collect()).unwrap_or_default();
    world.edit(key, |object| {
        let ours = |taint: &Value| {
            matches!(
                text(taint, "/key"),
                "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable" | "node.kubernetes.io/unschedulable"
            )
        };
        let before: Vec<String> = serde_json::from_str(text(object, "/metadata/annotations/talos.dev~1owned-taints")).unwrap_or_default();
        let mut taints: Vec<Value> = list(object, "/spec/taints").iter().filter(|one| !ours(one)).cloned().collect();
        // A taint the configuration had and no longer has goes; one that somebody added stays.
        taints.retain(|one| !before.iter().any(|key| one["key"] == key.as_str()) || given.contains(one));
        for one in &given {
            if !taints.iter().any(|there| there["key"] == one["key"] && there["effect"] == one["effect"]) {
                taints.push(one.clone());
            }
        }
        let mut stamped = |key: &str, effect: &str| {
            let key = format!("node.kubernetes.io/{key}");
            let former = list(object, "/spec/taints").iter().find(|one| one["key"] == key.as_str() && one["effect"] == effect);
            taints.push(former.cloned().unwrap_or_else(|| json!({"key": key, "effect": effect, "timeAdded": now()})));
        };
        for (key, effect) in wanted {
            stamped(key, effect);
        }
        if cordoned {
            stamped("unschedulable", "NoSchedule");
        }
        let keys: Vec<&Value> = given.iter().map(|one| &one["key"]).collect();
        if keys.is_empty() {
            remove(object, "/metadata/annotations/talos.dev~1owned-taints");
        } else {
            put(object, "/metadata/annotations/talos.dev~1owned-taints", json!(keys).to_string());
        }
        if taints.is_empty() {
            remove(object, "/spec/taints");
        } else {
            put(object, "/spec/taints", taints);
        }
    });
}

/// Pods leave a node that stays lost.
fn lost(world: &mut World, key: &Key) {
    let name = format!("{} lost", key.name);
    let patience = world.dials.limit(PATIENCE);
    let Some(until) = world.lasting.get(&name).copied() else {
        world.lasting.insert(name, Instant::now() + patience);
        world.again(patience, key.clone());
        return;
    };
    if Instant::now() < until {
        return;
    }
    let stays = |pod: &Value| {
        let forever = |one: &Value| text(one, "/key") == "node.kubernetes.io/unreachable" && one.get("tolerationSeconds").is_none();
        let anything = |one: &Value| text(one, "/key").is_empty() && text(one, "/operator") == "Exists";
        list(pod, "/spec/tolerations").iter().any(|one| forever(one) || anything(one))
            || pairs(pod, "/metadata/annotations").any(|(key, _)| key == super::kubelet::MIRROR)
    };
    let pods = world.usage.on(&key.name).filter_map(|pod| world.objects.get(pod).map(|object| (pod, object)));
    let leaving: Vec<Key> =
        pods.filter(|(_, pod)| !stays(pod) && pod.pointer("/metadata/deletionTimestamp").is_none()).map(|(pod, _)| pod.clone()).collect();
    for pod in leaving {
        let _ = crate::verbs::delete::mark(world, &pod, &json!({}));
    }
}

/// The kubelet shows its static pods to the API.
fn mirror(world: &mut World, node: &Node) {
    let Some(owner) = world.objects.find("nodes", "", &node.name).cloned() else { return };
    for pod in &node.static_pods {
        let key = Key::new("pods", "kube-system", &format!("{}-{}", pod.name, node.name));
        let fresh = super::kubelet::static_pod(&owner, node, pod);
        match world.objects.get(&key) {
            Some(there)
                if there["metadata"]["annotations"][super::kubelet::MIRROR] == fresh["metadata"]["annotations"][super::kubelet::MIRROR] => {
            }
            Some(_) => {
                let _ = world.remove(&key);
                world.make("pods", fresh);
            }
            None => drop(world.make("pods", fresh)),
        }
    }
    let wanted: Vec<String> = node.static_pods.iter().map(|pod| format!("{}-{}", pod.name, node.name)).collect();
    let ours = |pod: &Value| pod["metadata"]["annotations"].get(super::kubelet::MIRROR).is_some();
    let stale: Vec<Key> = world
        .usage
        .on(&node.name)
        .filter(|key| !wanted.contains(&key.name) && world.objects.get(key).is_some_and(|pod| ours(pod)))
        .cloned()
        .collect();
    for key in stale {
        let _ = world.remove(&key);
    }
}
