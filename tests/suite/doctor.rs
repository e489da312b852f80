//! `emhost doctor` through the real binary: what it finds, what it says to do, and how it ends.

use std::collections::BTreeSet;
use std::process::Command;

use emhost_sim::{Plan, Release};
use emhost_tests::site::{Ran, Site, wait};
use serde_json::Value;

/// A site whose nodes are at addresses of this computer, where tests may look.
fn near(control_planes: usize, workers: usize) -> Site {
    let site = Site::new(control_planes, workers);
    site.edit("cluster.yaml", "gateway: 10.0.0.1", "gateway: 127.94.0.1");
    let nodes = site.read("nodes.yaml").replace("ip: 10.0.", "ip: 127.94.");
    std::fs::write(site.path().join("nodes.yaml"), nodes).expect("written");
    site
}

#[test]
fn nothing_in_the_way_of_a_good_site() {
    let site = near(1, 1);
    let ran = site.emhost(&["doctor"]).ended(0).says("the small world has room").says("has v1.11.5").says("nothing is in the way");
    let ran = ran.says("slot `hypervisor` answers at http://").says("cluster dev: 1 control plane, 1 worker");
    assert!(site.world.changes().is_empty(), "{}", ran.all());
    site.emhost(&["apply", "--yes"]).ended(0);
    site.emhost(&["doctor"]).ended(0).says("2 of 2 machines are there");
}

#[test]
fn findings_come_with_their_fix_and_a_code() {
    let site = near(1, 0);
    site.add("site.yaml", "settings: {fixture-provisioner: {in_the_way: a big stone}}\n");
    site.edit("cluster.yaml", "v1.11.5", "v1.11.9");
    let ran = site.emhost(&["doctor"]).ended(1).says("✗ a big stone").says("fix: take it away").says("2 things are in the way");
    ran.says("does not have version v1.11.9 (cluster.yaml:2:").says("such as v1.11.6, v1.11.5, v1.11.4");
    let quiet = site.emhost(&["doctor", "-q"]).ended(1);
    assert_eq!((quiet.out.as_str(), quiet.err.matches("error:").count()), ("", 2), "{}", quiet.err);
    let json = site.emhost(&["doctor", "--json"]).ended(1);
    let events: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
    let errors = events.iter().filter(|event| event["event"] == "finding" && event["diagnostic"]["severity"] == "error");
    let found: BTreeSet<&str> = errors.filter_map(|event| event["diagnostic"]["code"].as_str()).collect();
    assert_eq!(found, BTreeSet::from(["fixture/in-the-way", "boot/version"]));
}

#[test]
fn an_address_that_somebody_has_is_named() {
    let site = near(1, 1);
    site.edit("nodes.yaml", "127.94.10.11", "127.94.10.99");
    let listener = std::net::TcpListener::bind(("127.94.10.99", 50000)).expect("a free port");
    let ran = site
        .emhost(&["doctor"])
        .ended(1)
        .says("127.94.10.99, which node dev-cp-1 is to get, is taken: something answers there on port 50000");
    ran.says("127.94.10.21, which node dev-wk-1 is to get, seems to be taken");
    // What answers at the address of a machine that is there is the machine.
    site.emhost(&["apply", "--yes"]).ended(0);
    site.emhost(&["doctor"]).ended(0).says("2 of 2 machines are there");
    drop(listener);
}

#[test]
fn dhcp_sites_are_told_what_to_reserve() {
    let site = near(1, 1);
    site.edit("cluster.yaml", "network: {gateway: 127.94.0.1, prefix: 16}", "network: {}");
    let ran = site.emhost(&["doctor"]).ended(0).says("reserve these addresses at your DHCP server");
    let line = ran.out.lines().find(|line| line.starts_with("dev-wk-1")).expect("a reservation").to_owned();
    assert!(line.contains("02:") && line.ends_with("127.94.10.21"), "{line}");
    let plan = site.emhost(&["plan"]).ended(0).says("reserve each address for its MAC");
    assert!(plan.all().contains(line.split_whitespace().nth(1).expect("a MAC")), "{}", plan.all());
    // Machines that are there need no reservation to be told.
    site.emhost(&["apply", "--yes"]).ended(0);
    assert!(!site.emhost(&["plan"]).ended(0).all().contains("MAC"));
}

#[test]
fn a_slot_where_nobody_answers_is_named() {
    let site = near(1, 0);
    let text = site.read("site.yaml");
    let url = text.split('"').nth(1).expect("a url").to_owned();
    std::fs::write(site.path().join("site.yaml"), text.replacen(&url, "http://127.0.0.1:1", 1)).expect("written");
    let ran = site.emhost(&["doctor"]).ended(1).says("slot `hypervisor`: connection refused (http://127.0.0.1:1/)");
    ran.says("check that the server runs").says("were not looked at");
}

