//! A client that takes what it gets: an answer, an error or nothing.

use std::time::{Duration, Instant};

use emhost_sim::Access;
use reqwest::Method;
use serde_json::Value;

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    Answer(u16, Value),
    /// The connection closed.
    Nothing,
}

impl Came {
    /// Without what is different every time.
    pub fn told(&self) -> String {
        match self {
            Self::Answer(status, body) => format!("{status} {}", body["message"].as_str().unwrap_or_default()),
            Self::Nothing => "nothing".to_owned(),
        }
    }
}

/// A client that takes what it gets.
pub struct Client {
    pub access: Access,
    pub http: reqwest::Client,
}

impl Client {
    pub fn new(access: Access) -> Self {
        emhost_sim_kit::tls::provider();
        let authority = reqwest::Certificate::from_pem_bundle(access.authority.as_bytes()).unwrap();
        // A connection for each request: one that was lost takes no other with it.
        let http = reqwest::Client::builder().tls_certs_only(authority).no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Self { access, http }
    }

    pub async fn ask(&self, method: Method, path: &str, form: &[(&str, &str)]) -> Came {
        let request = self.http.request(method, format!("{}/api2/json{path}", self.access.pve));
        let request = request.header("Authorization", format!("PVEAPIToken={}", self.access.token));
        let request = if form.is_empty() { request } else { request.form(form) };
        let Ok(answer) = request.send().await else { return Came::Nothing };
        let status = answer.status().as_u16();
        Came::Answer(status, serde_json::from_slice(&answer.bytes().await.unwrap_or_default()).unwrap_or_default())
    }

    /// Asks until there is an answer.
    pub async fn read(&self, path: &str) -> Value {
        for _ in 0..1000 {
            if let Came::Answer(200, body) = self.ask(Method::GET, path, &[]).await {
                return body["data"].clone();
            }
        }
        panic!("{path} is never answered");
    }

    /// Waits until nothing is under way any more, and gives every task, oldest first: what it did and how it ended.
    pub async fn settled(&self) -> Vec<String> {
        let started = Instant::now();
        loop {
            let tasks = self.read("/nodes/pve1/tasks?source=all&limit=1000").await;
            let tasks = tasks.as_array().unwrap();
            if tasks.iter().all(|task| task["status"] != "RUNNING") {
                let told = |task: &Value| format!("{} {} {}", task["type"], task["id"], task["status"]);
                return tasks.iter().rev().map(told).collect();
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{tasks:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The machines there are, as far as two runs can agree about them.
    pub async fn machines(&self) -> Vec<String> {
        let mut machines = Vec::new();
        for machine in self.read("/nodes/pve1/qemu").await.as_array().unwrap() {
            let config = self.read(&format!("/nodes/pve1/qemu/{}/config", machine["vmid"])).await;
            let kept = ["name", "lock", "memory", "scsi0", "scsi1"].map(|key| config[key].to_string());
            machines.push(format!("{} {} {}", machine["vmid"], machine["status"], kept.join(" ")));
        }
        machines.sort();
        machines
    }

    /// The volumes of a machine.
    pub async fn volumes(&self, vmid: u32) -> usize {
        let content = self.read(&format!("/nodes/pve1/storage/local-lvm/content?vmid={vmid}")).await;
        content.as_array().unwrap().len()
    }
}

/// `root@pam` with a ticket.
pub struct Root {
    ticket: String,
    csrf: String,
}

impl Root {
    pub async fn log_in(client: &Client) -> Self {
        let form = [("username", "root@pam"), ("password", client.access.root_password.as_str())];
        let answer = client.http.post(format!("{}/api2/json/access/ticket", client.access.pve)).form(&form).send().await.unwrap();
        let body: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let text = |key: &str| body["data"][key].as_str().unwrap().to_owned();
        Self { ticket: text("ticket"), csrf: text("CSRFPreventionToken") }
    }

    pub async fn put(&self, client: &Client, path: &str, form: &[(&str, &str)]) {
        let request = client.http.put(format!("{}/api2/json{path}", client.access.pve)).form(form);
        let request = request.header("Cookie", format!("PVEAuthCookie={}", self.ticket)).header("CSRFPreventionToken", &self.csrf);
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }
}
