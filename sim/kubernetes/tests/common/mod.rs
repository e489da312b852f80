//! A cluster on loopback with an authority of its own, and real kubectl.
#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_sim_kit::certificates::{Algorithm, Authority, Subject};
use emhost_sim_kit::tls::{self, Clients};
use emhost_sim_kit::{Audit, Dials, Store};
use emhost_sim_kubernetes::{Builtin, Cluster, Node, Serving, Settings, StaticPod, Taint};

const DAY: Duration = Duration::from_hours(24);

pub struct Site {
    pub folder: tempfile::TempDir,
    pub cluster: Cluster,
    pub authority: Authority,
    pub port: u16,
    pub serving: Serving,
}

pub fn settings() -> Settings {
    Settings {
        name: "home".to_owned(),
        version: "v1.34.1".to_owned(),
        pod_cidrs: vec!["10.244.0.0/16".to_owned()],
        service_cidrs: vec!["10.96.0.0/12".to_owned()],
        dns_domain: "cluster.local".to_owned(),
    }
}

/// Three control planes and two workers.
pub fn nodes() -> Vec<Node> {
    let node = |name: &str, last: u8, control_plane: bool| Node {
        name: name.to_owned(),
        address: Ipv4Addr::new(10, 0, 10, last),
        dialled: Ipv4Addr::new(127, 9, 10, last),
        control_plane,
        taints: if control_plane {
            vec![Taint { key: "node-role.kubernetes.io/control-plane".to_owned(), value: String::new(), effect: "NoSchedule".to_owned() }]
        } else {
            Vec::new()
        },
        boot_id: format!("boot-{name}"),
        gpus: u32::from(name == "w2"),
        static_pods: if control_plane {
            let names = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
            let pod = |name: &str| StaticPod {
                name: name.to_owned(),
                image: format!("registry.k8s.io/{name}:v1.34.1"),
                config_version: "1".to_owned(),
            };
            names.into_iter().map(pod).collect()
        } else {
            Vec::new()
        },
        ..Node::default()
    };
    vec![node("c1", 11, true), node("c2", 12, true), node("c3", 13, true), node("w1", 21, false), node("w2", 22, false)]
}

pub fn builtin(authority: &Authority) -> Builtin {
    Builtin {
        flannel: true,
        kube_proxy: Some("registry.k8s.io/kube-proxy:v1.34.1".to_owned()),
        coredns: true,
        manifests: Vec::new(),
        authority: authority.pem(),
        service_account_key: b"a key of this test".to_vec(),
    }
}

impl Site {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&folder.path().join("site")).unwrap());
        let audit = Arc::new(Audit::open(&folder.path().join("audit")).unwrap());
        let cluster = Cluster::open(store, "home", settings(), audit, Arc::new(Dials::default())).unwrap();
        let authority = Authority::generate(Algorithm::P256, "", "kubernetes", DAY).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let subject = Subject {
            addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            names: vec!["localhost".to_owned()],
            server: true,
            ..Subject::default()
        };
        let identity = authority.issue(Algorithm::P256, &subject, DAY).unwrap();
        let clients = Clients::Optional(vec![authority.certificate().clone()]);
        let serving = cluster.serve(listener, tls::server(&identity, clients, &["h2", "http/1.1"]).unwrap()).await;
        let site = Self { folder, cluster, authority, port, serving };
        std::fs::write(site.folder.path().join("admin.yaml"), site.kubeconfig("admin", &["system:masters"])).unwrap();
        site
    }

    pub fn kubeconfig(&self, user: &str, groups: &[&str]) -> String {
        let organizations = groups.iter().map(|group| (*group).to_owned()).collect();
        let subject = Subject { common_name: user.to_owned(), organizations, client: true, ..Subject::default() };
        let identity = self.authority.issue(Algorithm::P256, &subject, DAY).unwrap();
        let encode = |text: String| STANDARD.encode(text);
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: home\n  cluster:\n    server: https://127.0.0.1:{}\n    certificate-authority-data: {}\ncontexts:\n- name: home\n  context: {{cluster: home, user: {user}, namespace: default}}\ncurrent-context: home\nusers:\n- name: {user}\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
            self.port,
            encode(self.authority.pem()),
            encode(identity.pem()),
            encode(identity.key_pem())
        )
    }

    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Runs kubectl as the administrator; a run that hangs is cut off.
    pub async fn kubectl(&self, arguments: &[&str]) -> Output {
        let config = self.folder.path().join("admin.yaml");
        self.kubectl_as(config, arguments).await
    }

    pub async fn kubectl_as(&self, config: PathBuf, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.arg("60").arg(kubectl().unwrap()).arg("--cache-dir").arg(self.folder.path().join("cache"));
        command.arg("--kubeconfig").arg(config).args(arguments).env("HOME", self.folder.path()).env("TERM", "dumb");
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }

    /// Runs kubectl and expects it to succeed; what it printed.
    pub async fn ok(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {} failed:\n{out}\n{err}", arguments.join(" "));
        out.into_owned()
    }

    /// Runs kubectl and expects it to be refused; what it complained about.
    pub async fn refused(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success(), "kubectl {} succeeded:\n{out}\n{err}", arguments.join(" "));
        err.into_owned()
    }
}

