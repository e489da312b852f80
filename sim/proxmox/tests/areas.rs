//! The areas around machines and storages, as clients use them.
#![allow(clippy::unwrap_used)]

mod site;

use emhost_sim_kit::Dials;
use emhost_sim_proxmox::Release;
use reqwest::Method;
use serde_json::{Value, json};
use site::{Api, PASSWORD, Site, fixture, spec};

async fn open(release: Release) -> (tempfile::TempDir, Site, Api) {
    let folder = tempfile::tempdir().unwrap();
    fixture::write(folder.path());
    let site = Site::open(folder.path(), spec(release), Dials::default()).await;
    let root = site.client("pve1").log_in("root@pam", PASSWORD).await;
    (folder, site, root)
}

/// A user with a token that has the user's rights.
async fn user(site: &Site, root: &Api, grants: &[(&str, &str)]) -> Api {
    root.ok(Method::POST, "/access/users", &[("userid", "u@pve"), ("comment", "somebody")]).await;
    for (path, role) in grants {
        root.ok(Method::PUT, "/access/acl", &[("path", path), ("roles", role), ("users", "u@pve")]).await;
    }
    let token = root.ok(Method::POST, "/access/users/u@pve/token/ci", &[("privsep", "0")]).await;
    site.client("pve1").with_token("u@pve!ci", token["value"].as_str().unwrap())
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn resources_show_what_one_may_see() {
    let (_folder, site, root) = open(Release::V8).await;
    root.ok(Method::POST, "/pools", &[("poolid", "mine")]).await;
    root.ok(Method::PUT, "/pools", &[("poolid", "mine"), ("vms", "100,9000"), ("storage", "local")]).await;
    let user = user(&site, &root, &[("/pool/mine", "PVEAuditor")]).await;
    let seen = user.get("/cluster/resources").await;
    assert_eq!(
        ids(seen.data()),
        ["/pool/mine", "qemu/100", "qemu/9000", "node/pve1", "node/pve2", "storage/pve1/local", "storage/pve2/local"]
    );
    let node = seen.data().as_array().unwrap().iter().find(|entry| entry["type"] == "node").unwrap();
    assert!(node.get("maxmem").is_none(), "no right to see how a host is");
    let machines = user.get("/cluster/resources?type=vm").await;
    assert_eq!(ids(machines.data()), ["qemu/100", "qemu/9000"]);
    let template = &machines.data()[1];
    assert_eq!(
        (&template["template"], &template["vmid"], &template["pool"], &template["status"]),
        (&json!(1), &json!(9000), &json!("mine"), &json!("stopped"))
    );
    assert!(template["maxmem"].is_u64() && template["maxdisk"].is_u64());
    let all = root.get("/cluster/resources").await;
    assert!(ids(all.data()).contains(&"sdn/pve1/localnetwork"));
    assert!(!ids(all.data()).iter().any(|id| id.ends_with("/off") || *id == "storage/pve1/onpve2"));
    site.pve.switch_host("pve1", false).await;
    let other = site.client("pve2").log_in("root@pam", PASSWORD).await;
    assert_eq!(other.get("/cluster/resources?type=vm").await.data()[0]["status"], "unknown");
    assert_eq!(other.get("/nodes/pve1/status").await.status, 595);
}

#[tokio::test]
async fn machines_of_a_host_lose_power_with_it_and_some_come_back() {
    let (_folder, site, root) = open(Release::V9).await;
    let made = root.ok(Method::POST, "/nodes/pve1/qemu", &[("vmid", "200"), ("onboot", "1")]).await;
    assert_eq!(wait(&root, &made).await, "OK");
    let start = |id: u32| format!("/nodes/pve1/qemu/{id}/status/start");
    let status = async |root: &Api, id: u32| root.get(&format!("/nodes/pve1/qemu/{id}/status/current")).await.data()["status"].clone();
    for id in [100, 200] {
        let upid = root.ok(Method::POST, &start(id), &[]).await;
        wait(&root, &upid).await;
        assert_eq!(status(&root, id).await, "running");
    }
    site.pve.switch_host("pve1", false).await;
    site.pve.switch_host("pve1", true).await;
    let tasks = root.get("/nodes/pve1/tasks?source=all&typefilter=qmstart&vmid=200").await;
    assert_eq!(wait(&root, &tasks.data()[0]["upid"]).await, "OK");
    assert_eq!(status(&root, 200).await, "running");
    assert_eq!(status(&root, 100).await, "stopped");
}

#[tokio::test]
async fn without_a_quorum_nothing_is_written_and_everything_is_read() {
    let (_folder, site, root) = open(Release::V9).await;
    let upid = root.ok(Method::POST, "/nodes/pve1/qemu/100/status/start", &[]).await;
    assert_eq!(wait(&root, &upid).await, "WARNINGS: 1", "OVMF without an EFI disk");
    site.pve.switch_host("pve2", false).await;
    assert_eq!(root.get("/cluster/status").await.data()[0]["quorate"], 0);
    let refusal = async |method: Method, path: &str, params: &[(&str, &str)]| root.call(method, path, params).await.message().to_owned();
    assert_eq!(refusal(Method::POST, "/nodes/pve1/qemu", &[("vmid", "300")]).await, "cluster not ready - no quorum?\n");
    assert_eq!(
        refusal(Method::POST, "/pools", &[("poolid", "a")]).await,
        "create pool failed: cfs-lock 'file-user_cfg' error: no quorum!\n"
    );
    let map = [("id", "odd"), ("map", "node=pve1,path=0000:01:00.0,id=10de:2204")];
    assert_eq!(
        refusal(Method::POST, "/cluster/mapping/pci", &map).await,
        "create hardware mapping failed: cfs-lock 'file-mapping_pci_cfg' error: no quorum!\n"
    );
    assert!(refusal(Method::PUT, "/nodes/pve1/qemu/100/config", &[("cores", "4")]).await.ends_with("- Permission denied\n"));
    assert_eq!(root.get("/nodes/pve1/qemu/100/config").await.data()["cores"], 2);
    let upid = root.ok(Method::POST, "/nodes/pve1/qemu/100/status/stop", &[]).await;
    assert_eq!(wait(&root, &upid).await, "OK");
    site.pve.switch_host("pve2", true).await;
    root.ok(Method::POST, "/pools", &[("poolid", "a")]).await;
}

#[tokio::test]
async fn resources_are_told_every_ten_seconds_where_things_take_time() {
    let folder = tempfile::tempdir().unwrap();
    fixture::write(folder.path());
    let dials = Dials::new(emhost_sim_kit::Profile::Home, 1, Vec::new());
    let site = Site::open(folder.path(), spec(Release::V8), dials).await;
    let root = site.client("pve1").log_in("root@pam", PASSWORD).await;
    let machines = root.get("/cluster/resources?type=vm").await;
    assert_eq!((&machines.data()[0]["name"], &machines.data()[0]["status"]), (&json!("fixture"), &json!("stopped")));
    root.ok(Method::POST, "/nodes/pve1/qemu", &[("vmid", "150"), ("name", "new")]).await;
    let machines = root.get("/cluster/resources?type=vm").await;
    let made = &machines.data()[1];
    assert_eq!((&made["id"], &made["status"]), (&json!("qemu/150"), &json!("unknown")));
    assert!(made.get("name").is_none() && made.get("maxmem").is_none(), "nobody has told yet");
}

#[tokio::test]
async fn a_task_is_told_to_its_owner_and_to_auditors() {
    let (_folder, site, root) = open(Release::V8).await;
    let user = user(&site, &root, &[("/vms", "PVEVMAdmin"), ("/storage", "PVEDatastoreUser")]).await;
    let own = user.ok(Method::POST, "/nodes/pve1/qemu", &[("vmid", "200")]).await;
    assert_eq!(wait(&user, &own).await, "OK");
    let other = root.ok(Method::POST, "/nodes/pve1/qemu/100/status/start", &[]).await;
    assert_eq!(wait(&root, &other).await, "WARNINGS: 1", "OVMF without an EFI disk");
    let path = |upid: &Value, what: &str| format!("/nodes/pve1/tasks/{}{what}", upid.as_str().unwrap());
    let status = user.get(&path(&own, "/status")).await;
    assert_eq!((&status.data()["user"], &status.data()["tokenid"]), (&json!("u@pve"), &json!("ci")));
    for what in ["/status", "/log"] {
        let denied = user.get(&path(&other, what)).await;
        assert_eq!((denied.status, denied.message()), (403, "Permission check failed (/nodes/pve1, Sys.Audit)\n"));
    }
    let denied = user.call(Method::DELETE, &path(&other, ""), &[]).await;
    assert_eq!(denied.message(), "Permission check failed (/nodes/pve1, Sys.Modify)\n");
    let upids = |reply: site::Reply| -> Vec<Value> { reply.data().as_array().unwrap().iter().map(|task| task["upid"].clone()).collect() };
    assert_eq!(upids(user.get("/nodes/pve1/tasks").await), std::slice::from_ref(&own));
    assert_eq!(upids(root.get("/nodes/pve1/tasks").await), [other.clone(), own.clone()]);
    assert_eq!(upids(root.get("/nodes/pve1/tasks?vmid=200").await), std::slice::from_ref(&own));
    assert_eq!(upids(user.get("/cluster/tasks").await), [own]);
    assert_eq!(root.get("/cluster/tasks").await.data()[0]["saved"], "1");
}

/// Waits for a task and gives its exit status.
async fn wait(api: &Api, upid: &Value) -> String {
    loop {
        let status = api.get(&format!("/nodes/pve1/tasks/{}/status", upid.as_str().unwrap())).await;
        if status.data()["status"] == "stopped" {
            return status.data()["exitstatus"].as_str().unwrap().to_owned();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_next_number_is_a_string_and_no_promise() {
    let (_folder, _site, root) = open(Release::V8).await;
    assert_eq!(root.get("/cluster/nextid").await.data(), "101");
    assert_eq!(root.get("/cluster/nextid").await.data(), "101");
    assert_eq!(root.get("/cluster/nextid?vmid=100").await.body["errors"]["vmid"], "VM 100 already exists");
    root.ok(Method::PUT, "/cluster/options", &[("next-id", "lower=5000,upper=5001")]).await;
    assert_eq!(root.get("/cluster/nextid").await.data(), "5000");
    assert_eq!(root.get("/cluster/options").await.data()["next-id"]["lower"], "5000");
}

#[tokio::test]
async fn pci_devices_hide_bridges_and_mappings_are_checked() {
    let (_folder, _site, root) = open(Release::V9).await;
    assert_eq!(ids(root.get("/nodes/pve1/hardware/pci").await.data()), ["0000:01:00.0", "0000:02:00.0"]);
    let all = root.call(Method::GET, "/nodes/pve1/hardware/pci", &[("pci-class-blacklist", "")]).await;
    assert_eq!(all.data().as_array().unwrap().len(), 3);
    let map = "node=pve1,path=0000:01:00.0,id=10de:9999,iommugroup=14";
    root.ok(Method::POST, "/cluster/mapping/pci", &[("id", "odd"), ("map", map)]).await;
    let twice = root.call(Method::POST, "/cluster/mapping/pci", &[("id", "odd"), ("map", map)]).await;
    assert_eq!((twice.status, twice.message()), (500, "create hardware mapping failed: pci ID 'odd' already defined\n"));
    let list = root.get("/cluster/mapping/pci?check-node=pve1").await;
    let odd = list.data().as_array().unwrap().iter().find(|entry| entry["id"] == "odd").unwrap();
    assert_eq!(odd["map"], json!([map]));
    assert_eq!(odd["checks"][0]["severity"], "error");
    assert!(odd["checks"][0]["message"].as_str().unwrap().contains("10de:9999 != 10de:2204"), "{odd}");
    let elsewhere = root.get("/cluster/mapping/pci?check-node=pve2").await;
    assert_eq!(elsewhere.data()[0]["checks"][0]["message"], "No mapping for node pve2.");
    root.ok(Method::PUT, "/cluster/mapping/pci/odd", &[("map", "node=pve1,path=0000:01:00.0,id=10de:2204")]).await;
    let read = root.get("/cluster/mapping/pci/odd").await;
    assert_eq!((&read.data()["type"], &read.data()["map"]), (&json!("pci"), &json!(["node=pve1,path=0000:01:00.0,id=10de:2204"])));
    root.ok(Method::DELETE, "/cluster/mapping/pci/odd", &[]).await;
    assert_eq!(root.get("/cluster/mapping/pci/odd").await.message(), "mapping 'odd' not found\n");
}

#[tokio::test]
async fn pools_hold_machines_and_are_only_removed_empty() {
    let (_folder, _site, root) = open(Release::V9).await;
    root.ok(Method::POST, "/pools", &[("poolid", "a")]).await;
    root.ok(Method::POST, "/pools", &[("poolid", "a/b")]).await;
    root.ok(Method::PUT, "/pools/a", &[("vms", "100")]).await;
    let read = root.get("/pools?poolid=a").await;
    assert_eq!(read.data()[0]["members"][0]["id"], "qemu/100");
    let text = |reply: site::Reply| reply.message().to_owned();
    assert_eq!(
        text(root.call(Method::PUT, "/pools", &[("poolid", "a"), ("vms", "100")]).await),
        "update pools failed: VM 100 is already a pool member\n"
    );
    assert_eq!(
        text(root.call(Method::PUT, "/pools", &[("poolid", "a/b"), ("vms", "100")]).await),
        "update pools failed: VM 100 belongs already to pool 'a' and 'allow-move' is not set\n"
    );
    assert_eq!(
        text(root.call(Method::DELETE, "/pools", &[("poolid", "a")]).await),
        "delete pool failed: pool 'a' is not empty (contains pool 'a/b')\n"
    );
    root.ok(Method::PUT, "/pools", &[("poolid", "a/b"), ("vms", "100"), ("allow-move", "1")]).await;
    assert_eq!(
        text(root.call(Method::DELETE, "/pools", &[("poolid", "a/b")]).await),
        "delete pool failed: pool 'a/b' is not empty (contains VM 100)\n"
    );
    root.ok(Method::PUT, "/pools", &[("poolid", "a/b"), ("vms", "100"), ("delete", "1")]).await;
    root.ok(Method::DELETE, "/pools", &[("poolid", "a/b")]).await;
    root.ok(Method::DELETE, "/pools/a", &[]).await;
    assert_eq!(root.get("/pools").await.data(), &json!([]));
}

#[tokio::test]
async fn users_groups_roles_and_tokens_come_and_go() {
    let (_folder, site, root) = open(Release::V9).await;
    root.ok(Method::POST, "/access/groups", &[("groupid", "ops"), ("comment", "people")]).await;
    root.ok(Method::PUT, "/access/acl", &[("path", "/"), ("roles", "PVEAuditor"), ("groups", "ops")]).await;
    let user = user(&site, &root, &[]).await;
    assert_eq!(user.get("/cluster/status").await.status, 403);
    root.ok(Method::PUT, "/access/users/u@pve", &[("groups", "ops"), ("append", "1")]).await;
    assert_eq!(user.get("/cluster/status").await.status, 200);
    assert_eq!(root.get("/access/groups/ops").await.data()["members"], json!(["u@pve"]));
    let read = root.get("/access/users/u@pve").await;
    assert_eq!(
        read.data(),
        &json!({ "enable": 1, "expire": 0, "comment": "somebody", "groups": ["ops"], "tokens": { "ci": { "privsep": 0, "expire": 0 } } })
    );
    let text = |reply: site::Reply| reply.message().to_owned();
    assert_eq!(
        text(root.call(Method::POST, "/access/users", &[("userid", "u@pve")]).await),
        "create user failed: user 'u@pve' already exists\n"
    );
    assert_eq!(text(root.call(Method::POST, "/access/roles", &[("roleid", "R"), ("privs", "VM.Audit,VM.Audit")]).await), "");
    assert_eq!(text(root.call(Method::DELETE, "/access/roles/PVEAdmin", &[]).await), "auto-generated role 'PVEAdmin' cannot be deleted\n");
    let unknown = root.call(Method::POST, "/access/roles", &[("roleid", "S"), ("privs", "VM.Monitor")]).await;
    assert!(unknown.status >= 400, "9 has no such privilege");
    root.ok(Method::PUT, "/access/users/u@pve", &[("enable", "0")]).await;
    assert_eq!(user.get("/version").await.status, 401);
    root.ok(Method::PUT, "/access/users/u@pve", &[("enable", "1")]).await;
    root.ok(Method::PUT, "/access/users/u@pve/token/ci", &[("expire", "1")]).await;
    assert_eq!(user.get("/version").await.status, 401);
    root.ok(Method::DELETE, "/access/users/u@pve/token/ci", &[]).await;
    root.ok(Method::DELETE, "/access/users/u@pve", &[]).await;
    assert_eq!(root.get("/access/groups/ops").await.data()["members"], json!([]));
    root.ok(Method::DELETE, "/access/groups/ops", &[]).await;
    assert!(!root.get("/access/acl").await.text.contains("ops"));
}

#[tokio::test]
async fn a_password_can_be_changed_by_its_owner() {
    let (_folder, site, root) = open(Release::V8).await;
    root.ok(Method::POST, "/access/users", &[("userid", "u@pve"), ("password", "first-one")]).await;
    let nobody = site.client("pve1");
    let user = nobody.log_in("u@pve", "first-one").await;
    let params = [("userid", "u@pve"), ("password", "second-one"), ("confirmation-password", "first-one")];
    user.ok(Method::PUT, "/access/password", &params).await;
    let old = nobody.call(Method::POST, "/access/ticket", &[("username", "u@pve"), ("password", "first-one")]).await;
    assert_eq!(old.status, 401);
    nobody.log_in("u@pve", "second-one").await;
    let other = user.call(Method::PUT, "/access/password", &[("userid", "root@pam"), ("password", "taken-over")]).await;
    assert_eq!((other.status, other.message()), (403, "Permission check failed\n"));
}

#[tokio::test]
async fn high_availability_knows_groups_on_8_and_rules_on_9() {
    let (_folder, _site, eight) = open(Release::V8).await;
    eight.ok(Method::POST, "/cluster/ha/groups", &[("group", "grp"), ("nodes", "pve1,pve2")]).await;
    eight.ok(Method::POST, "/cluster/ha/resources", &[("sid", "vm:100"), ("group", "grp"), ("max_restart", "2")]).await;
    let read = eight.get("/cluster/ha/resources/vm:100").await;
    assert_eq!((&read.data()["group"], &read.data()["max_restart"], &read.data()["state"]), (&json!("grp"), &json!(2), &json!("started")));
    let gone = eight.call(Method::POST, "/cluster/ha/resources", &[("sid", "vm:555")]).await;
    assert_eq!(gone.message(), "resource 'vm:555' does not exist in cluster\n");
    assert_eq!(eight.get("/cluster/ha/rules").await.status, 501);
    let (_folder, _site, nine) = open(Release::V9).await;
    assert!(nine.get("/cluster/ha/groups").await.message().ends_with("ha groups have been migrated to rules\n"));
    nine.ok(Method::POST, "/cluster/ha/resources", &[("sid", "vm:100"), ("failback", "0")]).await;
    let rule = [("rule", "here"), ("type", "node-affinity"), ("resources", "vm:100"), ("nodes", "pve1")];
    nine.ok(Method::POST, "/cluster/ha/rules", &rule).await;
    assert_eq!(nine.get("/cluster/ha/rules?resource=vm:100").await.data()[0]["rule"], "here");
    nine.ok(Method::DELETE, "/cluster/ha/resources/vm:100", &[]).await;
    assert_eq!(nine.get("/cluster/ha/resources").await.data(), &json!([]));
}

#[tokio::test]
async fn hosts_tell_how_they_are() {
    let (_folder, _site, root) = open(Release::V9).await;
    let status = root.get("/nodes/pve1/status").await;
    let data = status.data();
    assert!(data["loadavg"][0].is_string() && data["cpuinfo"]["mhz"].is_string() && data["memory"]["available"].is_u64());
    assert!(data["pveversion"].as_str().unwrap().starts_with("pve-manager/9."));
    let bridges = root.get("/nodes/pve1/network?type=bridge").await;
    assert_eq!(bridges.data().as_array().unwrap().len(), 2);
    let storages = root.get("/storage").await;
    assert_eq!(storages.data().as_array().unwrap().len(), 8);
    assert_eq!(root.get("/storage/off").await.data()["disable"], 1);
}
