//! A simulated site, the plugin in its sandbox, and one node to make.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use emhost::bindings::emhost::plugin::inventory::{Disk, InterfaceCard, NodeRole};
use emhost::bindings::emhost::plugin::types::{
    Addressing, Again, Artifact, Attribute, Boot, BootBase, Delivery, FailureKind, ImageFormat, Intent, Medium, MediumFile, Passthrough,
    Proposal, State, Step,
};
use emhost::bindings::exports::emhost::plugin::provisioner::{FirstBoot, Machine};
use emhost::inventory::Node;
use emhost::inventory::site::SlotConfig;
use emhost::plugins::{CallError, Cause};
use emhost_sim::{Administrator, Lan, Plan, Release, Site, StorageSpec, Template};
use emhost_testkit::Kit;
use emhost_tests::plugin;
use serde_json::{Value, json};

pub const VERSION: &str = "v1.11.5";
/// The id of the cluster in tests.
pub const CLUSTER: &str = "c0ffee";

/// Two hosts, storages of their own and one that they share, and a template.
pub fn plan(release: Release) -> Plan {
    let files = ["images", "iso", "vztmpl", "import", "snippets", "backup"];
    Plan {
        release,
        hosts: vec!["pve1".to_owned(), "pve2".to_owned()],
        bridges: vec!["vmbr0".to_owned(), "vmbr1".to_owned()],
        storages: vec![
            StorageSpec::new("local", "dir", &files),
            StorageSpec::new("local-lvm", "lvmthin", &["images", "rootdir"]),
            StorageSpec { shared: true, ..StorageSpec::new("ceph", "rbd", &["images"]) },
        ],
        networks: vec![Lan {
            bridge: "vmbr0".to_owned(),
            vlan: None,
            network: (Ipv4Addr::new(10, 0, 0, 1), 16),
            gateway: Some(Ipv4Addr::new(10, 0, 0, 1)),
        }],
        templates: vec![Template {
            name: "talos-base".to_owned(),
            vmid: Some(9000),
            host: Some("pve1".to_owned()),
            storage: "local-lvm".to_owned(),
            version: VERSION.to_owned(),
            extensions: Vec::new(),
        }],
        pools: vec!["dev".to_owned()],
        reservations: [("02:00:00:00:00:0B".to_owned(), Ipv4Addr::new(10, 0, 10, 11))].into(),
        speed: 1,
        seed: 1,
        ..Plan::default()
    }
}

/// The node that is made.
pub fn node() -> Node {
    let mut node = Node::new("dev-cp-1", NodeRole::ControlPlane);
    let storage = "local-lvm".to_owned();
    node.disks.push(Disk { name: "system".to_owned(), size_gib: 40, storage, system: true, attributes: Vec::new() });
    node.cards.push(InterfaceCard {
        name: "eth0".to_owned(),
        bridge: "vmbr0".to_owned(),
        vlan: None,
        mac: "02:00:00:00:00:0b".to_owned(),
        address: Some("10.0.10.11/16".to_owned()),
        gateway: Some("10.0.0.1".to_owned()),
        attributes: Vec::new(),
    });
    node.placement = Some("pve1".to_owned());
    node
}

/// A device of the first host, by its mapping.
pub fn device(mapping: &str) -> Passthrough {
    let attribute = |key: &str, value: &str| Attribute { key: key.to_owned(), value: value.to_owned() };
    Passthrough {
        device: "pve1/0000:01:00.0".to_owned(),
        host: "pve1".to_owned(),
        address: "0000:01:00.0".to_owned(),
        attributes: vec![attribute("mapping", mapping), attribute("pcie", "true"), attribute("rombar", "true")],
    }
}

/// What cluster.yaml says about Proxmox.
fn attributes() -> Vec<Attribute> {
    let pairs = [
        ("proxmox.bios", json!("ovmf")),
        ("proxmox.bridge", json!("vmbr0")),
        ("proxmox.cpu", json!("host")),
        ("proxmox.datastore", json!("local-lvm")),
        ("proxmox.iso_datastore", json!("local")),
        ("proxmox.machine", json!("q35")),
        ("proxmox.node", json!("pve1")),
        ("proxmox.onboot", json!(true)),
        ("proxmox.tpm", json!(false)),
        ("proxmox.vmid_range", json!("300-399")),
    ];
    pairs.into_iter().map(|(key, value)| Attribute { key: key.to_owned(), value: value.to_string() }).collect()
}

/// What a machine starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Image,
    Template,
    Installer,
}

pub struct Lab {
    pub site: Site,
    pub kit: Kit,
    pub node: Node,
    pub state: Option<State>,
    schematic: String,
    folder: tempfile::TempDir,
}

