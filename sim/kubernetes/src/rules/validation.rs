//! What the server refuses.

use serde_json::Value;

use super::{custom, names, pods};
use crate::document::{flag, list, pairs, text};
use crate::failure::{Cause, Failure, Outcome};
use crate::kinds::Resource;
use crate::objects::selectors::matches;
use crate::world::World;

/// Checks a new object.
pub(crate) fn new(world: &World, resource: &Resource, object: &Value) -> Outcome<()> {
    let mut causes = names::metadata(resource, object);
    causes.extend(content(world, resource, object));
    verdict(resource, object, &causes)
}

/// Checks a changed object.
pub(crate) fn changed(world: &World, resource: &Resource, live: &Value, object: &Value) -> Outcome<()> {
    let mut causes = names::metadata(resource, object);
    causes.extend(content(world, resource, object));
    causes.extend(fixed(resource, live, object));
    verdict(resource, object, &causes)
}

fn verdict(resource: &Resource, object: &Value, causes: &[Cause]) -> Outcome<()> {
    if causes.is_empty() { Ok(()) } else { Err(Failure::invalid(resource, text(object, "/metadata/name"), causes)) }
}

fn content(world: &World, resource: &Resource, object: &Value) -> Vec<Cause> {
    if let Some(custom) = &resource.custom {
        let mut causes = Vec::new();
        custom::check(&custom.schema, object, "", &mut causes);
        return causes;
    }
    let always = &["Always"][..];
    match resource.kind.as_str() {
        "Pod" => pods::check(&object["spec"], "spec", &["Always", "OnFailure", "Never"], &[]),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" => {
            let mut causes = workload(object);
            causes.extend(pods::check(
                &object["spec"]["template"]["spec"],
                "spec.template.spec",
                always,
                list(object, "/spec/volumeClaimTemplates"),
            ));
            causes
        }
        "Job" => {
            let mut causes = pods::check(&object["spec"]["template"]["spec"], "spec.template.spec", &["OnFailure", "Never"], &[]);
            causes.extend(negative(object, &["completions", "parallelism", "backoffLimit"]));
            causes
        }
        "CronJob" => {
            let mut causes = pods::check(
                &object["spec"]["jobTemplate"]["spec"]["template"]["spec"],
                "spec.jobTemplate.spec.template.spec",
                &["OnFailure", "Never"],
                &[],
            );
            if text(object, "/spec/schedule").is_empty() {
                causes.push(Cause::required("spec.schedule", ""));
            }
            causes
        }
        "ReplicationController" => negative(object, &["replicas"]),
        "Service" => service(world, object),
        "ConfigMap" => data_keys(object, &["data", "binaryData"]),
        "Secret" => {
            let mut causes = data_keys(object, &["data"]);
            let ours = |kind: &str, key: &str| text(object, "/type") == kind && object["data"].get(key).is_none();
            if ours("kubernetes.io/tls", "tls.crt") {
                causes.push(Cause::required("data[tls.crt]", ""));
            }
            if ours("kubernetes.io/tls", "tls.key") {
                causes.push(Cause::required("data[tls.key]", ""));
            }
            causes
        }
        "PersistentVolumeClaim" => {
            let mut causes = Vec::new();
            if list(object, "/spec/accessModes").is_empty() {
                causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
            }
            if text(object, "/spec/resources/requests/storage").is_empty() {
                causes.push(Cause::required("spec.resources[storage]", ""));
            }
            causes
        }
        "CustomResourceDefinition" => definition(object),
        "RoleBinding" | "ClusterRoleBinding" => {
            let mut causes = Vec::new();
            for field in ["kind", "name"] {
                if text(object, &format!("/roleRef/{field}")).is_empty() {
                    causes.push(Cause::required(format!("roleRef.{field}"), ""));
                }
            }
            causes
        }
        "StorageClass" if text(object, "/provisioner").is_empty() => vec![Cause::required("provisioner", "")],
        "PodDisruptionBudget" if object.pointer("/spec/minAvailable").is_some() && object.pointer("/spec/maxUnavailable").is_some() => {
            vec![Cause::invalid("spec", &object["spec"], "minAvailable and maxUnavailable cannot be both set")]
        }
        _ => Vec::new(),
    }
}

