//! Commands for people who use a cluster, through the real binary on the fixture world: kubeconfig, talosconfig, generate, output.

use std::os::unix::fs::PermissionsExt;

use emhost_tests::site::Site;
use serde_json::{Value, json};

fn mode(site: &Site, file: &str) -> u32 {
    std::fs::metadata(site.path().join(file)).expect("the file").permissions().mode() & 0o777
}

#[track_caller]
fn applied(control_planes: usize, workers: usize) -> (Site, emhost_tests::site::Ran) {
    let site = Site::new(control_planes, workers);
    let ran = site.emhost(&["apply", "--yes"]).ended(0);
    (site, ran)
}

#[test]
fn an_apply_leaves_access_and_says_where_everything_is() {
    let (site, ran) = applied(2, 1);
    let ran = ran.says("kubeconfig and talosconfig written (0600), good for 24 hours");
    let ran = ran.says("https://10.0.10.11:6443").says("10.0.10.11, 10.0.10.12").says("kubectl --kubeconfig kubeconfig get nodes");
    assert!(!ran.all().contains("(secret"), "{}", ran.all());
    assert_eq!((mode(&site, "kubeconfig"), mode(&site, "talosconfig")), (0o600, 0o600));
    let kubeconfig: Value = serde_json::from_str(&site.read("kubeconfig")).expect("what the plugin made");
    assert_eq!(kubeconfig["clusters"][0]["cluster"]["server"], "https://10.0.10.11:6443");
    let token = kubeconfig["users"][0]["user"]["token"].as_str().expect("a token").to_owned();
    assert!(!ran.all().contains(&token), "the token is printed");
    assert!(site.read(".gitignore").contains("/kubeconfig"), "the folder had no .gitignore");

    // Whatever is there and good stays; what somebody removed comes back.
    site.emhost(&["apply", "--yes"]).ended(0);
    assert!(site.read("kubeconfig").contains(&token), "an apply without changes made another one");
    std::fs::remove_file(site.path().join("talosconfig")).expect("removed");
    site.emhost(&["apply", "--yes"]).ended(0).says("talosconfig written");
    assert!(site.read("talosconfig").contains("10.0.10.21"));
}

#[test]
fn a_run_that_does_not_reach_the_cluster_writes_no_access() {
    let site = Site::new(1, 0);
    site.emhost(&["apply", "--yes", "--until", "os"]).ended(0);
    assert!(!site.path().join("kubeconfig").exists());
    let early = site.emhost(&["kubeconfig"]).ended(0).says("may lead nowhere yet");
    assert!(early.out.contains("next: kubectl"), "{}", early.out);
}

#[test]
fn access_is_made_as_asked_for() {
    let (site, _) = applied(1, 1);
    site.emhost(&["talosconfig", "--valid", "90m", "--role", "os:reader", "--role", "os:etcd:backup"])
        .ended(0)
        .says("next: talosctl --talosconfig");
    let text = site.read("talosconfig");
    assert!(text.contains("roles: \"os:reader,os:etcd:backup\"") && text.contains("seconds: 5400"), "{text}");

    let printed = site.emhost(&["kubeconfig", "--out", "-"]).ended(0);
    let printed: Value = serde_json::from_str(&printed.out).expect("the kubeconfig and nothing else");
    assert!(printed["users"][0]["user"]["token"].as_str().is_some_and(|token| !token.contains("(secret")));

    site.emhost(&["kubeconfig", "--out", "elsewhere/mine"]).ended(0).says("elsewhere/mine written (0600)");
    assert_eq!(mode(&site, "elsewhere/mine"), 0o600);

    site.emhost(&["kubeconfig", "--valid", "5s"]).ended(3).says("a minute is the least");
    let event = site.emhost(&["kubeconfig", "--json"]).ended(0);
    let event: Value = event
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("json"))
        .find(|event| event["event"] == "access")
        .expect("an event");
    assert_eq!(event["endpoints"], json!(["https://10.0.10.11:6443"]));
}