impl Lab {
    pub async fn new(plan: Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let claims = emhost_sim_kit::addresses::claims_of_tests();
        let site = Site::start(&folder.path().join("site"), &claims, plan).await.unwrap();
        let access = site.access().clone();
        // The Image Factory is asked directly, and the dials strike it as well.
        let mut schematic = String::new();
        while schematic.is_empty() {
            schematic = site.administrator().schematic("customization: {}\n").await.unwrap_or_default();
        }
        let node = node();
        let slot = SlotConfig {
            url: Some(access.pve.clone()),
            ca: Some("ca.pem".to_owned()),
            credential: Some("pve_token".to_owned()),
            ..SlotConfig::default()
        };
        let kit = Kit::file(plugin("proxmox"))
            .slot("pve", slot)
            .secret("pve_token", access.token.as_bytes())
            .with_file("ca.pem", access.authority.as_bytes())
            .cluster(|cluster| {
                CLUSTER.clone_into(&mut cluster.id);
                cluster.resolvers = vec!["1.1.1.1".to_owned()];
                cluster.nodes = vec![Arc::new(node.clone())];
                cluster.attributes = attributes();
            })
            .load();
        Self { site, kit, node, state: None, schematic, folder }
    }

    pub fn administrator(&self) -> &Administrator {
        self.site.administrator()
    }

    /// Another attribute of the cluster.
    pub fn attribute(&mut self, key: &str, value: &str) {
        let mut cluster = emhost::inventory::Cluster::clone(&self.kit.context.cluster);
        cluster.attributes.push(Attribute { key: key.to_owned(), value: value.to_owned() });
        self.kit.context.cluster = Arc::new(cluster);
    }

    /// Other nodes in the inventory.
    pub fn known(&mut self, nodes: &[Node]) {
        let mut cluster = emhost::inventory::Cluster::clone(&self.kit.context.cluster);
        cluster.nodes = nodes.iter().cloned().map(Arc::new).collect();
        self.kit.context.cluster = Arc::new(cluster);
    }

    /// The pipeline's answer for a node: what it boots from and what is attached.
    pub fn first_boot(&self, base: Base) -> FirstBoot {
        let factory = &self.site.access().factory;
        let short = &self.schematic[..12];
        let artifact = |kind: &str, format| Artifact {
            name: format!("talos-{VERSION}-nocloud-{short}"),
            url: format!("{factory}/image/{}/{VERSION}/{kind}", self.schematic),
            format,
            digest: None,
        };
        let (base, addressing, delivery, media) = match base {
            Base::Image => {
                let image = BootBase::DiskImage(artifact("nocloud-amd64.qcow2", ImageFormat::Qcow2));
                (image, Addressing::Provisioner, Delivery::Network, Vec::new())
            }
            Base::Template => (BootBase::Template("talos-base".to_owned()), Addressing::Reservation, Delivery::Network, Vec::new()),
            Base::Installer => {
                let files = [("meta-data", "local-hostname: dev-cp-1\n"), ("network-config", NETWORK)];
                let files = files.map(|(path, text)| MediumFile { path: path.to_owned(), body: text.as_bytes().to_vec() });
                let medium = Medium { label: "cidata".to_owned(), files: files.to_vec(), sensitive: true };
                let iso = BootBase::Installer(artifact("nocloud-amd64.iso", ImageFormat::Iso));
                (iso, Addressing::Medium, Delivery::Medium, vec![medium])
            }
        };
        let installer = format!("factory.talos.dev/nocloud-installer/{}:{VERSION}", self.schematic);
        let boot = Boot {
            id: self.schematic.clone(),
            os_version: VERSION.to_owned(),
            base,
            addressing,
            delivery,
            installer,
            attributes: Vec::new(),
        };
        FirstBoot { boot, media }
    }

    // ---- the plugin -----------------------------------------------------------------------------

    pub async fn observe(&mut self) -> Option<Machine> {
        let (kit, node, state) = (&self.kit, &self.node, &self.state);
        let machine = insist(async || kit.plugin.observe_machine(&kit.context, node, state.as_ref()).await).await;
        self.node.machine_id = machine.as_ref().map(|machine| machine.id.clone());
        self.node.machine_identity = machine.as_ref().map(|machine| machine.identity.clone());
        machine
    }

    pub async fn plan(&self, first_boot: Option<&FirstBoot>, intent: Intent) -> Proposal {
        let (kit, node, state) = (&self.kit, &self.node, &self.state);
        insist(async || kit.plugin.plan_machine(&kit.context, node, first_boot, intent, state.as_ref()).await).await
    }

    pub async fn step(&mut self, first_boot: Option<&FirstBoot>, intent: Intent) -> Result<Option<Duration>, CallError> {
        let kit = &self.kit;
        match kit.plugin.apply_machine(&kit.context, &self.node, first_boot, intent, self.state.as_ref()).await {
            Ok(Step::Done(state)) => {
                self.state = state;
                Ok(None)
            }
            Ok(Step::Again(Again { state, after_ms, .. })) => {
                self.state = state.or(self.state.take());
                Ok(Some(Duration::from_millis(after_ms.into())))
            }
            Err(error) => {
                if let Cause::Failed { state: Some(learnt), .. } = &error.cause {
                    self.state = Some(learnt.clone());
                }
                Err(error)
            }
        }
    }

