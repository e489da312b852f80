//! Who may do what, compared with what Proxmox's own code answered.
#![allow(clippy::unwrap_used, clippy::panic)]

mod site;

use std::collections::{BTreeMap, BTreeSet};

use emhost_sim_kit::Dials;
use emhost_sim_proxmox::Release;
use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use site::facts::{Recorded, recorded};
use site::{Api, PASSWORD, Reply, Site, TOKEN, Who, fixture, receive, spec};

/// An installation with the machines of the records, and `root@pam` at it.
async fn open(release: Release) -> (tempfile::TempDir, Site, Api) {
    let folder = tempfile::tempdir().unwrap();
    fixture::write(folder.path());
    let site = Site::open(folder.path(), spec(release), Dials::default()).await;
    let root = site.client("pve1").log_in("root@pam", PASSWORD).await;
    root.ok(Method::POST, "/pools", &[("poolid", "emhost")]).await;
    (folder, site, root)
}

/// The client that asks, with everything granted that the record grants.
async fn caller(site: &Site, root: &Api, input: &Value) -> Api {
    let nobody = site.client("pve1");
    match input["auth"].as_str().unwrap() {
        "ticket root@pam" => root.clone(),
        "Administrator token adm@pve!ad" => nobody.with_token(TOKEN.0, TOKEN.1),
        "token root@pam!rt (privsep=0)" => {
            let made = root.ok(Method::POST, "/access/users/root@pam/token/rt", &[("privsep", "0")]).await;
            nobody.with_token("root@pam!rt", made["value"].as_str().unwrap())
        }
        "token emhost@pve!ci" => {
            root.ok(Method::POST, "/access/users", &[("userid", "emhost@pve")]).await;
            let privsep = input["privsep"].to_string();
            let made = root.ok(Method::POST, "/access/users/emhost@pve/token/ci", &[("privsep", &privsep)]).await;
            grant(root, input).await;
            nobody.with_token("emhost@pve!ci", made["value"].as_str().unwrap())
        }
        other => panic!("nobody knows {other}"),
    }
}

fn joined(list: &Value) -> String {
    let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    list.as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(",")
}

async fn grant(root: &Api, input: &Value) {
    for (index, entry) in input["acl"].as_array().unwrap().iter().enumerate() {
        let role = format!("Role{index}");
        root.ok(Method::POST, "/access/roles", &[("roleid", &role), ("privs", &joined(&entry["privs"]))]).await;
        for id in entry["for"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()) {
            let kind = if id.contains('!') { "tokens" } else { "users" };
            let path = entry["path"].as_str().unwrap();
            let propagate = entry["propagate"].as_str().map_or_else(|| entry["propagate"].to_string(), str::to_owned);
            root.ok(Method::PUT, "/access/acl", &[("path", path), ("roles", &role), (kind, id), ("propagate", &propagate)]).await;
        }
    }
    for (pool, members) in input["pools"].as_object().unwrap() {
        for kind in ["vms", "storage"] {
            let list = joined(&members[kind]);
            if !list.is_empty() {
                root.ok(Method::PUT, &format!("/pools/{pool}"), &[(kind, &list)]).await;
            }
        }
    }
}

async fn ask(api: &Api, input: &Value) -> Reply {
    let method = Method::from_bytes(input["method"].as_str().unwrap().as_bytes()).unwrap();
    let path = input["path"].as_str().unwrap();
    let params = input["params"].as_object().unwrap();
    if path.ends_with("/upload") {
        let body = "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--B\r\n\
            Content-Disposition: form-data; name=\"filename\"; filename=\"a.iso\"\r\n\r\nx\r\n--B--\r\n";
        return receive(api.request(method, path).header("Content-Type", "multipart/form-data; boundary=B").body(body)).await;
    }
    if params.values().all(Value::is_string) {
        let params: Vec<(&str, &str)> = params.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
        return api.call(method, path, &params).await;
    }
    receive(api.request(method, path).header("Content-Type", "application/json").body(input["params"].to_string())).await
}

