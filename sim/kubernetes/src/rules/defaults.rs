//! What the server fills in.

use std::net::Ipv4Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::pods;
use crate::document::{default, flag, list, place, put, remove, text};
use crate::kinds::Resource;
use crate::world::World;

/// Fills in what an object leaves out.
pub(crate) fn fill(world: &World, resource: &Resource, object: &mut Value) {
    if let Some(custom) = &resource.custom {
        super::custom::fill(&custom.schema, object);
        return;
    }
    match resource.kind.as_str() {
        "Pod" => {
            pods::fill(place(object, "/spec"));
            pods::admit(object);
            default(object, "/status/phase", "Pending");
            let class = quality(object);
            default(object, "/status/qosClass", class);
        }
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController" => workload(resource, object),
        "Job" => job(object),
        "CronJob" => {
            for (field, value) in [
                ("concurrencyPolicy", json!("Allow")),
                ("suspend", json!(false)),
                ("successfulJobsHistoryLimit", json!(3)),
                ("failedJobsHistoryLimit", json!(1)),
            ] {
                default(object, &format!("/spec/{field}"), value);
            }
            pods::fill(place(object, "/spec/jobTemplate/spec/template/spec"));
        }
        "Service" => service(world, object),
        "Secret" => {
            default(object, "/type", "Opaque");
            if let Some(plain) = remove(object, "/stringData") {
                for (key, value) in plain.as_object().into_iter().flatten() {
                    let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
                    put(object, &format!("/data/{}", crate::document::escaped(key)), encoded);
                }
            }
        }
        "Namespace" => {
            let name = text(object, "/metadata/name").to_owned();
            put(object, "/metadata/labels/kubernetes.io~1metadata.name", name);
            default(object, "/spec/finalizers", json!(["kubernetes"]));
            default(object, "/status/phase", "Active");
        }
        "PersistentVolumeClaim" => {
            default(object, "/spec/volumeMode", "Filesystem");
            default(object, "/status/phase", "Pending");
            if object.pointer("/spec/storageClassName").is_none() {
                let is_default = |class: &&std::sync::Arc<Value>| {
                    class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
                };
                if let Some(class) = world.objects.list("storageclasses.storage.k8s.io", None).find(is_default) {
                    put(object, "/spec/storageClassName", text(class, "/metadata/name"));
                }
            }
            default(object, "/metadata/finalizers", json!(["kubernetes.io/pvc-protection"]));
        }
        "PersistentVolume" => {
            default(object, "/spec/volumeMode", "Filesystem");
            default(object, "/spec/persistentVolumeReclaimPolicy", "Retain");
            default(object, "/status/phase", "Pending");
        }
        "StorageClass" => {
            default(object, "/reclaimPolicy", "Delete");
            default(object, "/volumeBindingMode", "Immediate");
        }
        "CustomResourceDefinition" => {
            let kind = text(object, "/spec/names/kind").to_owned();
            default(object, "/spec/names/singular", kind.to_lowercase());
            default(object, "/spec/names/listKind", format!("{kind}List"));
            default(object, "/spec/conversion", json!({"strategy": "None"}));
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            default(object, "/roleRef/apiGroup", "rbac.authorization.k8s.io");
            for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
                if text(subject, "/kind") != "ServiceAccount" {
                    default(subject, "/apiGroup", "rbac.authorization.k8s.io");
                }
            }
        }
        "NetworkPolicy" => {
            let egress = object.pointer("/spec/egress").is_some();
            default(object, "/spec/policyTypes", if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
        }
        "HorizontalPodAutoscaler" => default(object, "/spec/minReplicas", 1),
        "PriorityClass" => default(object, "/preemptionPolicy", "PreemptLowerPriority"),
        "APIService" if object.pointer("/spec/service").is_some() => {
            default(object, "/spec/service/port", 443);
        }
        _ => {}
    }
}

