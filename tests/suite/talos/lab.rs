//! A simulated site with machines in maintenance mode, and the plugin as the host calls it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost::bindings::emhost::plugin::inventory::{InterfaceCard, NodeRole};
use emhost::bindings::emhost::plugin::types::{
    Addressing, Artifact, Attribute, Boot, BootBase, Delivery, Document, ImageFormat, Intent, Proposal, State, Step,
};
use emhost::capabilities::Slots;
use emhost::capabilities::journal::MemoryJournal;
use emhost::inventory::site::SlotConfig;
use emhost::inventory::{Cluster, Node};
use emhost::plugins::CallError;
use emhost_oracles::program;
use emhost_sim::{Lan, Network, Plan, Release, Site, StorageSpec, Wanted};
use emhost_testkit::Kit;
use emhost_tests::plugin;

/// A release of Talos, with a version of Kubernetes that it runs.
#[derive(Clone, Copy)]
pub struct Versions {
    pub talos: &'static str,
    pub kubernetes: &'static str,
}

pub const OLDER: Versions = Versions { talos: "v1.11.5", kubernetes: "v1.34.1" };
pub const NEWER: Versions = Versions { talos: "v1.12.1", kubernetes: "v1.34.1" };
pub const OLDEST: Versions = Versions { talos: "v1.8.4", kubernetes: "v1.31.4" };
pub const NEWEST: Versions = Versions { talos: "v1.13.0", kubernetes: "v1.35.0" };

/// The schematic of an image without any extension.
const SCHEMATIC: &str = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

/// How long anything may take here.
const LIMIT: Duration = Duration::from_mins(1);

pub struct Lab {
    pub kit: Kit,
    pub site: Site,
    pub folder: tempfile::TempDir,
    talosctl: PathBuf,
    versions: Versions,
    /// What the plugin wants back, by unit.
    states: BTreeMap<String, State>,
}

fn mac(number: u8) -> String {
    format!("BC:24:11:00:00:{number:02X}")
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 10, 10 + number)
}

fn plan(machines: u8) -> Plan {
    Plan {
        release: Release::V9,
        hosts: vec!["pve1".to_owned()],
        bridges: vec!["vmbr0".to_owned()],
        storages: vec![
            StorageSpec::new("local", "dir", &["images", "iso", "vztmpl", "import", "snippets", "backup"]),
            StorageSpec::new("local-lvm", "lvmthin", &["images", "rootdir"]),
        ],
        networks: vec![Lan {
            bridge: "vmbr0".to_owned(),
            vlan: None,
            network: (Ipv4Addr::new(10, 0, 0, 1), 16),
            gateway: Some(Ipv4Addr::new(10, 0, 0, 1)),
        }],
        reservations: (1..=machines).map(|number| (mac(number), address(number))).collect(),
        speed: 1,
        seed: 1,
        ..Plan::default()
    }
}

fn machine(name: &str, number: u8, versions: Versions) -> Wanted {
    Wanted {
        name: name.to_owned(),
        vmid: Some(100 + u32::from(number)),
        vmids: (100, 8999),
        host: "pve1".to_owned(),
        storage: "local-lvm".to_owned(),
        cores: 2,
        memory_mib: 4096,
        disk_gib: 40,
        mac: mac(number),
        bridge: "vmbr0".to_owned(),
        vlan: None,
        version: versions.talos.to_owned(),
        extensions: Vec::new(),
        address: None,
        control_plane: false,
    }
}

fn node(name: &str, number: u8, identity: String) -> Node {
    let role = if name.starts_with("cp") { NodeRole::ControlPlane } else { NodeRole::Worker };
    let mut node = Node::new(name, role);
    node.cards.push(InterfaceCard {
        name: "eth0".to_owned(),
        bridge: "vmbr0".to_owned(),
        vlan: None,
        mac: mac(number),
        address: Some(format!("{}/16", address(number))),
        gateway: Some("10.0.0.1".to_owned()),
        attributes: Vec::new(),
    });
    node.machine_id = Some((100 + u32::from(number)).to_string());
    node.machine_identity = Some(identity);
    node
}

