//! The real talosctl against a cluster of simulated nodes.
//!
//! Looks for `talosctl-VERSION` in `$ORACLES/bin` or in the cache of the user;
//! without it the tests say so and pass.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::panic, clippy::expect_used)]

mod site;

use std::process::Command;

use site::Site;
use site::talosctl::{Said, Talosctl, said};

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// A cluster of three control planes and two workers from disk images, without Kubernetes questions.
fn whole_life(version: &str) {
    let Some(talosctl) = Talosctl::new(version) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let site = runtime.block_on(async { Site::open() });
    let planes = ["10.0.10.11", "10.0.10.12", "10.0.10.13"].map(|address| site.dialled(address));
    let workers = ["10.0.10.21", "10.0.10.22"].map(|address| site.dialled(address));
    for (id, name) in [(11, "cp1"), (12, "cp2"), (13, "cp3"), (21, "w1"), (22, "w2")] {
        runtime.block_on(async { site.add_image(id, name, version) });
    }
    let vip = r#"[{"op": "add", "path": "/machine/network/interfaces", "value": [{"interface": "eth0", "vip": {"ip": "10.0.10.10"}}]}]"#;
    let vip_document = "apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.10.10\nlink: eth0\n";
    let patch = if version.starts_with("v1.11") { vip } else { vip_document };
    talosctl.generate("https://10.0.10.10:6443", version, &["--config-patch-control-plane", patch]);
    let endpoints: Vec<&str> = planes.iter().map(String::as_str).collect();
    let said = talosctl.raw(&[&["config", "endpoint"], endpoints.as_slice()].concat());
    assert!(said.ok, "{}", said.text);

    site.wait("maintenance everywhere", |nodes| nodes.len() == 5 && nodes.iter().all(|node| node.stage == "maintenance"));
    maintenance(&talosctl, &planes[0]);
    for (addresses, file) in [(&planes[..], "controlplane.yaml"), (&workers[..], "worker.yaml")] {
        for address in addresses {
            talosctl.on(address, &["apply-config", "--insecure", "--file", &talosctl.path(file)]);
        }
    }
    for address in planes.iter().chain(&workers) {
        contains(&talosctl.until(address, &["version"], |text| text.contains("Server:")), &[version]);
    }
    bootstrap(&talosctl, &planes, &workers);
    site.wait("running everywhere", |nodes| nodes.iter().all(|node| node.stage == "running"));
    site.wait("ready everywhere", |nodes| nodes.iter().all(|node| node.ready));
    health(&talosctl, &planes);
    questions(&talosctl, &site, &planes, &workers);
    etcd(&talosctl, &planes);
    configuration(&talosctl, &planes[0], &workers[0]);
    power(&talosctl, &site, version, &planes, &workers);
    site.close();
}

/// What a node without configuration says.
fn maintenance(talosctl: &Talosctl, node: &str) {
    let disks = talosctl.on(node, &["get", "disks", "--insecure"]);
    contains(&disks, &["sda", "34 GB"]);
    contains(&talosctl.on(node, &["get", "machinestatus", "--insecure"]), &["maintenance"]);
    contains(&talosctl.on(node, &["get", "links", "--insecure"]), &["eth0", "bc:24:11"]);
    let refused = talosctl.try_on(node, &["version", "--insecure"]);
    assert!(!refused.ok, "{}", refused.text);
    contains(&refused.text, &["API is not implemented in maintenance mode"]);
    let staged = talosctl.try_on(node, &["apply-config", "--insecure", "--mode=staged", "--file", &talosctl.path("controlplane.yaml")]);
    contains(&staged.text, &["is not supported in maintenance mode"]);
    std::fs::write(talosctl.path("odd.yaml"), "version: v1alpha1\nmachine:\n  typo: 1\n").unwrap();
    let odd = talosctl.try_on(node, &["apply-config", "--insecure", "--file", &talosctl.path("odd.yaml")]);
    assert!(!odd.ok, "{}", odd.text);
    contains(&odd.text, &["typo"]);
}

