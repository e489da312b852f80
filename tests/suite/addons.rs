//! Addons in a cluster: applied, kept in shape, never by force, and taken away without a trace.
//!
//! On the simulated site through the real binary; and the same against a real kube-apiserver, where it is built.

#[path = "addons/server.rs"]
mod server;

use std::path::{Path, PathBuf};

use emhost_tests::control_plane::ControlPlane;
use emhost_tests::example::{Asked, Example};
use emhost_tests::site::Ran;
use serde_json::{Value, json};

use server::{Api, until};

/// A password that must never be seen.
const PASSWORD: &str = "correct-horse-battery-staple-4711";

/// A cluster's folder with the addon plugin of the tests.
struct Lab {
    example: Example,
}

fn map(name: &str, data: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "web"}});
    object["data"] = data;
    object
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn deployment(name: &str, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "web"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": name, "image": image}]}},
    }})
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
        }}}],
    }})
}

fn thing() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one", "namespace": "web"}, "spec": {"size": 1}})
}

/// Two addons: the first has a namespace, a definition with an object of it, and a workload that the second one waits for.
fn stages() -> Value {
    json!([
        {"name": "base", "objects": [thing(), deployment("web", "nginx:1.27"), definition(), map("base", json!({"a": "1", "b": "2"})), namespace("web")],
         "waits": [["apps/v1", "Deployment", "web", "web", "Available", 60000]]},
        {"name": "more", "objects": [map("more", json!({"a": "1"}))]},
    ])
}

impl Lab {
    /// A cluster that is there, without any addon.
    fn new() -> Self {
        let example = Example::new("demo");
        std::fs::copy(component(), example.path().join("fixture-addon.wasm")).unwrap();
        example.emhost(&["plugin", "add", "./fixture-addon.wasm", "--yes"]).ended(0);
        example.add("site.yaml", "plugins: {addons: [./fixture-addon.wasm]}\nsettings:\n  fixture-addon: {}\n");
        Self { example: example.started() }
    }

    fn wants(&self, stages: &Value) {
        let site = self.example.read("site.yaml");
        let line = site.lines().find(|line| line.starts_with("  fixture-addon:")).unwrap().to_owned();
        self.example.edit("site.yaml", &line, &format!("  fixture-addon: {}", json!({ "stages": stages })));
    }

    /// A cluster with these addons.
    #[track_caller]
    fn with(stages: &Value) -> Self {
        let lab = Self::new();
        lab.wants(stages);
        lab.apply().ended(0);
        lab
    }

    fn apply(&self) -> Ran {
        self.example.emhost(&["apply", "--yes"])
    }

    fn plan(&self) -> Ran {
        self.example.emhost(&["plan", "--exit-code"])
    }

    /// Somebody with every right in the cluster.
    fn api(&self) -> Api {
        self.example.emhost(&["kubeconfig"]).ended(0);
        Api::new(&self.example.read("kubeconfig"))
    }

    /// Changes of Kubernetes so far.
    fn changes(&self) -> Vec<Asked> {
        self.example.changes().into_iter().filter(|asked| asked.part == "kubernetes").collect()
    }
}

fn component() -> PathBuf {
    let folder = std::env::var_os("EMHOST_GUESTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/wasm32-wasip2/plugin/examples"), PathBuf::from);
    let made = ["fixture_addon.wasm", "fixture-addon.wasm"].map(|name| folder.join(name));
    made.into_iter().find(|file| file.exists()).unwrap_or_else(|| panic!("no fixture-addon in {}", folder.display()))
}

const BASE: &str = "/api/v1/namespaces/web/configmaps/base";
const WEB: &str = "/apis/apps/v1/namespaces/web/deployments/web";
const THING: &str = "/apis/example.com/v1/namespaces/web/things/one";
const INVENTORY: &str = "/api/v1/namespaces/kube-system/configmaps/emhost-addon-base";

/// Nothing is left to do, and doing it changes nothing.
#[track_caller]
fn settled(lab: &Lab) {
    let before = lab.changes();
    lab.plan().ended(0).says("no changes");
    lab.apply().ended(0).says("no changes");
    assert_eq!(lab.changes()[before.len()..], [] as [Asked; 0]);
}

