//! The host's own Kubernetes client against the small API of the simulator, over real TLS with a client certificate.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost::kube::drain::{Evicted, Node as Seen, Pod, evicted, leaving};
use emhost::kube::{Access, ApiError, Body, Client};
use emhost_sim_kit::certificates::{Algorithm, Authority, Subject};
use emhost_sim_kit::tls::{self, Clients};
use emhost_sim_kit::{Audit, Dials, Store};
use emhost_sim_kubernetes::{Builtin, Cluster, Node, Serving, Settings};
use http::Method;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

/// A cluster of two workers, and whom it trusts.
struct Site {
    _folder: tempfile::TempDir,
    _serving: Serving,
    authority: Authority,
    port: u16,
}

impl Site {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&folder.path().join("site")).unwrap());
        let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
        let settings = Settings {
            name: "dev".to_owned(),
            version: "v1.34.1".to_owned(),
            pod_cidrs: vec!["10.244.0.0/16".to_owned()],
            service_cidrs: vec!["10.96.0.0/12".to_owned()],
            dns_domain: "cluster.local".to_owned(),
        };
        let cluster = Cluster::open(store, "dev", settings, audit, Arc::new(Dials::default())).unwrap();
        let authority = Authority::generate(Algorithm::P256, "", "kubernetes", HOUR).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let subject = Subject { addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], server: true, ..Subject::default() };
        let identity = authority.issue(Algorithm::P256, &subject, HOUR).unwrap();
        let clients = Clients::Optional(vec![authority.certificate().clone()]);
        let serving = cluster.serve(listener, tls::server(&identity, clients, &["h2", "http/1.1"]).unwrap()).await;
        let node = |name: &str, last: u8| Node {
            name: name.to_owned(),
            address: Ipv4Addr::new(10, 0, 10, last),
            dialled: Ipv4Addr::new(127, 9, 10, last),
            boot_id: format!("boot-{name}"),
            ..Node::default()
        };
        cluster.set_nodes(vec![node("w1", 21), node("w2", 22)]);
        cluster.set_builtin(Builtin {
            flannel: true,
            kube_proxy: Some("registry.k8s.io/kube-proxy:v1.34.1".to_owned()),
            coredns: false,
            manifests: Vec::new(),
            authority: authority.pem(),
            service_account_key: b"a key of this test".to_vec(),
        });
        Self { _folder: folder, _serving: serving, authority, port }
    }

    /// An administrator who first tries an address at which nobody is.
    fn client(&self) -> Client {
        let subject = Subject {
            common_name: "admin".to_owned(),
            organizations: vec!["system:masters".to_owned()],
            client: true,
            ..Subject::default()
        };
        let identity = self.authority.issue(Algorithm::P256, &subject, HOUR).unwrap();
        let encode = |text: String| STANDARD.encode(text);
        let config = json!({
            "clusters": [{"name": "dev", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.port), "certificate-authority-data": encode(self.authority.pem()),
            }}],
            "users": [{"name": "admin", "user": {
                "client-certificate-data": encode(identity.pem()), "client-key-data": encode(identity.key_pem()),
            }}],
        });
        let access = Access::parse(config.to_string().as_bytes()).unwrap();
        let mut nobody = access.server.clone();
        nobody.set_port(Some(9)).unwrap();
        Client::new(&access, vec![nobody, access.server.clone()]).unwrap()
    }
}

fn web() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": null, "containers": [{"name": "web", "image": "nginx:1.27"}]}},
    }})
}

async fn pods(client: &Client, node: &str) -> Vec<Pod> {
    let list = client.get(&format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}&limit=500")).await.unwrap().unwrap();
    leaving(&list)
}

async fn evict(client: &Client, pod: &Pod) -> Result<Evicted, ApiError> {
    evicted(pod, client.change(&Method::POST, &pod.path(), Body::Json(&pod.eviction())).await)
}

/// Waits for something that the controllers of the cluster do by themselves.
async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not come true");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_drained_as_its_budgets_allow_and_taken_out() {
    let site = Site::start().await;
    let client = site.client();
    assert_eq!(client.get("/api/v1/nodes/none").await, Ok(None));
    let seen = Seen::of(&client.get("/api/v1/nodes/w1").await.unwrap().unwrap());
    assert!(seen.ready && !seen.unschedulable && !seen.uid.is_empty(), "{seen:?}");

    let path = "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=emhost&force=true";
    client.change(&Method::PATCH, path, Body::Apply(&web())).await.unwrap();
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}});
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    client.change(&Method::POST, budgets, Body::Json(&budget)).await.unwrap();
    until("two pods", || async { pods(&client, "w1").await.len() + pods(&client, "w2").await.len() == 2 }).await;

    for node in ["w1", "w2"] {
        let closed = json!({"spec": {"unschedulable": true}});
        client.change(&Method::PATCH, &format!("/api/v1/nodes/{node}"), Body::Merge(&closed)).await.unwrap();
    }
    let seen = Seen::of(&client.get("/api/v1/nodes/w1").await.unwrap().unwrap());
    assert!(seen.unschedulable);
    let node = if pods(&client, "w1").await.is_empty() { "w2" } else { "w1" };
    let all = pods(&client, node).await;
    assert!(all.iter().all(|pod| pod.name.starts_with("web-") && pod.replaced), "daemon sets stay: {all:?}");
    until("the budget counts", || async {
        let budget = client.get(&format!("{budgets}/web")).await.unwrap().unwrap();
        budget.pointer("/status/currentHealthy").and_then(Value::as_u64) == Some(2)
    })
    .await;
    let Ok(Evicted::Held(why)) = evict(&client, &all[0]).await else { panic!("the budget lets it go") };
    assert!(why.contains("the disruption budget web needs 2 healthy pods and has 2 currently"), "{why}");

    client.change(&Method::DELETE, &format!("{budgets}/web"), Body::None).await.unwrap();
    for pod in &all {
        assert_eq!(evict(&client, pod).await, Ok(Evicted::Goes));
    }
    until("an empty node", || async { pods(&client, node).await.is_empty() }).await;
    // What was evicted before is no trouble.
    assert_eq!(evict(&client, &all[0]).await, Ok(Evicted::Goes));

    let seen = Seen::of(&client.get(&format!("/api/v1/nodes/{node}")).await.unwrap().unwrap());
    let other = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "another"}});
    let refused = client.change(&Method::DELETE, &format!("/api/v1/nodes/{node}"), Body::Json(&other)).await.unwrap_err();
    assert_eq!(refused.code(), Some(409), "{refused}");
    let this = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": seen.uid}});
    client.change(&Method::DELETE, &format!("/api/v1/nodes/{node}"), Body::Json(&this)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_another_is_not_believed() {
    let (one, other) = (Site::start().await, Site::start().await);
    let stranger = Site { port: other.port, ..one };
    let error = stranger.client().get("/api/v1/nodes/w1").await.unwrap_err();
    assert!(matches!(&error, ApiError::Unreachable(why) if why.contains("certificate is not trusted")), "{error}");
}
