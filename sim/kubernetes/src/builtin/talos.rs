//! What Talos puts into a cluster at bootstrap: flannel, kube-proxy and `CoreDNS`, under the names its own checks look for.

use serde_json::{Value, json};

use crate::cluster::Settings;
use crate::report::Builtin;

pub(super) fn objects(builtin: &Builtin, settings: &Settings) -> Vec<Value> {
    let mut objects = Vec::new();
    if builtin.flannel {
        objects.extend(flannel(settings));
    }
    if let Some(image) = &builtin.kube_proxy {
        objects.extend(kube_proxy(image));
    }
    if builtin.coredns {
        objects.extend(coredns(settings));
    }
    objects
}

fn account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "kube-system", "labels": {"k8s-app": name}}})
}

fn granted(name: &str, role: &str, account: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}],
    })
}

fn everywhere() -> Value {
    json!([{"effect": "NoSchedule", "operator": "Exists"}, {"effect": "NoExecute", "operator": "Exists"}])
}

fn flannel(settings: &Settings) -> Vec<Value> {
    let labels = json!({"k8s-app": "flannel", "tier": "node"});
    let network = json!({"Network": settings.pod_cidrs.first(), "Backend": {"Type": "vxlan", "Port": 4789}}).to_string();
    let plugins = json!({"name": "cbr0", "cniVersion": "1.0.0", "plugins": [{"type": "flannel"}, {"type": "portmap"}]}).to_string();
    let image = "ghcr.io/siderolabs/flannel:v0.27.4";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "flannel", "labels": {"k8s-app": "flannel"}},
        "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
        ],
    });
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-flannel-cfg", "namespace": "kube-system", "labels": labels},
        "data": {"cni-conf.json": plugins, "net-conf.json": network},
    });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-flannel", "namespace": "kube-system", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "hostNetwork": true, "priorityClassName": "system-node-critical", "serviceAccountName": "flannel", "tolerations": everywhere(),
                    "containers": [{
                        "name": "kube-flannel", "image": image, "command": ["/opt/bin/flanneld"], "args": ["--ip-masq", "--kube-subnet-mgr"],
                        "volumeMounts": [{"name": "run", "mountPath": "/run/flannel"}, {"name": "flannel-cfg", "mountPath": "/etc/kube-flannel/"}],
                    }],
                    "initContainers": [{
                        "name": "install-config", "image": image, "command": ["cp"], "args": ["-f", "/etc/kube-flannel/cni-conf.json", "/etc/cni/net.d/10-flannel.conflist"],
                        "volumeMounts": [{"name": "cni", "mountPath": "/etc/cni/net.d"}, {"name": "flannel-cfg", "mountPath": "/etc/kube-flannel/"}],
                    }],
                    "volumes": [
                        {"name": "run", "hostPath": {"path": "/run/flannel"}}, {"name": "cni-plugin", "hostPath": {"path": "/opt/cni/bin"}},
                        {"name": "cni", "hostPath": {"path": "/etc/cni/net.d"}}, {"name": "flannel-cfg", "configMap": {"name": "kube-flannel-cfg"}},
                    ],
                },
            },
        },
    });
    vec![account("flannel"), role, granted("flannel", "flannel", "flannel"), config, set]
}

fn kube_proxy(image: &str) -> Vec<Value> {
    let labels = json!({"k8s-app": "kube-proxy", "tier": "node"});
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeconfig-in-cluster", "namespace": "kube-system"},
        "data": {"kubeconfig": "apiVersion: v1\nkind: Config\n"},
    });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-proxy", "namespace": "kube-system", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "hostNetwork": true, "priorityClassName": "system-cluster-critical", "serviceAccountName": "kube-proxy", "tolerations": everywhere(),
                    "containers": [{
                        "name": "kube-proxy", "image": image, "command": ["/usr/local/bin/kube-proxy", "--proxy-mode=nftables"],
                        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}], "securityContext": {"privileged": true},
                        "volumeMounts": [{"name": "kubeconfig", "mountPath": "/etc/kubernetes", "readOnly": true}],
                    }],
                    "volumes": [{"name": "kubeconfig", "configMap": {"name": "kubeconfig-in-cluster"}}],
                },
            },
        },
    });
    vec![account("kube-proxy"), granted("system:kube-proxy", "system:node-proxier", "kube-proxy"), config, set]
}

fn coredns(settings: &Settings) -> Vec<Value> {
    let labels = json!({"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"});
    let (start, _) = crate::rules::defaults::network(settings.service_cidrs.first().map_or("10.96.0.0/12", String::as_str));
    let address = std::net::Ipv4Addr::from(u32::from(start) + 10).to_string();
    let corefile = format!(
        ".:53 {{\n    errors\n    health\n    ready\n    kubernetes {} in-addr.arpa ip6.arpa\n    forward . /etc/resolv.conf\n    cache 30\n    reload\n}}\n",
        settings.dns_domain
    );
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:coredns"},
        "rules": [
            {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces", "nodes"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
        ],
    });
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"}, "data": {"Corefile": corefile}});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "coredns", "namespace": "kube-system", "labels": labels},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"k8s-app": "kube-dns"}}, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"k8s-app": "kube-dns"}},
                "spec": {
                    "serviceAccountName": "coredns", "priorityClassName": "system-cluster-critical", "dnsPolicy": "Default",
                    "tolerations": [
                        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
                    ],
                    "containers": [{
                        "name": "coredns", "image": "registry.k8s.io/coredns/coredns:v1.12.4", "args": ["-conf", "/etc/coredns/Corefile"],
                        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
                        "ports": [{"name": "dns", "containerPort": 53, "protocol": "UDP"}, {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"}, {"name": "metrics", "containerPort": 9153, "protocol": "TCP"}],
                        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": true}],
                    }],
                    "volumes": [{"name": "config-volume", "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}],
                },
            },
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system", "labels": {"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}},
        "spec": {
            "selector": {"k8s-app": "kube-dns"}, "clusterIP": address,
            "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}, {"name": "metrics", "port": 9153, "protocol": "TCP"}],
        },
    });
    vec![account("coredns"), role, granted("system:coredns", "system:coredns", "coredns"), config, deployment, service]
}
