//! The API itself: what lasts, what is watched, who may, and what goes wrong.
#![allow(missing_docs)]

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{Site, builtin, nodes, settings};
use emhost_sim_kit::{Audit, Dials, Store};
use emhost_sim_kubernetes::{Builtin, Cluster, Node};
use serde_json::{Value, json};

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"part": "a"}}, "data": {"key": "value"}})
}

fn deployment(name: &str, replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
           "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}}}})
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn nobody_is_refused_and_tokens_of_accounts_are_taken() {
    let site = Site::start().await;
    site.cluster.set_builtin(builtin(&site.authority));
    let (code, told) = site.client(None).await.get("/api/v1/nodes").await;
    assert_eq!((code, &told["reason"], &told["message"]), (401, &json!("Unauthorized"), &json!("Unauthorized")));
    let mut admin = site.admin().await;
    let (code, told) = admin.post("/api/v1/namespaces/default/serviceaccounts/default/token", &json!({})).await;
    assert_eq!(code, 201, "{told}");
    let token = told["status"]["token"].as_str().unwrap();
    let mut account = site.client(None).await.with_token(token);
    let (code, told) = account.get(MAPS).await;
    assert_eq!(code, 403, "{told}");
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                         "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]});
    assert_eq!(admin.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", &binding).await.0, 201);
    assert_eq!(account.get(MAPS).await.0, 200);
    assert_eq!(account.get("/api/v1/namespaces/default/secrets").await.0, 403);
    let mut forged = site.client(None).await.with_token(&format!("{token}x"));
    assert_eq!(forged.get(MAPS).await.0, 401);
}

#[tokio::test]
async fn a_watch_tells_changes_in_order_and_what_is_too_old() {
    let site = Site::start().await;
    let mut admin = site.admin().await;
    admin.post(MAPS, &config_map("before")).await;
    let (_, list) = admin.get(&format!("{MAPS}?labelSelector=part%3Da")).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let mut watch = site.admin().await.watch(&format!("{MAPS}?watch=true&labelSelector=part%3Da&resourceVersion={revision}")).await;
    admin.post(MAPS, &config_map("one")).await;
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("one")));
    let patch = json!({"metadata": {"labels": {"part": "b"}}});
    assert_eq!(admin.send("PATCH", &format!("{MAPS}/one"), "application/merge-patch+json", &patch).await.0, 200);
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("DELETED"), &json!("one")), "it no longer matches");
    admin.send("DELETE", &format!("{MAPS}/before"), "application/json", &Value::Null).await;
    assert_eq!(watch.next().await.unwrap()["type"], "DELETED");
    let mut initial = site
        .admin()
        .await
        .watch(&format!("{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"))
        .await;
    let mut seen = Vec::new();
    loop {
        let event = initial.next().await.unwrap();
        if event["type"] == "BOOKMARK" {
            assert_eq!(event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
            break;
        }
        seen.push(event["object"]["metadata"]["name"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, ["kube-root-ca.crt", "one"]);
    for number in 0..4200 {
        let patch = json!({"data": {"count": number.to_string()}});
        admin.send("PATCH", &format!("{MAPS}/one"), "application/merge-patch+json", &patch).await;
    }
    let mut late = site.admin().await.watch(&format!("{MAPS}?watch=true&resourceVersion={revision}")).await;
    let event = late.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["code"], &event["object"]["reason"]), (&json!("ERROR"), &json!(410), &json!("Expired")));
    assert!(late.next().await.is_none());
}