/// What stays when a client leaves it out of an update, because the server chose it.
pub(crate) fn keep(resource: &Resource, live: &Value, object: &mut Value) {
    match resource.kind.as_str() {
        "Service" if text(object, "/spec/type") != "ExternalName" => {
            for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if let Some(value) = live.pointer(&format!("/spec/{field}")) {
                    default(object, &format!("/spec/{field}"), value.clone());
                }
            }
        }
        "Job" | "CustomResourceDefinition" => {
            if let Some(value) = live.pointer("/spec/selector") {
                default(object, "/spec/selector", value.clone());
            }
        }
        "Pod" => {
            for field in ["nodeName", "serviceAccountName", "serviceAccount"] {
                if let Some(value) = live.pointer(&format!("/spec/{field}")) {
                    default(object, &format!("/spec/{field}"), value.clone());
                }
            }
        }
        "Namespace" => {
            if let Some(value) = live.pointer("/spec/finalizers") {
                put(object, "/spec/finalizers", value.clone());
            }
        }
        "PersistentVolumeClaim" => {
            for field in ["volumeName", "storageClassName"] {
                if let Some(value) = live.pointer(&format!("/spec/{field}")) {
                    default(object, &format!("/spec/{field}"), value.clone());
                }
            }
        }
        _ => {}
    }
}

fn workload(resource: &Resource, object: &mut Value) {
    if resource.kind != "DaemonSet" {
        default(object, "/spec/replicas", 1);
    }
    match resource.kind.as_str() {
        "Deployment" => {
            default(object, "/spec/strategy/type", "RollingUpdate");
            if text(object, "/spec/strategy/type") == "RollingUpdate" {
                default(object, "/spec/strategy/rollingUpdate/maxSurge", "25%");
                default(object, "/spec/strategy/rollingUpdate/maxUnavailable", "25%");
            }
            default(object, "/spec/revisionHistoryLimit", 10);
            default(object, "/spec/progressDeadlineSeconds", 600);
        }
        "DaemonSet" => {
            default(object, "/spec/updateStrategy/type", "RollingUpdate");
            if text(object, "/spec/updateStrategy/type") == "RollingUpdate" {
                default(object, "/spec/updateStrategy/rollingUpdate/maxSurge", 0);
                default(object, "/spec/updateStrategy/rollingUpdate/maxUnavailable", 1);
            }
            default(object, "/spec/revisionHistoryLimit", 10);
        }
        "StatefulSet" => {
            default(object, "/spec/podManagementPolicy", "OrderedReady");
            default(object, "/spec/updateStrategy/type", "RollingUpdate");
            if text(object, "/spec/updateStrategy/type") == "RollingUpdate" {
                default(object, "/spec/updateStrategy/rollingUpdate/partition", 0);
            }
            default(object, "/spec/revisionHistoryLimit", 10);
            default(object, "/spec/persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Retain", "whenScaled": "Retain"}));
            for claim in object.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
                default(claim, "/kind", "PersistentVolumeClaim");
                default(claim, "/apiVersion", "v1");
                default(claim, "/spec/volumeMode", "Filesystem");
                default(claim, "/status/phase", "Pending");
            }
        }
        _ => {}
    }
    if object.pointer("/spec/template/spec").is_some() {
        pods::fill(place(object, "/spec/template/spec"));
    }
}

