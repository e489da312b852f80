//! Charts: rendered by Helm in the sandbox as the real `helm` renders them, fetched and pinned, and stopped when they run wild.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use emhost::capabilities::MemorySecrets;
use emhost::capabilities::events::MemoryEvents;
use emhost::charts::{Capabilities, Chart, ChartError, Charts, Lent, Moment, Rendered, SEED, Sources};
use emhost::plugins::lock::Lock;
use emhost::plugins::{Cache, Limits, Runtime};
use emhost::redact::Redactor;
use emhost_oracles::{Process, skipped};
use serde_json::{Value, json};

const KUBERNETES: &str = "v1.34.1";

/// The component, where it was built.
fn component() -> Option<PathBuf> {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/helm/helm.wasm");
    let file = std::env::var_os("EMHOST_HELM").map_or_else(built, PathBuf::from);
    if !file.is_file() {
        skipped(format_args!("charts: {} is not there; `cargo xtask helm` builds it", file.display()));
        return None;
    }
    Some(file)
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let cache = std::env::var_os("EMHOST_TEST_CACHE").map(|folder| PathBuf::from(folder).join("helm"));
        Runtime::new(cache.and_then(|folder| Cache::open(&folder).ok())).unwrap()
    })
}

/// A chart by its reference, as an addon would name it.
fn named(reference: &str) -> Chart {
    Chart {
        release: "demo".to_owned(),
        namespace: "kube-system".to_owned(),
        reference: reference.to_owned(),
        version: String::new(),
        digest: None,
        values: "{}".to_owned(),
    }
}

