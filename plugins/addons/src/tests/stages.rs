//! What is applied.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{everything, home, objects, plan, rendered, site};
use crate::builtin::ALL;
use crate::site::{Cni, Site};

/// Stages in a form that people read.
fn told(stages: &[Stage]) -> String {
    let mut text = String::new();
    for stage in stages {
        writeln!(text, "{}", stage.name).unwrap();
        for object in objects(stage) {
            let namespace =
                object.pointer("/metadata/namespace").and_then(Value::as_str).map(|name| format!("{name}/")).unwrap_or_default();
            writeln!(text, "  + {} {namespace}{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap()).unwrap();
        }
        stage.sources.iter().for_each(|source| writeln!(text, "  < {source}").unwrap());
        for chart in &stage.charts {
            writeln!(text, "  * {} {} as {} in {}", chart.reference, chart.version, chart.release, chart.namespace).unwrap();
        }
        for wait in &stage.waits {
            let namespace = wait.namespace.as_ref().map(|name| format!("{name}/")).unwrap_or_default();
            writeln!(text, "  ? {} {namespace}{} {}", wait.kind, wait.name, wait.condition).unwrap();
        }
    }
    text
}

fn all(talos: u16) -> Vec<Stage> {
    let (addons, settings) = everything();
    plan(home(talos), &addons, &settings).unwrap().render().unwrap()
}

#[test]
fn a_cluster_of_everything() {
    insta::assert_snapshot!(told(&all(11)), @"
    cilium
      * https://helm.cilium.io/cilium 1.18.2 as cilium in kube-system
      ? DaemonSet kube-system/cilium Ready
      ? Deployment kube-system/cilium-operator Available
    kube-vip
      + ServiceAccount kube-system/kube-vip
      + Role kube-system/kube-vip
      + RoleBinding kube-system/kube-vip
      + ClusterRole kube-vip
      + ClusterRoleBinding kube-vip
      + DaemonSet kube-system/kube-vip
      ? DaemonSet kube-system/kube-vip Ready
    nvidia
      + Namespace nvidia-device-plugin
      + RuntimeClass nvidia
      * https://nvidia.github.io/k8s-device-plugin/nvidia-device-plugin 0.19.3 as nvidia-device-plugin in nvidia-device-plugin
      ? DaemonSet nvidia-device-plugin/nvidia-device-plugin Ready
    nvidia-smoke-test
      + Job nvidia-device-plugin/nvidia-smi-8023518d
      ? Job nvidia-device-plugin/nvidia-smi-8023518d Complete
    cert-manager
      + Namespace cert-manager
      * oci://quay.io/jetstack/charts/cert-manager v1.21.1 as cert-manager in cert-manager
      ? Deployment cert-manager/cert-manager Available
      ? Deployment cert-manager/cert-manager-webhook Available
      ? Deployment cert-manager/cert-manager-cainjector Available
    cert-manager-issuer
      + Secret cert-manager/dns-token
      + ClusterIssuer letsencrypt
      ? ClusterIssuer letsencrypt Ready
    traefik
      + Namespace traefik
      * oci://ghcr.io/traefik/helm/traefik 41.3.0 as traefik in traefik
      ? DaemonSet traefik/traefik Ready
    local-path
      + Namespace local-path-storage
      + ServiceAccount local-path-storage/local-path-provisioner
      + Role local-path-storage/local-path-provisioner
      + RoleBinding local-path-storage/local-path-provisioner
      + ClusterRole local-path-provisioner
      + ClusterRoleBinding local-path-provisioner
      + ConfigMap local-path-storage/local-path-config
      + StorageClass local-path
      + Deployment local-path-storage/local-path-provisioner
      ? Deployment local-path-storage/local-path-provisioner Available
    kubelet-serving-cert-approver
      + Namespace kubelet-serving-cert-approver
      + ServiceAccount kubelet-serving-cert-approver/kubelet-serving-cert-approver
      + ClusterRole kubelet-serving-cert-approver
      + ClusterRoleBinding kubelet-serving-cert-approver
      + Deployment kubelet-serving-cert-approver/kubelet-serving-cert-approver
      ? Deployment kubelet-serving-cert-approver/kubelet-serving-cert-approver Available
    metrics-server
      * https://kubernetes-sigs.github.io/metrics-server/metrics-server 3.13.1 as metrics-server in kube-system
      ? Deployment kube-system/metrics-server Available
      ? APIService v1beta1.metrics.k8s.io Available
    mine
      < ./mine/
    grafana
      + Namespace monitoring
      * oci://registry.example/charts/grafana 1.2.3 as grafana in monitoring
    prometheus
      * ./charts/prometheus 4.5.6 as prometheus in monitoring
    argocd
      + Namespace argocd
      + Secret argocd/argocd-redis
      + Secret argocd/sops-age
      * oci://ghcr.io/argoproj/argo-helm/argo-cd 10.1.1 as argocd in argocd
      ? Deployment argocd/argocd-server Available
      ? Deployment argocd/argocd-repo-server Available
      ? Deployment argocd/argocd-redis Available
      ? StatefulSet argocd/argocd-application-controller Ready
    argocd-repository
      + Secret argocd/cluster-repository
      + Application argocd/cluster
    flux
      + Namespace flux-system
      * oci://ghcr.io/fluxcd-community/charts/flux2 2.18.3 as flux2 in flux-system
      ? Deployment flux-system/source-controller Available
      ? Deployment flux-system/kustomize-controller Available
      ? Deployment flux-system/helm-controller Available
      ? Deployment flux-system/notification-controller Available
    flux-repository
      + Secret flux-system/sops-age
      + Secret flux-system/flux-system
      + GitRepository flux-system/flux-system
      + Kustomization flux-system/flux-system
    ");
}

#[test]
fn from_1_13_on_the_operator_takes_the_place_of_the_device_plugin() {
    let stages: Vec<Stage> = all(13).into_iter().filter(|stage| stage.name.starts_with("nvidia")).collect();
    insta::assert_snapshot!(told(&stages), @"
    nvidia
      + Namespace gpu-operator
      * https://helm.ngc.nvidia.com/nvidia/gpu-operator v26.3.3 as gpu-operator in gpu-operator
      ? Deployment gpu-operator/gpu-operator Available
      ? ClusterPolicy cluster-policy Ready
    nvidia-smoke-test
      + Job gpu-operator/nvidia-smi-5d50feba
      ? Job gpu-operator/nvidia-smi-5d50feba Complete
    ");
    assert!(!objects(&stages[1])[0].to_string().contains("runtimeClassName"));
    let older: Vec<Stage> = all(12).into_iter().filter(|stage| stage.name.starts_with("nvidia")).collect();
    assert_eq!(objects(&older[1])[0].pointer("/spec/template/spec/runtimeClassName"), Some(&json!("nvidia")));
}

#[test]
fn without_settings_a_name_is_enough() {
    let names: Vec<&str> = ALL.iter().map(|addon| addon.name()).collect();
    let stages = rendered(home(12), &json!(names));
    for name in names {
        assert!(stages.iter().any(|stage| stage.name == name), "{name}");
    }
    assert!(!stages.iter().any(|stage| stage.name.ends_with("-repository") || stage.name.ends_with("-issuer")));
}

#[test]
fn what_the_inventory_gives_the_network_and_the_address_to_comes_first_and_by_itself() {
    let names = |site: Site, addons: Value| rendered(site, &addons).iter().map(|stage| stage.name.clone()).collect::<Vec<_>>();
    let mine = || json!([{"name": "mine", "manifests": "./mine/"}]);
    assert_eq!(names(site(11), mine()), ["mine"]);
    assert_eq!(names(home(11), mine()), ["cilium", "kube-vip", "mine"]);
    // Somebody's own Cilium is still the network.
    let own = json!([{"name": "mine", "manifests": "./mine/"}, "kube-vip", {"name": "cilium", "manifests": "./cilium/"}]);
    let stages = rendered(home(11), &own);
    assert_eq!(stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(), ["cilium", "kube-vip", "mine"]);
    assert_eq!((stages[0].sources.len(), stages[0].charts.len()), (1, 0));
}

#[test]
fn the_site_has_the_last_word_on_values_versions_and_where_charts_are() {
    let entry = json!([{"name": "cilium", "chart": "./charts/cilium", "version": "1.18.2", "values": {"operator": {"replicas": 3}, "debug": {"enabled": true}}}]);
    let stages = rendered(home(11), &entry);
    let chart = &stages[0].charts[0];
    assert_eq!((chart.reference.as_str(), chart.version.as_str(), chart.digest.as_ref()), ("./charts/cilium", "1.18.2", None));
    let values: Value = serde_json::from_str(&chart.values).unwrap();
    assert_eq!(
        (&values["operator"]["replicas"], &values["debug"]["enabled"], &values["k8sServicePort"]),
        (&json!(3), &json!(true), &json!(7445))
    );
    let capabilities = values.pointer("/securityContext/capabilities/ciliumAgent").unwrap().to_string();
    assert!(!capabilities.contains("SYS_MODULE"), "Talos lets no pod load kernel modules");
    // One that listens behind a load balancer needs no ports of hosts, and so no privileges.
    let balanced = json!([{"name": "traefik", "values": {
        "deployment": {"kind": "Deployment"}, "ports": {"web": {"hostPort": null}, "websecure": {"hostPort": null}}, "service": {"spec": {"type": "LoadBalancer"}},
    }}]);
    let stages = rendered(site(11), &balanced);
    assert_eq!(objects(&stages[0])[0].pointer("/metadata/labels"), None);
    assert_eq!(stages[0].waits[0].kind, "Deployment");
    let stages = rendered(site(11), &json!(["traefik"]));
    assert_eq!(objects(&stages[0])[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
}

#[test]
fn an_image_is_named_by_the_version_of_the_entry() {
    let stages = rendered(Site { cni: Cni::None, ..home(11) }, &json!([{"name": "kube-vip", "version": "v1.0.0"}]));
    assert_eq!(images(&objects(&stages[0]).pop().unwrap()), ["ghcr.io/kube-vip/kube-vip:v1.0.0"]);
}

#[test]
fn without_a_gpu_nothing_is_installed_for_one() {
    let mut site = site(11);
    site.machines.iter_mut().for_each(|machine| machine.nvidia = false);
    let plan = plan(site, &json!(["nvidia"]), &json!({})).unwrap();
    assert!(plan.render().unwrap().is_empty());
    assert_eq!(plan.remarks()[0].code, "addons/nvidia");
}

#[test]
fn a_gpu_proves_itself_once_and_again_with_another_image() {
    let job = |settings: Value| {
        let stages = plan(site(11), &json!(["nvidia"]), &settings).unwrap().render().unwrap();
        stages.iter().find(|stage| stage.name == "nvidia-smoke-test").map(|stage| stage.waits[0].name.clone())
    };
    assert_eq!(job(json!({})), job(json!({})));
    assert_ne!(job(json!({})), job(json!({"nvidia": {"smoke_test_image": "registry.example/cuda:13"}})));
    assert_eq!(job(json!({"nvidia": {"smoke_test": false}})), None);
}

/// Every image that an object names.
fn images(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(map) => {
            let own = map.get("image").and_then(Value::as_str);
            own.into_iter().chain(map.values().flat_map(images)).collect()
        }
        Value::Array(list) => list.iter().flat_map(images).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_manifest_is_an_object_that_stands_by_itself() {
    const CLUSTER_WIDE: [&str; 6] = ["Namespace", "ClusterRole", "ClusterRoleBinding", "StorageClass", "RuntimeClass", "ClusterIssuer"];
    for talos in 8..=13 {
        let (addons, mut settings) = everything();
        if talos < 10 {
            settings["local-path"] = json!({});
        }
        let stages = plan(home(talos), &addons, &settings).unwrap().render().unwrap();
        let mut namespaces = BTreeSet::from(["kube-system".to_owned()]);
        let mut ids = BTreeSet::new();
        let mut accounts = BTreeSet::new();
        for stage in &stages {
            assert!(stage.name.len() <= 50, "{}", stage.name);
            for object in objects(stage) {
                let word = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
                let (kind, namespace, name) = (word("/kind"), word("/metadata/namespace"), word("/metadata/name"));
                let id = format!("{kind} {namespace}/{name}");
                assert!(!word("/apiVersion").is_empty() && !kind.is_empty() && !name.is_empty(), "{object}");
                assert!(ids.insert(id.clone()), "{id} is there twice");
                if kind == "Namespace" {
                    namespaces.insert(name.clone());
                }
                assert_eq!(CLUSTER_WIDE.contains(&kind.as_str()), namespace.is_empty(), "{id}");
                assert!(namespace.is_empty() || namespaces.contains(&namespace), "{id} comes before its namespace");
                if kind == "ServiceAccount" {
                    accounts.insert(name.clone());
                }
                let account = word("/spec/template/spec/serviceAccountName");
                assert!(account.is_empty() || accounts.contains(&account), "{id} runs as {account}, which is not there");
                let (selector, labels) = (object.pointer("/spec/selector/matchLabels"), object.pointer("/spec/template/metadata/labels"));
                assert_eq!(selector, selector.and(labels), "{id} selects other pods than its own");
                for image in images(&object) {
                    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
                    assert!(tag.starts_with(|c: char| c.is_ascii_digit() || c == 'v') && image.contains('/'), "{id}: {image}");
                }
            }
            for chart in &stage.charts {
                assert!(namespaces.contains(&chart.namespace), "{} comes before its namespace", chart.release);
                assert!(serde_json::from_str::<Value>(&chart.values).unwrap().is_object(), "{}", chart.release);
            }
            for wait in &stage.waits {
                assert!(["Available", "Ready", "Complete"].contains(&wait.condition.as_str()) && wait.timeout_ms > 0, "{}", wait.name);
            }
        }
    }
}

/// The secrets that manifests name are those that the manifest of the plugin asks for, and no value is among them.
#[test]
fn every_secret_is_one_that_is_asked_for() {
    let manifest: Value = serde_json::from_str(include_str!("../../emhost-plugin.json")).unwrap();
    let asks: Vec<&str> = manifest["asks"].as_array().unwrap().iter().map(|ask| ask["grant"].as_str().unwrap()).collect();
    let mut found = Vec::new();
    for object in all(11).iter().flat_map(objects).filter(|object| object["kind"] == "Secret") {
        for value in object["stringData"].as_object().unwrap().values().filter_map(Value::as_str) {
            found.extend(value.strip_prefix("emhost-secret:").map(str::to_owned));
        }
    }
    found.sort();
    let expected =
        ["argocd_age_key", "argocd_identity", "argocd_redis_password", "cert_manager_dns_token", "flux_age_key", "flux_git_token"];
    assert_eq!(found, expected);
    for name in found {
        let asked =
            |ask: &&str| ask.strip_prefix("secret:").and_then(|ask| ask.strip_suffix('*')).is_some_and(|start| name.starts_with(start));
        assert!(asks.iter().any(asked), "{name}");
    }
}

#[test]
fn flux_reads_a_repository_with_what_it_is_given() {
    let objects_of = |repository: Value, key: Option<&str>| {
        let stages =
            plan(site(11), &json!(["flux"]), &json!({"flux": {"repository": repository, "age_key": key}})).unwrap().render().unwrap();
        objects(stages.last().unwrap())
    };
    let open = objects_of(json!({"url": "https://git.example/home"}), None);
    assert_eq!(open.len(), 2);
    assert_eq!((open[0]["spec"].get("secretRef"), open[1]["spec"].get("decryption")), (None, None));
    let closed =
        objects_of(json!({"url": "ssh://git@git.example/home", "identity": "flux_identity", "known_hosts": "k"}), Some("flux_age_key"));
    let kinds: Vec<&str> = closed.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Secret", "Secret", "GitRepository", "Kustomization"]);
    assert_eq!(closed[1]["stringData"], json!({"identity": "emhost-secret:flux_identity", "known_hosts": "k"}));
    assert_eq!(closed[2]["spec"]["secretRef"]["name"], closed[1]["metadata"]["name"]);
    assert_eq!(closed[3]["spec"]["decryption"]["secretRef"]["name"], closed[0]["metadata"]["name"]);
}

#[test]
fn controllers_that_are_switched_off_are_not_waited_for() {
    let stages = rendered(site(11), &json!([{"name": "flux", "values": {"helmController": {"create": false}}}]));
    let waits: Vec<&str> = stages.last().unwrap().waits.iter().map(|wait| wait.name.as_str()).collect();
    assert_eq!(waits, ["source-controller", "kustomize-controller", "notification-controller"]);
}

#[test]
fn the_shared_address_is_held_on_the_interface_that_was_chosen() {
    let environment = |settings: Value| {
        let stages = plan(Site { cni: Cni::None, ..home(11) }, &json!(["kube-vip"]), &settings).unwrap().render().unwrap();
        let set = objects(&stages[0]).pop().unwrap();
        let all = set.pointer("/spec/template/spec/containers/0/env").and_then(Value::as_array).unwrap().clone();
        move |name: &str| all.iter().find(|one| one["name"] == name).map(|one| one["value"].as_str().unwrap_or_default().to_owned())
    };
    let usual = environment(json!({}));
    assert_eq!((usual("address").as_deref(), usual("vip_interface"), usual("vip_arp").as_deref()), (Some("10.0.0.20"), None, Some("true")));
    // The address that is to be held cannot be what it is asked at.
    assert_eq!(
        (usual("KUBERNETES_SERVICE_HOST").as_deref(), usual("KUBERNETES_SERVICE_PORT").as_deref()),
        (Some("localhost"), Some("7445"))
    );
    let tailnet = json!({"kube-vip": {"interface": "tailscale0"}});
    assert_eq!(environment(tailnet.clone())("vip_interface").as_deref(), Some("tailscale0"));
    let plan = plan(Site { cni: Cni::None, ..home(11) }, &json!(["kube-vip"]), &tailnet).unwrap();
    assert_eq!(plan.remarks()[0].code, "addons/vip-tailnet");
}
