//! kube-vip: one of the control planes holds the shared address of the API.

use emhost_sdk::addon::Stage;
use emhost_sdk::{Diagnostic, Failure};
use serde_json::{Value, json};

use super::{Asked, Builtin, Turn};
use crate::manifest::{daemon_set, document, stage};

const NAME: &str = "kube-vip";
const NAMESPACE: &str = "kube-system";
const VERSION: &str = "v1.2.3";

pub struct KubeVip;

impl Builtin for KubeVip {
    fn name(&self) -> &'static str {
        NAME
    }

    fn turn(&self) -> Turn {
        Turn::Address
    }

    fn check(&self, asked: &Asked<'_>) -> Result<(), Failure> {
        let site = asked.site;
        if site.vip.is_none() || !site.by_kube_vip {
            let summary = "kube-vip has no address to hold: `network.vip` has to be there, with `vip_by: kube-vip`".to_owned();
            let help = "write `network: {vip: ADDRESS, vip_by: kube-vip}` in cluster.yaml, or remove kube-vip from `addons`";
            return Err(asked.refused("addons/vip", summary).help(help));
        }
        if on_tailnet(asked) && !site.tailnet {
            let summary = "kube-vip is to hold the shared address on the interface of a tailnet, and no node joins one".to_owned();
            let help = "add `tailscale:` to cluster.yaml, or choose another `interface` in the settings of kube-vip";
            return Err(asked.refused("addons/vip", summary).help(help));
        }
        Ok(())
    }

    fn remark(&self, asked: &Asked<'_>) -> Option<Diagnostic> {
        on_tailnet(asked).then(|| {
            Diagnostic::warning("addons/vip-tailnet", "a tailnet leads to the shared address only if it is told to")
                .detail("There is no ARP on its interface: kube-vip puts the address on the control plane that leads, and the others of the tailnet go where its routes lead.")
                .help("advertise the address as a route of the control planes, and approve it at the tailnet's server; certificates are for the address already")
        })
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let mut stage = stage(NAME);
        stage.manifests = objects(asked).iter().map(document).collect();
        stage.waits.push(daemon_set(NAMESPACE, NAME));
        vec![stage]
    }
}

fn on_tailnet(asked: &Asked<'_>) -> bool {
    asked.settings.kube_vip.interface.as_deref().is_some_and(|interface| interface.starts_with("tailscale"))
}

fn objects(asked: &Asked<'_>) -> Vec<Value> {
    let subject = json!([{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}]);
    let rbac = "rbac.authorization.k8s.io";
    let bound = |kind: &str| json!({"apiGroup": rbac, "kind": kind, "name": NAME});
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": NAMESPACE}}),
        // Only what holding one address takes: who leads, and the node that it runs on.
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "Role",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "rules": [{
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "verbs": ["create", "get", "list", "patch", "update", "watch"],
            }],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "RoleBinding",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "roleRef": bound("Role"),
            "subjects": subject,
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRole",
            "metadata": {"name": NAME},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME},
            "roleRef": bound("ClusterRole"),
            "subjects": subject,
        }),
        workload(asked),
    ]
}

fn workload(asked: &Asked<'_>) -> Value {
    let labels = json!({"app.kubernetes.io/name": NAME});
    let control_planes = json!({"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]},
    ]});
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": NAME,
                    "priorityClassName": "system-node-critical",
                    "hostNetwork": true,
                    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": control_planes}},
                    "tolerations": [
                        {"effect": "NoSchedule", "operator": "Exists"},
                        {"effect": "NoExecute", "operator": "Exists"},
                    ],
                    "containers": [{
                        "name": NAME,
                        "image": format!("ghcr.io/kube-vip/kube-vip:{}", asked.version(VERSION)),
                        "args": ["manager"],
                        "env": environment(asked),
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]},
                        },
                    }],
                },
            },
        },
    })
}

fn environment(asked: &Asked<'_>) -> Vec<Value> {
    let mut all = vec![json!({"name": "vip_nodename", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})];
    let address = asked.site.vip.as_deref().unwrap_or_default();
    let words = [
        ("address", address),
        ("port", "6443"),
        ("vip_subnet", "32"),
        ("vip_arp", "true"),
        ("bgp_enable", "false"),
        ("cp_enable", "true"),
        ("cp_namespace", NAMESPACE),
        ("svc_enable", "false"),
        ("vip_leaderelection", "true"),
        ("vip_leasename", "plndr-cp-lock"),
        // The service's address may not be there yet, and the shared one is what it is all about; KubePrism is on every node.
        ("KUBERNETES_SERVICE_HOST", "localhost"),
        ("KUBERNETES_SERVICE_PORT", "7445"),
    ];
    let interface = asked.settings.kube_vip.interface.as_deref().map(|interface| ("vip_interface", interface));
    all.extend(words.into_iter().chain(interface).map(|(name, value)| json!({"name": name, "value": value})));
    all
}