impl Lab {
    /// Machines in maintenance mode: `cp-*` are to be control planes. None without talosctl, which makes their secrets.
    pub async fn new(names: &[&str], versions: Versions) -> Option<Self> {
        Self::with(names, versions, |_| {}).await
    }

    pub async fn with(names: &[&str], versions: Versions, change: impl FnOnce(&mut Plan)) -> Option<Self> {
        // One of the two that there are: all versions have the same secrets.
        let version = if versions.talos < "v1.12" { OLDER.talos } else { NEWER.talos };
        let talosctl = program(&format!("talosctl-{version}"), "talosctl")?;
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan(u8::try_from(names.len()).unwrap());
        change(&mut plan);
        let claims = emhost_sim_kit::addresses::claims_of_tests();
        let site = Site::start(&folder.path().join("site"), &claims, plan).await.unwrap();
        let wanted: Vec<Wanted> = (1_u8..).zip(names).map(|(number, name)| machine(name, number, versions)).collect();
        site.make(&wanted).await.unwrap();
        let mut nodes = Vec::new();
        for (number, name) in (1_u8..).zip(names) {
            let path = format!("/nodes/pve1/qemu/{}/config", 100 + u32::from(number));
            let config = loop {
                // Faults strike the administrator as well.
                if let Ok(config) = site.administrator().get(&path).await {
                    break config;
                }
            };
            let identity = config["smbios1"].as_str().unwrap().trim_start_matches("uuid=").to_owned();
            nodes.push(Arc::new(node(name, number, identity)));
        }
        let said = Command::new(&talosctl).args(["gen", "secrets", "-o", "secrets.yaml"]).current_dir(folder.path()).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        let kit = kit(&site, &std::fs::read_to_string(folder.path().join("secrets.yaml")).unwrap(), |cluster| {
            cluster.endpoint = format!("https://{}:6443", address(1));
            versions.talos.clone_into(&mut cluster.os_version);
            versions.kubernetes.clone_into(&mut cluster.kubernetes_version);
            cluster.nodes = nodes;
        });
        let lab = Self { kit, site, folder, talosctl, versions, states: BTreeMap::new() };
        lab.until("every machine waits for its configuration", || lab.count("maintenance") == names.len()).await;
        Some(lab)
    }

    pub fn count(&self, stage: &str) -> usize {
        self.site.nodes().iter().filter(|node| node.stage == stage).count()
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < LIMIT, "{what}: {:#?} {:?}", self.site.nodes(), self.site.silent());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn node(&self, name: &str) -> Node {
        Node::clone(self.kit.context.cluster.node(name).unwrap_or_else(|| panic!("no node {name}")))
    }

    /// Changes what the inventory says.
    pub fn inventory(&mut self, change: impl FnOnce(&mut Cluster)) {
        change(Arc::make_mut(&mut self.kit.context.cluster));
    }

    /// The configuration of a node, as the plugin makes it, with a patch of the inventory.
    pub async fn config(&self, name: &str, patch: &str) -> Vec<Document> {
        let mut node = self.node(name);
        node.patches.extend((!patch.is_empty()).then(|| patch.to_owned()));
        self.kit.plugin.render_config(&self.kit.context, &node, &self.boot()).await.unwrap()
    }

    /// What the machines booted from.
    pub fn boot(&self) -> Boot {
        let (version, attribute) =
            (self.versions.talos, |key: &str, value: &str| Attribute { key: key.to_owned(), value: value.to_owned() });
        let platform = if version < "v1.10" { "installer" } else { "nocloud-installer" };
        let image = Artifact {
            name: "nocloud-amd64.qcow2".to_owned(),
            url: format!("https://image-factory.emhost.internal/image/{SCHEMATIC}/{version}/nocloud-amd64.qcow2"),
            format: ImageFormat::Qcow2,
            digest: None,
        };
        Boot {
            id: SCHEMATIC.to_owned(),
            os_version: version.to_owned(),
            base: BootBase::DiskImage(image),
            addressing: Addressing::Reservation,
            delivery: Delivery::Network,
            installer: format!("factory.talos.dev/{platform}/{SCHEMATIC}:{version}"),
            attributes: vec![attribute("platform", "nocloud"), attribute("schematic", SCHEMATIC)],
        }
    }

