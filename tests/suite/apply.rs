//! `emhost apply` with the default plugins: from two YAML files to a healthy cluster on a simulated site, and back to nothing.

use emhost_sim::ApiError;
use emhost_tests::example::{Asked, Example};
use serde_json::Value;

/// The version of the programs that look at what emhost made.
const TALOSCTL: &str = "talosctl-v1.11.5";
const KUBECTL: &str = "kubectl-v1.34.2";

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// The names of all machines of the site.
pub fn listed(example: &Example) -> Result<Vec<String>, ApiError> {
    let all = block_on(example.administrator().get("/cluster/resources?type=vm"))?;
    let machines = all.as_array().into_iter().flatten().filter(|vm| vm["template"] != 1);
    let mut names: Vec<String> = machines.map(|vm| vm["name"].as_str().unwrap_or_default().to_owned()).collect();
    names.sort();
    Ok(names)
}

pub fn machines(example: &Example) -> Vec<String> {
    listed(example).unwrap()
}

/// What programs that nobody here wrote say to the cluster.
fn judged(example: &Example, control_planes: usize, workers: usize) {
    example.emhost(&["talosconfig"]).ended(0);
    example.emhost(&["kubeconfig"]).ended(0);
    let Some(talosctl) = emhost_oracles::program(TALOSCTL, "talosctl") else { return };
    let members = example.emhost(&["output", "control_plane_ips", "--json"]).ended(0);
    let first: Value = serde_json::from_str(&members.out).unwrap();
    let first = example.dial(first["control_plane_ips"][0].as_str().unwrap());
    example.program(&talosctl, &["--talosconfig", "talosconfig", "-n", &first, "health", "--wait-timeout", "1m"]).ended(0);
    let Some(kubectl) = emhost_oracles::program(KUBECTL, "kubectl") else { return };
    let nodes = example.program(&kubectl, &["--kubeconfig", "kubeconfig", "get", "nodes", "-o", "json"]).ended(0);
    let nodes: Value = serde_json::from_str(&nodes.out).unwrap();
    let nodes = nodes["items"].as_array().unwrap();
    let ready = |node: &&Value| {
        let conditions = node["status"]["conditions"].as_array().unwrap();
        conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    assert_eq!(nodes.iter().filter(ready).count(), control_planes + workers, "{nodes:#?}");
    let leads = |node: &&Value| node["metadata"]["labels"].get("node-role.kubernetes.io/control-plane").is_some();
    assert_eq!(nodes.iter().filter(leads).count(), control_planes);
}

/// A second run finds nothing to do, and sends nothing that could change anything.
fn settled(example: &Example) {
    let before = example.changes();
    example.emhost(&["plan", "--exit-code"]).ended(0);
    example.emhost(&["apply", "--yes"]).ended(0);
    let after = example.changes();
    assert_eq!(after[before.len()..], [] as [Asked; 0]);
}

/// Media with secrets that are still in a storage of the host.
fn media(example: &Example, host: &str) -> Vec<String> {
    let all = block_on(example.administrator().get(&format!("/nodes/{host}/storage/local/content?content=iso"))).unwrap();
    let names = all.as_array().unwrap().iter().map(|volume| volume["volid"].as_str().unwrap().to_owned());
    names.filter(|name| name.contains("iso/emhost-")).collect()
}

fn destroyed(example: &Example) {
    example.emhost(&["destroy", "--yes"]).ended(0);
    assert_eq!(machines(example), [] as [&str; 0]);
}

#[test]
fn a_small_cluster_comes_up_and_goes() {
    let example = Example::new("demo").without_secrets().started();
    example.emhost(&["apply", "--yes"]).ended(0);
    judged(&example, 1, 1);
    settled(&example);
    destroyed(&example);
}

#[test]
fn the_two_files_of_a_site_with_reservations_are_enough() {
    let example = Example::new("dev").started();
    example.emhost(&["apply", "--yes"]).ended(0);
    settled(&example);
    destroyed(&example);
}

#[test]
fn every_boot_source_leads_to_the_same_cluster() {
    for source in ["image-factory", "config-iso", "template"] {
        let example = Example::new(&format!("boot/{source}")).started();
        example.emhost(&["apply", "--yes"]).ended(0);
        assert_eq!(media(&example, "pve1"), [] as [&str; 0]);
        judged(&example, 1, 1);
        settled(&example);
        destroyed(&example);
    }
}

#[test]
fn two_clusters_share_a_site_and_nothing_else() {
    let blue = Example::new("two/blue").started();
    let green = blue.beside("green");
    std::thread::scope(|scope| {
        let one = scope.spawn(|| blue.emhost(&["apply", "--yes"]).ended(0));
        green.emhost(&["apply", "--yes"]).ended(0);
        one.join().unwrap();
    });
    settled(&blue);
    blue.emhost(&["destroy", "--yes"]).ended(0);
    assert_eq!(machines(&blue), ["green-cp-1", "green-wk-1"]);
    green.emhost(&["plan", "--exit-code"]).ended(0);
}

#[test]
fn a_node_comes_and_another_goes_and_nothing_else_is_touched() {
    let example = Example::new("demo").started();
    example.emhost(&["apply", "--yes"]).ended(0);
    let before = example.changes().len();
    example.edit("nodes.yaml", "workers:", "workers:\n  - {name: demo-wk-2, ip: 10.5.0.22}");
    example.emhost(&["apply", "--yes"]).ended(0);
    let touched: Vec<Asked> = example.changes().split_off(before);
    let first = block_on(example.administrator().get("/cluster/resources?type=vm")).unwrap();
    let old: Vec<String> =
        first.as_array().unwrap().iter().filter(|vm| vm["name"] != "demo-wk-2").map(|vm| format!("/qemu/{}/", vm["vmid"])).collect();
    assert!(!touched.is_empty() && touched.iter().all(|asked| !old.iter().any(|vm| asked.request.contains(vm))), "{touched:#?}");
    judged(&example, 1, 2);
    example.edit("nodes.yaml", "  - {name: demo-wk-1, ip: 10.5.0.21}\n", "");
    example.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(machines(&example), ["demo-cp-1", "demo-wk-2"]);
    judged(&example, 1, 1);
    settled(&example);
}

#[test]
fn many_nodes_come_up_in_one_go() {
    let example = Example::new("demo");
    let (mut nodes, line) = (String::from("controlplane:\n"), |kind: &str, number: usize, ip: usize| {
        format!("  - {{name: demo-{kind}-{number}, ip: 10.5.1.{ip}}}\n")
    });
    (1..=5).for_each(|number| nodes += &line("cp", number, number));
    nodes += "workers:\n";
    (1..=40).for_each(|number| nodes += &line("wk", number, 100 + number));
    std::fs::write(example.path().join("nodes.yaml"), nodes).unwrap();
    example.edit("cluster.yaml", "gateway: 10.5.0.1", "gateway: 10.5.0.1\n  prefix: 16");
    let example = example.started();
    let ran = example.emhost(&["apply", "--yes"]).ended(0);
    eprintln!("{}", ran.all().lines().rev().find(|line| line.contains(" done, ")).unwrap_or_default());
    judged(&example, 5, 40);
    settled(&example);
}

#[test]
fn machines_come_up_without_a_storm_of_requests() {
    let example = Example::new("demo");
    for number in 2..=12 {
        example.add("nodes.yaml", &format!("  - {{name: demo-wk-{number}, ip: 10.5.0.{}}}\n", 20 + number));
    }
    // The download takes three seconds.
    example.add("site.yaml", "sim: {profile: home, speed: 5}\n");
    let example = example.started();
    example.emhost(&["apply", "--yes", "--until", "machines"]).ended(0);
    assert_eq!(machines(&example).len(), 13);
    let asked: Vec<Asked> = example.audit().into_iter().filter(|asked| asked.part == "pve").collect();
    // Not more at once than the storage stands: none fails and begins anew.
    assert_eq!(asked.iter().filter(|asked| asked.request.starts_with("POST") && asked.request.ends_with("/qemu")).count(), 13);
    assert!(asked.len() < 13 * 110, "{} requests for 13 machines", asked.len());
}

#[test]
fn a_home_cluster_among_machines_of_others() {
    let example = Example::new("home").started();
    let site = example.administrator();
    // The same name, the same text in its tags, a number of our range.
    let planted = [("talos-cp-01", "305"), ("talos-worker-02", "306")];
    for (name, vmid) in planted {
        let form = [("vmid", vmid), ("name", name), ("tags", "emhost"), ("description", "emhost cluster=home node=talos-cp-01")];
        block_on(site.run("/nodes/atlas/qemu", &form)).unwrap();
    }
    example.emhost(&["apply", "--yes"]).ended(0);
    judged(&example, 3, 2);
    settled(&example);
    example.emhost(&["destroy", "--yes"]).ended(0);
    assert_eq!(machines(&example), ["talos-cp-01", "talos-worker-02"]);
    for (name, vmid) in planted {
        assert_eq!(block_on(site.get(&format!("/nodes/atlas/qemu/{vmid}/config"))).unwrap()["name"], name);
    }
}