fn job(object: &mut Value) {
    for (field, value) in [
        ("parallelism", json!(1)),
        ("completions", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        default(object, &format!("/spec/{field}"), value);
    }
    let uid = text(object, "/metadata/uid").to_owned();
    if !flag(object, "/spec/manualSelector") && object.pointer("/spec/selector").is_none() && !uid.is_empty() {
        let name = text(object, "/metadata/name").to_owned();
        put(object, "/spec/selector", json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
        for (label, value) in [
            ("batch.kubernetes.io~1controller-uid", uid.clone()),
            ("controller-uid", uid),
            ("batch.kubernetes.io~1job-name", name.clone()),
            ("job-name", name),
        ] {
            put(object, &format!("/spec/template/metadata/labels/{label}"), value);
        }
    }
    if object.pointer("/spec/template/spec").is_some() {
        pods::fill(place(object, "/spec/template/spec"));
    }
}

fn service(world: &World, object: &mut Value) {
    default(object, "/spec/type", "ClusterIP");
    default(object, "/spec/sessionAffinity", "None");
    default(object, "/status/loadBalancer", json!({}));
    let kind = text(object, "/spec/type").to_owned();
    let mut taken: Vec<i64> = Vec::new();
    for port in object.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten() {
        default(port, "/protocol", "TCP");
        if let Some(number) = port.get("port").cloned() {
            default(port, "/targetPort", number);
        }
        if matches!(kind.as_str(), "NodePort" | "LoadBalancer") && port["nodePort"].as_i64().unwrap_or(0) == 0 {
            let used = |number: i64| {
                let mut ports = world.objects.list("services", None).flat_map(|service| list(service, "/spec/ports"));
                taken.contains(&number) || ports.any(|port| port["nodePort"] == number)
            };
            let free = (30000..32768).find(|number| !used(*number)).unwrap_or(30000);
            taken.push(free);
            port["nodePort"] = free.into();
        }
    }
    if kind == "ExternalName" {
        return;
    }
    default(object, "/spec/internalTrafficPolicy", "Cluster");
    default(object, "/spec/ipFamilies", json!(["IPv4"]));
    default(object, "/spec/ipFamilyPolicy", "SingleStack");
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        default(object, "/spec/externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(object, "/spec/allocateLoadBalancerNodePorts", true);
    }
    if text(object, "/spec/clusterIP").is_empty() {
        put(object, "/spec/clusterIP", free_address(world).to_string());
    }
    let address = text(object, "/spec/clusterIP").to_owned();
    default(object, "/spec/clusterIPs", json!([address]));
}

/// The next address for a service that none has.
fn free_address(world: &World) -> Ipv4Addr {
    let (start, length) = network(world.settings.service_cidrs.first().map_or("10.96.0.0/12", String::as_str));
    let size = 1_u32.checked_shl(32 - length.min(32)).unwrap_or(u32::MAX);
    // The lower part is for addresses that people choose.
    let lower = 256.min(size / 16).max(1);
    let used: std::collections::HashSet<&str> =
        world.objects.list("services", None).map(|service| text(service, "/spec/clusterIP")).collect();
    let address = |offset: u32| Ipv4Addr::from(u32::from(start).wrapping_add(offset));
    (lower + 1..size.saturating_sub(1)).map(address).find(|one| !used.contains(one.to_string().as_str())).unwrap_or(start)
}

/// Start and prefix length of a network in text.
pub(crate) fn network(cidr: &str) -> (Ipv4Addr, u32) {
    let (address, length) = cidr.split_once('/').unwrap_or((cidr, "32"));
    (address.parse().unwrap_or(Ipv4Addr::UNSPECIFIED), length.parse().unwrap_or(32))
}

fn quality(pod: &Value) -> &'static str {
    let containers = list(pod, "/spec/containers");
    let wants = |kind: &str, container: &Value, resource: &str| container["resources"][kind].get(resource).cloned();
    let guaranteed = containers.iter().all(|container| {
        ["cpu", "memory"].iter().all(|resource| {
            let limit = wants("limits", container, resource);
            limit.is_some() && limit == wants("requests", container, resource)
        })
    });
    let asks = containers.iter().any(|container| {
        ["limits", "requests"].iter().any(|kind| ["cpu", "memory"].iter().any(|resource| wants(kind, container, resource).is_some()))
    });
    if !containers.is_empty() && guaranteed {
        "Guaranteed"
    } else if asks {
        "Burstable"
    } else {
        "BestEffort"
    }
}
