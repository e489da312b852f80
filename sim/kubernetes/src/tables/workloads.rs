//! Rows of pods and of what makes them.

use serde_json::Value;

use super::cells::{age, count, joined, name, or, selector};
use super::time::short;
use crate::document::{flag, list, number, text};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (name, age) = (name(object), age(object));
    let (containers, images) = template(object);
    Some(match kind {
        "Pod" => pod(object, name, age),
        "Deployment" => vec![
            name,
            format!("{}/{}", count(object, "/status/readyReplicas"), count(object, "/spec/replicas")).into(),
            count(object, "/status/updatedReplicas").into(),
            count(object, "/status/availableReplicas").into(),
            age,
            containers,
            images,
            selector(object),
        ],
        "ReplicaSet" | "ReplicationController" => vec![
            name,
            count(object, "/spec/replicas").into(),
            count(object, "/status/replicas").into(),
            count(object, "/status/readyReplicas").into(),
            age,
            containers,
            images,
            selector(object),
        ],
        "DaemonSet" => vec![
            name,
            count(object, "/status/desiredNumberScheduled").into(),
            count(object, "/status/currentNumberScheduled").into(),
            count(object, "/status/numberReady").into(),
            count(object, "/status/updatedNumberScheduled").into(),
            count(object, "/status/numberAvailable").into(),
            or(&joined(object, "/spec/template/spec/nodeSelector"), "<none>"),
            age,
            containers,
            images,
            selector(object),
        ],
        "StatefulSet" => {
            vec![
                name,
                format!("{}/{}", count(object, "/status/readyReplicas"), count(object, "/spec/replicas")).into(),
                age,
                containers,
                images,
            ]
        }
        "Job" => {
            let condition =
                |kind: &str| list(object, "/status/conditions").iter().any(|one| one["type"] == kind && one["status"] == "True");
            let status = if condition("Complete") {
                "Complete"
            } else if condition("Failed") {
                "Failed"
            } else if flag(object, "/spec/suspend") {
                "Suspended"
            } else {
                "Running"
            };
            let end = text(object, "/status/completionTime").parse::<jiff::Timestamp>().unwrap_or_else(|_| jiff::Timestamp::now());
            let duration = text(object, "/status/startTime")
                .parse::<jiff::Timestamp>()
                .map(|start| short(end.as_second() - start.as_second()))
                .unwrap_or_default();
            vec![
                name,
                status.into(),
                format!("{}/{}", count(object, "/status/succeeded"), count(object, "/spec/completions")).into(),
                duration.into(),
                age,
                containers,
                images,
                selector(object),
            ]
        }
        "CronJob" => vec![
            name,
            object["spec"]["schedule"].clone(),
            or(text(object, "/spec/timeZone"), "<none>"),
            flag(object, "/spec/suspend").into(),
            list(object, "/status/active").len().into(),
            "<none>".into(),
            age,
        ],
        _ => return None,
    })
}

fn template(object: &Value) -> (Value, Value) {
    let containers = list(object, "/spec/template/spec/containers");
    let join = |field: &str| containers.iter().map(|one| text(one, field)).collect::<Vec<_>>().join(",");
    (join("/name").into(), join("/image").into())
}

fn pod(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let statuses = list(object, "/status/containerStatuses");
    let ready = statuses.iter().filter(|one| flag(one, "/ready")).count();
    let restarts: i64 = statuses.iter().filter_map(|one| number(one, "/restartCount")).sum();
    let mut status = match text(object, "/status/reason") {
        "" => text(object, "/status/phase"),
        reason => reason,
    };
    for one in statuses.iter().rev() {
        for state in ["waiting", "terminated"] {
            let reason = text(one, &format!("/state/{state}/reason"));
            if !reason.is_empty() {
                status = reason;
            }
        }
    }
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        status = "Terminating";
    }
    let or_none =
        |pointer: &str| -> Value { if text(object, pointer).is_empty() { "<none>".into() } else { text(object, pointer).into() } };
    let total = list(object, "/spec/containers").len();
    vec![
        name,
        format!("{ready}/{total}").into(),
        status.into(),
        restarts.to_string().into(),
        age,
        or_none("/status/podIP"),
        or_none("/spec/nodeName"),
        "<none>".into(),
        "<none>".into(),
    ]
}