/// A cluster's folder with charts in it.
struct Bench {
    helm: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    /// None, and a loud word, where the component was not built. The first one compiles it for all.
    async fn new() -> Option<Self> {
        static WARM: tokio::sync::OnceCell<()> = tokio::sync::OnceCell::const_new();
        let bench = Self { helm: component()?, folder: tempfile::tempdir().unwrap() };
        WARM.get_or_init(async || {
            bench.chart("warm", &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")]);
            bench.charts().render(&named("./warm"), &kubernetes()).await.unwrap();
        })
        .await;
        Some(bench)
    }

    fn lent(&self) -> Lent {
        Lent {
            sources: Sources { named: Some(self.helm.clone()), data: None, cache: Some(self.folder.path().join("cache")) },
            folder: self.folder.path().to_owned(),
            pins: Lock::load(self.folder.path()).unwrap().charts,
            locked: false,
            secrets: Arc::new(MemorySecrets::default().with(SEED, &[7; 64])),
            redactor: Redactor::new(),
            events: Arc::new(MemoryEvents::default()),
        }
    }

    fn charts(&self) -> Charts {
        Charts::new(runtime(), self.lent()).at("2026-11-16T12:00:00Z".parse().unwrap())
    }

    /// Writes a chart into the folder.
    fn chart(&self, name: &str, files: &[(&str, &str)]) {
        let folder = self.folder.path().join(name);
        let chart = format!("apiVersion: v2\nname: {name}\nversion: 1.2.3\n");
        for (file, text) in [("Chart.yaml", chart.as_str())].iter().chain(files) {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
    }

    async fn render(&self, name: &str, values: &Value) -> Result<Rendered, ChartError> {
        let chart = Chart { values: values.to_string(), ..named(&format!("./{name}")) };
        self.charts().render(&chart, &kubernetes()).await
    }

    /// The chart as it is published.
    fn packed(&self, name: &str) -> Vec<u8> {
        let output = Command::new("tar").args(["-cz", name]).current_dir(self.folder.path()).output().unwrap();
        assert!(output.status.success());
        output.stdout
    }
}

fn kubernetes() -> Capabilities {
    Capabilities { kube_version: KUBERNETES.to_owned(), api_versions: vec!["monitoring.coreos.com/v1".to_owned()] }
}

fn diagnosed(error: &ChartError) -> String {
    let first = &error.diagnostics[0];
    let place =
        first.place.as_ref().map_or_else(String::new, |place| format!("\n  at {place}: {}", place.text.as_deref().unwrap_or_default()));
    let detail = first.detail.as_deref().map_or_else(String::new, |detail| format!("\n{detail}"));
    format!("{}: {}{place}{detail}", first.code, first.summary)
}

#[test]
fn the_component_is_the_one_that_is_expected() {
    let Some(file) = component() else { return };
    let expected = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../helm/helm.sha256")).unwrap();
    let output = Command::new("sha256sum").arg(file).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(expected.trim()), "run `cargo xtask helm`: helm/ is not what was built");
}

/// Values under which a chart shows much of itself, and makes nothing at random.
fn much(chart: &str) -> Vec<Value> {
    match chart.split('-').next().unwrap() {
        "cilium" => {
            let tls = json!({"auto": {"method": "cronJob"}});
            vec![
                json!({"hubble": {"tls": tls}}),
                json!({
                    "kubeProxyReplacement": true, "k8sServiceHost": "10.0.0.20", "k8sServicePort": 6443, "l2announcements": {"enabled": true},
                    "gatewayAPI": {"enabled": true}, "ingressController": {"enabled": true}, "encryption": {"enabled": true, "type": "wireguard"},
                    "hubble": {"relay": {"enabled": true}, "ui": {"enabled": true}, "tls": tls, "metrics": {"enabled": ["dns", "drop"], "serviceMonitor": {"enabled": true}}},
                    "operator": {"replicas": 1}, "prometheus": {"enabled": true, "serviceMonitor": {"enabled": true}}, "bgpControlPlane": {"enabled": true},
                }),
            ]
        }
        "nvidia" => {
            vec![json!({}), json!({"gfd": {"enabled": true}, "config": {"map": {"default": "version: v1\nflags:\n  migStrategy: none\n"}}})]
        }
        "metrics" => vec![
            json!({}),
            json!({"replicas": 2, "args": ["--kubelet-insecure-tls"], "serviceMonitor": {"enabled": true}, "metrics": {"enabled": true}}),
        ],
        "external" => vec![
            json!({}),
            json!({"provider": {"name": "aws"}, "sources": ["crd", "service"], "policy": "sync", "serviceMonitor": {"enabled": true}}),
        ],
        _ => vec![json!({})],
    }
}

struct Real {
    helm: PathBuf,
    charts: Vec<PathBuf>,
}

/// The real program, and charts that people use; none, and a loud word, where they are not there.
fn real() -> Option<Real> {
    let helm = emhost_oracles::program("helm-v4.3.1", "helm")?;
    let folder = emhost_oracles::folder().join("charts");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut charts: Vec<PathBuf> = entries.filter(|path| path.join("Chart.yaml").is_file()).collect();
    charts.sort();
    if charts.len() < 5 {
        skipped(format_args!("real charts: {} has not all of them; `cargo xtask oracles charts` fetches them", folder.display()));
        return None;
    }
    Some(Real { helm, charts })
}

impl Real {
    fn helm(&self, home: &Path, arguments: &[&str]) -> Command {
        let mut helm = Command::new(&self.helm);
        helm.args(arguments).env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap());
        helm
    }