/// The real kubectl, where this computer has it.
pub fn kubectl() -> Option<PathBuf> {
    emhost_oracles::program("kubectl-v1.34.2", "kubectl")
}

/// A small client for requests that kubectl does not make.
pub struct Client {
    sender: hyper::client::conn::http1::SendRequest<http_body_util::Full<bytes::Bytes>>,
    token: Option<String>,
}

impl Site {
    /// Connects as this user, or as nobody.
    pub async fn client(&self, user: Option<(&str, &[&str])>) -> Client {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.authority.certificate().clone()).unwrap();
        let builder = rustls::ClientConfig::builder().with_root_certificates(roots);
        let config = match user {
            Some((name, groups)) => {
                let organizations = groups.iter().map(|group| (*group).to_owned()).collect();
                let subject = Subject { common_name: name.to_owned(), organizations, client: true, ..Subject::default() };
                let identity = self.authority.issue(Algorithm::P256, &subject, DAY).unwrap();
                builder.with_client_auth_cert(vec![identity.certificate.clone()], identity.private_key()).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Client { sender, token: None }
    }

    pub async fn admin(&self) -> Client {
        self.client(Some(("admin", &["system:masters"]))).await
    }
}

impl Client {
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    async fn begin(&mut self, method: &str, path: &str, kind: &str, body: String) -> http::Response<hyper::body::Incoming> {
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", kind)
            .header("user-agent", "test/1");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        self.sender.ready().await.unwrap();
        self.sender.send_request(request.body(http_body_util::Full::from(body)).unwrap()).await.unwrap()
    }

    pub async fn send(&mut self, method: &str, path: &str, kind: &str, body: &serde_json::Value) -> (u16, serde_json::Value) {
        use http_body_util::BodyExt as _;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.begin(method, path, kind, body).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        let value = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
        (code, value)
    }

    pub async fn get(&mut self, path: &str) -> (u16, serde_json::Value) {
        self.send("GET", path, "application/json", &serde_json::Value::Null).await
    }

    pub async fn post(&mut self, path: &str, body: &serde_json::Value) -> (u16, serde_json::Value) {
        self.send("POST", path, "application/json", body).await
    }

    pub async fn watch(&mut self, path: &str) -> Watch {
        Watch { body: self.begin("GET", path, "application/json", String::new()).await.into_body(), buffer: Vec::new() }
    }
}

pub struct Watch {
    body: hyper::body::Incoming,
    buffer: Vec<u8>,
}

impl Watch {
    /// The next event, or nothing when the server has ended the watch.
    pub async fn next(&mut self) -> Option<serde_json::Value> {
        use http_body_util::BodyExt as _;
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = tokio::time::timeout(Duration::from_secs(10), self.body.frame()).await.expect("an event in time")?;
            self.buffer.extend_from_slice(&frame.ok()?.into_data().unwrap_or_default());
        }
    }
}
