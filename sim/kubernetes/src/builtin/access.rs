//! The roles every cluster has.

use serde_json::{Value, json};

use super::make;
use crate::world::World;

const ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

fn role(name: &str, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules,
        "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}, "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}},
    })
}

fn binding(name: &str, role: &str, groups: &[&str]) -> Value {
    let subject = |group: &&str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": groups.iter().map(subject).collect::<Vec<_>>(),
    })
}

pub(super) fn place(world: &mut World) {
    let read = ["get", "list", "watch"];
    let write = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let everyday = json!([
        "bindings",
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "persistentvolumeclaims",
        "pods",
        "pods/log",
        "pods/status",
        "replicationcontrollers",
        "replicationcontrollers/scale",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "namespaces",
    ]);
    let groups = json!(["apps", "autoscaling", "batch", "policy", "networking.k8s.io", "discovery.k8s.io"]);
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]);
    let paths = ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"];
    let view = json!([{"apiGroups": [""], "resources": everyday, "verbs": read}, {"apiGroups": groups, "resources": ["*"], "verbs": read}]);
    let edit = json!([
        {"apiGroups": [""], "resources": everyday, "verbs": write}, {"apiGroups": [""], "resources": ["secrets", "pods/eviction", "pods/exec", "pods/portforward"], "verbs": write},
        {"apiGroups": groups, "resources": ["*"], "verbs": write},
    ]);
    let mut admin = edit.clone();
    if let Some(rules) = admin.as_array_mut() {
        rules.push(json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": write}));
    }
    let selves = json!([
        {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], "verbs": ["create"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    ]);
    let node = json!([
        {"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods", "pods/status", "events"], "verbs": write},
        {"apiGroups": [""], "resources": ["services", "endpoints", "configmaps", "secrets", "persistentvolumes", "persistentvolumeclaims"], "verbs": read},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": write},
    ]);
    for (name, rules) in [
        ("cluster-admin", everything),
        ("admin", admin),
        ("edit", edit),
        ("view", view),
        ("system:discovery", json!([{"nonResourceURLs": paths, "verbs": ["get"]}])),
        (
            "system:public-info-viewer",
            json!([{"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"]}]),
        ),
        ("system:basic-user", selves),
        ("system:node", node),
    ] {
        make(world, ROLES, role(name, &rules));
    }
    make(world, BINDINGS, binding("cluster-admin", "cluster-admin", &["system:masters"]));
    make(world, BINDINGS, binding("system:discovery", "system:discovery", &["system:authenticated"]));
    make(world, BINDINGS, binding("system:basic-user", "system:basic-user", &["system:authenticated"]));
    make(
        world,
        BINDINGS,
        binding("system:public-info-viewer", "system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
    );
    make(world, BINDINGS, binding("system-nodes", "system:node", &["system:nodes"]));
}