#[tokio::test]
async fn writes_collide_finalizers_hold_and_pages_go_on() {
    let site = Site::start().await;
    let mut admin = site.admin().await;
    let (_, made) = admin.post(MAPS, &config_map("one")).await;
    let mut stale = made.clone();
    stale["data"]["key"] = json!("newer");
    assert_eq!(admin.send("PUT", &format!("{MAPS}/one"), "application/json", &stale).await.0, 200);
    let (code, told) = admin.send("PUT", &format!("{MAPS}/one"), "application/json", &stale).await;
    assert_eq!(code, 409);
    assert_eq!(
        told["message"],
        "Operation cannot be fulfilled on configmaps \"one\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let mut held = config_map("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    admin.post(MAPS, &held).await;
    let (code, told) = admin.send("DELETE", &format!("{MAPS}/held"), "application/json", &Value::Null).await;
    assert!(code == 200 && told["metadata"]["deletionTimestamp"].is_string(), "{told}");
    assert_eq!(admin.get(&format!("{MAPS}/held")).await.0, 200);
    let patch = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
    assert_eq!(admin.send("PATCH", &format!("{MAPS}/held"), "application/json-patch+json", &patch).await.0, 200);
    assert_eq!(admin.get(&format!("{MAPS}/held")).await.0, 404);
    let (code, told) = admin.send("DELETE", &format!("{MAPS}/one"), "application/json", &json!({"preconditions": {"uid": "other"}})).await;
    assert_eq!(code, 409, "{told}");
    assert_eq!(admin.post(&format!("{MAPS}?dryRun=All"), &config_map("dry")).await.0, 201);
    assert_eq!(admin.get(&format!("{MAPS}/dry")).await.0, 404);
    for name in ["two", "three", "four"] {
        admin.post(MAPS, &config_map(name)).await;
    }
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let (_, page) = admin.get(&format!("{MAPS}?limit=2&continue={token}")).await;
        names.extend(page["items"].as_array().unwrap().iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()));
        match page["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => break,
        }
    }
    assert_eq!(names, ["four", "kube-root-ca.crt", "one", "three", "two"]);
    assert_eq!(admin.send("DELETE", &format!("{MAPS}?labelSelector=part%3Da"), "application/json", &Value::Null).await.0, 200);
    assert_eq!(admin.get(MAPS).await.1["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_quorum_every_request_fails_and_health_says_so() {
    let site = Site::start().await;
    site.cluster.set_writable(false);
    let mut admin = site.admin().await;
    let (code, told) = admin.get(MAPS).await;
    assert_eq!((code, &told["message"]), (500, &json!("etcdserver: request timed out")));
    let (code, told) = admin.get("/readyz").await;
    assert!(code == 500 && told.as_str().unwrap().contains("[-]etcd failed: reason withheld"), "{told}");
    assert_eq!(admin.get("/version").await.1["gitVersion"], "v1.34.1");
    site.cluster.set_writable(true);
    assert_eq!(admin.get("/readyz").await, (200, json!("ok")));
}

#[tokio::test]
async fn nodes_wait_for_a_network_and_are_lost_with_their_kubelet() {
    let site = Site::start().await;
    let mut admin = site.admin().await;
    site.cluster.set_nodes(nodes());
    assert!(!site.cluster.ready("w1"), "there is no network yet");
    admin.post("/apis/apps/v1/namespaces/default/deployments", &deployment("web", 2)).await;
    let phases = |list: &Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|pod| pod["status"]["phase"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(phases(&admin.get("/api/v1/namespaces/default/pods").await.1), ["Pending", "Pending"]);
    let cilium = "apiVersion: v1\nkind: Namespace\nmetadata: {name: net, labels: {pod-security.kubernetes.io/enforce: privileged}}\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cilium, namespace: net}\nspec:\n  selector: {matchLabels: {k8s-app: cilium}}\n  template:\n    metadata: {labels: {k8s-app: cilium}}\n    spec:\n      hostNetwork: true\n      tolerations: [{operator: Exists}]\n      containers: [{name: cilium-agent, image: 'quay.io/cilium/cilium:v1.18.2'}]\n      volumes: [{name: cni, hostPath: {path: /opt/cni/bin}}]\n";
    site.cluster.set_builtin(Builtin { manifests: vec![("cilium".to_owned(), cilium.to_owned())], ..Builtin::default() });
    assert!(site.cluster.ready("c1") && site.cluster.ready("w1"));
    assert_eq!(phases(&admin.get("/api/v1/namespaces/default/pods").await.1), ["Running", "Running"]);
    let left: Vec<Node> = nodes().into_iter().filter(|node| node.name != "w1").collect();
    site.cluster.set_nodes(left.clone());
    let (_, node) = admin.get("/api/v1/nodes/w1").await;
    let ready = node["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Ready").unwrap().clone();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("Unknown"), &json!("NodeStatusUnknown")));
    assert_eq!(node["spec"]["taints"][0]["key"], "node.kubernetes.io/unreachable");
    admin.send("DELETE", "/api/v1/nodes/w1", "application/json", &Value::Null).await;
    let (_, pods) = admin.get("/api/v1/namespaces/default/pods").await;
    assert!(pods["items"].as_array().unwrap().iter().all(|pod| pod["spec"]["nodeName"] == "w2"), "{pods}");
    site.cluster.set_nodes(left);
    assert_eq!(admin.get("/api/v1/nodes/w1").await.0, 404);
    site.cluster.set_nodes(nodes());
    assert!(site.cluster.ready("w1"), "a kubelet that starts registers again");
    site.cluster.cordon("w2");
    site.cluster.drain("w2").await;
    let (_, pods) = admin.get("/api/v1/namespaces/default/pods").await;
    assert!(pods["items"].as_array().unwrap().iter().all(|pod| pod["spec"]["nodeName"] == "w1"), "{pods}");
    site.cluster.uncordon("w2");
}