#[test]
fn addons_come_with_the_cluster_and_a_second_apply_changes_nothing() {
    let lab = Lab::new();
    lab.wants(&stages());
    let plan = lab.plan().ended(2);
    plan.says("addon/base  Namespace web").says("addon/base  Thing web/one").says("addon/more  ConfigMap web/more");
    lab.apply().ended(0);
    let api = lab.api();
    let base = api.get(BASE).expect("a ConfigMap");
    assert_eq!(base["data"], json!({"a": "1", "b": "2"}));
    assert_eq!(base["metadata"]["labels"]["emhost.dev/addon"], "base");
    assert_eq!(api.get(THING).expect("a Thing")["spec"]["size"], 1);
    let inventory = api.get(INVENTORY).expect("an inventory");
    assert!(inventory["data"]["objects"].as_str().unwrap().contains("things.example.com"), "{inventory}");
    settled(&lab);
    // The order in which they went out: what others need first, the inventory before all.
    let sent: Vec<String> =
        lab.changes().into_iter().map(|asked| asked.request).filter(|line| line.contains("fieldManager=emhost")).collect();
    let at = |part: &str| sent.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part} in {sent:#?}"));
    let order = [
        "emhost-addon-base",
        "namespaces/web?",
        "customresourcedefinitions/",
        "configmaps/base?",
        "deployments/web?",
        "things/one?",
        "configmaps/more?",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{sent:#?}");
    assert!(!sent.iter().any(|line| line.contains("force")), "{sent:#?}");
}

#[test]
fn what_is_missing_is_put_back_and_what_somebody_holds_is_not_forced() {
    let lab = Lab::with(&stages());
    let api = lab.api();
    // Whatever nobody else wants otherwise comes back.
    api.merge(BASE, "somebody", &json!({"data": {"b": null}}));
    api.delete("/api/v1/namespaces/web/configmaps/more");
    let plan = lab.plan().ended(2).says("ConfigMap web/base").says("data/b = 2").says("ConfigMap web/more");
    assert!(!plan.all().contains("deployments"), "{}", plan.all());
    lab.apply().ended(0);
    assert_eq!(api.get(BASE).unwrap()["data"], json!({"a": "1", "b": "2"}));
    settled(&lab);

    // What somebody else holds with another value is theirs until they let go.
    api.merge(BASE, "kubectl-edit", &json!({"data": {"a": "theirs"}}));
    let told = "ConfigMap web/base of addon base is held by somebody else: kubectl-edit has .data.a";
    lab.plan().ended(2).says("warning: ").says(told);
    let before = lab.changes();
    let ran = lab.apply().ended(1);
    ran.says(told).says("nothing was forced");
    assert_eq!(lab.changes()[before.len()..], [] as [Asked; 0]);
    assert_eq!(api.get(BASE).unwrap()["data"]["a"], "theirs");
    api.merge(BASE, "kubectl-edit", &json!({"data": {"a": "1"}}));
    settled(&lab);
}

#[test]
fn an_addon_goes_without_a_trace_and_takes_nothing_else_along() {
    let lab = Lab::with(&stages());
    let api = lab.api();
    api.create("/api/v1/namespaces/default/configmaps", &json!({"metadata": {"name": "others", "labels": {"emhost.dev/addon": "base"}}}));
    // An object that moves to another addon is taken over and not made anew.
    let uid = api.get(BASE).unwrap()["metadata"]["uid"].clone();
    lab.wants(&json!([{"name": "more", "objects": [map("more", json!({"a": "1"})), map("base", json!({"a": "1"})), namespace("web")]}]));
    let plan = lab.plan().ended(2);
    let plan =
        plan.says("cannot be undone").says("every object of this kind goes with it").says("CustomResourceDefinition things.example.com");
    assert!(!plan.all().contains("destroy Namespace"), "{}", plan.all());
    // From a fresh clone, where nothing is remembered.
    for entry in std::fs::read_dir(lab.example.path().join(".emhost")).unwrap() {
        let path = entry.unwrap().path();
        match path.file_name().unwrap().to_str().unwrap() {
            "sim" => {}
            "journal" => std::fs::remove_dir_all(path).unwrap(),
            _ => std::fs::remove_file(path).unwrap(),
        }
    }
    lab.apply().ended(0);
    for gone in [WEB, THING, INVENTORY, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"] {
        assert_eq!(api.get(gone), None, "{gone}");
    }
    let base = api.get(BASE).expect("it moved");
    assert_eq!((&base["metadata"]["uid"], &base["data"]), (&uid, &json!({"a": "1"})));
    settled(&lab);

    lab.wants(&json!([]));
    lab.plan().ended(2).says("Namespace web").says("everything in it goes with it");
    lab.apply().ended(0);
    assert_eq!(api.get("/api/v1/namespaces/web"), None);
    let all = api.get("/api/v1/configmaps?labelSelector=emhost.dev%2Fcluster").unwrap();
    assert_eq!(all["items"], json!([]));
    assert!(api.get("/api/v1/namespaces/default/configmaps/others").is_some(), "what does not carry the mark stays");
    assert!(!lab.example.emhost(&["state", "list"]).ended(0).all().contains("addon/"));
    settled(&lab);
}

#[test]
fn what_was_there_before_stays() {
    let lab = Lab::new();
    lab.apply().ended(0);
    let api = lab.api();
    api.create("/api/v1/namespaces", &namespace("web"));
    api.create("/api/v1/namespaces/web/configmaps", &json!({"metadata": {"name": "base"}, "data": {"own": "1"}}));
    lab.wants(&json!([{"name": "base", "objects": [namespace("web"), map("base", json!({"a": "1"}))]}]));
    lab.plan().ended(2).says("it is there already");
    lab.apply().ended(0);
    assert_eq!(api.get(BASE).unwrap()["data"], json!({"own": "1", "a": "1"}));
    settled(&lab);
    lab.wants(&json!([]));
    lab.plan().ended(2).says("it was there before this addon, so it stays");
    lab.apply().ended(0);
    let left = api.get(BASE).expect("it stays");
    assert_eq!(left["data"]["own"], "1");
    assert_eq!(left.pointer("/metadata/labels").and_then(|all| all.get("emhost.dev/cluster")), None);
    settled(&lab);
}

#[test]
fn one_that_never_gets_ready_holds_back_the_next() {
    let lab = Lab::new();
    lab.wants(&json!([
        {"name": "base", "objects": [namespace("web"), map("base", json!({}))], "waits": [["apps/v1", "Deployment", "web", "web", "Available", 500]]},
        {"name": "more", "objects": [map("more", json!({}))]},
    ]));
    let told = "addon base did not get ready within 500ms: Deployment web/web: it is not there";
    lab.apply().ended(1).says(told).says("not begun: ").says("addon/more");
    let api = lab.api();
    assert!(api.get(BASE).is_some() && api.get("/api/v1/namespaces/web/configmaps/more").is_none());
    // Nothing is to be changed, and it is still not ready.
    lab.apply().ended(1).says(told).says("addon/more");
    api.create("/apis/apps/v1/namespaces/web/deployments", &deployment("web", "nginx:1.27"));
    until("the deployment is available", || api.get(WEB).is_some_and(|web| web["status"]["availableReplicas"] == 1));
    lab.apply().ended(0);
    assert!(api.get("/api/v1/namespaces/web/configmaps/more").is_some());
    settled(&lab);
}

#[test]
fn what_flux_owns_is_only_looked_at() {
    let lab = Lab::with(&stages());
    let api = lab.api();
    let handed = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}, "data": {"a": "flux"}});
    api.merge(BASE, "kustomize-controller", &handed);
    lab.plan().ended(0).says("ConfigMap web/base belong to Flux").says("emhost only looks");
    settled(&lab);
    assert_eq!(api.get(BASE).unwrap()["data"]["a"], "flux");
    // It stays when the addon does not have it any more.
    let mut fewer = stages();
    fewer[0]["objects"].as_array_mut().unwrap().retain(|object| object["metadata"]["name"] != "base");
    lab.wants(&fewer);
    lab.apply().ended(0);
    assert!(api.get(BASE).is_some());
}

