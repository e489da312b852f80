//! A simulated site, a boot source in the sandbox, and a machine that starts from what it says.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use emhost::bindings::emhost::plugin::inventory::{InterfaceCard, NodeRole};
use emhost::bindings::emhost::plugin::types::{Artifact, Document, Medium};
use emhost::inventory::site::SlotConfig;
use emhost::inventory::{Cluster, Node};
use emhost_sim::{Lan, NodeView, Plan, Release, Site, StorageSpec, Template};
use emhost_testkit::{Builder, Kit};
use emhost_tests::plugin;
use serde_json::Value;

pub const VERSION: &str = "v1.11.5";
pub const MAC: &str = "bc:24:11:00:00:21";
/// Where the node is expected. DHCP never gives this away: the site reserves nothing.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 10, 21);

pub struct Lab {
    pub site: Site,
    folder: tempfile::TempDir,
}

impl Lab {
    pub async fn new(templates: Vec<Template>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            release: Release::V9,
            hosts: vec!["pve1".to_owned(), "pve2".to_owned()],
            bridges: vec!["vmbr0".to_owned()],
            storages: vec![
                StorageSpec::new("local", "dir", &["images", "iso", "import"]),
                StorageSpec::new("local-lvm", "lvmthin", &["images"]),
            ],
            networks: vec![Lan {
                bridge: "vmbr0".to_owned(),
                vlan: None,
                network: (Ipv4Addr::new(10, 0, 0, 1), 16),
                gateway: Some(Ipv4Addr::new(10, 0, 0, 1)),
            }],
            templates,
            speed: 1,
            seed: 1,
            ..Plan::default()
        };
        // Shared with the sites that the binary runs in other tests.
        let claims = emhost_sim_kit::addresses::claims_of_tests();
        let site = Site::start(&folder.path().join("site"), &claims, plan).await.unwrap();
        Self { site, folder }
    }

    /// The boot source, bound to this site.
    pub fn kit(&self, name: &str) -> Builder {
        let access = self.site.access();
        let slot = |url: &str, credential: Option<&str>| SlotConfig {
            url: Some(url.to_owned()),
            ca: Some("ca.pem".to_owned()),
            credential: credential.map(str::to_owned),
            ..SlotConfig::default()
        };
        boot_source(name)
            .with_file("ca.pem", access.authority.as_bytes())
            .secret("pve_token", access.token.as_bytes())
            .slot("image-factory", slot(&access.factory, None))
            .slot("pve", slot(&access.pve, Some("pve_token")))
    }

    /// What the factory was asked so far.
    pub fn asked(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("site/audit.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["part"] == "factory").map(|line| line["request"].as_str().unwrap().to_owned()).collect()
    }

    /// Has the first host fetch an image, as a provisioner would; says which volume it is.
    pub async fn fetch(&self, image: &Artifact, content: &str) -> String {
        let url = image.url.replace("https://image-factory.emhost.internal", &self.site.access().factory);
        let form = [("content", content), ("filename", image.name.as_str()), ("url", url.as_str())];
        self.site.administrator().run("/nodes/pve1/storage/local/download-url", &form).await.unwrap();
        format!("local:{content}/{}", image.name)
    }

    /// Uploads a medium, as a provisioner would; says which volume it is.
    pub async fn upload(&self, medium: &Medium) -> String {
        let files: Vec<(&str, &[u8])> = medium.files.iter().map(|file| (file.path.as_str(), file.body.as_slice())).collect();
        let volume = emhost_sdk::iso::volume(&medium.label, &files).unwrap();
        let name = format!("{}.iso", medium.label);
        let mut body = b"--edge\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--edge\r\n".to_vec();
        body.extend(format!("Content-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\n\r\n").into_bytes());
        body.extend(volume);
        body.extend(b"\r\n--edge--\r\n");
        let access = self.site.access();
        let authorities = reqwest::Certificate::from_pem_bundle(access.authority.as_bytes()).unwrap();
        let client = reqwest::Client::builder().tls_certs_only(authorities).no_proxy().build().unwrap();
        let request = client
            .post(format!("{}/api2/json/nodes/pve1/storage/local/upload", access.pve))
            .header("authorization", format!("PVEAPIToken={}", access.token))
            .header("content-type", "multipart/form-data; boundary=edge");
        let answer = request.body(body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{status} {text}");
        let task: Value = serde_json::from_str(&text).unwrap();
        self.site.administrator().finish(&task["data"]).await.unwrap();
        format!("local:iso/{name}")
    }

    /// Makes machine 100 with these drives besides, and starts it.
    pub async fn start(&self, own: &[(&str, &str)]) {
        let net = format!("virtio={MAC},bridge=vmbr0");
        let mut form = vec![
            ("vmid", "100"),
            ("name", "dev-wk-1"),
            ("memory", "4096"),
            ("cores", "2"),
            ("cpu", "host"),
            ("machine", "q35"),
            ("bios", "ovmf"),
            ("efidisk0", "local-lvm:1,efitype=4m,pre-enrolled-keys=0"),
            ("scsihw", "virtio-scsi-pci"),
            ("net0", net.as_str()),
        ];
        form.extend_from_slice(own);
        self.site.administrator().run("/nodes/pve1/qemu", &form).await.unwrap();
        self.site.administrator().run("/nodes/pve1/qemu/100/status/start", &[]).await.unwrap();
    }

    /// The node on machine 100, once something holds for it.
    pub async fn node(&self, holds: impl Fn(&NodeView) -> bool) -> NodeView {
        let started = Instant::now();
        loop {
            if let Some(node) = self.site.nodes().into_iter().find(|node| node.id == 100 && holds(node)) {
                return node;
            }
            assert!(started.elapsed() < Duration::from_mins(1), "{:#?} {:?}", self.site.nodes(), self.site.silent());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The configuration of a worker as `talosctl` writes it, with the node's address in it; none where there is no such program.
    pub fn configuration(&self, installer: &str) -> Option<Vec<Document>> {
        let talosctl: PathBuf = emhost_oracles::program("talosctl-v1.11.5", "talosctl.sh")?;
        let patch = format!(
            "machine: {{network: {{interfaces: [{{deviceSelector: {{hardwareAddr: '{MAC}'}}, addresses: [{ADDRESS}/16], routes: [{{network: 0.0.0.0/0, gateway: 10.0.0.1}}]}}]}}}}"
        );
        let arguments = ["gen", "config", "lab", "https://10.0.10.11:6443", "--with-docs=false", "--with-examples=false"];
        let more = ["--kubernetes-version", "1.34.1", "--install-image", installer, "--config-patch-worker", &patch];
        let done = Command::new(talosctl).args(arguments).args(more).current_dir(self.folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let body = std::fs::read_to_string(self.folder.path().join("worker.yaml")).unwrap();
        Some(vec![Document { name: "dev-wk-1.yaml".to_owned(), media_type: "application/yaml".to_owned(), body, sensitive: true }])
    }
}

/// A boot source that leads nowhere, and a worker with a static address.
pub fn boot_source(name: &str) -> Builder {
    Kit::file(plugin(name)).cluster(|cluster| {
        VERSION.clone_into(&mut cluster.os_version);
        cluster.resolvers = vec!["1.1.1.1".to_owned()];
        let mut node = Node::new("dev-wk-1", NodeRole::Worker);
        node.cards.push(InterfaceCard {
            name: "eth0".to_owned(),
            bridge: "vmbr0".to_owned(),
            vlan: None,
            mac: MAC.to_owned(),
            address: Some(format!("{ADDRESS}/16")),
            gateway: Some("10.0.0.1".to_owned()),
            attributes: Vec::new(),
        });
        cluster.nodes = vec![Arc::new(node)];
    })
}

/// Changes the one node of a cluster.
pub fn with_node(cluster: &mut Cluster, change: impl FnOnce(&mut Node)) {
    change(Arc::make_mut(&mut cluster.nodes[0]));
}
