//! Whether an object does what it is there for, and if not, why not. Pure.
//!
//! The kinds that Kubernetes brings are read as its own tools read them; of every other kind its conditions are believed.

use serde_json::Value;

use super::object::{is_leaving, list, text};

/// Whether an object is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It is.
    Ready,
    /// Not yet, for this reason.
    Not(String),
    /// It never will be, for this reason.
    Never(String),
}

fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn find<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").iter().find(|condition| text(condition, "/type").eq_ignore_ascii_case(kind))
}

/// A condition with its reason and message, as far as it has them.
fn told(condition: &Value) -> String {
    let (kind, status) = (text(condition, "/type"), text(condition, "/status"));
    let words: Vec<&str> = [text(condition, "/reason"), text(condition, "/message")].into_iter().filter(|word| !word.is_empty()).collect();
    let state = format!("{kind} is {}", if status.is_empty() { "Unknown" } else { status });
    if words.is_empty() { state } else { format!("{state} ({})", words.join(": ")) }
}

/// Whether its controller has seen the last change; else what it says is about an older one.
fn is_seen(object: &Value) -> bool {
    let seen = object.pointer("/status/observedGeneration").and_then(Value::as_i64);
    seen.is_none_or(|seen| seen >= number(object, "/metadata/generation"))
}

fn unseen() -> Readiness {
    Readiness::Not("its controller has not seen the last change yet".to_owned())
}

/// Whether a condition is true. Kinds that have no such condition are judged by what they are there for.
pub fn condition(object: &Value, wanted: &str) -> Readiness {
    if is_leaving(object) {
        return Readiness::Not("it is being deleted".to_owned());
    }
    if let Readiness::Never(why) = readiness(object) {
        return Readiness::Never(why);
    }
    match find(object, wanted) {
        Some(_) if !is_seen(object) => unseen(),
        Some(condition) if text(condition, "/status") == "True" => Readiness::Ready,
        Some(condition) => Readiness::Not(told(condition)),
        None if has_no_conditions(object) => readiness(object),
        None => Readiness::Not(format!("it has no condition {wanted} yet{}", others(object))),
    }
}

/// Conditions that it has in the place of the one that was asked for.
fn others(object: &Value) -> String {
    let all: Vec<String> = list(object, "/status/conditions").iter().map(told).collect();
    if all.is_empty() { String::new() } else { format!("; {}", all.join("; ")) }
}

/// Kinds that say with numbers or a phase what others say with conditions.
fn has_no_conditions(object: &Value) -> bool {
    matches!(text(object, "/kind"), "DaemonSet" | "StatefulSet" | "ReplicaSet" | "Namespace" | "PersistentVolumeClaim" | "Service" | "Job")
}

/// Whether an object is what it was applied for.
pub fn readiness(object: &Value) -> Readiness {
    if is_leaving(object) {
        return Readiness::Not("it is being deleted".to_owned());
    }
    if !is_seen(object) {
        return unseen();
    }
    match (super::object::group(text(object, "/apiVersion")), text(object, "/kind")) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("apps", "ReplicaSet") => count("available", number(object, "/status/availableReplicas"), replicas(object)),
        ("batch", "Job") => job(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("apiregistration.k8s.io", "APIService") => must(object, "Available"),
        ("", "Namespace") => phase(object, "Active"),
        ("", "PersistentVolumeClaim") => phase(object, "Bound"),
        ("", "Pod") if text(object, "/status/phase") == "Succeeded" => Readiness::Ready,
        ("", "Pod") => must(object, "Ready"),
        // Somebody else's: it is ready unless it says that it is not.
        _ => find(object, "Ready").map_or(Readiness::Ready, |_| must(object, "Ready")),
    }
}

fn must(object: &Value, kind: &str) -> Readiness {
    match find(object, kind) {
        Some(condition) if text(condition, "/status") == "True" => Readiness::Ready,
        Some(condition) => Readiness::Not(told(condition)),
        None => Readiness::Not(format!("it has no condition {kind} yet")),
    }
}

fn phase(object: &Value, wanted: &str) -> Readiness {
    match text(object, "/status/phase") {
        phase if phase == wanted => Readiness::Ready,
        "" => Readiness::Not(format!("it is not {wanted} yet")),
        phase => Readiness::Not(format!("it is {phase}")),
    }
}

fn count(what: &str, have: i64, want: i64) -> Readiness {
    if have >= want { Readiness::Ready } else { Readiness::Not(format!("{have} of {want} {what}")) }
}

/// The first that is not ready.
fn each(all: impl IntoIterator<Item = Readiness>) -> Readiness {
    all.into_iter().find(|one| *one != Readiness::Ready).unwrap_or(Readiness::Ready)
}

