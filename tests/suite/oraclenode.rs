//! `emhost apply` with the default plugins where the nodes are Talos's own API code instead of simulated ones.
//!
//! `oraclenode` is that code as a process. The simulated site has the machines, on a network where nobody hears them; for each that
//! is switched on, an `oraclenode` with the identity and the card of that machine takes its address. It has no etcd and no kubelet:
//! it says of both what a node says that has them, and a real kube-apiserver stands beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use emhost_oracles::Process;
use emhost_sim::{Administrator, Network};
use emhost_tests::control_plane::ControlPlane;
use emhost_tests::example::{Asked, Example};
use serde_json::Value;

/// Switches nodes on and off with their machines, until it is dropped.
struct Power {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Power {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // What went wrong there the test shows by itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Nodes {
    program: PathBuf,
    folder: PathBuf,
    network: Network,
    running: BTreeMap<u64, Process>,
}

impl Power {
    fn on(example: &Example, program: PathBuf) -> Self {
        let (site, stop) = (example.administrator(), Arc::new(AtomicBool::new(false)));
        let (network, folder) = (Network::new(example.access().network), logs(example));
        std::fs::create_dir_all(&folder).unwrap();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut nodes = Nodes { program, folder, network, running: BTreeMap::new() };
            while !stopped.load(Ordering::Relaxed) {
                runtime.block_on(nodes.follow(&site));
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Nodes {
    async fn follow(&mut self, site: &Administrator) {
        let all = site.get("/cluster/resources?type=vm").await.unwrap();
        let on = all.as_array().unwrap().iter().filter(|vm| vm["status"] == "running");
        let on: BTreeMap<u64, String> = on.map(|vm| (vm["vmid"].as_u64().unwrap(), vm["node"].as_str().unwrap().to_owned())).collect();
        self.running.retain(|id, _| on.contains_key(id));
        for (id, host) in on.iter().filter(|(id, _)| !self.running.contains_key(id)).collect::<Vec<_>>() {
            let config = site.get(&format!("/nodes/{host}/qemu/{id}/config")).await.unwrap();
            self.running.insert(*id, self.start(&config));
        }
    }

    fn start(&self, config: &Value) -> Process {
        let text = |key: &str| config[key].as_str().unwrap_or_default().to_owned();
        let value = |key: &str, part: &str| {
            let all = text(key);
            let found = all.split(',').find_map(|word| word.strip_prefix(part).map(str::to_owned));
            found.unwrap_or_else(|| panic!("no {part} in {key}: {all}"))
        };
        let dial = |address: &str| self.network.dial(address.parse().unwrap()).to_string();
        let (name, ip) = (text("name"), value("ipconfig0", "ip="));
        let address = dial(ip.split('/').next().unwrap());
        let folder = self.folder.join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = Command::new(&self.program);
        command.env("ORACLE_OFFLINE", "1").args(["-etcd", "-hostname", &name, "-listen", &format!("{address}:50000")]);
        command.args(["-uuid", &value("smbios1", "uuid="), "-mac", &value("net0", "virtio=")]);
        command.args(["-control-planes", &dial("10.5.0.11")]).arg("-dir").arg(&folder);
        command.arg("-on-bootstrap").arg(folder.join("bootstrapped"));
        Process(command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
    }
}

/// Where the nodes write what they do.
fn logs(example: &Example) -> PathBuf {
    example.home().join("nodes")
}

fn said(example: &Example, node: &str) -> String {
    std::fs::read_to_string(logs(example).join(node).join("log")).unwrap_or_default()
}

/// How often a node took a call.
fn taken(example: &Example, node: &str, method: &str) -> usize {
    said(example, node).lines().filter(|line| line.contains("/machine.MachineService/") && line.contains(&format!("/{method}"))).count()
}

fn nodes_are_talos_itself(version: &str) {
    let Some(program) = emhost_oracles::program(&format!("oraclenode-{version}"), "oraclenode") else { return };
    // The network of the site is another one, so no simulated node answers at an address of the inventory.
    let mut example = Example::new("demo").edited("cluster.yaml", "v1.11.5", version).edited("cluster.yaml", "10.5.0.1", "10.9.0.1");
    for (here, elsewhere) in [("10.5.0.11", "10.9.0.11"), ("10.5.0.21", "10.9.0.21")] {
        example = example.edited("nodes.yaml", here, elsewhere);
    }
    let mut example = example.started();
    example = example.edited("cluster.yaml", "10.9.0.1", "10.5.0.1");
    for (here, elsewhere) in [("10.5.0.11", "10.9.0.11"), ("10.5.0.21", "10.9.0.21")] {
        example = example.edited("nodes.yaml", elsewhere, here);
    }
    let power = Power::on(&example, program);
    example.emhost(&["apply", "--yes"]).ended(0);
    let bootstrapped = |node: &str| logs(&example).join(node).join("bootstrapped").exists();
    assert!(bootstrapped("demo-cp-1") && !bootstrapped("demo-wk-1"));
    let calls = || ["demo-cp-1", "demo-wk-1"].map(|node| (taken(&example, node, "ApplyConfiguration"), taken(&example, node, "Bootstrap")));
    let first = calls();

    let before = example.changes();
    example.emhost(&["plan", "--exit-code"]).ended(0);
    example.emhost(&["apply", "--yes"]).ended(0);
    assert_eq!(example.changes()[before.len()..], [] as [Asked; 0]);
    assert_eq!(calls(), first, "a second run changes nothing");

    talosctl(&example, version);
    kubectl(&example);
    example.emhost(&["destroy", "--yes"]).ended(0);
    drop(power);
}

/// The real client with the configuration that emhost makes.
fn talosctl(example: &Example, version: &str) {
    let Some(talosctl) = emhost_oracles::program(&format!("talosctl-{version}"), "talosctl") else { return };
    example.emhost(&["talosconfig"]).ended(0);
    let first = example.dial("10.5.0.11");
    let ran = example.program(&talosctl, &["--talosconfig", "talosconfig", "-n", &first, "get", "machineconfig", "v1alpha1", "-o", "json"]);
    ran.ended(0).says("demo-cp-1");
}

/// The real client with the configuration that emhost makes, at a real server.
fn kubectl(example: &Example) {
    example.emhost(&["generate"]).ended(0);
    let config = example.read("generated/demo-cp-1.yaml");
    let Some(_server) = ControlPlane::start(&config, example.dial("10.5.0.11").parse().unwrap()) else { return };
    let Some(kubectl) = emhost_oracles::program("kubectl-v1.34.2", "kubectl") else { return };
    example.emhost(&["kubeconfig"]).ended(0);
    let run = |arguments: &[&str]| example.program(&kubectl, &[&["--kubeconfig", "kubeconfig"], arguments].concat());
    example.until("the server is ready", || run(&["get", "--raw", "/readyz"]).exit == Some(0));
    run(&["auth", "can-i", "*", "*"]).ended(0).says("yes");
}

#[test]
fn nodes_are_talos_1_11_itself() {
    nodes_are_talos_itself("v1.11.5");
}

#[test]
fn nodes_are_talos_1_12_itself() {
    nodes_are_talos_itself("v1.12.1");
}
