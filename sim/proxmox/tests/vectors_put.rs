//! What a PUT of a configuration and calls of storages do, compared with what Proxmox's own code did.
#![allow(clippy::unwrap_used, clippy::panic)]

mod site;

use std::collections::BTreeMap;
use std::path::Path;

use emhost_sim_kit::{Dials, Store};
use emhost_sim_proxmox::Spec;
use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Map, Value, json};
use site::facts::{Recorded, exception, recorded};
use site::{PASSWORD, Reply, Site, fixture, receive, spec};

/// The machine of the records, and volumes of the sizes they speak of.
fn prepare(folder: &Path) {
    fixture::write(folder);
    let store = Store::open(&folder.join("store")).unwrap();
    let config = json!({
        "bios": "ovmf", "boot": "order=scsi0;net0", "cores": "2", "memory": "2048", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
        "ostype": "l26", "scsi0": "local:100/vm-100-disk-0.qcow2,size=1G", "scsihw": "virtio-scsi-single",
        "smbios1": "uuid=6cf5fbcb-d0a2-4e01-a2ad-b4f5c5d5c2a1", "vmgenid": "f8b8b1b0-0e54-4ef4-9c3c-2d2c5c6a7b10",
    });
    store.put("pve/vm/100", &json!({ "id": 100, "host": "pve1", "config": config })).unwrap();
    for volume in ["local:iso/talos.img", "isos:iso/a.iso"] {
        store.put(&format!("pve/volume/pve1/{volume}"), &json!({ "content": "iso", "format": "iso", "size": 512, "used": 1 })).unwrap();
    }
    for name in ["u", "m", "v", "n"] {
        let document = json!({ "content": "snippets", "format": "snippet", "size": 10, "used": 10 });
        store.put(&format!("pve/volume/pve1/local:snippets/{name}.yaml"), &document).unwrap();
    }
}

/// One host is enough here, and faster.
fn one_host(record: &Recorded) -> Spec {
    let mut spec = spec(record.release);
    spec.cluster = None;
    spec.hosts.truncate(1);
    spec
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap()
}

/// Options by name, with pending ones marked as the records mark them.
fn options(folder: &Path) -> BTreeMap<String, String> {
    let store = Store::open(&folder.join("store")).unwrap();
    let vm: Value = store.get("pve/vm/100").unwrap().unwrap();
    let read = |section: &str| vm[section].as_object().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().trim_end().to_owned();
    let mut options: BTreeMap<String, String> = read("config").iter().map(|(key, value)| (key.clone(), text(value))).collect();
    options.extend(read("pending").iter().map(|(key, value)| (format!("[PENDING]{key}"), text(value))));
    if let Some(description) = options.remove("description") {
        options.insert("description-lines".to_owned(), description);
    }
    options
}

/// What is made up anew every time is written as in the records.
fn placeholders(text: &str, expected: &str) -> String {
    if let Some(at) = text.find("BC:24:11:").filter(|_| expected.contains("<random>")) {
        return format!("{}BC:24:11:<random>{}", &text[..at], &text[at + 17..]);
    }
    let uuid = text.len() == 36 && text.matches('-').count() == 4 && expected == "<uuid>";
    if uuid { "<uuid>".to_owned() } else { text.to_owned() }
}

fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, expected: &Value) -> Value {
    let mut changed = Map::new();
    for key in before.keys().chain(after.keys()) {
        if before.get(key) != after.get(key) {
            let wanted = expected[key].as_str().unwrap_or_default();
            changed.insert(key.clone(), after.get(key).map_or(Value::Null, |value| json!(placeholders(value, wanted))));
        }
    }
    Value::Object(changed)
}

