//! Which pods have to leave a node before it goes. Pure.
//!
//! As `kubectl drain` does it: pods of daemon sets and static ones stay, everything else is evicted, and budgets are kept.

use serde_json::{Value, json};

use super::client::{ApiError, Refused};

/// A node, as the API has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Proves it: another node of the name has another one.
    pub uid: String,
    /// Whether no pod is put on it any more.
    pub unschedulable: bool,
    /// Whether it answers to the control plane.
    pub ready: bool,
}

impl Node {
    /// Reads one.
    pub fn of(value: &Value) -> Self {
        let conditions = value.pointer("/status/conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Self {
            ready: conditions.iter().any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True"),
            uid: text(value, "/metadata/uid").to_owned(),
            unschedulable: value.pointer("/spec/unschedulable").and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

/// A pod that has to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Proves it.
    pub uid: String,
    /// Whether it is on its way out.
    pub leaving: bool,
    /// Whether somebody makes another one in its place.
    pub replaced: bool,
}

impl Pod {
    /// How people call it.
    pub fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Where its eviction is asked for.
    pub fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}/eviction", self.namespace, self.name)
    }

    /// What is asked. The pod that was seen, and no other of the name.
    pub fn eviction(&self) -> Value {
        json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": self.name, "namespace": self.namespace},
            "deleteOptions": {"preconditions": {"uid": self.uid}},
        })
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The pods of a list that have to leave, in an order that is always the same.
pub fn leaving(list: &Value) -> Vec<Pod> {
    let items = list.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut pods: Vec<Pod> = items.iter().filter_map(pod).collect();
    pods.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    pods
}

fn pod(value: &Value) -> Option<Pod> {
    let owners = value.pointer("/metadata/ownerReferences").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let controller = owners.iter().find(|owner| owner.get("controller").and_then(Value::as_bool).unwrap_or(false));
    let of_daemon_set = controller.is_some_and(|owner| owner.get("kind").and_then(Value::as_str) == Some("DaemonSet"));
    let is_static = value.pointer("/metadata/annotations").is_some_and(|all| all.get("kubernetes.io/config.mirror").is_some());
    let ended = matches!(text(value, "/status/phase"), "Succeeded" | "Failed");
    (!of_daemon_set && !is_static && !ended).then(|| Pod {
        namespace: text(value, "/metadata/namespace").to_owned(),
        name: text(value, "/metadata/name").to_owned(),
        uid: text(value, "/metadata/uid").to_owned(),
        leaving: value.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()),
        replaced: controller.is_some(),
    })
}

/// What becomes of an eviction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evicted {
    /// It is on its way out, or gone.
    Goes,
    /// Not now, for this reason.
    Held(String),
}

/// What the answer to an eviction means.
///
/// # Errors
/// An answer that is none.
pub fn evicted(pod: &Pod, answer: Result<Value, ApiError>) -> Result<Evicted, ApiError> {
    match answer {
        Ok(_) => Ok(Evicted::Goes),
        Err(ApiError::Refused { refused, .. }) if matches!(refused.code, 404 | 409) => Ok(Evicted::Goes),
        Err(ApiError::Refused { refused, .. }) if refused.code == 429 => Ok(Evicted::Held(held(pod, &refused))),
        // A pod that two budgets are for can never be evicted.
        Err(ApiError::Refused { refused, .. }) if refused.code == 500 && refused.message.contains("PodDisruptionBudget") => {
            Ok(Evicted::Held(format!("pod {} does not go: {}", pod.title(), refused.message)))
        }
        Err(error) => Err(error),
    }
}

/// Which budget keeps a pod, in the words of the server: it names it.
fn held(pod: &Pod, refused: &Refused) -> String {
    let budget = refused.details.causes.iter().find(|cause| cause.reason == "DisruptionBudget").map(|cause| cause.message.as_str());
    match budget.filter(|message| !message.is_empty()) {
        Some(message) => {
            let (first, rest) = message.split_at(message.chars().next().map_or(0, char::len_utf8));
            format!("pod {} stays for now: {}{rest}", pod.title(), first.to_lowercase())
        }
        None => format!("pod {} stays for now: {}", pod.title(), refused.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::client::{CauseOf, Details};

    fn list() -> Value {
        let owned = |kind: &str| json!([{"kind": kind, "name": "x", "controller": true}]);
        json!({"items": [
            {"metadata": {"namespace": "b", "name": "web-1", "uid": "1", "ownerReferences": owned("ReplicaSet")}, "status": {"phase": "Running"}},
            {"metadata": {"namespace": "a", "name": "bare", "uid": "2"}, "status": {"phase": "Pending"}},
            {"metadata": {"namespace": "kube-system", "name": "proxy", "uid": "3", "ownerReferences": owned("DaemonSet")}},
            {"metadata": {"namespace": "kube-system", "name": "api", "uid": "4", "annotations": {"kubernetes.io/config.mirror": "x"},
                "ownerReferences": [{"kind": "Node", "controller": true}]}},
            {"metadata": {"namespace": "a", "name": "job", "uid": "5", "ownerReferences": owned("Job")}, "status": {"phase": "Succeeded"}},
            {"metadata": {"namespace": "b", "name": "old", "uid": "6", "deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": owned("ReplicaSet")}},
        ]})
    }

    #[test]
    fn daemon_sets_static_pods_and_finished_ones_stay() {
        let pods = leaving(&list());
        let told: Vec<(String, bool, bool)> = pods.iter().map(|pod| (pod.title(), pod.leaving, pod.replaced)).collect();
        assert_eq!(told, [("a/bare".to_owned(), false, false), ("b/old".to_owned(), true, true), ("b/web-1".to_owned(), false, true)]);
        assert_eq!(pods[0].path(), "/api/v1/namespaces/a/pods/bare/eviction");
        assert_eq!(pods[0].eviction()["deleteOptions"]["preconditions"]["uid"], "2");
    }

    #[test]
    fn the_budget_that_holds_a_pod_is_named() {
        let pod = leaving(&list()).remove(0);
        let refused = |code, refused: Refused| {
            Err(ApiError::Refused { request: String::new(), server: String::new(), refused: Box::new(Refused { code, ..refused }) })
        };
        let cause = CauseOf {
            reason: "DisruptionBudget".to_owned(),
            message: "The disruption budget web needs 2 healthy pods and has 2 currently".to_owned(),
            field: String::new(),
        };
        let held = Refused { details: Details { causes: vec![cause], ..Details::default() }, ..Refused::default() };
        let Ok(Evicted::Held(why)) = evicted(&pod, refused(429, held)) else { panic!("it is held") };
        assert_eq!(why, "pod a/bare stays for now: the disruption budget web needs 2 healthy pods and has 2 currently");
        assert_eq!(evicted(&pod, refused(404, Refused::default())), Ok(Evicted::Goes));
        assert!(evicted(&pod, refused(403, Refused::default())).is_err());
    }
}
