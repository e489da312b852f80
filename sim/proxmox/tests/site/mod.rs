//! A small installation to drive over HTTP.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr, clippy::missing_panics_doc)]

pub mod facts;
pub mod fixture;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use emhost_sim_kit::{Audit, Dials, Network, Store};
use emhost_sim_proxmox::{HostSpec, Parts, PciSpec, Pve, Release, Serving, Spec, StorageSpec};
use reqwest::{Client, Method};
use serde_json::Value;

pub const PASSWORD: &str = "root-password";
pub const TOKEN: (&str, &str) = ("adm@pve!ad", "11111111-2222-4333-8444-555555555555");

/// The fixture of the recorded answers: one host that is asked, one beside it.
pub fn spec(release: Release) -> Spec {
    let host = |name: &str| HostSpec {
        name: name.to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        cores: 16,
        memory: 64 << 30,
        bridges: vec!["vmbr0".to_owned(), "vmbr1".to_owned()],
        pci: vec![
            PciSpec::graphics("0000:01:00.0", 14),
            PciSpec::graphics("0000:02:00.0", 15),
            PciSpec { class: "0x060400".to_owned(), ..PciSpec::graphics("0000:00:01.0", 1) },
        ],
        iommu: true,
    };
    let files = ["iso", "vztmpl", "backup", "snippets", "import", "images"];
    let mut storages = vec![
        StorageSpec::new("local", "dir", &files),
        StorageSpec::new("local-lvm", "lvmthin", &["images", "rootdir"]),
        StorageSpec { shared: true, ..StorageSpec::new("shared1", "dir", &["images", "iso", "import"]) },
        StorageSpec::new("isos", "dir", &["iso"]),
        StorageSpec { disabled: true, ..StorageSpec::new("off", "dir", &["images"]) },
        StorageSpec { nodes: vec!["pve2".to_owned()], ..StorageSpec::new("onpve2", "dir", &["images"]) },
        StorageSpec::new("tank", "zfspool", &["images"]),
        StorageSpec { shared: true, ..StorageSpec::new("ceph1", "rbd", &["images"]) },
    ];
    storages.sort_by(|a, b| a.id.cmp(&b.id));
    Spec {
        release,
        cluster: Some("lab".to_owned()),
        hosts: vec![host("pve1"), host("pve2")],
        storages,
        root_password: PASSWORD.to_owned(),
        tokens: BTreeMap::from([(TOKEN.0.to_owned(), TOKEN.1.to_owned())]),
        resolve: BTreeMap::new(),
        trust: Vec::new(),
    }
}

/// A running installation.
pub struct Site {
    pub pve: Arc<Pve>,
    pub serving: Serving,
    pub dials: Arc<Dials>,
}

impl Site {
    pub async fn open(folder: &Path, spec: Spec, dials: Dials) -> Self {
        let dials = Arc::new(dials);
        let parts = Parts {
            store: Arc::new(Store::open(&folder.join("store")).unwrap()),
            dials: Arc::clone(&dials),
            audit: Arc::new(Audit::open(&folder.join("audit")).unwrap()),
            network: Network::new(9),
        };
        let pve = Pve::open(spec, parts).unwrap();
        let serving = pve.serve().await.unwrap();
        Self { pve, serving, dials }
    }

    /// Ends it, so that it can be opened again.
    pub async fn close(self) {
        self.serving.stop().await;
        assert_eq!(Arc::strong_count(&self.pve), 1, "nobody holds the installation any more");
    }

    pub fn client(&self, host: &str) -> Api {
        emhost_sim_kit::tls::provider();
        let authority = reqwest::Certificate::from_pem(self.pve.authority().as_bytes()).unwrap();
        let http = Client::builder().tls_certs_only([authority]).no_proxy().build().unwrap();
        let address = self.serving.address(host).unwrap();
        Api { http, base: format!("https://{address}/api2/json"), who: Who::Nobody }
    }
}

/// Who asks.
#[derive(Clone)]
pub enum Who {
    Nobody,
    Token(String),
    Ticket { ticket: String, csrf: String },
}

/// A client of one host.
#[derive(Clone)]
pub struct Api {
    pub http: Client,
    pub base: String,
    pub who: Who,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn data(&self) -> &Value {
        &self.body["data"]
    }

    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

impl Api {
    #[must_use]
    pub fn with_token(&self, id: &str, secret: &str) -> Self {
        Self { who: Who::Token(format!("{id}={secret}")), ..self.clone() }
    }

    pub async fn log_in(&self, user: &str, password: &str) -> Self {
        let reply = self.call(Method::POST, "/access/ticket", &[("username", user), ("password", password)]).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let text = |key: &str| reply.data()[key].as_str().unwrap().to_owned();
        Self { who: Who::Ticket { ticket: text("ticket"), csrf: text("CSRFPreventionToken") }, ..self.clone() }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let changes = method != Method::GET;
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.who {
            Who::Nobody => request,
            Who::Token(token) => request.header("Authorization", format!("PVEAPIToken={token}")),
            Who::Ticket { ticket, csrf } => {
                let request = request.header("Cookie", format!("PVEAuthCookie={ticket}"));
                if changes { request.header("CSRFPreventionToken", csrf) } else { request }
            }
        }
    }

    pub async fn call(&self, method: Method, path: &str, params: &[(&str, &str)]) -> Reply {
        let form = form(params);
        let request = if method == Method::GET || method == Method::DELETE {
            let query = if form.is_empty() { String::new() } else { format!("?{form}") };
            self.request(method, &format!("{path}{query}"))
        } else {
            self.request(method, path).header("Content-Type", "application/x-www-form-urlencoded").body(form)
        };
        receive(request).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, &[]).await
    }

    /// A call that has to succeed.
    pub async fn ok(&self, method: Method, path: &str, params: &[(&str, &str)]) -> Value {
        let reply = self.call(method.clone(), path, params).await;
        assert_eq!(reply.status, 200, "{method} {path} {params:?}: {reply:?}");
        reply.data().clone()
    }
}

pub async fn receive(request: reqwest::RequestBuilder) -> Reply {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    Reply { status, body: serde_json::from_str(&text).unwrap_or(Value::Null), headers, text }
}

pub fn form(params: &[(&str, &str)]) -> String {
    let escaped = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
    };
    params.iter().map(|(key, value)| format!("{}={}", escaped(key), escaped(value))).collect::<Vec<_>>().join("&")
}
