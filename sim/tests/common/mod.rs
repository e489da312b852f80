//! A whole site in a temporary folder, and how the real programs that judge it are run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, dead_code, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emhost_sim::{Lan, Network, Plan, Release, Site, StorageSpec, Wanted};
use emhost_sim_kit::addresses::claims_of_tests;

pub const VERSION: &str = "v1.11.5";

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
            StorageSpec::new("local", "dir", &["images", "iso", "vztmpl", "import", "snippets", "backup"]),
            StorageSpec::new("local-lvm", "lvmthin", &["images", "rootdir"]),
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

/// The n-th machine, VMID 100 + n.
fn machine(number: u8, version: &str) -> Wanted {
    Wanted {
        name: format!("node-{number}"),
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
        version: version.to_owned(),
        extensions: Vec::new(),
        address: None,
        control_plane: false,
    }
}

/// A site in a folder of its own.
pub struct Lab {
    pub site: Site,
    pub folder: tempfile::TempDir,
}

impl Lab {
    pub async fn new(plan: Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::start(&folder.path().join("site"), &claims_of_tests(), plan).await.unwrap();
        Self { site, folder }
    }

    /// Where an address of the site is dialled.
    pub fn dial(&self, address: Ipv4Addr) -> String {
        Network::new(self.site.access().network).dial(address).to_string()
    }

    /// Where the n-th machine is dialled.
    pub fn node(&self, number: u8) -> String {
        self.dial(Ipv4Addr::new(10, 0, 10, 10 + number))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes machines 1 to `count` out of an image of the Image Factory and starts them: VMID 100 + n.
    pub async fn machines(&self, count: u8, version: &str) {
        let wanted: Vec<Wanted> = (1..=count).map(|number| machine(number, version)).collect();
        assert_eq!(self.site.make(&wanted).await.unwrap(), wanted.len());
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