#[test]
fn secrets_are_put_in_at_the_last_moment_and_never_shown() {
    let lab = Lab::new();
    let secret = |key: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web", "namespace": "web"}, "stringData": {key: "emhost-secret:web-password"}});
    lab.wants(&json!([{"name": "base", "objects": [namespace("web"), secret("password")]}]));
    let ran = |password: &str, arguments: &[&str]| {
        let mut command = lab.example.command(arguments, "");
        command.env("EMHOST_SECRET_WEB-PASSWORD", password);
        emhost_tests::site::wait(command.spawn().unwrap())
    };
    lab.plan().ended(3).says("addon base needs secret `web-password`, and there is none").says("EMHOST_SECRET_WEB-PASSWORD");
    ran(PASSWORD, &["apply", "--yes"]).ended(0);
    let api = lab.api();
    let live = || api.get("/api/v1/namespaces/web/secrets/web").expect("a Secret")["data"]["password"].clone();
    let encoded = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    assert_eq!(live(), encoded(PASSWORD));
    ran(PASSWORD, &["plan", "--exit-code"]).ended(0);
    let other = format!("{PASSWORD}-new");
    let plan = ran(&other, &["plan", "--exit-code", "-v", "--json"]).ended(2).says("/data/password");
    let applied = ran(&other, &["apply", "--yes"]).ended(0);
    assert_eq!(live(), encoded(&other));
    let mut texts = vec![plan.all(), applied.all()];
    for entry in std::fs::read_dir(lab.example.path().join(".emhost/journal")).unwrap() {
        texts.push(std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    for hidden in [PASSWORD.to_owned(), encoded(PASSWORD), encoded(&other)] {
        assert!(!texts.iter().any(|text| text.contains(&hidden)), "{hidden}");
    }
    // One that it was not granted.
    lab.wants(&json!([{"name": "base", "objects": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "emhost-secret:os-ca"}}]}]));
    lab.plan().ended(4).says("`secret:os-ca` is not among what the manifest of plugin `fixture-addon` asks for");
}

