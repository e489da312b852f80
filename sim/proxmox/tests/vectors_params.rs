//! Requests that Proxmox's own code refused for their parameters, sent over HTTP.
//!
//! What it let through is compared without a server in `vectors_schema`: here it would do its work.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod site;

use emhost_sim_kit::Dials;
use emhost_sim_proxmox::Release;
use reqwest::Method;
use serde_json::{Value, json};
use site::facts::{Recorded, recorded};
use site::{Api, PASSWORD, Reply, Site, fixture, receive, spec};

async fn ask(api: &Api, input: &Value) -> Reply {
    let method = Method::from_bytes(input["method"].as_str().unwrap().as_bytes()).unwrap();
    let path = input["path"].as_str().unwrap().replace(' ', "%20");
    let params = input["params"].as_object().unwrap();
    if let Some(name) = params.get("filename").and_then(Value::as_str).filter(|_| path.ends_with("/upload")) {
        let content = params.get("content").and_then(Value::as_str);
        let content = content.map(|content| format!("--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n{content}\r\n"));
        let file = format!("--B\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\n\r\nx\r\n--B--\r\n");
        let body = content.unwrap_or_default() + &file;
        return receive(api.request(method, &path).header("Content-Type", "multipart/form-data; boundary=B").body(body)).await;
    }
    if params.values().all(Value::is_string) {
        let params: Vec<(&str, &str)> = params.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
        return api.call(method, &path, &params).await;
    }
    receive(api.request(method, &path).header("Content-Type", "application/json").body(input["params"].to_string())).await
}

fn difference(record: &Recorded, reply: &Reply) -> Option<String> {
    let mut found = json!({ "status": reply.status, "message": reply.body["message"] });
    if let Some(errors) = reply.body.get("errors") {
        found["errors"] = errors.clone();
    }
    (found != record.expect)
        .then(|| format!("line {} {:?}: {}\n  expected {}\n  found    {found}", record.line, record.release, record.input, record.expect))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_is_refused_over_http_in_the_same_words() {
    let Some(records) = recorded(&["params"]) else { return };
    // The server itself names the file that an upload is kept in: no request can say it.
    let sendable = |record: &Recorded| record.input["params"].get("tmpfilename").is_none();
    let records: Vec<Recorded> = records.into_iter().filter(|record| record.expect["status"] != 200 && sendable(record)).collect();
    assert!(records.len() > 300, "{} records", records.len());
    let mut different = Vec::new();
    for release in [Release::V8, Release::V9] {
        let folder = tempfile::tempdir().unwrap();
        fixture::write(folder.path());
        let site = Site::open(folder.path(), spec(release), Dials::default()).await;
        let root = site.client("pve1").log_in("root@pam", PASSWORD).await;
        for record in records.iter().filter(|record| record.release == release) {
            different.extend(difference(record, &ask(&root, &record.input).await));
        }
    }
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), records.len(), different.join("\n"));
}