/// Counts are 32 bits wide and not below nothing.
fn negative(object: &Value, fields: &[&str]) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in fields {
        let Some(number) = object["spec"][*field].as_i64() else { continue };
        if number < 0 {
            causes.push(Cause::invalid(format!("spec.{field}"), &number.into(), "must be greater than or equal to 0"));
        } else if number > i64::from(i32::MAX) {
            causes.push(Cause::invalid(format!("spec.{field}"), &number.into(), "must be less than or equal to 2147483647"));
        }
    }
    causes
}

fn workload(object: &Value) -> Vec<Cause> {
    let mut causes = negative(object, &["replicas", "minReadySeconds"]);
    let selector = object.pointer("/spec/selector");
    let labels = object.pointer("/spec/template/metadata/labels");
    let empty =
        selector.is_none_or(|selector| pairs(selector, "/matchLabels").next().is_none() && list(selector, "/matchExpressions").is_empty());
    if selector.is_none() {
        causes.push(Cause::required("spec.selector", ""));
        let shown = labels.map_or_else(|| "null".into(), Clone::clone);
        causes.push(Cause::invalid("spec.template.metadata.labels", &shown, "`selector` does not match template `labels`"));
    } else if empty {
        causes.push(Cause::invalid("spec.selector", &selector.cloned().unwrap_or_default(), "empty selector is invalid for deployment"));
    } else if !matches(selector, labels) {
        let shown = labels.map_or_else(|| "null".into(), Clone::clone);
        causes.push(Cause::invalid("spec.template.metadata.labels", &shown, "`selector` does not match template `labels`"));
    }
    causes.extend(names::labels(labels, "spec.template.metadata.labels"));
    causes
}

fn service(world: &World, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let kind = text(object, "/spec/type");
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !kinds.contains(&kind) {
        causes.push(Cause::unsupported("spec.type", &kind.into(), &kinds));
    }
    let ports = list(object, "/spec/ports");
    if ports.is_empty() && kind != "ExternalName" && text(object, "/spec/clusterIP") != "None" {
        causes.push(Cause::required("spec.ports", ""));
    }
    for (at, port) in ports.iter().enumerate() {
        let number = port["port"].as_i64().unwrap_or(0);
        if !(1..=65535).contains(&number) {
            causes.push(Cause::invalid(format!("spec.ports[{at}].port"), &number.into(), "must be between 1 and 65535, inclusive"));
        }
        if ports.len() > 1 && text(port, "/name").is_empty() {
            causes.push(Cause::required(format!("spec.ports[{at}].name"), ""));
        }
    }
    let address = text(object, "/spec/clusterIP");
    let same = |other: &&std::sync::Arc<Value>| {
        text(other, "/spec/clusterIP") == address && text(other, "/metadata/uid") != text(object, "/metadata/uid")
    };
    if !matches!(address, "" | "None") && world.objects.list("services", None).any(|other| same(&other)) {
        let why = "failed to allocate IP ".to_owned() + address + ": provided IP is already allocated";
        causes.push(Cause::invalid("spec.clusterIPs", &serde_json::json!([address]), &why));
    }
    causes
}

fn data_keys(object: &Value, maps: &[&str]) -> Vec<Cause> {
    let mut causes = Vec::new();
    for map in maps {
        for (key, _) in pairs(object, &format!("/{map}")) {
            let fine =
                !key.is_empty() && key.len() <= 253 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            if !fine {
                let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                causes.push(Cause::invalid(format!("{map}[{key}]"), &key.into(), why));
            }
        }
    }
    causes
}