#[test]
fn manifests_of_the_folder_are_applied_and_mistakes_are_told() {
    let lab = Lab::new();
    std::fs::create_dir(lab.example.path().join("mine")).unwrap();
    let file = lab.example.path().join("mine/all.yaml");
    std::fs::write(&file, "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: web}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: web}\ndata: {a: '1'}\n").unwrap();
    lab.wants(&json!([{"name": "base", "sources": ["./mine/"]}]));
    lab.apply().ended(0);
    assert_eq!(lab.api().get(BASE).expect("a ConfigMap")["data"]["a"], "1");
    settled(&lab);
    for (text, told) in [
        ("a: [", "addon base: mine/all.yaml: it is no YAML"),
        ("{kind: ConfigMap}", "addon base: mine/all.yaml: document 1: a ConfigMap without `apiVersion` or `metadata.name`"),
    ] {
        std::fs::write(&file, text).unwrap();
        lab.plan().says(told);
    }
    lab.wants(&json!([{"name": "base", "sources": ["../../etc/hostname"]}]));
    lab.plan().ended(3).says("addon base: ../../etc/hostname cannot be read");
    lab.wants(&json!([{"name": "base", "sources": ["https://127.0.0.1/x.yaml"]}]));
    lab.plan().says("addon base: reading https://127.0.0.1/x.yaml");
}

#[test]
fn an_apply_that_is_killed_after_any_change_is_completed() {
    let whole = Lab::with(&stages());
    let all = whole.changes().iter().filter(|asked| asked.request.contains("fieldManager=emhost")).count();
    assert!(all >= 8, "{all}");
    let lab = Lab::new();
    lab.apply().ended(0);
    lab.wants(&stages());
    // Each run gets one change further, and is killed.
    for _ in 0..all {
        let mut changes = lab.example.counter();
        let mut child = lab.example.command(&["apply", "--yes"], "").spawn().unwrap();
        while changes.count() == 0 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
    lab.apply().ended(0);
    let api = lab.api();
    assert!(api.get(THING).is_some() && api.get("/api/v1/namespaces/web/configmaps/more").is_some());
    settled(&lab);
    let mut sent: Vec<String> = lab
        .changes()
        .into_iter()
        .map(|asked| asked.request)
        .filter(|line| line.contains("fieldManager=emhost") && !line.contains("emhost-addon"))
        .collect();
    let number = sent.len();
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), number, "nothing went out twice");
}

