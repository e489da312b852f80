//! A storage class whose volumes are folders of the node that a pod runs on: the local path provisioner.

use emhost_sdk::Failure;
use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Wish};
use crate::manifest::{Freedom, deployment, document, namespace, stage};
use crate::site::Machine;

const NAME: &str = "local-path";
const PROVISIONER: &str = "local-path-provisioner";
const NAMESPACE: &str = "local-path-storage";
const VERSION: &str = "v0.0.37";

/// Where Talos mounts the user volume of that name, and where the folder is without one.
const FOLDER: &str = "/var/mnt/local-path-provisioner";

pub struct LocalPath;

impl Builtin for LocalPath {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self, asked: &Asked<'_>) -> Result<(), Failure> {
        if !asked.settings.local_path.data_disk {
            return Ok(());
        }
        if asked.site.talos < 10 {
            let summary = "volumes on a disk of their own need Talos 1.10 or later".to_owned();
            return Err(asked.refused("addons/local-path", summary).help("raise `talos_version`, or leave `data_disk` out"));
        }
        if !asked.site.machines.iter().any(|machine| machine.data_disk) {
            let summary = "volumes are to be on a disk of their own, and no node has one".to_owned();
            return Err(asked.refused("addons/local-path", summary).help("add `disks: [{size: 100G}]` to nodes, or leave `data_disk` out"));
        }
        Ok(())
    }

    /// A folder that survives restarts and upgrades, and that the kubelet sees.
    fn contribute(&self, asked: &Asked<'_>, machine: &Machine) -> Wish {
        let volume = |rest: Value| {
            let mut volume = json!({"apiVersion": "v1alpha1", "kind": "UserVolumeConfig", "name": PROVISIONER});
            if let (Value::Object(volume), Value::Object(rest)) = (&mut volume, rest) {
                volume.extend(rest);
            }
            Wish::patch(NAME, volume)
        };
        if asked.settings.local_path.data_disk && machine.data_disk {
            return volume(json!({"provisioning": {"diskSelector": {"match": "!system_disk"}, "minSize": "1GiB", "grow": true}}));
        }
        if asked.site.talos >= 12 {
            return volume(json!({"volumeType": "directory"}));
        }
        let mount = json!({"destination": FOLDER, "type": "bind", "source": FOLDER, "options": ["bind", "rshared", "rw"]});
        Wish::patch(NAME, json!({"machine": {"kubelet": {"extraMounts": [mount]}}}))
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let mut stage = stage(NAME);
        stage.manifests = objects(asked).iter().map(document).collect();
        stage.waits.push(deployment(NAMESPACE, PROVISIONER));
        vec![stage]
    }
}

fn objects(asked: &Asked<'_>) -> Vec<Value> {
    let rbac = "rbac.authorization.k8s.io";
    let bound = |kind: &str| json!({"apiGroup": rbac, "kind": kind, "name": PROVISIONER});
    let account = json!([{"kind": "ServiceAccount", "name": PROVISIONER, "namespace": NAMESPACE}]);
    let reads = ["get", "list", "watch"];
    let writes = ["get", "list", "watch", "create", "patch", "update", "delete"];
    let named = || json!({"name": PROVISIONER, "namespace": NAMESPACE});
    let is_default = asked.settings.local_path.default_class.to_string();
    vec![
        // Its helpers mount folders of the node.
        namespace(NAMESPACE, Freedom::Privileged),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named()}),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "Role",
            "metadata": named(),
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": writes}],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "RoleBinding",
            "metadata": named(),
            "roleRef": bound("Role"),
            "subjects": account,
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRole",
            "metadata": {"name": PROVISIONER},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["nodes", "persistentvolumeclaims", "configmaps", "pods", "pods/log"],
                    "verbs": reads,
                },
                {"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": writes},
                {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
                {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": reads},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": {"name": PROVISIONER},
            "roleRef": bound("ClusterRole"),
            "subjects": account,
        }),
        configuration(&asked.settings.local_path.helper_image),
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": NAME, "annotations": {"storageclass.kubernetes.io/is-default-class": is_default}},
            "provisioner": "rancher.io/local-path",
            "volumeBindingMode": "WaitForFirstConsumer",
            "reclaimPolicy": "Delete",
        }),
        workload(asked.version(VERSION)),
    ]
}

/// The provisioner reads these texts by name.
fn configuration(helper: &str) -> Value {
    let paths = json!({"nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [FOLDER]}]});
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper-pod"},
        "spec": {
            "priorityClassName": "system-node-critical",
            "tolerations": [{"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [{"name": "helper-pod", "image": helper, "imagePullPolicy": "IfNotPresent"}],
        },
    });
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "local-path-config", "namespace": NAMESPACE},
        "data": {
            "config.json": paths.to_string(),
            "setup": "#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n",
            "teardown": "#!/bin/sh\nset -eu\nrm -rf \"$VOL_DIR\"\n",
            "helperPod.yaml": pod.to_string(),
        },
    })
}

fn workload(version: &str) -> Value {
    let labels = json!({"app.kubernetes.io/name": PROVISIONER});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": PROVISIONER, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": PROVISIONER,
                    "containers": [{
                        "name": PROVISIONER,
                        "image": format!("docker.io/rancher/local-path-provisioner:{version}"),
                        "command": ["local-path-provisioner", "start", "--config", "/etc/config/config.json"],
                        "env": [
                            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                            {"name": "CONFIG_MOUNT_PATH", "value": "/etc/config/"},
                        ],
                        "volumeMounts": [{"name": "config", "mountPath": "/etc/config/"}],
                    }],
                    "volumes": [{"name": "config", "configMap": {"name": "local-path-config"}}],
                },
            },
        },
    })
}