/// What the records keep of an answer.
fn summary(reply: &Reply, upload: bool) -> Value {
    let mut summary = json!({ "status": reply.status });
    // An upload is refused before anything of the body is read, and without one.
    if reply.status != 200 && !upload {
        summary["message"] = reply.body["message"].clone();
    }
    if let Some(errors) = reply.body.get("errors") {
        summary["errors"] = errors.clone();
    }
    if let Some(upid) = reply.data().as_str().filter(|text| text.starts_with("UPID:")) {
        let parts: Vec<&str> = upid.split(':').collect();
        summary["task"] = json!({ "type": parts[5], "id": parts[6], "user": parts[7] });
    }
    summary
}

fn lines(text: &Value) -> BTreeSet<&str> {
    text.as_str().unwrap_or_default().lines().collect()
}

fn agrees(expect: &Value, found: &Value) -> bool {
    let set_apart = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("unordered_error_lines");
        value
    };
    if expect["unordered_error_lines"] == true {
        return expect["status"] == found["status"] && lines(&expect["message"]) == lines(&found["message"]);
    }
    set_apart(expect) == *found
}

/// Who asks, and an installation in which everything is granted, closed again so that it can be copied.
struct Prepared {
    folder: tempfile::TempDir,
    who: Who,
}

/// What has to be prepared for a record; many need the same.
fn setup(record: &Recorded) -> String {
    let input = &record.input;
    json!([format!("{:?}", record.release), input["acl"], input["auth"], input["privsep"], input["pools"]]).to_string()
}

async fn prepare(record: &Recorded) -> Prepared {
    let (folder, site, root) = open(record.release).await;
    let who = caller(&site, &root, &record.input).await.who;
    site.close().await;
    Prepared { folder, who }
}

impl Prepared {
    /// A copy of the installation, and the client at it.
    async fn copy(&self, release: Release) -> (tempfile::TempDir, Site, Api) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        std::fs::create_dir(&store).unwrap();
        std::fs::copy(self.folder.path().join("store/log"), store.join("log")).unwrap();
        let site = Site::open(folder.path(), spec(release), Dials::default()).await;
        let api = Api { who: self.who.clone(), ..site.client("pve1") };
        (folder, site, api)
    }
}

/// Records that need the same, one after the other. After each one that changed something they begin afresh.
async fn compare_all(records: Vec<&Recorded>) -> Vec<String> {
    let prepared = prepare(records[0]).await;
    let mut different = Vec::new();
    let mut current = None;
    for record in records {
        let (folder, site, api) = match current.take() {
            Some(current) => current,
            None => prepared.copy(record.release).await,
        };
        let reply = ask(&api, &record.input).await;
        different.extend(difference(record, &reply));
        if reply.status == 200 && record.input["method"] != "GET" {
            site.close().await;
        } else {
            current = Some((folder, site, api));
        }
    }
    different
}

fn difference(record: &Recorded, reply: &Reply) -> Option<String> {
    let upload = record.input["path"].as_str().unwrap().ends_with("/upload");
    let found = summary(reply, upload);
    let mut expect = record.expect.clone();
    if upload {
        expect.as_object_mut().unwrap().remove("message");
    }
    (!agrees(&expect, &found)).then(|| {
        let input = &record.input;
        format!(
            "line {} {:?}: {} {} {} as {} ({})\n  expected {expect}\n  found    {found}",
            record.line, record.release, input["method"], input["path"], input["params"], input["auth"], input["variant"]
        )
    })
}

async fn all_agree(records: Vec<Recorded>) {
    let mut groups: BTreeMap<String, Vec<&Recorded>> = BTreeMap::new();
    for record in &records {
        groups.entry(setup(record)).or_default().push(record);
    }
    let found: Vec<Vec<String>> = futures::stream::iter(groups.into_values()).map(compare_all).buffer_unordered(4).collect().await;
    let different = found.concat();
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), records.len(), different.join("\n"));
}