/// The same against the real thing: nobody there runs controllers, so nothing is waited for but what the server does itself.
#[test]
fn a_real_server_agrees() {
    let lab = Lab::new();
    lab.apply().ended(0);
    lab.example.emhost(&["generate"]).ended(0);
    let address = lab.example.dial("10.5.0.99");
    let Some(_server) = ControlPlane::start(&lab.example.read("generated/demo-cp-1.yaml"), address.parse().unwrap()) else { return };
    lab.example.emhost(&["kubeconfig"]).ended(0);
    let simulated = lab.example.dial("10.5.0.11");
    let api = Api::new(&lab.example.read("kubeconfig").replace(&format!("{simulated}:6443"), &format!("{address}:6443")));
    until("the server is ready", || api.can("/readyz") && api.can("/api/v1/namespaces/default"));
    lab.example.edit("site.yaml", "\nslots:\n", &format!("\nslots:\n  kubernetes: {{url: \"https://{address}:6443\"}}\n"));

    let here = |mut object: Value| {
        object["metadata"]["namespace"] = json!("default");
        object
    };
    let stages = json!([
        {"name": "base", "objects": [here(thing()), here(deployment("web", "nginx:1.27")), definition(), here(map("base", json!({"a": "1", "b": "2"})))]},
        {"name": "more", "objects": [here(map("more", json!({"a": "1"})))]},
    ]);
    lab.wants(&stages);
    lab.plan().ended(2).says("Thing default/one");
    lab.apply().ended(0);
    let settled = || {
        let versions = || ["configmaps", "deployments", "things"].map(|kind| api.version(kind));
        let before = versions();
        lab.plan().ended(0).says("no changes");
        lab.apply().ended(0).says("no changes");
        assert_eq!(versions(), before, "a second apply changes nothing");
    };
    settled();
    let base = "/api/v1/namespaces/default/configmaps/base";
    let web = "/apis/apps/v1/namespaces/default/deployments/web";
    api.merge(base, "somebody", &json!({"data": {"b": null}}));
    lab.plan().ended(2).says("data/b = 2");
    lab.apply().ended(0);
    settled();
    api.merge(web, "kubectl-edit", &json!({"spec": {"replicas": 3}}));
    lab.apply().ended(1).says("Deployment default/web of addon base is held by somebody else: kubectl-edit has .spec.replicas");
    assert_eq!(api.get(web).unwrap()["spec"]["replicas"], 3);
    api.merge(web, "kubectl-edit", &json!({"spec": {"replicas": 1}}));
    settled();

    let handed = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}, "data": {"a": "flux"}});
    api.merge(base, "kustomize-controller", &handed);
    lab.plan().ended(0).says("belong to Flux");
    assert_eq!(api.get(base).unwrap()["data"]["a"], "flux");

    let mut changed = stages;
    changed[0]["objects"][1]["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:1.28");
    lab.wants(&changed);
    lab.plan().ended(2).says("nginx:1.27 -> nginx:1.28").says("restarts");
    lab.apply().ended(0);
    // A field that does not exist is refused by the server, and told in the plan.
    changed[1]["objects"][0]["data"] = json!({"a": {"b": 1}});
    lab.wants(&changed);
    lab.plan().ended(2).says("ConfigMap default/more of addon more was refused with ");

    lab.wants(&json!([]));
    lab.apply().ended(0);
    assert!(api.get(base).is_some(), "it is Flux's");
    assert_eq!((api.get(web), api.get("/api/v1/namespaces/default/configmaps/more")), (None, None));
    assert_eq!(api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"), None);
    assert_eq!(api.get("/api/v1/namespaces/kube-system/configmaps/emhost-addon-base"), None);
}
