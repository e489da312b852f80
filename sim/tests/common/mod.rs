//! A whole site in a temporary folder, an administrator at its API, and the real programs that judge it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, dead_code, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emhost_sim::{Access, Lan, Network, Plan, Release, Site, StorageSpec};
use serde_json::Value;

pub const VERSION: &str = "v1.11.5";

/// Where real programs are kept.
pub fn oracles() -> PathBuf {
    let cache = || {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache")).join("emhost-oracles")
    };
    std::env::var_os("EMHOST_ORACLES").map_or_else(cache, PathBuf::from)
}

/// A real program; none, and a loud word, where it was not built.
pub fn oracle(name: &str, script: &str) -> Option<PathBuf> {
    let path = oracles().join("bin").join(name);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there; `cargo xtask oracles {script}` builds it", path.display());
    None
}

/// A storage as the installer of Proxmox makes them.
pub fn storage(id: &str, kind: &str, content: &[&str]) -> StorageSpec {
    StorageSpec {
        id: id.to_owned(),
        kind: kind.to_owned(),
        content: content.iter().map(|word| (*word).to_owned()).collect(),
        shared: false,
        nodes: Vec::new(),
        disabled: false,
        size: 4096 << 30,
    }
}

/// The MAC of the n-th machine.
pub fn mac(number: u8) -> String {
    format!("BC:24:11:00:00:{number:02X}")
}

/// One host, two storages, one network with a reservation for each of `machines` machines at 10.0.10.(10 + n).
pub fn plan(machines: u8) -> Plan {
    Plan {
        release: Release::V9,
        hosts: vec!["pve1".to_owned()],
        bridges: vec!["vmbr0".to_owned()],
        storages: vec![
            storage("local", "dir", &["images", "iso", "vztmpl", "import", "snippets", "backup"]),
            storage("local-lvm", "lvmthin", &["images", "rootdir"]),
        ],
        networks: vec![Lan {
            bridge: "vmbr0".to_owned(),
            vlan: None,
            network: (Ipv4Addr::new(10, 0, 0, 1), 16),
            gateway: Some(Ipv4Addr::new(10, 0, 0, 1)),
        }],
        reservations: (1..=machines).map(|number| (mac(number), Ipv4Addr::new(10, 0, 10, 10 + number))).collect(),
        speed: 1,
        seed: 1,
        ..Plan::default()
    }
}

/// A site and somebody at its API.
pub struct Lab {
    pub site: Site,
    pub api: Api,
    pub folder: tempfile::TempDir,
}

impl Lab {
    pub async fn new(plan: Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::start(&folder.path().join("site"), &claims(), plan).await.unwrap();
        let api = Api::new(site.access().clone());
        Self { site, api, folder }
    }

    /// Where an address of the site is dialled.
    pub fn dial(&self, address: Ipv4Addr) -> String {
        Network::new(self.api.access.network).dial(address).to_string()
    }

