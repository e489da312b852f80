//! metrics-server, with kubelets that prove who they are.

use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Source, Wish};
use crate::manifest::{Freedom, deployment, document, namespace, stage, wait};
use crate::site::{Machine, Site};
use crate::values::is_on;

const NAME: &str = "metrics-server";
const NAMESPACE: &str = "kube-system";
const CHART: Source = Source { reference: "https://kubernetes-sigs.github.io/metrics-server/metrics-server", version: "3.13.1" };

const APPROVER: &str = "kubelet-serving-cert-approver";
const APPROVER_IMAGE: &str = "ghcr.io/alex1989hu/kubelet-serving-cert-approver:0.11.0";

pub struct MetricsServer;

impl Builtin for MetricsServer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn chart(&self, _: &Site) -> Option<Source> {
        Some(CHART)
    }

    /// A kubelet asks the cluster's authority for the certificate that it serves with, instead of signing one itself.
    fn contribute(&self, _: &Asked<'_>, _: &Machine) -> Wish {
        Wish::patch("metrics-server", json!({"machine": {"kubelet": {"extraArgs": {"rotate-server-certificates": "true"}}}}))
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let mut approver = stage(APPROVER);
        approver.manifests = objects().iter().map(document).collect();
        approver.waits.push(deployment(APPROVER, APPROVER));

        let mut server = stage(NAME);
        let values = asked.values(json!({"apiService": {"create": true}}));
        server.charts.push(asked.chart(CHART, NAME, NAMESPACE, &values));
        server.waits.push(deployment(NAMESPACE, NAME));
        if is_on(&values, "/apiService/create") {
            server.waits.push(wait("apiregistration.k8s.io/v1", "APIService", None, "v1beta1.metrics.k8s.io", "Available"));
        }
        vec![approver, server]
    }
}

/// Who looks at the requests of kubelets and approves those that are about themselves.
fn objects() -> Vec<Value> {
    let labels = json!({"app.kubernetes.io/name": APPROVER});
    let rbac = "rbac.authorization.k8s.io";
    let account = json!([{"kind": "ServiceAccount", "name": APPROVER, "namespace": APPROVER}]);
    let role = json!({"apiGroup": rbac, "kind": "ClusterRole", "name": APPROVER});
    vec![
        namespace(APPROVER, Freedom::Restricted),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": APPROVER, "namespace": APPROVER}}),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRole",
            "metadata": {"name": APPROVER},
            "rules": [
                {
                    "apiGroups": ["certificates.k8s.io"],
                    "resources": ["certificatesigningrequests"],
                    "verbs": ["get", "list", "watch"],
                },
                {
                    "apiGroups": ["certificates.k8s.io"],
                    "resources": ["certificatesigningrequests/approval"],
                    "verbs": ["update"],
                },
                {
                    "apiGroups": ["certificates.k8s.io"],
                    "resources": ["signers"],
                    "resourceNames": ["kubernetes.io/kubelet-serving"],
                    "verbs": ["approve"],
                },
                {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
                {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": {"name": APPROVER},
            "roleRef": role,
            "subjects": account,
        }),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": APPROVER, "namespace": APPROVER, "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod()},
            },
        }),
    ]
}

fn pod() -> Value {
    let probe = |path: &str, delay: u8| json!({"httpGet": {"path": path, "port": "health"}, "initialDelaySeconds": delay});
    json!({
        "serviceAccountName": APPROVER,
        "priorityClassName": "system-cluster-critical",
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65534,
            "runAsGroup": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [{"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
        "containers": [{
            "name": "approver",
            "image": APPROVER_IMAGE,
            "args": ["serve"],
            "env": [{"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
            "ports": [{"name": "health", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
            "livenessProbe": probe("/healthz", 6),
            "readinessProbe": probe("/readyz", 3),
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
        }],
    })
}