    /// Steps until it is done, as the host takes them.
    pub async fn apply(&mut self, first_boot: Option<&FirstBoot>, intent: Intent) {
        self.try_apply(first_boot, intent).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.diagnostics()));
    }

    pub async fn try_apply(&mut self, first_boot: Option<&FirstBoot>, intent: Intent) -> Result<(), CallError> {
        for _ in 0..500 {
            match self.step(first_boot, intent).await {
                Ok(None) => return Ok(()),
                Ok(Some(pause)) => tokio::time::sleep(pause).await,
                Err(error) if error.is_passing() => {}
                Err(error) => return Err(error),
            }
        }
        panic!("no end after 500 steps: {:?}", self.state)
    }

    /// Makes the machine, and sees that a second plan has nothing to do.
    pub async fn make(&mut self, base: Base) -> FirstBoot {
        let first_boot = self.first_boot(base);
        self.apply(Some(&first_boot), Intent::Present).await;
        self.observe().await.expect("a machine");
        assert_eq!(self.plan(Some(&first_boot), Intent::Present).await.actions, []);
        first_boot
    }

    // ---- the world ------------------------------------------------------------------------------

    pub fn vmid(&self) -> u32 {
        self.node.machine_id.as_ref().expect("a machine").parse().unwrap()
    }

    /// Every machine at Proxmox that is no template: number, host, name and tags.
    pub async fn machines(&self) -> Vec<Value> {
        let all = self.get("/cluster/resources?type=vm").await;
        all.as_array().unwrap().iter().filter(|vm| vm["template"] != 1).cloned().collect()
    }

    /// Reads with every right, until it gets through.
    pub async fn get(&self, path: &str) -> Value {
        for _ in 0..50 {
            if let Ok(value) = self.administrator().get(path).await {
                return value;
            }
        }
        panic!("{path} does not get through")
    }

    pub async fn config(&self, host: &str, vmid: u32) -> Value {
        self.get(&format!("/nodes/{host}/qemu/{vmid}/config")).await
    }

    /// Volumes of images and media.
    pub async fn volumes(&self, host: &str, content: &str) -> Vec<String> {
        let all = self.get(&format!("/nodes/{host}/storage/local/content?content={content}")).await;
        all.as_array().unwrap().iter().map(|volume| volume["volid"].as_str().unwrap().to_owned()).collect()
    }

    /// Takes the images away, so that the next machine needs them anew.
    pub async fn forget_images(&self) {
        for content in ["iso", "import"] {
            for volume in self.volumes("pve1", content).await {
                let task = self.administrator().delete(&format!("/nodes/pve1/storage/local/content/{volume}")).await.unwrap();
                self.administrator().finish(&task).await.unwrap();
            }
        }
    }

    /// Every request of the plugin that changed something, or was meant to: what, and which fault struck it.
    pub fn changes(&self) -> Vec<(String, Option<String>)> {
        let audit = std::fs::read_to_string(self.folder.path().join("site/audit.jsonl")).unwrap();
        let entries = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let changing = entries.filter(|entry| {
            let request = entry["request"].as_str().unwrap_or_default();
            entry["part"] == "pve" && ["POST", "PUT", "DELETE"].iter().any(|method| request.starts_with(method))
        });
        changing.map(|entry| (entry["request"].as_str().unwrap().to_owned(), entry["fault"].as_str().map(str::to_owned))).collect()
    }

    /// Waits until the node's Talos answers at its address.
    pub async fn boots(&self) {
        let started = Instant::now();
        while !self.site.nodes().iter().any(|node| node.stage == "maintenance") {
            assert!(started.elapsed() < Duration::from_mins(1), "{:?} {:?}", self.site.nodes(), self.site.silent());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

const NETWORK: &str = "version: 1\nconfig:\n  - type: physical\n    name: eth0\n    mac_address: \"02:00:00:00:00:0b\"\n    subnets:\n      - {type: static, address: 10.0.10.11/16, gateway: 10.0.0.1}\n";

/// A call that changes nothing, until it gets through.
async fn insist<T>(mut call: impl AsyncFnMut() -> Result<T, CallError>) -> T {
    for _ in 0..100 {
        match call().await {
            Ok(answer) => return answer,
            Err(error) if error.is_passing() => {}
            Err(error) => panic!("{error}: {:?}", error.diagnostics()),
        }
    }
    panic!("nothing gets through")
}

/// What kind of failure it is, and its first words.
pub fn told(error: &CallError) -> (FailureKind, String, String) {
    let Cause::Failed { kind, .. } = &error.cause else { panic!("{error}") };
    let diagnostics = error.diagnostics();
    let first = diagnostics.first().expect("a diagnostic");
    let summary = first.summary.split_once("`: ").map_or(first.summary.as_str(), |(_, summary)| summary);
    (*kind, summary.to_owned(), first.help.clone().unwrap_or_default())
}