fn replicas(object: &Value) -> i64 {
    object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

fn deployment(object: &Value) -> Readiness {
    if let Some(stuck) = find(object, "Progressing").filter(|condition| text(condition, "/reason") == "ProgressDeadlineExceeded") {
        return Readiness::Not(told(stuck));
    }
    if object.pointer("/status/observedGeneration").is_none() {
        return unseen();
    }
    let status = |field: &str| number(object, &format!("/status/{field}"));
    let (wanted, old) = (replicas(object), status("replicas") - status("updatedReplicas"));
    let left = if old > 0 { Readiness::Not(format!("{old} of an older version end first")) } else { Readiness::Ready };
    each([count("updated", status("updatedReplicas"), wanted), left, count("available", status("availableReplicas"), wanted)])
}

fn stateful_set(object: &Value) -> Readiness {
    if object.pointer("/status/observedGeneration").is_none() {
        return unseen();
    }
    let wanted = replicas(object);
    let ready = count("ready", number(object, "/status/readyReplicas"), wanted);
    let by_hand = text(object, "/spec/updateStrategy/type") == "OnDelete";
    let kept = number(object, "/spec/updateStrategy/rollingUpdate/partition");
    let updated = if by_hand || text(object, "/status/updateRevision") == text(object, "/status/currentRevision") {
        Readiness::Ready
    } else {
        count("updated", number(object, "/status/updatedReplicas"), wanted - kept)
    };
    each([ready, updated])
}

fn daemon_set(object: &Value) -> Readiness {
    if object.pointer("/status/observedGeneration").is_none() {
        return unseen();
    }
    let status = |field: &str| number(object, &format!("/status/{field}"));
    let wanted = status("desiredNumberScheduled");
    let by_hand = text(object, "/spec/updateStrategy/type") == "OnDelete";
    let updated = if by_hand { Readiness::Ready } else { count("updated", status("updatedNumberScheduled"), wanted) };
    each([count("scheduled", status("currentNumberScheduled"), wanted), updated, count("available", status("numberAvailable"), wanted)])
}

fn job(object: &Value) -> Readiness {
    let is = |kind: &str| find(object, kind).filter(|condition| text(condition, "/status") == "True");
    match (is("Failed"), is("Complete")) {
        (Some(failed), _) => Readiness::Never(told(failed)),
        (None, Some(_)) => Readiness::Ready,
        (None, None) => {
            let wanted = object.pointer("/spec/completions").and_then(Value::as_i64).unwrap_or(1);
            Readiness::Not(format!("{} of {wanted} complete", number(object, "/status/succeeded")))
        }
    }
}

fn definition(object: &Value) -> Readiness {
    match find(object, "NamesAccepted").filter(|condition| text(condition, "/status") == "False") {
        Some(taken) => Readiness::Never(told(taken)),
        None => must(object, "Established"),
    }
}

/// The pods of a workload, as a list of them is asked for. None of what has no pods.
pub fn selector(object: &Value) -> Option<String> {
    let labels = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object)?;
    let pairs: Vec<String> = labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    Some(pairs.join(",").replace('/', "%2F").replace('=', "%3D").replace(',', "%2C")).filter(|selector| !selector.is_empty())
}

/// How many reasons are told of pods at most.
const TOLD: usize = 3;

/// Why pods are not ready, each reason once.
pub fn troubles(pods: &Value) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for pod in list(pods, "/items").iter().filter(|pod| readiness(pod) != Readiness::Ready) {
        let name = text(pod, "/metadata/name");
        for why in reasons(pod) {
            // Pods of one workload differ in their names, and seldom in their trouble.
            if !all.iter().any(|known| known.ends_with(&why)) {
                all.push(format!("pod {name}: {why}"));
            }
        }
    }
    all.truncate(TOLD);
    all
}

fn reasons(pod: &Value) -> Vec<String> {
    let words = |state: &Value| match (text(state, "/reason"), text(state, "/message")) {
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut all = Vec::new();
    for container in lists.into_iter().flat_map(|pointer| list(pod, pointer)) {
        let name = text(container, "/name");
        let state = container.get("state").unwrap_or(&Value::Null);
        if let Some(waiting) = state.get("waiting").filter(|waiting| !matches!(text(waiting, "/reason"), "PodInitializing")) {
            all.push(format!("container {name} waits ({})", words(waiting)));
        } else if let Some(ended) = state.get("terminated").filter(|ended| number(ended, "/exitCode") != 0) {
            all.push(format!("container {name} ended with {} ({})", number(ended, "/exitCode"), words(ended)));
        }
    }
    let placed = find(pod, "PodScheduled").filter(|condition| text(condition, "/status") == "False");
    all.extend(placed.map(|condition| format!("it has no node ({})", words(condition))));
    all
}

#[cfg(test)]
mod tests;