fn definition(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (plural, group) = (text(object, "/spec/names/plural"), text(object, "/spec/group"));
    if text(object, "/metadata/name") != format!("{plural}.{group}") {
        causes.push(Cause::invalid("metadata.name", &object["metadata"]["name"], "must be spec.names.plural+\".\"+spec.group"));
    }
    for (field, pointer) in [
        ("spec.group", "/spec/group"),
        ("spec.scope", "/spec/scope"),
        ("spec.names.plural", "/spec/names/plural"),
        ("spec.names.kind", "/spec/names/kind"),
    ] {
        if text(object, pointer).is_empty() {
            causes.push(Cause::required(field, ""));
        }
    }
    let versions = list(object, "/spec/versions");
    if versions.iter().filter(|version| flag(version, "/storage")).count() != 1 {
        causes.push(Cause::invalid(
            "spec.versions",
            &object["spec"]["versions"],
            "must have exactly one version marked as storage version",
        ));
    }
    for (at, version) in versions.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            causes.push(Cause::required(format!("spec.versions[{at}].schema.openAPIV3Schema"), "schemas are required"));
        }
    }
    causes
}

/// What may not change any more.
fn fixed(resource: &Resource, live: &Value, object: &Value) -> Vec<Cause> {
    let differs = |pointer: &str| live.pointer(pointer) != object.pointer(pointer);
    let immutable = |pointer: &str, field: &str| {
        let shown = object.pointer(pointer).cloned().unwrap_or_default();
        differs(pointer).then(|| Cause::invalid(field, &shown, "field is immutable"))
    };
    match resource.kind.as_str() {
        "Deployment" | "ReplicaSet" | "DaemonSet" => immutable("/spec/selector", "spec.selector").into_iter().collect(),
        "Job" => {
            let fields =
                [("/spec/selector", "spec.selector"), ("/spec/template", "spec.template"), ("/spec/completions", "spec.completions")];
            fields.iter().filter_map(|(pointer, field)| immutable(pointer, field)).collect()
        }
        "StatefulSet" => {
            let open = [
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ];
            let closed = |value: &Value| {
                let mut spec = value["spec"].clone();
                if let Some(spec) = spec.as_object_mut() {
                    spec.retain(|key, _| !open.contains(&key.as_str()));
                }
                spec
            };
            let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
            if closed(live) == closed(object) { Vec::new() } else { vec![Cause::forbidden("spec", why)] }
        }
        "ConfigMap" | "Secret" if flag(live, "/immutable") => {
            let moved = ["/data", "/binaryData", "/immutable"].iter().any(|pointer| differs(pointer));
            if moved { vec![Cause::forbidden("data", "field is immutable when `immutable` is set")] } else { Vec::new() }
        }
        "Secret" => immutable("/type", "type").into_iter().collect(),
        "RoleBinding" | "ClusterRoleBinding" if differs("/roleRef") => {
            vec![Cause::invalid("roleRef", &object["roleRef"], "cannot change roleRef")]
        }
        "Service"
            if text(live, "/spec/type") != "ExternalName" && text(object, "/spec/type") != "ExternalName" && differs("/spec/clusterIP") =>
        {
            vec![Cause::invalid("spec.clusterIPs[0]", &object["spec"]["clusterIPs"], "may not change once set")]
        }
        "StorageClass" => {
            let fields = [("/parameters", "parameters"), ("/provisioner", "provisioner")];
            let wrong = fields.iter().filter(|(pointer, _)| differs(pointer));
            wrong.map(|(_, field)| Cause::forbidden(*field, "updates to parameters are forbidden.")).collect()
        }
        "Pod" => {
            let closed = |value: &Value| {
                let mut spec = value["spec"].clone();
                if let Some(map) = spec.as_object_mut() {
                    for open in ["tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "nodeName", "ephemeralContainers"]
                    {
                        map.remove(open);
                    }
                }
                for containers in ["containers", "initContainers"] {
                    for container in spec.get_mut(containers).and_then(Value::as_array_mut).into_iter().flatten() {
                        for open in ["image", "imagePullPolicy", "resources"] {
                            crate::document::remove(container, &format!("/{open}"));
                        }
                    }
                }
                spec
            };
            let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
            if closed(live) == closed(object) { Vec::new() } else { vec![Cause::forbidden("spec", why)] }
        }
        _ => Vec::new(),
    }
}