fn bootstrap(talosctl: &Talosctl, planes: &[String], workers: &[String]) {
    let members = talosctl.try_on(&planes[0], &["etcd", "members"]);
    assert!(!members.ok, "{}", members.text);
    let worker = talosctl.try_on(&workers[0], &["bootstrap"]);
    contains(&worker.text, &["bootstrap can only be performed on a control plane node"]);
    talosctl.on(&planes[0], &["bootstrap"]);
    let again = talosctl.try_on(&planes[0], &["bootstrap"]);
    contains(&again.text, &["AlreadyExists", "etcd data directory is not empty"]);
    talosctl.until(&planes[0], &["etcd", "members"], |text| ["cp1", "cp2", "cp3"].iter().all(|name| text.contains(name)));
    let joined = talosctl.try_on(&planes[1], &["bootstrap"]);
    contains(&joined.text, &["etcd data directory is not empty"]);
}

/// Both ways of finding out whether a cluster is well, with found and with named nodes.
fn health(talosctl: &Talosctl, planes: &[String]) {
    let server = talosctl.on(&planes[0], &["health", "--wait-timeout=60s"]);
    let order = [
        "discovered nodes",
        "waiting for etcd to be healthy: OK",
        "waiting for apid to be ready: OK",
        "waiting for all nodes to finish boot sequence: OK",
        "waiting for all control plane components to be ready: OK",
        "waiting for coredns to report ready: OK",
        "waiting for all k8s nodes to report schedulable: OK",
    ];
    let mut rest = server.as_str();
    for part in order {
        rest = &rest[rest.find(part).unwrap_or_else(|| panic!("{part:?} is not next in {server}"))..];
    }
    let client = talosctl.on(&planes[1], &["health", "--server=false", "--wait-timeout=60s"]);
    contains(&client, &["waiting for all k8s nodes to report schedulable: OK"]);
}

fn questions(talosctl: &Talosctl, site: &Site, planes: &[String], workers: &[String]) {
    let members = talosctl.on(&workers[0], &["get", "members"]);
    contains(&members, &["cp1", "cp2", "cp3", "w1", "w2", &planes[0], "10.0.10.11", "controlplane"]);
    contains(&talosctl.on(&planes[0], &["get", "machinestatus", "-o", "yaml"]), &["stage: running"]);
    contains(&talosctl.on(&planes[0], &["get", "systeminformation", "-o", "yaml"]), &["00000000-0000-4000-8000-000000000011"]);
    contains(
        &talosctl.on(&planes[0], &["get", "extensions"]),
        &["schematic", "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"],
    );
    contains(&talosctl.on(&planes[0], &["get", "machineconfig", "-o", "yaml"]), &["clusterName: demo"]);
    contains(&talosctl.on(&planes[0], &["get", "addresses"]), &["eth0/10.0.10.11/24"]);
    contains(&talosctl.on(&planes[0], &["get", "volumestatus"]), &["EPHEMERAL", "ready"]);
    contains(&talosctl.on(&planes[0], &["get", "nodename"]), &["cp1"]);
    contains(&talosctl.on(&planes[0], &["services"]), &["etcd", "kubelet", "trustd", "Running", "OK"]);
    contains(&talosctl.on(&workers[0], &["service", "kubelet"]), &["STATE", "Running", "HEALTH", "OK"]);
    contains(&talosctl.on(&workers[0], &["memory"]), &["4055"]);
    contains(&talosctl.on(&workers[0], &["dmesg"]), &["Linux version", "[talos]"]);
    contains(&talosctl.on(&workers[0], &["logs", "kubelet"]), &["registered"]);
    talosctl.watch(&workers[0], &["events", "--tail=-1"], &["machine.SequenceEvent", "machine.MachineStatusEvent", "boot"]);
    talosctl.watch(&workers[0], &["dmesg", "--follow"], &["Linux version"]);
    talosctl.watch(&workers[0], &["get", "members", "--watch"], &["cp1", "w2"]);
    contains(&talosctl.on(&workers[0], &["read", "/etc/os-release"]), &["ID=talos"]);
    contains(&talosctl.on(&workers[0], &["list", "/"]), &["etc", "var"]);
    contains(&talosctl.on(&workers[0], &["mounts"]), &["/var"]);
    contains(&talosctl.on(&workers[0], &["processes"]), &["kubelet"]);
    contains(&talosctl.on(&planes[0], &["containers", "-k"]), &["kube-apiserver-cp1"]);
    contains(&talosctl.on(&workers[0], &["time"]), &["time.cloudflare.com"]);
    let kubeconfig = talosctl.path("kubeconfig");
    talosctl.on(&planes[0], &["kubeconfig", &kubeconfig, "--merge=false", "--force"]);
    let server = format!("https://{}:6443", site.dialled("10.0.10.10"));
    contains(&std::fs::read_to_string(&kubeconfig).unwrap(), &[&server, "admin@demo"]);
    let refused = talosctl.try_on(&workers[0], &["kubeconfig", &kubeconfig, "--merge=false", "--force"]);
    contains(&refused.text, &["is only available on control plane nodes"]);
    let reader = talosctl.path("reader");
    talosctl.on(&planes[0], &["config", "new", &reader, "--roles=os:reader", "--crt-ttl=1h"]);
    let said = talosctl.raw(&["--talosconfig", &reader, "-e", &planes[0], "-n", &planes[0], "reboot", "--wait=false"]);
    contains(&said.text, &["not authorized"]);
}

