//! Objects as real clusters have them.

use serde_json::json;

use super::*;

fn not(why: &str) -> Readiness {
    Readiness::Not(why.to_owned())
}

fn workload(kind: &str, spec: Value, status: Value) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x", "generation": 2}});
    (object["spec"], object["status"]) = (spec, status);
    object
}

#[test]
fn a_deployment_is_ready_when_its_last_version_is() {
    let of = |status| readiness(&workload("Deployment", json!({"replicas": 2}), status));
    assert_eq!(of(json!({})), unseen());
    assert_eq!(of(json!({"observedGeneration": 1})), unseen());
    assert_eq!(of(json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 1})), not("1 of 2 updated"));
    assert_eq!(of(json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2})), not("1 of an older version end first"));
    assert_eq!(of(json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1})), not("1 of 2 available"));
    assert_eq!(of(json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2})), Readiness::Ready);
    let stuck = json!({"observedGeneration": 2, "conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "it has timed out"}]});
    assert_eq!(of(stuck), not("Progressing is False (ProgressDeadlineExceeded: it has timed out)"));
}

#[test]
fn sets_are_ready_by_their_numbers() {
    let daemon = |status| readiness(&workload("DaemonSet", json!({}), status));
    assert_eq!(daemon(json!({})), unseen());
    let few = json!({"observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1});
    assert_eq!(daemon(few), not("1 of 2 available"));
    let all = json!({"observedGeneration": 2, "desiredNumberScheduled": 0, "currentNumberScheduled": 0});
    assert_eq!(daemon(all), Readiness::Ready, "no node is for it");
    let stateful = |spec, status| readiness(&workload("StatefulSet", spec, status));
    let half = json!({"observedGeneration": 2, "readyReplicas": 2, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"});
    assert_eq!(stateful(json!({"replicas": 2}), half.clone()), not("1 of 2 updated"));
    let partition = json!({"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}});
    assert_eq!(stateful(partition, half.clone()), Readiness::Ready);
    assert_eq!(stateful(json!({"replicas": 2, "updateStrategy": {"type": "OnDelete"}}), half), Readiness::Ready);
}

#[test]
fn jobs_definitions_and_namespaces() {
    let job = |conditions| readiness(&json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": conditions}}));
    assert_eq!(job(json!([])), not("0 of 1 complete"));
    assert_eq!(job(json!([{"type": "Complete", "status": "True"}])), Readiness::Ready);
    let failed = json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]);
    assert_eq!(job(failed), Readiness::Never("Failed is True (BackoffLimitExceeded)".to_owned()));
    let crd = |conditions| {
        readiness(
            &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": conditions}}),
        )
    };
    assert_eq!(crd(json!([])), not("it has no condition Established yet"));
    assert_eq!(crd(json!([{"type": "Established", "status": "True"}])), Readiness::Ready);
    let taken = json!([{"type": "NamesAccepted", "status": "False", "reason": "ListKindConflict"}]);
    assert_eq!(crd(taken), Readiness::Never("NamesAccepted is False (ListKindConflict)".to_owned()));
    let namespace = |phase: &str| readiness(&json!({"apiVersion": "v1", "kind": "Namespace", "status": {"phase": phase}}));
    assert_eq!((namespace("Active"), namespace("Terminating")), (Readiness::Ready, not("it is Terminating")));
    let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "status": {"conditions": [
        {"type": "Available", "status": "False", "reason": "MissingEndpoints"}]}});
    assert_eq!(readiness(&service), not("Available is False (MissingEndpoints)"));
}

#[test]
fn a_condition_counts_only_for_what_was_seen() {
    let of = |seen: i64, status: &str| {
        condition(
            &workload(
                "Deployment",
                json!({}),
                json!({"observedGeneration": seen, "conditions": [{"type": "Available", "status": status}]}),
            ),
            "available",
        )
    };
    assert_eq!((of(2, "True"), of(1, "True"), of(2, "False")), (Readiness::Ready, unseen(), not("Available is False")));
    let other = json!({"apiVersion": "example.com/v1", "kind": "Thing", "status": {"conditions": [{"type": "Synced", "status": "False", "message": "no"}]}});
    assert_eq!(condition(&other, "Ready"), not("it has no condition Ready yet; Synced is False (no)"));
    assert_eq!(readiness(&other), Readiness::Ready, "it does not say that it is not");
    // Kinds without conditions are judged by their numbers, whatever the condition is called.
    let all = json!({"observedGeneration": 2, "desiredNumberScheduled": 1});
    assert_eq!(condition(&workload("DaemonSet", json!({}), all), "Ready"), not("0 of 1 scheduled"));
}

#[test]
fn pods_say_what_keeps_a_workload() {
    let selects = json!({"spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "x", "b": "c"}}}});
    assert_eq!(selector(&selects).as_deref(), Some("app.kubernetes.io%2Fname%3Dx%2Cb%3Dc"));
    assert_eq!(selector(&json!({"spec": {"selector": {"app": "x"}}})), None);
    let pod = |name: &str, status: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": status});
    let waits =
        json!({"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]});
    let ended = json!({"initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]});
    let nowhere = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}]});
    let fine = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let pods = json!({"items": [pod("a", waits.clone()), pod("b", waits), pod("c", ended), pod("d", nowhere), pod("e", fine)]});
    let told = [
        "pod a: container c waits (ImagePullBackOff: no such image)",
        "pod c: container i ended with 3 (Error)",
        "pod d: it has no node (Unschedulable: 0/2 nodes)",
    ];
    assert_eq!(troubles(&pods), told);
}