/// One record of a PUT: none where it agrees, else what is different.
async fn put(record: &Recorded) -> Option<String> {
    let expected = record.expect["put"].clone();
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let before = options(folder.path());
    let site = Site::open(folder.path(), one_host(record), Dials::default()).await;
    let root = site.client("pve1").log_in("root@pam", PASSWORD).await;
    let (key, value) = (record.input["key"].as_str().unwrap(), record.input["value"].as_str().unwrap());
    let reply = root.call(Method::PUT, "/nodes/pve1/qemu/100/config", &[(key, value)]).await;
    let config = root.get("/nodes/pve1/qemu/100/config").await;
    drop(root);
    site.close().await;
    let mut found = json!({ "status": reply.status });
    if reply.status == 200 {
        let mut wanted = expected["changed"].clone();
        if let Some(lines) = wanted.get_mut("description-lines").filter(|lines| lines.is_string()) {
            *lines = json!(decoded(lines.as_str().unwrap()));
        }
        found["changed"] = changed(&before, &options(folder.path()), &wanted);
        let shown = if key == "cdrom" { "ide2" } else { key };
        let got = &config.data()[shown];
        if !got.is_null() {
            found["get"] =
                got.as_str().map_or_else(|| got.clone(), |text| json!(placeholders(text, expected["get"].as_str().unwrap_or_default())));
        }
        let mut expected = expected.clone();
        expected["changed"] = wanted;
        return (found != expected).then(|| different(record, &expected, &found));
    }
    found["message"] = reply.body["message"].clone();
    if let Some(errors) = reply.body.get("errors") {
        found["errors"] = errors.clone();
    }
    (found != expected).then(|| different(record, &expected, &found))
}

fn different(record: &Recorded, expected: &Value, found: &Value) -> String {
    let short = |value: &Value| value.to_string().chars().take(600).collect::<String>();
    format!(
        "line {} {:?}: {}\n  expected {}\n  found    {}",
        record.line,
        record.release,
        short(&record.input),
        short(expected),
        short(found)
    )
}

async fn ask(api: &site::Api, input: &Value) -> Reply {
    let method = Method::from_bytes(input["method"].as_str().unwrap().as_bytes()).unwrap();
    let path = input["path"].as_str().unwrap();
    let params: Vec<(&str, &str)> =
        input["params"].as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
    if !path.ends_with("/upload") {
        return api.call(method, path, &params).await;
    }
    let (content, name) = (input["params"]["content"].as_str().unwrap(), input["params"]["filename"].as_str().unwrap());
    let body = format!(
        "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n{content}\r\n--B\r\n\
        Content-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\n\r\nx\r\n--B--\r\n"
    );
    receive(api.request(method, path).header("Content-Type", "multipart/form-data; boundary=B").body(body)).await
}

/// One record of a call of a storage.
async fn storage(record: &Recorded) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let mut spec = spec(record.release);
    spec.hosts.truncate(2);
    let site = Site::open(folder.path(), spec, Dials::default()).await;
    let root = site.client("pve1").log_in("root@pam", PASSWORD).await;
    let reply = ask(&root, &record.input).await;
    drop(root);
    site.close().await;
    let mut found = json!({ "status": reply.status });
    if reply.status != 200 {
        found["message"] = reply.body["message"].clone();
    }
    if let Some(errors) = reply.body.get("errors") {
        found["errors"] = errors.clone();
    }
    match reply.data().as_str() {
        Some(upid) if upid.starts_with("UPID:") => {
            let parts: Vec<&str> = upid.split(':').collect();
            found["task"] = json!({ "type": parts[5], "id": parts[6] });
        }
        Some(data) => found["data"] = json!(data),
        None => {}
    }
    (found != record.expect).then(|| different(record, &record.expect, &found))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_put_changes_what_it_changes_at_proxmox() {
    let Some(records) = recorded(&["property-string"]) else { return };
    let compared = |record: &Recorded| record.expect["put"].is_object() && exception(&record.input, &record.expect).is_none();
    let records: Vec<Recorded> = records.into_iter().filter(compared).collect();
    assert!(records.len() > 600, "{} records", records.len());
    let differ: Vec<String> = futures::stream::iter(&records).map(put).buffered(4).filter_map(|found| async { found }).collect().await;
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), records.len(), differ.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storages_answer_as_at_proxmox() {
    let Some(records) = recorded(&["storage"]) else { return };
    let records: Vec<Recorded> = records.into_iter().filter(|record| record.input["op"] == "api").collect();
    assert!(records.len() > 100, "{} records", records.len());
    let differ: Vec<String> = futures::stream::iter(&records).map(storage).buffered(4).filter_map(|found| async { found }).collect().await;
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), records.len(), differ.join("\n"));
}
