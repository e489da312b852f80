//! The cells of everyday kinds.

use serde_json::{Value, json};

use super::time::since;
use super::{network, storage, workloads};
use crate::document::{escaped, flag, list, number, pairs, text};
use crate::objects::selectors::spelled;

/// One cell for each column of the kind.
pub(super) fn cells(kind: &str, object: &Value) -> Vec<Value> {
    let special = workloads::cells(kind, object).or_else(|| network::cells(kind, object)).or_else(|| storage::cells(kind, object));
    special.unwrap_or_else(|| rest(kind, object))
}

fn rest(kind: &str, object: &Value) -> Vec<Value> {
    let (name, age) = (name(object), age(object));
    match kind {
        "Node" => node(object, name, age),
        "Namespace" => vec![name, or(text(object, "/status/phase"), ""), age],
        "ConfigMap" => vec![name, (pairs(object, "/data").count() + pairs(object, "/binaryData").count()).to_string().into(), age],
        "Secret" => vec![name, object["type"].clone(), pairs(object, "/data").count().to_string().into(), age],
        "ServiceAccount" => vec![name, list(object, "/secrets").len().to_string().into(), age],
        "Event" => event(object, name),
        "CustomResourceDefinition" | "ClusterRole" | "Role" => vec![name, object["metadata"]["creationTimestamp"].clone()],
        "PodDisruptionBudget" => {
            let shown = |pointer: &str| match object.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => "N/A".to_owned(),
            };
            vec![
                name,
                shown("/spec/minAvailable").into(),
                shown("/spec/maxUnavailable").into(),
                count(object, "/status/disruptionsAllowed").into(),
                age,
            ]
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            vec![name, format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name")).into(), age]
        }
        "APIService" => {
            let service = match text(object, "/spec/service/name") {
                "" => "Local".to_owned(),
                service => format!("{}/{service}", text(object, "/spec/service/namespace")),
            };
            let available =
                list(object, "/status/conditions").iter().find(|one| one["type"] == "Available").map_or("", |one| text(one, "/status"));
            vec![name, service.into(), available.into(), age]
        }
        "Lease" => vec![name, or(text(object, "/spec/holderIdentity"), ""), age],
        "PriorityClass" => {
            vec![name, object["value"].clone(), flag(object, "/globalDefault").into(), age, object["preemptionPolicy"].clone()]
        }
        "RuntimeClass" => vec![name, object["handler"].clone(), age],
        _ => vec![name, age],
    }
}

pub(super) fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

pub(super) fn age(object: &Value) -> Value {
    since(text(object, "/metadata/creationTimestamp")).into()
}

pub(super) fn count(object: &Value, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or(0)
}

/// The text, or what stands for none.
pub(super) fn or(value: &str, other: &str) -> Value {
    if value.is_empty() { other.into() } else { value.into() }
}

pub(super) fn selector(object: &Value) -> Value {
    let selector = &object["spec"]["selector"];
    let whole = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    or(&if whole { spelled(selector) } else { joined(object, "/spec/selector") }, "<none>")
}

pub(super) fn joined(object: &Value, pointer: &str) -> String {
    pairs(object, pointer).map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect::<Vec<_>>().join(",")
}

fn node(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let ready = list(object, "/status/conditions")
        .iter()
        .find(|one| one["type"] == "Ready")
        .map_or("Unknown", |one| if one["status"] == "True" { "Ready" } else { "NotReady" });
    let status = if flag(object, "/spec/unschedulable") { format!("{ready},SchedulingDisabled") } else { ready.to_owned() };
    let mut roles: Vec<&str> = Vec::new();
    for (key, value) in pairs(object, "/metadata/labels") {
        if let Some(role) = key.strip_prefix("node-role.kubernetes.io/").filter(|role| !role.is_empty()) {
            roles.push(role);
        } else if key == "kubernetes.io/role" {
            roles.extend(value.as_str());
        }
    }
    let roles = if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") };
    let address = |kind: &str| -> Value {
        list(object, "/status/addresses")
            .iter()
            .find(|one| one["type"] == kind)
            .map_or_else(|| "<none>".into(), |one| one["address"].clone())
    };
    let info = |field: &str| object["status"]["nodeInfo"][field].clone();
    vec![
        name,
        status.into(),
        roles.into(),
        age,
        info("kubeletVersion"),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

fn event(object: &Value, name: Value) -> Vec<Value> {
    let seen = |field: &str| match text(object, field) {
        "" => match text(object, "/eventTime") {
            "" => "<unknown>".to_owned(),
            time => since(time),
        },
        time => since(time),
    };
    let subject = format!("{}/{}", text(object, "/involvedObject/kind").to_lowercase(), text(object, "/involvedObject/name"));
    let source = match (text(object, "/source/component"), text(object, "/source/host")) {
        ("", _) => text(object, "/reportingComponent").to_owned(),
        (component, "") => component.to_owned(),
        (component, host) => format!("{component}, {host}"),
    };
    let count = number(object, "/count").unwrap_or(1).to_string();
    let field = object.pointer(&format!("/involvedObject/{}", escaped("fieldPath"))).cloned().unwrap_or_else(|| json!(""));
    vec![
        seen("/lastTimestamp").into(),
        object["type"].clone(),
        object["reason"].clone(),
        subject.into(),
        field,
        source.into(),
        text(object, "/message").trim().into(),
        seen("/firstTimestamp").into(),
        count.into(),
        name,
    ]
}