    fn template(&self, home: &Path, chart: &Path, values: &Value) -> Result<String, String> {
        std::fs::write(home.join("values.json"), values.to_string()).unwrap();
        let arguments =
            ["template", "demo", chart.to_str().unwrap(), "--namespace", "kube-system", "--include-crds", "--kube-version", KUBERNETES];
        let mut helm = self.helm(home, &arguments);
        let output = helm.args(["--api-versions", "monitoring.coreos.com/v1", "-f"]).arg(home.join("values.json")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

#[tokio::test]
async fn real_charts_are_what_helm_makes_of_them() {
    let (Some(bench), Some(real)) = (Bench::new().await, real()) else { return };
    let mut objects = 0;
    for path in &real.charts {
        let name = path.file_name().unwrap().to_str().unwrap();
        copy(path, &bench.folder.path().join(name));
        for values in much(name) {
            let expected = real.template(bench.folder.path(), path, &values).unwrap_or_else(|error| panic!("{name}: {error}"));
            let ours = bench.render(name, &values).await.unwrap_or_else(|error| panic!("{name}: {}", diagnosed(&error)));
            assert!(ours.text == expected, "{name} with {values} is not what helm makes:\n{}", difference(&expected, &ours.text));
            assert_eq!(documents(&expected), ours.manifests.len() + ours.hooks.len(), "{name}");
            objects += ours.manifests.len();
        }
    }
    assert!(objects > 150, "{objects}");
}

/// How many documents of a text are objects.
fn documents(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("kind:")).count()
}

fn difference(expected: &str, is: &str) -> String {
    let differs = expected.lines().zip(is.lines()).find(|(one, other)| one != other);
    differs.map_or_else(|| format!("{} and {} bytes", expected.len(), is.len()), |(one, other)| format!("- {one}\n+ {other}"))
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

#[tokio::test]
async fn what_a_chart_makes_at_random_stays_and_is_this_clusters_own() {
    let (Some(bench), Some(real)) = (Bench::new().await, real()) else { return };
    let cilium = real.charts.iter().find(|path| path.ends_with("cilium-1.18")).unwrap();
    copy(cilium, &bench.folder.path().join("cilium"));
    let chart = Chart { release: "cilium".to_owned(), ..named("cilium") };
    let now = |time: &str| time.parse().unwrap();
    let render = async |charts: Charts| charts.render(&chart, &kubernetes()).await.unwrap_or_else(|error| panic!("{}", diagnosed(&error)));
    let first = render(bench.charts()).await;
    let secrets = |rendered: &Rendered| -> BTreeMap<String, Value> {
        let secrets = rendered.manifests.iter().filter(|object| object["kind"] == "Secret");
        secrets.map(|secret| (secret["metadata"]["name"].as_str().unwrap().to_owned(), secret["data"].clone())).collect()
    };
    let keys = |rendered: &Rendered, key: &str| -> Vec<Value> {
        secrets(rendered).values().map(|data| data[key].clone()).filter(|value| !value.is_null()).collect()
    };
    assert_eq!((keys(&first, "tls.key").len(), keys(&first, "ca.key").len()), (1, 1), "{:?}", secrets(&first).keys());
    assert!(first == render(bench.charts().at(now("2026-12-31T23:59:59Z"))).await, "another run in the same quarter makes another chart");
    // Renewed, with the same keys: what trusts the old certificates trusts the new ones.
    let next = render(bench.charts().at(now("2027-01-01T00:00:00Z"))).await;
    assert_eq!(keys(&first, "tls.key"), keys(&next, "tls.key"));
    assert_ne!(keys(&first, "tls.crt"), keys(&next, "tls.crt"));
    let other = Lent { secrets: Arc::new(MemorySecrets::default().with(SEED, &[8; 64])), ..bench.lent() };
    let other = render(Charts::new(runtime(), other).at(now("2026-11-16T12:00:00Z"))).await;
    assert!(keys(&first, "tls.key").iter().all(|key| !keys(&other, "tls.key").contains(key)));
    // A cluster that has no seed yet gets one, and keeps it.
    let fresh = Arc::new(MemorySecrets::default());
    let lent = || Lent { secrets: Arc::clone(&fresh) as _, ..bench.lent() };
    assert_eq!(render(Charts::new(runtime(), lent())).await, render(Charts::new(runtime(), lent())).await);
}

#[tokio::test]
async fn hooks_crds_notes_and_lookup() {
    let Some(bench) = Bench::new().await else { return };
    bench.chart(
        "app",
        &[
            (".helmignore", "*.bak\nprivate/\n"),
            ("values.yaml", "greeting: hello\n"),
            ("crds/b.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: bs.example.com}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\n"),
            ("templates/deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\n  annotations: {helm: {{ .Capabilities.HelmVersion.Version }}, kube: {{ .Capabilities.KubeVersion }}, on: yes, mode: 0644}\n"),
            ("templates/all.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: one}\n  data: {found: {{ len (lookup \"v1\" \"Secret\" \"a\" \"b\") | quote }}, greeting: {{ .Values.greeting }}, bak: {{ .Files.Get \"x.bak\" | quote }}, private: {{ .Files.Get \"private/x\" | quote }}, file: {{ .Files.Get \"x.txt\" | quote }} }\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: two}\n"),
            ("templates/hook.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-weight: '-5', helm.sh/hook-delete-policy: hook-succeeded}\n"),
            ("templates/nothing.yaml", "{{- if .Values.never }}\nx\n{{- end }}\n# only a comment\n"),
            ("templates/NOTES.txt", "Look at {{ .Release.Name }}.\n"),
            ("x.bak", "no"), ("x.txt", "yes"), ("private/x", "no"), ("templates/y.bak", "{{ fail \"read\" }}"),
        ],
    );
    let rendered = bench.render("app", &json!({"greeting": "hi"})).await.unwrap_or_else(|error| panic!("{}", diagnosed(&error)));
    let names: Vec<String> = rendered
        .manifests
        .iter()
        .map(|object| format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            "CustomResourceDefinition bs.example.com",
            "CustomResourceDefinition as.example.com",
            "Deployment demo",
            "ConfigMap one",
            "Namespace two"
        ]
    );
    assert_eq!(rendered.manifests[3]["data"], json!({"found": "0", "greeting": "hi", "bak": "", "private": "", "file": "yes"}));
    // YAML as Kubernetes reads it: 1.1.
    assert_eq!(rendered.manifests[2]["metadata"]["annotations"], json!({"helm": "v4.3.1", "kube": KUBERNETES, "true": true, "mode": 420}));
    assert_eq!(rendered.hooks.len(), 1);
    assert_eq!(rendered.hooks[0].events, [Moment::PreInstall, Moment::PreUpgrade]);
    assert_eq!((rendered.hooks[0].weight, &rendered.hooks[0].delete_policies[..]), (-5, &["hook-succeeded".to_owned()][..]));
    assert_eq!(rendered.notes.as_deref(), Some("Look at demo.\n"));
    assert_eq!((rendered.chart.as_str(), rendered.version.as_str()), ("app", "1.2.3"));
}

#[tokio::test]
async fn mistakes_are_told_in_helms_words_and_at_their_place() {
    let Some(bench) = Bench::new().await else { return };
    let configmap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    bench.chart(
        "app",
        &[
            ("values.schema.json", r#"{"type": "object", "properties": {"replicas": {"type": "integer"}}}"#),
            (
                "templates/a.yaml",
                &format!("{configmap}data:\n  x: {{{{ required \"say who\" .Values.who }}}}\n  y: {{{{ .Values.deep.er.est }}}}\n"),
            ),
        ],
    );
    let said = diagnosed(&bench.render("app", &json!({"replicas": "two", "who": "me"})).await.unwrap_err());
    assert!(said.starts_with("chart/values: chart ./app of release `demo`: the values are not what the chart's schema allows\n"), "{said}");
    assert!(said.contains("at '/replicas': got string, want integer"), "{said}");
    let said = diagnosed(&bench.render("app", &json!({})).await.unwrap_err());
    assert!(said.contains("say who") && said.contains("at app/templates/a.yaml:5:8:   x: {{ required"), "{said}");
    let said = diagnosed(&bench.render("app", &json!({"who": "me"})).await.unwrap_err());
    assert!(
        said.starts_with("chart/template: ") && said.contains("app/templates/a.yaml, line 6: ") && said.contains("nil pointer evaluating"),
        "{said}"
    );

    bench.chart("broken", &[("templates/a.yaml", "a: {{ if }}\n")]);
    let said = diagnosed(&bench.render("broken", &json!({})).await.unwrap_err());
    assert!(said.contains("broken/templates/a.yaml:1") && said.contains("missing value for if"), "{said}");
    bench.chart("yaml", &[("templates/a.yaml", "a: b: c\n")]);
    let said = diagnosed(&bench.render("yaml", &json!({})).await.unwrap_err());
    assert!(said.contains("YAML parse error on yaml/templates/a.yaml"), "{said}");
    bench.chart("kindless", &[("templates/a.yaml", "apiVersion: v1\n")]);
    let said = diagnosed(&bench.render("kindless", &json!({})).await.unwrap_err());
    assert!(said.contains("kindless/templates/a.yaml: an object has no apiVersion or no kind"), "{said}");
    bench.chart(
        "new",
        &[("Chart.yaml", "apiVersion: v2\nname: new\nversion: 1.0.0\nkubeVersion: '>=1.40'\ndependencies: [{name: x, version: 1.0.0}]\n")],
    );
    let said = diagnosed(&bench.render("new", &json!({})).await.unwrap_err());
    assert!(said.contains("missing in charts/ directory: x"), "{said}");

    let charts = bench.charts();
    for (chart, part) in [
        (Chart { values: "[1]".to_owned(), ..named("./app") }, "chart/values: the values of chart ./app are no map"),
        (Chart { release: "Not A Name".to_owned(), ..named("./app") }, "chart/release: "),
        (
            Chart { version: "9.9.9".to_owned(), values: r#"{"who":"me","deep":{"er":{"est":1}}}"#.to_owned(), ..named("./app") },
            "it is version 1.2.3, and 9.9.9 was asked for",
        ),
        (Chart { digest: Some("sha256:00".to_owned()), ..named("./app") }, "is a folder, and a digest is given for it"),
        (named("./missing"), "cannot read the chart in ./missing"),
    ] {
        let said = diagnosed(&charts.render(&chart, &kubernetes()).await.unwrap_err());
        assert!(said.contains(part), "{said}");
    }
}

#[tokio::test]
async fn a_chart_that_runs_wild_is_stopped() {
    let Some(bench) = Bench::new().await else { return };
    bench.chart("loops", &[("templates/a.yaml", "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}")]);
    bench.chart("eats", &[("templates/a.yaml", "a: {{ repeat 400000000 \"x\" | quote }}")]);
    bench.chart(
        "deep",
        &[("templates/_a.tpl", "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}"), ("templates/a.yaml", "a: {{ include \"a\" . }}")],
    );
    let limits = |cpu: u64| Limits { cpu: Duration::from_secs(cpu), crossing: 64 << 20, ..Limits::default() };
    for (name, limits, parts) in [
        ("loops", limits(1), &["chart/limit: chart ./loops of release `demo`: was stopped: it computed for more than the 1s it may"][..]),
        ("loops", Limits { wall: Duration::from_millis(300), ..limits(10) }, &["was stopped: it took longer than the 300ms it may take"]),
        ("eats", limits(10), &["was stopped: it needs more than the 256 MiB of memory it may have"]),
        ("deep", limits(10), &["went too deep", "nested reference name"]),
    ] {
        let error = bench.charts().limited(limits).render(&named(&format!("./{name}")), &kubernetes()).await.unwrap_err();
        let said = diagnosed(&error);
        assert!(parts.iter().any(|part| said.contains(part)), "{said}");
    }
    // Nothing is left of it.
    bench.chart("fine", &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")]);
    assert_eq!(bench.render("fine", &json!({})).await.unwrap().manifests.len(), 1);
}

/// A server on loopback: answers by what is asked, and remembers it.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answer: impl Fn(&str, &str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (server, here) = (Self { url: format!("http://{host}"), asked: Arc::clone(&asked) }, host);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    request.push(byte[0]);
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let answer = answer(&here, &request);
                asked.lock().unwrap().push(request);
                let _ = stream.write_all(&answer);
            }
        });
        server
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn an_archive_is_pinned_where_it_is_first_seen() {
    let Some(bench) = Bench::new().await else { return };
    let template = |word: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {word}}}\n");
    bench.chart("app", &[("templates/a.yaml", &template("one"))]);
    let archive = Arc::new(Mutex::new(bench.packed("app")));
    let body = Arc::clone(&archive);
    let server = Server::new(move |_, request| match request.split(' ').nth(1) {
        Some("/app-1.2.3.tgz") => answer("302 Found", "location: /elsewhere/app.tgz\r\n", b""),
        Some("/elsewhere/app.tgz") => answer("200 OK", "", &body.lock().unwrap()),
        Some("/page.tgz") => answer("200 OK", "", b"<!DOCTYPE html>"),
        Some("/cut.tgz") => b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\n\x1f\x8b".to_vec(),
        Some("/busy.tgz") => answer("503 Busy", "", b"later"),
        _ => answer("404 Not Found", "", b"no such chart"),
    });
    let named = |path: &str| Chart { version: "1.2.3".to_owned(), ..named(&format!("{}{path}", server.url)) };
    let chart = named("/app-1.2.3.tgz");
    let locked = Charts::new(runtime(), Lent { locked: true, ..bench.lent() });
    let said = diagnosed(&locked.render(&chart, &kubernetes()).await.unwrap_err());
    assert!(said.starts_with("chart/lock: ") && said.contains("is not in emhost.lock, and nothing may be added to it"), "{said}");
    let charts = bench.charts();
    let first = charts.render(&chart, &kubernetes()).await.unwrap_or_else(|error| panic!("{}", diagnosed(&error)));
    assert_eq!(first.manifests[0]["metadata"]["name"], "one");
    let lock = Lock::load(bench.folder.path()).unwrap();
    assert_eq!(lock.charts[&chart.reference].size, archive.lock().unwrap().len() as u64);
    // From now on it is known, and nobody is asked.
    let asked = server.asked();
    for charts in [charts, bench.charts(), Charts::new(runtime(), Lent { locked: true, ..bench.lent() })] {
        assert_eq!(charts.render(&chart, &kubernetes()).await.unwrap().manifests, first.manifests);
    }
    assert_eq!(server.asked(), asked);
    // Somebody serves another one under the same address.
    std::fs::remove_dir_all(bench.folder.path().join("cache")).unwrap();
    bench.chart("app", &[("templates/a.yaml", &template("two"))]);
    *archive.lock().unwrap() = bench.packed("app");
    let said = diagnosed(&bench.charts().render(&chart, &kubernetes()).await.unwrap_err());
    assert!(said.contains("is not what emhost.lock says:\n  - digest: sha256:") && said.contains("\n  + digest: sha256:"), "{said}");
    let wrong = Chart { digest: Some(format!("sha256:{}", "0".repeat(64))), ..named("/elsewhere/app.tgz") };
    let said = diagnosed(&bench.charts().render(&wrong, &kubernetes()).await.unwrap_err());
    assert!(
        said.starts_with("chart/digest: ") && !Lock::load(bench.folder.path()).unwrap().charts.contains_key(&wrong.reference),
        "{said}"
    );