#[test]
fn a_file_is_replaced_whole_and_what_is_ignored_is_the_owners() {
    let (site, _) = applied(1, 0);
    std::fs::write(site.path().join(".gitignore"), "/target\n").expect("written");
    std::fs::set_permissions(site.path().join("kubeconfig"), std::fs::Permissions::from_mode(0o644)).expect("opened up");
    site.emhost(&["kubeconfig"]).ended(0).says("is not in .gitignore");
    assert_eq!(mode(&site, "kubeconfig"), 0o600);
    assert_eq!(site.read(".gitignore"), "/target\n");
    let left: Vec<String> =
        std::fs::read_dir(site.path()).expect("a folder").flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.starts_with(".kubeconfig")), "{left:?}");
}

#[test]
fn configuration_is_generated_without_looking_at_anything() {
    let site = Site::new(1, 1);
    // Nobody is there to be asked.
    let text = site.read("site.yaml");
    let (_, plugins) = text.split_once("plugins:").expect("plugins");
    std::fs::write(site.path().join("site.yaml"), format!("plugins:{plugins}")).expect("written");
    site.edit("nodes.yaml", "dev-wk-1, ip: 10.0.10.21,", "dev-wk-1, ip: 10.0.10.21, vmid: 321,");
    let ran = site.emhost(&["generate"]).ended(0).says("generated/dev-cp-1.yaml written (0600)").says("cluster_token");
    assert_eq!(mode(&site, "generated/dev-cp-1.yaml"), 0o600);
    assert_eq!(mode(&site, "generated"), 0o700);
    let config: Value = serde_json::from_str(&site.read("generated/dev-cp-1.yaml")).expect("what the plugin rendered");
    assert_eq!(config["role"], "controlplane");
    let token = config["token"].as_str().expect("a token");
    assert!(!ran.all().contains(token), "the token is printed");

    let variables = site.read("generated/talos-machines.auto.tfvars.json");
    let machines: Value = serde_json::from_str(&variables).expect("json");
    let worker = &machines["talos_machines"]["dev-wk-1"];
    let expected = json!({"role": "worker", "vmid": 321, "node": "pve1", "ip": "10.0.10.21", "mac": worker["mac"], "cpu": 2, "ram": 4096,
        "disk": "40G", "config": "generated/dev-wk-1.yaml"});
    assert_eq!(worker, &expected);
    assert!(machines["talos_machines"]["dev-cp-1"].get("vmid").is_none(), "{variables}");

    let before: Vec<String> =
        ["dev-cp-1.yaml", "dev-wk-1.yaml", "talos-machines.auto.tfvars.json"].map(|file| site.read(format!("generated/{file}"))).into();
    site.emhost(&["generate"]).ended(0);
    let after: Vec<String> =
        ["dev-cp-1.yaml", "dev-wk-1.yaml", "talos-machines.auto.tfvars.json"].map(|file| site.read(format!("generated/{file}"))).into();
    assert_eq!(before, after);

    site.edit("nodes.yaml", "dev-wk-1", "dev-wk-9");
    site.emhost(&["generate"]).ended(0).says("generated/dev-wk-1.yaml is of no node");
    site.emhost(&["generate", "--out", "other"]).ended(0);
    assert!(site.read("other/talos-machines.auto.tfvars.json").contains("\"config\": \"other/dev-wk-9.yaml\""));
    assert!(site.world.changes().is_empty(), "nothing is asked of anybody");
}

#[test]
fn outputs_have_the_names_that_people_know() {
    let (site, _) = applied(1, 1);
    let all: Value = serde_json::from_str(&site.emhost(&["output", "--json"]).ended(0).out).expect("one object");
    assert_eq!((&all["control_plane_ips"], &all["gpu_worker_ips"]), (&json!(["10.0.10.11"]), &json!([])));
    let node: Value = serde_json::from_str(&site.emhost(&["output", "dev-wk-1", "--json"]).ended(0).out).expect("one object");
    assert_eq!(node["vm_name"], "dev-wk-1");
    assert_eq!(node["ip_address"], "10.0.10.21");
    assert!(node["vmid"].is_u64() && node["node"] == "world" && node["mac_address"].is_string(), "{node}");
    let lines = site.emhost(&["output", "dev-wk-1"]).ended(0).out;
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["vmid", "vm_name", "node", "ip_address", "mac_address"]);
    assert_eq!(site.emhost(&["output", "worker_ips"]).ended(0).out, "10.0.10.21\n");
    site.emhost(&["output", "nobody"]).ended(3).says("every node by its name");
}