    pub async fn plan(&self, name: &str, config: &[Document]) -> Result<Proposal, CallError> {
        let state = self.states.get(name);
        self.kit.plugin.plan_node(&self.kit.context, &self.node(name), config, Some(&self.boot()), Intent::Present, state).await
    }

    /// Steps a node until it is done, as the host does.
    pub async fn apply(&mut self, name: &str, config: &[Document]) -> Result<Vec<String>, CallError> {
        let node = self.node(name);
        self.apply_as(&node, config, Intent::Present).await
    }

    pub async fn apply_as(&mut self, node: &Node, config: &[Document], intent: Intent) -> Result<Vec<String>, CallError> {
        let (plugin, context) = (&self.kit.plugin, &self.kit.context);
        let (unit, boot) = (&node.name, (intent == Intent::Present).then(|| self.boot()));
        steps(&mut self.states, unit, async |state| plugin.apply_node(context, node, config, boot.as_ref(), intent, state).await).await
    }

    pub async fn plan_cluster(&self) -> Result<Proposal, CallError> {
        self.kit.plugin.plan_cluster(&self.kit.context, self.states.get("cluster")).await
    }

    pub async fn bootstrap(&mut self) -> Result<Vec<String>, CallError> {
        let (plugin, context) = (&self.kit.plugin, &self.kit.context);
        steps(&mut self.states, "cluster", async |state| plugin.apply_cluster(context, state).await).await
    }

    pub async fn health(&mut self, networking: bool) -> Result<Vec<String>, CallError> {
        let (plugin, context) = (&self.kit.plugin, &self.kit.context);
        steps(&mut self.states, "health", async |_| plugin.health(context, networking).await).await
    }

    pub fn state(&self, unit: &str) -> Option<&State> {
        self.states.get(unit)
    }

    /// Puts words into the plugin's memory.
    pub fn remember(&mut self, unit: &str, data: &str) {
        self.states.insert(unit.to_owned(), State { schema: 1, data: data.to_owned() });
    }

    pub fn forget(&mut self, unit: &str) {
        self.states.remove(unit);
    }

    /// Configures every node and bootstraps the cluster.
    pub async fn up(&mut self) {
        let names: Vec<String> = self.kit.context.cluster.nodes.iter().map(|node| node.name.clone()).collect();
        for name in names {
            let config = self.config(&name, "").await;
            self.apply(&name, &config).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        self.bootstrap().await.unwrap();
        self.health(true).await.unwrap();
    }

    /// Every change that went out so far, as `NODE METHOD`.
    pub fn changes(&self) -> Vec<String> {
        let entries = self.kit.journal.entries();
        let shown = entries.iter().map(|(change, _)| {
            let method = change.request.rsplit('/').next().unwrap_or_default();
            format!("{} {method}", change.unit.as_deref().unwrap_or("cluster"))
        });
        shown.collect()
    }

    /// Forgets the changes that were made.
    pub fn clear(&mut self) {
        self.kit.journal = Arc::new(MemoryJournal::default());
        self.kit.context.journal = self.kit.journal.clone();
    }

    /// Every call that the nodes took, by method, without those that faults struck down.
    pub fn taken(&self, method: &str) -> usize {
        let audit = std::fs::read_to_string(self.folder.path().join("site/audit.jsonl")).unwrap();
        let entries = audit.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        entries
            .filter(|entry| entry["request"].as_str().is_some_and(|request| request.contains(&format!("/{method}"))))
            .filter(|entry| match entry["fault"].as_str() {
                None => entry["status"] == 0,
                // It did its work; only nobody was told.
                Some("reply-lost") => true,
                Some(_) => false,
            })
            .count()
    }

    /// A client configuration, with the addresses at which this computer finds the nodes.
    pub async fn access(&self, kind: &str, roles: &[&str]) -> String {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let made = self.kit.plugin.access(&self.kit.context, kind, &roles, 600).await.unwrap();
        let network = self.site.access().network;
        String::from_utf8(made.to_vec()).unwrap().replace("10.0.10.", &format!("127.{network}.10."))
    }

    /// Runs a real client with the configurations in the lab's folder; what it prints when it succeeds.
    pub async fn run(&self, program: &PathBuf, arguments: &[&str]) -> String {
        let folder = self.folder.path().to_owned();
        let mut command = Command::new("timeout");
        command.arg("100").arg(program).args(arguments).current_dir(&folder).env("HOME", &folder).stdin(Stdio::null());
        command.env("TALOSCONFIG", folder.join("talosconfig")).env("KUBECONFIG", folder.join("kubeconfig"));
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}{}", said(&output.stdout), said(&output.stderr));
        format!("{}{}", said(&output.stdout), said(&output.stderr))
    }