#[tokio::test]
async fn everything_is_there_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
        Cluster::open(store, "home", settings(), audit, Arc::new(Dials::default())).unwrap()
    };
    let site = Site::start().await;
    let first = open();
    first.set_nodes(nodes());
    first.set_builtin(builtin(&site.authority));
    assert!(first.ready("c1"));
    drop(first);
    let second = open();
    second.set_builtin(builtin(&site.authority));
    assert!(second.ready("c1"), "what was ready is so until somebody says otherwise");
    second.set_nodes(Vec::new());
    second.set_nodes(nodes());
    assert!(second.ready("c1"));
}

#[tokio::test]
async fn applying_the_same_again_changes_nothing() {
    let site = Site::start().await;
    site.cluster.set_nodes(nodes());
    site.cluster.set_builtin(builtin(&site.authority));
    let mut admin = site.admin().await;
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let apply = "application/apply-patch+yaml";
    assert_eq!(admin.send("PATCH", &format!("{path}?fieldManager=me"), apply, &deployment("web", 2)).await.0, 201);
    let before = admin.get(path).await.1;
    assert_eq!(before["status"]["availableReplicas"], 2);
    assert_eq!(admin.send("PATCH", &format!("{path}?fieldManager=me"), apply, &deployment("web", 2)).await.0, 200);
    assert_eq!(admin.get(path).await.1, before);
    let (code, told) = admin.send("PATCH", path, apply, &deployment("web", 2)).await;
    assert_eq!(
        (code, &told["message"]),
        (422, &json!("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"))
    );
    assert_eq!(admin.send("PATCH", &format!("{path}?fieldManager=me"), apply, &deployment("web", 3)).await.0, 200);
    let after = admin.get(path).await.1;
    assert_eq!(
        (&before["metadata"]["generation"], &after["metadata"]["generation"], &after["status"]["observedGeneration"]),
        (&json!(1), &json!(2), &json!(2))
    );
    let mut odd = after.clone();
    odd["status"] = json!("fine");
    assert_eq!(admin.send("PUT", &format!("{path}/status"), "application/json", &odd).await.0, 400);
    odd["status"] = json!({"conditions": ["fine"]});
    assert_eq!(admin.send("PUT", &format!("{path}/status"), "application/json", &odd).await.0, 400);
    let huge = json!({"spec": {"replicas": 4_000_000_000_u64}});
    assert_eq!(admin.send("PATCH", path, "application/merge-patch+json", &huge).await.0, 422);
    assert_eq!(admin.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &json!(["odd"])).await.0, 201);
}

