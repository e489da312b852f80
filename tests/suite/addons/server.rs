//! Somebody else who works on the same cluster, with every right.

use std::time::{Duration, Instant};

use emhost::kube::{Access, Body, Client};
use http::Method;
use serde_json::Value;

/// A client of its own.
pub struct Api {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Api {
    pub fn new(kubeconfig: &str) -> Self {
        let access = Access::parse(kubeconfig.as_bytes()).unwrap();
        let server = access.server.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { client: Client::new(&access, vec![server]).unwrap(), runtime }
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.runtime.block_on(self.client.get(path)).unwrap()
    }

    /// Whether the server answers this now.
    pub fn can(&self, path: &str) -> bool {
        // Health is told in a word and not as an object.
        let answer = self.runtime.block_on(self.client.get(path));
        match answer {
            Ok(found) => found.is_some(),
            Err(error) => error.to_string().contains("is no JSON"),
        }
    }

    /// The state of everything of a kind in the namespace default, down to who manages what.
    pub fn version(&self, kind: &str) -> Value {
        let group = match kind {
            "deployments" => "/apis/apps/v1",
            "things" => "/apis/example.com/v1",
            _ => "/api/v1",
        };
        self.get(&format!("{group}/namespaces/default/{kind}")).unwrap_or_default()["items"].clone()
    }

    #[track_caller]
    fn change(&self, method: &Method, path: &str, body: Body<'_>) {
        let answer = self.runtime.block_on(self.client.change(method, path, body));
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
    }

    #[track_caller]
    pub fn create(&self, path: &str, object: &Value) {
        self.change(&Method::POST, path, Body::Json(object));
    }

    /// Changes a part of an object, as this manager.
    #[track_caller]
    pub fn merge(&self, path: &str, manager: &str, part: &Value) {
        self.change(&Method::PATCH, &format!("{path}?fieldManager={manager}"), Body::Merge(part));
    }

    #[track_caller]
    pub fn delete(&self, path: &str) {
        self.change(&Method::DELETE, path, Body::None);
    }
}

/// Waits for it, half a minute at most.
#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