fn requests(suite: &str) -> Option<Vec<Recorded>> {
    let records = recorded(&[suite])?;
    Some(records.into_iter().filter(|record| record.input.get("method").is_some()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_is_allowed_or_refused_as_by_proxmox() {
    if let Some(records) = requests("permissions") {
        all_agree(records).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_root_may_what_only_root_may_at_proxmox() {
    if let Some(records) = requests("root-only") {
        all_agree(records).await;
    }
}

#[tokio::test]
async fn the_built_in_roles_are_those_of_proxmox() {
    let Some(records) = recorded(&["permissions"]) else { return };
    for release in [Release::V8, Release::V9] {
        let (_folder, _site, root) = open(release).await;
        let roles = root.get("/access/roles").await;
        let mut compared = 0;
        for record in records.iter().filter(|record| record.release == release) {
            let privileges = |role: &Value| -> BTreeSet<String> {
                role["privs"].as_str().unwrap().split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
            };
            let expected: BTreeSet<String> = match record.input["op"].as_str() {
                Some("builtin-role" | "all-privileges") => {
                    record.expect["privs"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
                }
                _ => continue,
            };
            let name = record.input["roleid"].as_str().unwrap_or("Administrator");
            let role = roles.data().as_array().unwrap().iter().find(|role| role["roleid"] == name).unwrap();
            assert_eq!(privileges(role), expected, "{name} on {release:?}");
            assert_eq!(role["special"], 1);
            compared += 1;
        }
        assert!(compared > 5, "{compared} roles compared");
    }
}

#[tokio::test]
async fn status_and_log_of_tasks_are_told_as_by_proxmox() {
    let Some(records) = recorded(&["upid"]) else { return };
    for release in [Release::V8, Release::V9] {
        let (folder, _site, root) = open(release).await;
        for record in records.iter().filter(|record| record.release == release) {
            let input = &record.input;
            let write = |upid: &str, text: &str| {
                let folder = folder.path().join("store/files/pve/tasks/0");
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join(upid), text).unwrap();
            };
            match input["op"].as_str().unwrap() {
                "api" => {
                    let upid = input["upid"].as_str().unwrap();
                    write(upid, input["log"].as_str().unwrap());
                    for what in ["status", "log"] {
                        let reply = root.get(&format!("/nodes/pve1/tasks/{upid}/{what}")).await;
                        for (key, value) in record.expect[what].as_object().unwrap() {
                            let found = if key == "status" { json!(reply.status) } else { reply.body[key].clone() };
                            assert_eq!(found, *value, "line {}: {key} of {what}", record.line);
                        }
                    }
                }
                "api-missing-log" | "api-bad-upid" => {
                    let reply = root.get(input["path"].as_str().unwrap()).await;
                    for (key, value) in record.expect.as_object().unwrap() {
                        let found = if key == "status" { json!(reply.status) } else { reply.body[key].clone() };
                        assert_eq!(found, *value, "line {}: {key}", record.line);
                    }
                }
                "api-log-paging" => {
                    let upid = "UPID:pve1:0FFFB000:00112233:6735E0A0:qmclone:9000:root@pam:";
                    let count = input["lines"].as_u64().unwrap();
                    let text: Vec<String> = (1..count).map(|number| format!("line {number}\n")).collect();
                    write(upid, &format!("{}TASK OK\n", text.concat()));
                    let query: Vec<(&str, &str)> =
                        input["query"].as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
                    let reply = root.call(Method::GET, &format!("/nodes/pve1/tasks/{upid}/log"), &query).await;
                    let page = reply.data().as_array().unwrap();
                    let found = json!({
                        "first": page.first(), "last": page.last(), "n": page.len(), "status": reply.status, "total": reply.body["total"],
                    });
                    assert_eq!(found, record.expect, "line {}", record.line);
                }
                _ => {}
            }
        }
    }
}