fn etcd(talosctl: &Talosctl, planes: &[String]) {
    contains(&talosctl.on(&planes[0], &["etcd", "status"]), &["MEMBER", "LEADER", "3.6"]);
    contains(&talosctl.on(&planes[0], &["etcd", "alarm", "list"]), &[]);
    let snapshot = talosctl.path("snapshot.db");
    let saved = talosctl.on(&planes[1], &["etcd", "snapshot", &snapshot]);
    contains(&saved, &["etcd snapshot saved to", "snapshot info: hash"]);
    let refused = talosctl.try_on(&planes[0], &["etcd", "remove-member", "0000000000000001"]);
    contains(&refused.text, &["member not found"]);
    talosctl.on(&planes[0], &["etcd", "forfeit-leadership"]);
    contains(&talosctl.on(&planes[2], &["etcd", "defrag"]), &[]);
}

fn configuration(talosctl: &Talosctl, plane: &str, worker: &str) {
    let label = r#"{"machine": {"nodeLabels": {"rack": "a"}}}"#;
    let dry = talosctl.on(worker, &["patch", "machineconfig", "--dry-run", "--patch", label]);
    contains(&dry, &["Dry run summary", "+        rack: a"]);
    let patched = talosctl.on(worker, &["patch", "machineconfig", "--patch", label]);
    contains(&patched, &["Applied configuration without a reboot"]);
    let odd = talosctl.try_on(plane, &["patch", "machineconfig", "--mode=no-reboot", "--patch", r#"{"machine": {"env": {"A": "b"}}}"#]);
    assert!(!odd.ok, "{}", odd.text);
    let tried = talosctl
        .on(worker, &["patch", "machineconfig", "--mode=try", "--timeout=1s", "--patch", r#"{"machine": {"nodeLabels": {"rack": "b"}}}"#]);
    contains(&tried, &["will be automatically reverted back in 1s"]);
    talosctl.until(worker, &["get", "machineconfig", "v1alpha1", "-o", "yaml"], |text| text.contains("rack: a"));
    talosctl.on(plane, &["meta", "write", "0x0c", "hello"]);
    contains(&talosctl.on(plane, &["get", "metakeys"]), &["0x0c"]);
}

fn power(talosctl: &Talosctl, site: &Site, version: &str, planes: &[String], workers: &[String]) {
    talosctl.on(&workers[0], &["reboot", "--timeout=60s"]);
    assert_eq!(site.boots(21), 2);
    let missing = talosctl.try_on(&workers[1], &["upgrade", "--image", "example.org/installer:v9.9.9", "--wait=false"]);
    contains(&missing.text, &["error validating installer image"]);
    let next = if version == "v1.11.5" { "v1.12.1" } else { "v1.12.2" };
    let image = format!("factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:{next}");
    let server = |text: &str, tag: &str| text.split("Server:").nth(1).is_some_and(|server| server.contains(&format!("Tag:         {tag}")));
    talosctl.on(&workers[1], &["upgrade", "--image", &image, "--timeout=60s"]);
    talosctl.until(&workers[1], &["version"], |text| server(text, next));
    talosctl.on(&planes[1], &["upgrade", "--image", &image, "--timeout=60s"]);
    talosctl.until(&planes[1], &["version"], |text| server(text, next));
    contains(&talosctl.on(&planes[0], &["etcd", "members"]), &["cp1", "cp2", "cp3"]);
    talosctl.on(&workers[1], &["rollback"]);
    talosctl.until(&workers[1], &["version"], |text| server(text, version));
    // A control plane leaves, comes back empty, and is configured again.
    talosctl.on(
        &planes[2],
        &["reset", "--graceful", "--reboot", "--system-labels-to-wipe=STATE", "--system-labels-to-wipe=EPHEMERAL", "--timeout=60s"],
    );
    site.wait("maintenance after reset", |nodes| nodes.iter().any(|node| node.id == 13 && node.stage == "maintenance"));
    talosctl.until(&planes[0], &["etcd", "members"], |text| !text.contains("cp3"));
    let two = talosctl.try_on(&planes[0], &["upgrade", "--image", &image, "--wait=false"]);
    contains(&two.text, &["etcd member count(2) is insufficient to maintain quorum"]);
    talosctl.on(&planes[2], &["apply-config", "--insecure", "--file", &talosctl.path("controlplane.yaml")]);
    talosctl.until(&planes[0], &["etcd", "members"], |text| text.contains("cp3"));
    talosctl.on(&workers[1], &["shutdown", "--timeout=60s"]);
    site.wait("the worker is off", |nodes| !nodes.iter().any(|node| node.id == 22));
}

/// A runtime, a site, and talosctl with the configurations of a cluster of control planes at .31, .32, ….
fn small(patch: &[&str]) -> Option<(tokio::runtime::Runtime, Site, Talosctl)> {
    let talosctl = Talosctl::new("v1.12.1")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let site = runtime.block_on(async { Site::open() });
    let endpoint = site.dialled("10.0.10.31");
    talosctl.generate("https://10.0.10.31:6443", "v1.12.1", patch);
    assert!(talosctl.raw(&["config", "endpoint", &endpoint]).ok);
    Some((runtime, site, talosctl))
}

/// kubectl with the kubeconfig of the cluster.
fn kubectl(talosctl: &Talosctl, arguments: &[&str]) -> Option<Said> {
    let mut command = Command::new("timeout");
    command
        .arg("60")
        .arg(emhost_oracles::program("kubectl-v1.34.2", "kubectl")?)
        .args(["--kubeconfig", &talosctl.path("kubeconfig")])
        .args(arguments);
    Some(said(&command.env("HOME", talosctl.folder.path()).output().unwrap()))
}

#[test]
fn a_node_installs_itself_and_a_site_survives_its_own_end() {
    let Some((runtime, site, talosctl)) = small(&[]) else { return };
    runtime.block_on(async { site.add_iso(31, "cp1", "v1.12.1") });
    let node = site.dialled("10.0.10.31");
    site.wait("maintenance", |nodes| nodes.iter().all(|node| node.stage == "maintenance"));
    talosctl.on(&node, &["apply-config", "--insecure", "--file", &talosctl.path("controlplane.yaml")]);
    talosctl.until(&node, &["version"], |text| text.contains("Server:"));
    assert_eq!(site.boots(31), 2, "installed, then booted from the disk");
    assert_eq!(site.disk(31).boot.unwrap().medium, emhost_sim_kit::Medium::Disk);
    contains(&talosctl.on(&node, &["get", "systemdisk"]), &["sda"]);
    talosctl.on(&node, &["bootstrap"]);
    site.wait("ready", |nodes| nodes.iter().all(|node| node.ready));
    talosctl.on(&node, &["kubeconfig", &talosctl.path("kubeconfig"), "--merge=false", "--force"]);
    let made = kubectl(&talosctl, &["create", "configmap", "kept", "--from-literal=a=b"]);
    let (nodes, members) = (kubectl(&talosctl, &["get", "nodes"]), talosctl.on(&node, &["etcd", "members"]));
    let site = runtime.block_on(async { site.reopen() });
    site.wait("ready again", |nodes| nodes.len() == 1 && nodes.iter().all(|node| node.ready));
    assert_eq!(talosctl.on(&node, &["etcd", "members"]), members, "the same member of the same etcd");
    if let (Some(made), Some(nodes)) = (made, nodes) {
        assert!(made.ok, "{}", made.text);
        contains(&nodes.text, &["cp1", "Ready", "control-plane"]);
        contains(&kubectl(&talosctl, &["get", "configmap", "kept", "-o", "yaml"]).unwrap().text, &["a: b"]);
    }
    site.close();
}

#[test]
fn kubernetes_is_upgraded_by_talosctl() {
    let Some((runtime, site, talosctl)) = small(&["--kubernetes-version", "1.34.1"]) else { return };
    for (id, name, file) in [(31, "cp1", "controlplane.yaml"), (41, "w1", "worker.yaml")] {
        let config = std::fs::read(talosctl.path(file)).unwrap();
        site.earth.user_data.lock().unwrap().insert(id, config);
        runtime.block_on(async { site.add_image(id, name, "v1.12.1") });
    }
    let node = site.dialled("10.0.10.31");
    talosctl.until(&node, &["bootstrap"], |_| true);
    site.wait("ready", |nodes| nodes.len() == 2 && nodes.iter().all(|node| node.ready));
    talosctl.on(&node, &["kubeconfig", &talosctl.path("kubeconfig"), "--merge=false", "--force"]);
    let said = talosctl.on(&node, &["upgrade-k8s", "--from", "1.34.1", "--to", "1.34.2"]);
    contains(&said, &["updating \"kube-apiserver\" to version \"1.34.2\"", "successfully updated"]);
    if let Some(nodes) = kubectl(&talosctl, &["get", "nodes"]) {
        assert_eq!(nodes.text.matches("v1.34.2").count(), 2, "{}", nodes.text);
    }
    site.close();
}

#[test]
fn etcd_decides_with_a_quorum_and_comes_back_from_a_snapshot() {
    let Some((runtime, site, talosctl)) = small(&[]) else { return };
    let config = std::fs::read(talosctl.path("controlplane.yaml")).unwrap();
    for (id, name) in [(31, "cp1"), (32, "cp2"), (33, "cp3")] {
        site.earth.user_data.lock().unwrap().insert(id, config.clone());
        runtime.block_on(async { site.add_image(id, name, "v1.12.1") });
    }
    let nodes = ["10.0.10.31", "10.0.10.32", "10.0.10.33"].map(|address| site.dialled(address));
    talosctl.until(&nodes[0], &["version"], |text| text.contains("Server:"));
    // Before there is anything, nothing can be recovered or listed.
    assert!(!talosctl.try_on(&nodes[0], &["etcd", "members"]).ok);
    talosctl.until(&nodes[0], &["bootstrap"], |_| true);
    site.wait("ready", |nodes| nodes.iter().all(|node| node.ready));
    talosctl.on(&nodes[0], &["kubeconfig", &talosctl.path("kubeconfig"), "--merge=false", "--force"]);
    let made = kubectl(&talosctl, &["create", "configmap", "kept", "--from-literal=a=b"]);
    talosctl.on(&nodes[0], &["etcd", "snapshot", &talosctl.path("backup")]);
    site.pull_plug(32);
    talosctl.on(&nodes[0], &["etcd", "members"]);
    let refused = talosctl.try_on(&nodes[0], &["upgrade", "--image", "ghcr.io/siderolabs/installer:v1.12.2", "--wait=false"]);
    contains(&refused.text, &["is not healthy; all members must be healthy to perform an upgrade"]);
    site.pull_plug(33);
    let leaderless = talosctl.until_not(&nodes[0], &["etcd", "members"]);
    contains(&leaderless, &["etcdserver: no leader"]);
    if made.is_some() {
        assert!(!kubectl(&talosctl, &["get", "configmap", "kept"]).unwrap().ok, "no quorum, no answers");
    }
    // The others are lost for good: start over from the snapshot.
    talosctl.on(&nodes[0], &["reset", "--graceful=false", "--reboot", "--system-labels-to-wipe=EPHEMERAL", "--timeout=60s"]);
    talosctl.until(&nodes[0], &["bootstrap", "--recover-from", &talosctl.path("backup")], |_| true);
    site.wait("ready after recovery", |nodes| nodes.iter().all(|node| node.ready));
    contains(&talosctl.on(&nodes[0], &["etcd", "members"]), &["cp1"]);
    if let Some(made) = made {
        assert!(made.ok, "{}", made.text);
        contains(&kubectl(&talosctl, &["get", "configmap", "kept", "-o", "yaml"]).unwrap().text, &["a: b"]);
    }
    site.close();
}

#[test]
fn talosctl_1_11_takes_a_cluster_through_its_life() {
    whole_life("v1.11.5");
}

#[test]
fn talosctl_1_12_takes_a_cluster_through_its_life() {
    whole_life("v1.12.1");
}