    pub fn talosctl(&self) -> &PathBuf {
        &self.talosctl
    }
}

fn kit(site: &Site, text: &str, change: impl FnOnce(&mut Cluster)) -> Kit {
    let secrets = plain_yaml(text);
    let authority = |name: &str| {
        let part = |part: &str| STANDARD.decode(secrets["certs"][name][part].as_str().unwrap()).unwrap();
        [part("crt"), part("key")].concat()
    };
    let mut kit = Kit::file(plugin("talos"))
        .secret("talos_secrets", text.as_bytes())
        .secret("talos_os_ca", &authority("os"))
        .secret("talos_kubernetes_ca", &authority("k8s"))
        .cluster(change)
        .load();
    let talos = SlotConfig { port: Some(50_000), maintenance: true, ..SlotConfig::default() };
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let slots = Slots::bind(&[("talos".to_owned(), talos)].into(), kit.context.secrets.clone(), kit.context.redactor.clone(), &none);
    kit.context.slots = Arc::new(slots.unwrap().simulated(Some(Network::new(site.access().network))));
    kit
}

/// The few lines of YAML that talosctl writes: maps of maps of plain values.
fn plain_yaml(text: &str) -> serde_json::Value {
    let mut root = serde_json::json!({});
    let mut way: Vec<(usize, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        let (key, value) = line.trim().split_once(':').unwrap();
        way.retain(|(other, _)| *other < depth);
        let pointer = way.iter().flat_map(|(_, key)| ["/", key]).collect::<String>();
        let value = value.trim();
        let value = if value.is_empty() { serde_json::json!({}) } else { serde_json::json!(value) };
        root.pointer_mut(&pointer).unwrap()[key] = value;
        way.push((depth, key.to_owned()));
    }
    root
}

/// Calls a step again and again, as the host does; says why each time it was not done yet.
async fn steps(
    states: &mut BTreeMap<String, State>,
    unit: &str,
    step: impl AsyncFn(Option<&State>) -> Result<Step, CallError>,
) -> Result<Vec<String>, CallError> {
    let started = Instant::now();
    let mut reasons = Vec::new();
    loop {
        assert!(started.elapsed() < LIMIT, "{unit} is not done: {reasons:#?}");
        match step(states.get(unit)).await {
            Ok(Step::Done(state)) => {
                match state {
                    Some(state) => states.insert(unit.to_owned(), state),
                    None => states.remove(unit),
                };
                return Ok(reasons);
            }
            Ok(Step::Again(again)) => {
                if let Some(state) = again.state {
                    states.insert(unit.to_owned(), state);
                }
                if reasons.last() != Some(&again.reason) {
                    reasons.push(again.reason);
                }
                tokio::time::sleep(Duration::from_millis(again.after_ms.into())).await;
            }
            Err(error) if error.is_passing() => {
                reasons.push(error.to_string());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error),
        }
    }
}