    for (path, part, passing) in [
        ("/page.tgz", "what was served is no .tgz, it begins with `<!DOCTYPE html>`", false),
        ("/cut.tgz", "fetching http://127.0.0.1", true),
        ("/busy.tgz", "the server answered 503: later", true),
        ("/none.tgz", "the server answered 404: no such chart", false),
    ] {
        let error = bench.charts().render(&named(path), &kubernetes()).await.unwrap_err();
        assert!(error.to_string().contains(part) && error.passing == passing, "{path}: {error} {}", error.passing);
    }
}

#[tokio::test]
async fn a_repository_has_a_list() {
    let Some(bench) = Bench::new().await else { return };
    bench.chart("app", &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")]);
    let chart = bench.packed("app");
    let server = Server::new(move |_, request| match request.split(' ').nth(1) {
        Some("/charts/index.yaml") => {
            let wrong = "0".repeat(64);
            let list = format!(
                "apiVersion: v1\nentries:\n  app:\n  - {{version: 1.2.3, urls: [files/app.tgz], name: app}}\n  - {{version: 1.2.2, urls: [files/app.tgz], digest: '{wrong}'}}\n  - {{version: 1.2.1, urls: ['http://192.0.2.1/app.tgz']}}\n"
            );
            answer("200 OK", "", list.as_bytes())
        }
        Some("/charts/files/app.tgz") => answer("200 OK", "", &chart),
        _ => answer("404 Not Found", "", b""),
    });
    let named = |chart: &str, version: &str| Chart { version: version.to_owned(), ..named(&format!("{}/charts/{chart}", server.url)) };
    let rendered =
        bench.charts().render(&named("app", "1.2.3"), &kubernetes()).await.unwrap_or_else(|error| panic!("{}", diagnosed(&error)));
    assert_eq!(rendered.manifests.len(), 1);
    assert!(Lock::load(bench.folder.path()).unwrap().charts.contains_key(&format!("{}/charts/app:1.2.3", server.url)));
    for (chart, version, part) in [
        ("app", "1.2.2", "and the list says sha256:0000"),
        ("app", "1.2.1", "names no https:// address for it"),
        ("app", "9.0.0", "does not have this version"),
        ("other", "1.0.0", "index.yaml does not have it"),
    ] {
        let error = bench.charts().render(&named(chart, version), &kubernetes()).await.unwrap_err();
        assert!(error.to_string().contains(part), "{chart} {version}: {error}");
    }
}

#[tokio::test]
async fn a_registry_is_asked_as_others_ask_it() {
    let Some(bench) = Bench::new().await else { return };
    bench.chart("app", &[("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")]);
    let chart = bench.packed("app");
    let digest = |bytes: &[u8]| {
        let file = bench.folder.path().join("bytes");
        std::fs::write(&file, bytes).unwrap();
        let output = Command::new("sha256sum").arg(file).output().unwrap();
        format!("sha256:{}", &String::from_utf8(output.stdout).unwrap()[..64])
    };
    let layer = digest(&chart);
    let manifest =
        |kind: &str, digest: &str| json!({"schemaVersion": 2, "layers": [{"mediaType": kind, "digest": digest, "size": 1}]}).to_string();
    let kind = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    let good = manifest(kind, &layer);
    let by_digest = digest(good.as_bytes());
    let (other, lying) =
        (manifest("application/vnd.oci.image.layer.v1.tar", &layer), manifest(kind, &format!("sha256:{}", "1".repeat(64))));
    let blob = layer.clone();
    let server = Server::new(move |host, request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        if let Some(query) = path.strip_prefix("/token?") {
            assert!(query.contains("service=here") && query.contains("scope=repository%3Acharts%2Fapp%3Apull"), "{query}");
            assert!(!request.to_ascii_lowercase().contains("authorization"), "{request}");
            return answer("200 OK", "", br#"{"token": "everybodys"}"#);
        }
        if path.starts_with("/v2/private/") {
            return answer("401 Unauthorized", "www-authenticate: Basic realm=\"x\"\r\n", b"");
        }
        if path.starts_with("/v2/sends/") {
            return answer("401 Unauthorized", "www-authenticate: Bearer realm=\"http://169.254.169.254/token\"\r\n", b"");
        }
        if !request.contains("uthorization: Bearer everybodys\r\n") {
            let challenge =
                format!("www-authenticate: Bearer realm=\"http://{host}/token\",service=\"here\",scope=\"repository:charts/app:pull\"\r\n");
            return answer("401 Unauthorized", &challenge, b"");
        }
        match path.strip_prefix("/v2/charts/app/").unwrap_or_default() {
            "manifests/1.2.3" => answer("200 OK", "", good.as_bytes()),
            path if path == format!("manifests/{by_digest}") => answer("200 OK", "", good.as_bytes()),
            "manifests/2.0.0" => answer("200 OK", "", other.as_bytes()),
            "manifests/3.0.0" => answer("200 OK", "", lying.as_bytes()),
            path if path == format!("blobs/{blob}") || path == format!("blobs/sha256:{}", "1".repeat(64)) => answer("200 OK", "", &chart),
            _ => answer("404 Not Found", "", br#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#),
        }
    });
    let host = server.url.strip_prefix("http://").unwrap().to_owned();
    let named = |path: &str, version: &str| Chart { version: version.to_owned(), ..named(&format!("oci://{host}/{path}")) };
    let rendered =
        bench.charts().render(&named("charts/app", "1.2.3"), &kubernetes()).await.unwrap_or_else(|error| panic!("{}", diagnosed(&error)));
    assert_eq!(rendered.manifests.len(), 1);
    let pinned = Lock::load(bench.folder.path()).unwrap();
    assert_eq!(pinned.charts[&format!("oci://{host}/charts/app:1.2.3")].digest, layer);
    for (path, version, part) in [
        ("charts/app", "2.0.0", "it has no layer that is a chart, only [application/vnd.oci.image.layer.v1.tar]"),
        ("charts/app", "3.0.0", "and the manifest says sha256:1111"),
        ("charts/app", "4.0.0", "the server answered 404: {\"errors\":[{\"code\":\"MANIFEST_UNKNOWN\"}]}"),
        ("private/app", "1.2.3", "the registry answered 401, and asks for a user and a password"),
        ("sends/app", "1.2.3", "would have the token asked for without TLS"),
    ] {
        let error = bench.charts().render(&named(path, version), &kubernetes()).await.unwrap_err();
        assert!(error.to_string().contains(part), "{path} {version}: {error}");
    }
}

#[tokio::test]
async fn a_real_registry_gives_what_helm_pushed() {
    let Some(bench) = Bench::new().await else { return };
    let Some(helm) = emhost_oracles::program("helm-v4.3.1", "helm") else { return };
    let home = bench.folder.path();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n",
        home.join("registry").display()
    );
    std::fs::write(home.join("registry.yaml"), config).unwrap();
    let started =
        Command::new("docker-registry").arg("serve").arg(home.join("registry.yaml")).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(registry) = started else {
        skipped("charts of a real registry: docker-registry is not there; Debian's package of that name has it");
        return;
    };
    let _registry = Process(registry);
    bench.chart(
        "app",
        &[
            ("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.2.3+more\n"),
            ("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
        ],
    );
    let helm = |arguments: &[&str]| Command::new(&helm).args(arguments).current_dir(home).env("HOME", home).output().unwrap();
    assert!(helm(&["package", "app"]).status.success());
    let begun = std::time::Instant::now();
    loop {
        let pushed = helm(&["push", "app-1.2.3+more.tgz", &format!("oci://127.0.0.1:{port}/charts"), "--plain-http"]);
        if pushed.status.success() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", String::from_utf8_lossy(&pushed.stderr));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let chart = Chart { version: "1.2.3+more".to_owned(), ..named(&format!("oci://127.0.0.1:{port}/charts/app")) };
    let rendered = bench.charts().render(&chart, &kubernetes()).await.unwrap_or_else(|error| panic!("{}", diagnosed(&error)));
    assert_eq!((rendered.version.as_str(), rendered.manifests.len()), ("1.2.3+more", 1));
    let packed = std::fs::metadata(home.join("app-1.2.3+more.tgz")).unwrap().len();
    assert_eq!(Lock::load(home).unwrap().charts[&format!("oci://127.0.0.1:{port}/charts/app:1.2.3_more")].size, packed);
}