#[tokio::test]
async fn privileged_pods_need_a_namespace_that_takes_them() {
    let site = Site::start().await;
    site.cluster.set_nodes(nodes());
    site.cluster.set_builtin(builtin(&site.authority));
    let mut admin = site.admin().await;
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "c:1"}]}});
    let (code, told) = admin.post("/api/v1/namespaces/default/pods", &pod).await;
    let expected = "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)";
    assert_eq!((code, &told["message"]), (403, &json!(expected)));
    let mut web = deployment("web", 1);
    web["spec"]["template"]["spec"]["hostPID"] = json!(true);
    assert_eq!(admin.post("/apis/apps/v1/namespaces/default/deployments", &web).await.0, 201);
    let available = async |admin: &mut common::Client| {
        admin.get("/apis/apps/v1/namespaces/default/deployments/web").await.1["status"]["availableReplicas"].clone()
    };
    assert_eq!(available(&mut admin).await, Value::Null);
    let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}});
    assert_eq!(admin.send("PATCH", "/api/v1/namespaces/default", "application/merge-patch+json", &label).await.0, 200);
    assert_eq!(available(&mut admin).await, json!(1));
    assert_eq!(admin.post("/api/v1/namespaces/default/pods", &pod).await.0, 201);
    pod["metadata"]["name"] = json!("q");
    pod["spec"]["serviceAccountName"] = json!("nobody");
    let (code, told) = admin.post("/api/v1/namespaces/default/pods", &pod).await;
    assert!(code == 403 && told["message"].as_str().unwrap().contains("serviceaccount \"nobody\" not found"), "{told}");
    let (code, told) = admin.get("/api/v1/pods?fieldSelector=spec.colour%3Dred").await;
    assert_eq!((code, &told["message"]), (400, &json!("field label not supported: spec.colour")));
}

#[tokio::test]
async fn without_a_quorum_nothing_is_written_until_there_is_one() {
    let site = Site::start().await;
    site.cluster.set_writable(false);
    site.cluster.set_nodes(nodes());
    site.cluster.set_builtin(builtin(&site.authority));
    site.cluster.cordon("c1");
    assert!(!site.cluster.ready("c1"));
    site.cluster.set_writable(true);
    assert!(site.cluster.ready("c1"));
    let (_, node) = site.admin().await.get("/api/v1/nodes/c1").await;
    assert_eq!(node["spec"].get("unschedulable"), None);
}

#[tokio::test]
async fn a_server_that_stops_cuts_everybody_off() {
    let site = Site::start().await;
    let mut admin = site.admin().await;
    assert_eq!(admin.get("/readyz").await.0, 200);
    let mut watch = site.admin().await.watch(&format!("{MAPS}?watch=true")).await;
    assert!(watch.next().await.is_some());
    let Site { serving, port, folder: _folder, .. } = site;
    drop(serving);
    assert!(watch.next().await.is_none());
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn at_home_things_take_their_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
    let dials = Arc::new(Dials::new(emhost_sim_kit::Profile::Home, 1, Vec::new()).at_speed(20));
    let cluster = Cluster::open(store, "home", settings(), audit, dials).unwrap();
    cluster.set_nodes(nodes());
    let site = Site::start().await;
    cluster.set_builtin(builtin(&site.authority));
    assert!(!cluster.ready("w1"), "the network starts only now");
    let start = Instant::now();
    while !cluster.ready("w1") {
        assert!(start.elapsed().as_secs() < 20);
        tokio::task::yield_now().await;
    }
    assert!(start.elapsed().as_millis() >= 100, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_hundred_nodes_and_a_thousand_pods_are_cheap() {
    let site = Site::start().await;
    let many: Vec<Node> = (0..100_u8)
        .map(|number| Node {
            name: format!("n{number:03}"),
            address: [10, 0, 20, number].into(),
            boot_id: "b".to_owned(),
            ..Node::default()
        })
        .collect();
    let start = Instant::now();
    site.cluster.set_nodes(many);
    site.cluster.set_builtin(builtin(&site.authority));
    let mut admin = site.admin().await;
    admin.post("/apis/apps/v1/namespaces/default/deployments", &deployment("web", 1000)).await;
    let (_, told) = admin.get("/apis/apps/v1/namespaces/default/deployments/web").await;
    assert_eq!(told["status"]["availableReplicas"], 1000, "{}", told["status"]);
    let (_, pods) = admin.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn042").await;
    assert!((10..20).contains(&pods["items"].as_array().unwrap().len()), "they are spread");
    let took = start.elapsed();
    eprintln!("a hundred nodes and a thousand pods took {took:?}");
    assert!(took.as_secs() < 60, "{took:?}");
}