    /// Where the n-th machine is dialled.
    pub fn node(&self, number: u8) -> String {
        self.dial(Ipv4Addr::new(10, 0, 10, 10 + number))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes machines 1 to `count` out of an image of the Image Factory and starts them: VMID 100 + n.
    pub async fn machines(&self, count: u8, version: &str, file: &str) {
        let api = &self.api;
        let schematic = api.factory_post("/schematics", "customization: {}\n").await["id"].as_str().unwrap().to_owned();
        let url = format!("{}/image/{schematic}/{version}/{file}", api.access.factory);
        let name = format!("talos-{version}.qcow2");
        api.task(
            "pve1",
            api.post("/nodes/pve1/storage/local/download-url", &[("content", "import"), ("filename", &name), ("url", &url)]).await,
        )
        .await;
        futures::future::join_all((1..=count).map(|number| self.machine(number, &name))).await;
    }

    async fn machine(&self, number: u8, image: &str) {
        let api = &self.api;
        let vmid = (100 + u32::from(number)).to_string();
        let disk = format!("local-lvm:0,import-from=local:import/{image}");
        let net = format!("virtio={},bridge=vmbr0", mac(number));
        let form = [
            ("vmid", vmid.as_str()),
            ("name", &format!("node-{number}")),
            ("memory", "4096"),
            ("cores", "2"),
            ("cpu", "host"),
            ("machine", "q35"),
            ("bios", "ovmf"),
            ("efidisk0", "local-lvm:1,efitype=4m,pre-enrolled-keys=0"),
            ("scsihw", "virtio-scsi-pci"),
            ("scsi0", &disk),
            ("net0", &net),
            ("boot", "order=scsi0"),
        ];
        api.task("pve1", api.post("/nodes/pve1/qemu", &form).await).await;
        api.task("pve1", api.put(&format!("/nodes/pve1/qemu/{vmid}/resize"), &[("disk", "scsi0"), ("size", "40G")]).await).await;
        api.task("pve1", api.post(&format!("/nodes/pve1/qemu/{vmid}/status/start"), &[]).await).await;
    }

    /// Waits until every node is in this stage.
    pub async fn stage(&self, count: usize, stage: &str) {
        self.until(&format!("{count} nodes are {stage}"), || self.site.nodes().iter().filter(|node| node.stage == stage).count() >= count)
            .await;
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < Duration::from_mins(1), "{what}: {:#?} {:?}", self.site.nodes(), self.site.silent());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The claims of all tests of this user, so that sites which run at once never share addresses.
pub fn claims() -> PathBuf {
    std::env::temp_dir().join("emhost-sim-claims")
}

/// An administrator at the API.
pub struct Api {
    pub access: Access,
    client: reqwest::Client,
}

impl Api {
    pub fn new(access: Access) -> Self {
        let authority = reqwest::Certificate::from_pem_bundle(access.authority.as_bytes()).unwrap();
        let client = reqwest::Client::builder().tls_certs_only(authority).no_proxy().build().unwrap();
        Self { access, client }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Value {
        let answer = request.header("Authorization", format!("PVEAPIToken={}", self.access.token)).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{status} {text}");
        serde_json::from_str::<Value>(&text).unwrap()["data"].clone()
    }

    pub async fn get(&self, path: &str) -> Value {
        self.send(self.client.get(format!("{}/api2/json{path}", self.access.pve))).await
    }

    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Value {
        self.send(self.client.post(format!("{}/api2/json{path}", self.access.pve)).form(form)).await
    }

    pub async fn put(&self, path: &str, form: &[(&str, &str)]) -> Value {
        self.send(self.client.put(format!("{}/api2/json{path}", self.access.pve)).form(form)).await
    }

    pub async fn delete(&self, path: &str) -> Value {
        self.send(self.client.delete(format!("{}/api2/json{path}", self.access.pve))).await
    }

    /// Waits for a task, which has to end well.
    pub async fn task(&self, node: &str, upid: Value) {
        let upid = upid.as_str().unwrap_or_else(|| panic!("no task: {upid}")).to_owned();
        loop {
            let task = self.get(&format!("/nodes/{node}/tasks/{upid}/status")).await;
            if task["status"] == "stopped" {
                assert_eq!(task["exitstatus"], "OK", "{upid}");
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn factory_post(&self, path: &str, body: &str) -> Value {
        let answer = self.client.post(format!("{}{path}", self.access.factory)).body(body.to_owned()).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }
}

/// What a program said.
pub struct Said {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

/// Runs a program with a limit on its time.
pub async fn run(program: &Path, folder: &Path, arguments: &[&str], variables: &BTreeMap<&str, String>) -> Said {
    // Every call has an end: `timeout` is there wherever these programs run.
    let mut command = Command::new("timeout");
    command.arg("150").arg(program).args(arguments).current_dir(folder).envs(variables).env("HOME", folder).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
}
