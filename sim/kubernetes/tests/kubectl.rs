//! Real kubectl against the small API: what people do every day.
#![allow(missing_docs)]

mod common;

use common::{Site, builtin, nodes};

macro_rules! site {
    () => {{
        if common::kubectl().is_none() {
            return;
        }
        let site = Site::start().await;
        site.cluster.set_nodes(nodes());
        site.cluster.set_builtin(builtin(&site.authority));
        site
    }};
}

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: nginx
        image: nginx:1.27
        ports: [{containerPort: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
";

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_system_pods_are_shown() {
    let site = site!();
    let wide = site.ok(&["get", "nodes", "-o", "wide"]).await;
    let lines: Vec<&str> = wide.lines().collect();
    assert!(lines[0].starts_with("NAME   STATUS   ROLES           AGE"), "{wide}");
    assert!(
        lines[1].contains("c1     Ready    control-plane") && lines[1].contains("10.0.10.11") && lines[1].contains("Talos (v1.11.5)"),
        "{wide}"
    );
    assert!(lines[4].contains("w1     Ready    <none>"), "{wide}");
    let pods = site.ok(&["-n", "kube-system", "get", "pods", "-o", "wide"]).await;
    assert_eq!(pods.lines().filter(|line| line.contains("1/1     Running")).count(), 9 + 5 + 5 + 2, "{pods}");
    assert!(pods.contains("kube-apiserver-c1"), "{pods}");
    let yaml = site.ok(&["get", "node", "c1", "-o", "yaml"]).await;
    assert!(yaml.contains("podCIDR: 10.244.0.0/24") && yaml.contains("node-role.kubernetes.io/control-plane: \"\""), "{yaml}");
    let version = site.ok(&["version"]).await;
    assert!(version.contains("Server Version: v1.34.1"), "{version}");
    let resources = site.ok(&["api-resources"]).await;
    assert!(
        resources.contains("deployments") && resources.contains("po ") && resources.contains("customresourcedefinitions"),
        "{resources}"
    );
    assert!(site.ok(&["cluster-info"]).await.contains("Kubernetes control plane"));
    assert_eq!(site.ok(&["get", "--raw", "/readyz"]).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_applied_changed_rolled_and_scaled() {
    let site = site!();
    let file = site.file("web.yaml", WEB);
    let applied = site.kubectl(&["apply", "-f", &file]).await;
    assert_eq!(String::from_utf8_lossy(&applied.stdout), "deployment.apps/web created\nservice/web created\n");
    let warned = String::from_utf8_lossy(&applied.stderr).into_owned();
    assert!(
        warned.starts_with(
            "Warning: would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false (container \"nginx\" must set"
        ),
        "{warned}"
    );
    assert!(site.ok(&["rollout", "status", "deployment/web"]).await.contains("successfully rolled out"));
    assert_eq!(site.ok(&["apply", "-f", &file]).await, "deployment.apps/web unchanged\nservice/web unchanged\n");
    assert_eq!(site.ok(&["diff", "-f", &file]).await, "");
    let changed = site.file("web.yaml", &WEB.replace("1.27", "1.28"));
    let diff = site.kubectl(&["diff", "-f", &changed]).await;
    assert_eq!(diff.status.code(), Some(1));
    let text = String::from_utf8_lossy(&diff.stdout).into_owned();
    assert!(text.contains("-      - image: nginx:1.27") && text.contains("+      - image: nginx:1.28"), "{text}");
    site.ok(&["apply", "-f", &changed]).await;
    site.ok(&["rollout", "status", "deployment/web"]).await;
    let images = site.ok(&["get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}"]).await;
    assert_eq!(images, "nginx:1.28 nginx:1.28 nginx:1.28");
    assert!(site.ok(&["rollout", "history", "deployment/web"]).await.contains('2'));
    site.ok(&["rollout", "undo", "deployment/web"]).await;
    assert_eq!(site.ok(&["get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}"]).await, "nginx:1.27");
    site.ok(&["scale", "deployment/web", "--replicas=5"]).await;
    site.ok(&["wait", "deployment/web", "--for=condition=Available", "--timeout=20s"]).await;
    assert_eq!(site.ok(&["get", "pods", "-l", "app=web", "--no-headers"]).await.lines().count(), 5);
    let endpoints = site
        .ok(&["get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o", "jsonpath={.items[0].endpoints[*].addresses[0]}"])
        .await;
    assert_eq!(endpoints.split(' ').count(), 5, "{endpoints}");
    site.ok(&["rollout", "restart", "deployment/web"]).await;
    site.ok(&["rollout", "status", "deployment/web"]).await;
    site.ok(&["set", "image", "deployment/web", "nginx=nginx:1.29"]).await;
    let table = site.ok(&["get", "deploy,rs,svc"]).await;
    assert!(table.contains("deployment.apps/web   5/5     5            5"), "{table}");
    let logs = site.ok(&["logs", "deployment/web"]).await;
    assert!(logs.contains("nginx: started from nginx:1.29"), "{logs}");
    let watched = site.kubectl(&["get", "events", "-w", "--request-timeout=1s"]).await;
    assert!(String::from_utf8_lossy(&watched.stdout).contains("ScalingReplicaSet"), "{watched:?}");
    site.ok(&["label", "deploy", "web", "tier=front"]).await;
    site.ok(&["annotate", "deploy", "web", "note=yes"]).await;
    assert!(site.ok(&["describe", "deploy", "web"]).await.contains("ScalingReplicaSet"));
    site.ok(&["delete", "-f", &changed]).await;
    assert_eq!(site.ok(&["get", "pods", "-l", "app=web", "-o", "name"]).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_side_apply_keeps_managers_apart() {
    let site = site!();
    let map = |value: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: shared}}\ndata: {{key: {value}}}\n");
    let one = site.file("one.yaml", &map("one"));
    let two = site.file("two.yaml", &map("two"));
    assert_eq!(site.ok(&["apply", "--server-side", "-f", &one, "--field-manager=first"]).await, "configmap/shared serverside-applied\n");
    let conflict = site.refused(&["apply", "--server-side", "-f", &two, "--field-manager=second"]).await;
    assert!(conflict.contains("Apply failed with 1 conflict: conflict with \"first\": .data.key"), "{conflict}");
    site.ok(&["apply", "--server-side", "-f", &two, "--field-manager=second", "--force-conflicts"]).await;
    assert_eq!(site.ok(&["get", "cm", "shared", "-o", "jsonpath={.data.key}"]).await, "two");
    let web = site.file("web.yaml", WEB);
    site.ok(&["apply", "-f", &web]).await;
    site.ok(&["apply", "--server-side", "-f", &web]).await;
    site.ok(&["diff", "--server-side", "-f", &web]).await;
    site.ok(&["scale", "deployment/web", "--replicas=1"]).await;
    let conflict = site.refused(&["apply", "--server-side", "-f", &web]).await;
    assert!(conflict.contains(".spec.replicas"), "{conflict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_refused_in_the_words_of_the_server() {
    let site = site!();
    let wrong = site.file("wrong.yaml", &WEB.replace("replicas: 3", "replica: 3"));
    let told = site.refused(&["apply", "-f", &wrong]).await;
    assert!(told.contains("strict decoding error: unknown field \"spec.replica\""), "{told}");
    let wrong = site.file("wrong.yaml", &WEB.replace("matchLabels: {app: web}", "matchLabels: {app: other}"));
    let told = site.refused(&["apply", "-f", &wrong]).await;
    assert!(
        told.contains("The Deployment \"web\" is invalid: spec.template.metadata.labels: Invalid value")
            && told.contains("`selector` does not match template `labels`"),
        "{told}"
    );
    let told = site.refused(&["create", "namespace", "Upper"]).await;
    assert!(told.contains("The Namespace \"Upper\" is invalid: metadata.name"), "{told}");
    let told = site.refused(&["get", "pod", "nothing"]).await;
    assert_eq!(told, "Error from server (NotFound): pods \"nothing\" not found\n");
    let told = site.refused(&["get", "nonsense"]).await;
    assert!(told.contains("the server doesn't have a resource type \"nonsense\""), "{told}");
    site.ok(&["create", "configmap", "a", "--from-literal=x=1"]).await;
    let told = site.refused(&["create", "configmap", "a", "--from-literal=x=1"]).await;
    assert!(told.contains("configmaps \"a\" already exists"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_cordoned_drained_and_back() {
    let site = site!();
    let web = site.file("web.yaml", WEB);
    site.ok(&["apply", "-f", &web]).await;
    assert_eq!(site.ok(&["cordon", "w1"]).await, "node/w1 cordoned\n");
    assert!(site.ok(&["get", "node", "w1"]).await.contains("Ready,SchedulingDisabled"));
    let drained = site.ok(&["drain", "w1", "--ignore-daemonsets", "--timeout=30s"]).await;
    assert!(drained.contains("node/w1 drained"), "{drained}");
    let places = site.ok(&["get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}"]).await;
    assert_eq!(places, "w2 w2 w2");
    site.ok(&["uncordon", "w1"]).await;
    let budget = site.file("budget.yaml", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 3, selector: {matchLabels: {app: web}}}\n");
    site.ok(&["apply", "-f", &budget]).await;
    let stuck = site.refused(&["drain", "w2", "--ignore-daemonsets", "--timeout=1s"]).await;
    assert!(stuck.contains("Cannot evict pod as it would violate the pod's disruption budget"), "{stuck}");
    site.ok(&["uncordon", "w2"]).await;
    assert_eq!(site.ok(&["taint", "node", "w1", "only=me:NoSchedule"]).await, "node/w1 tainted\n");
    assert!(site.ok(&["get", "node", "w1", "-o", "jsonpath={.spec.taints[*].key}"]).await.contains("only"));
    site.ok(&["taint", "node", "w1", "only-"]).await;
    let proxy = ["-n", "kube-system", "daemonset/kube-proxy"];
    site.ok(&["set", "image", proxy[0], proxy[1], proxy[2], "kube-proxy=registry.k8s.io/kube-proxy:v1.34.2"]).await;
    site.ok(&["rollout", "status", proxy[0], proxy[1], proxy[2], "--timeout=20s"]).await;
    site.ok(&["rollout", "undo", proxy[0], proxy[1], proxy[2]]).await;
    let image =
        site.ok(&["-n", "kube-system", "get", "ds", "kube-proxy", "-o", "jsonpath={.spec.template.spec.containers[0].image}"]).await;
    assert_eq!(image, "registry.k8s.io/kube-proxy:v1.34.1");
    site.ok(&["label", "node", "w1", "disk=fast"]).await;
    assert!(site.ok(&["get", "nodes", "-l", "disk=fast", "-o", "name"]).await.contains("node/w1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_resources_are_served_at_once() {
    let site = site!();
    let definition = site.file(
        "crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}, colour: {type: string, default: red}}}
          status: {type: object, properties: {size: {type: integer}}}
",
    );
    site.ok(&["create", "-f", &definition]).await;
    site.ok(&["wait", "crd/widgets.example.com", "--for=condition=Established", "--timeout=10s"]).await;
    let widget = |size: &str| format!("apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: one}}\nspec: {{size: {size}}}\n");
    let good = site.file("widget.yaml", &widget("3"));
    assert_eq!(site.ok(&["apply", "-f", &good]).await, "widget.example.com/one created\n");
    let table = site.ok(&["get", "wd"]).await;
    assert!(table.starts_with("NAME   SIZE\none    3"), "{table}");
    assert_eq!(site.ok(&["get", "widget", "one", "-o", "jsonpath={.spec.colour}"]).await, "red");
    let bad = site.file("bad.yaml", &widget("0"));
    let told = site.refused(&["apply", "-f", &bad]).await;
    assert!(told.contains("spec.size in body should be greater than or equal to 1"), "{told}");
    site.ok(&["scale", "widget/one", "--replicas=4"]).await;
    site.ok(&["patch", "widget", "one", "--type=merge", "-p", "{\"spec\":{\"colour\":\"blue\"}}"]).await;
    site.ok(&["delete", "crd", "widgets.example.com"]).await;
    let told = site.refused(&["get", "--raw", "/apis/example.com/v1/widgets"]).await;
    assert!(told.contains("could not find the requested resource"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_workloads_run_and_namespaces_end() {
    let site = site!();
    site.ok(&["create", "namespace", "work"]).await;
    let file = site.file(
        "work.yaml",
        "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: work}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: 'postgres:17', volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: work}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: once, image: busybox}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: work}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: 'agent:1'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gpu, namespace: work}
spec: {containers: [{name: cuda, image: cuda, resources: {limits: {nvidia.com/gpu: 1}}}]}
",
    );
    site.ok(&["apply", "-f", &file]).await;
    site.ok(&["-n", "work", "rollout", "status", "statefulset/db", "--timeout=20s"]).await;
    site.ok(&["-n", "work", "rollout", "status", "daemonset/agent", "--timeout=20s"]).await;
    site.ok(&["-n", "work", "wait", "job/once", "--for=condition=Complete", "--timeout=20s"]).await;
    let claims = site.ok(&["-n", "work", "get", "pvc"]).await;
    assert_eq!(claims.matches("Bound").count(), 3, "{claims}");
    assert!(site.ok(&["-n", "work", "get", "ds"]).await.contains("agent   2"));
    let events = site.ok(&["-n", "work", "get", "events"]).await;
    assert!(events.contains("Insufficient nvidia.com/gpu"), "{events}");
    let plugin = site.file("plugin.yaml", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: nvidia, namespace: kube-system}\nspec:\n  selector: {matchLabels: {app: nvidia}}\n  template:\n    metadata: {labels: {app: nvidia}}\n    spec: {containers: [{name: nvidia-device-plugin-ctr, image: 'nvcr.io/nvidia/k8s-device-plugin:v0.17.4'}]}\n");
    site.ok(&["apply", "-f", &plugin]).await;
    site.ok(&["-n", "work", "wait", "pod/gpu", "--for=condition=Ready", "--timeout=20s"]).await;
    assert_eq!(site.ok(&["-n", "work", "get", "pod", "gpu", "-o", "jsonpath={.spec.nodeName}"]).await, "w2");
    site.ok(&["delete", "namespace", "work", "--timeout=30s"]).await;
    assert!(site.refused(&["get", "namespace", "work"]).await.contains("not found"));
    assert_eq!(site.ok(&["get", "pods", "-A", "-o", "name", "-l", "app=db"]).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn access_is_decided_by_roles() {
    let site = site!();
    let config = site.folder.path().join("jane.yaml");
    std::fs::write(&config, site.kubeconfig("jane", &["devs"])).unwrap();
    let output = site.kubectl_as(config.clone(), &["get", "pods"]).await;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\""),
        "{told}"
    );
    site.ok(&["create", "rolebinding", "devs", "--clusterrole=view", "--group=devs"]).await;
    assert!(site.kubectl_as(config.clone(), &["get", "pods"]).await.status.success());
    assert!(!site.kubectl_as(config.clone(), &["-n", "kube-system", "get", "pods"]).await.status.success());
    let can = site.kubectl_as(config, &["auth", "can-i", "delete", "pods"]).await;
    assert_eq!(String::from_utf8_lossy(&can.stdout), "no\n");
    assert_eq!(site.ok(&["auth", "can-i", "delete", "pods"]).await, "yes\n");
    assert_eq!(String::from_utf8_lossy(&site.kubectl(&["auth", "can-i", "list", "pods", "--as=john"]).await.stdout), "no\n");
    assert!(site.ok(&["auth", "whoami"]).await.contains("system:masters"));
    let token = site.ok(&["create", "token", "default"]).await;
    let told = site
        .kubectl_as(
            "/dev/null".into(),
            &[
                "--server",
                &format!("https://127.0.0.1:{}", site.port),
                "--insecure-skip-tls-verify",
                "--token",
                token.trim(),
                "get",
                "pods",
            ],
        )
        .await;
    assert!(String::from_utf8_lossy(&told.stderr).contains("system:serviceaccount:default:default"), "{told:?}");
}