#[test]
fn an_inventory_with_mistakes_is_told_first() {
    let site = near(1, 0);
    site.edit("cluster.yaml", "talos_version", "talos_vers");
    site.emhost(&["doctor"]).ended(3).says("talos_vers");
}

#[test]
fn clusters_of_one_site_do_not_want_the_same() {
    let site = near(1, 0);
    std::fs::write(site.path().join("../site.yaml"), "state: {backups: 3}\n").expect("written");
    let other = site.path().join("../prod");
    std::fs::create_dir(&other).expect("a folder");
    for file in ["cluster.yaml", "nodes.yaml"] {
        std::fs::write(other.join(file), site.read(file).replace("cluster_name: dev", "cluster_name: prod")).expect("written");
    }
    site.emhost(&["doctor"]).ended(0).says("address 127.94.10.11 is of node dev-cp-1 here, and of node dev-cp-1 of cluster prod (../prod)");
}

/// A folder whose slot `pve` leads to a simulated Proxmox as to a real one.
struct Real {
    folder: Site,
    sim: emhost_sim::Site,
    _home: tempfile::TempDir,
}

impl Real {
    async fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let plan = Plan {
            release: Release::V9,
            hosts: vec!["pve1".to_owned()],
            bridges: vec!["vmbr0".to_owned()],
            speed: 1,
            seed: 1,
            ..Plan::default()
        };
        let claims = emhost_sim_kit::addresses::claims_of_tests();
        let sim = emhost_sim::Site::start(&home.path().join("site"), &claims, plan).await.expect("a site");
        Self { folder: near(1, 0), sim, _home: home }
    }

    fn doctor(&self, trust: &str, token: &str) -> Ran {
        let world = self.folder.world.site_yaml();
        let slot = format!("slots:\n  pve: {{url: \"{}\", credential: pve_token{trust}}}\n", self.sim.access().pve);
        std::fs::write(self.folder.path().join("site.yaml"), world.replacen("slots:\n", &slot, 1)).expect("written");
        let mut command: Command = self.folder.command(&["doctor"], "");
        command.env("EMHOST_SECRET_PVE_TOKEN", token);
        wait(command.spawn().expect("the binary runs"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_and_credential_have_findings_of_their_own() {
    let real = Real::new().await;
    let access = real.sim.access().clone();
    let ran = tokio::task::block_in_place(|| {
        let shown = format!("sha256:{}", access.fingerprint.trim_start_matches("sha256:").replace(':', "").to_lowercase());
        let pinned = format!(", fingerprint: \"{shown}\"");
        real.doctor(&pinned, &access.token).ended(0).says("and takes the credential");
        real.doctor(&pinned, "nobody@pve!nothing=12345678-1234-1234-1234-123456789abc").ended(4).says("refuses the credential");
        real.doctor(&pinned, "{\"username\": \"root@pam\", \"password\": \"not the password\"}").ended(4).says("refuses the credential");
        let password = serde_json::json!({ "username": "root@pam", "password": access.root_password });
        real.doctor(&pinned, &password.to_string()).ended(0).says("and takes the credential");
        // The fingerprint is shown for a person to compare, and nothing was sent to the stranger.
        let other = format!(", fingerprint: \"sha256:{}\"", "00".repeat(32));
        real.doctor(&other, &access.token).ended(1).says("certificate is not trusted").says(&format!("fingerprint: \"{shown}\""));
        real.doctor("", &access.token).ended(1).says("certificate is not trusted").says(&format!("fingerprint: \"{shown}\""))
    });
    assert!(!ran.all().contains(&access.token), "{}", ran.all());
}

/// The fixtures with a simulated Proxmox behind the slot `pve`: everything that leads somewhere is printed as it is dialled.
#[test]
fn access_to_a_simulated_site_leads_to_its_addresses() {
    let site = Site::new(1, 1);
    site.edit("site.yaml", "slots:\n", "slots:\n  pve: {url: \"sim:\"}\n");
    let ran = site.emhost(&["apply", "--yes"]).ended(0).says("kubeconfig and talosconfig written").says("emhost sim run");
    let kubeconfig: Value = serde_json::from_str(&site.read("kubeconfig")).expect("the kubeconfig");
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().expect("a server").to_owned();
    assert!(server.starts_with("https://127.") && server.ends_with(".10.11:6443"), "{server}");
    let ran = ran.says(&server);
    assert!(!ran.out.contains("10.0.10.11"), "{}", ran.out);
    let talosconfig = site.read("talosconfig");
    assert!(!talosconfig.contains("10.0.10."), "{talosconfig}");
    assert_eq!(talosconfig.matches("- 127.").count(), 3, "{talosconfig}");
    site.emhost(&["doctor"]).ended(0).says("2 of 2 machines are there");
}
