//! Nodes on a bed of disks, asked without a network in between.

#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use emhost_sim_kit::certificates::{Algorithm, Authority};
use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Audit, Dials, Disk, Image, Machine, Medium, Network, Platform, Store};
use emhost_talos_api::methods::{image as images, lifecycle, machine as calls};
use emhost_talos_api::{common, machine};
use futures::{StreamExt, TryStreamExt, stream};
use prost::Message;

use super::{Boot, Fleet, Ground, NodeView, Parts};
use crate::apid::Roles;
use crate::node::tests as fixtures;
use crate::seam::{Caller, Machined, Reply};
use crate::wire::{Code, Status};

/// Disks, and a firmware that boots them.
#[derive(Default)]
struct Bed {
    disks: Mutex<HashMap<String, Disk>>,
    machines: Mutex<HashMap<MachineId, Boot>>,
    cut_off: Mutex<HashSet<Ipv4Addr>>,
    fleet: Mutex<Weak<Fleet>>,
}

impl Ground for Bed {
    fn read_disk(&self, volume: &str) -> Disk {
        self.disks.lock().unwrap().get(volume).cloned().unwrap_or_default()
    }

    fn write_disk(&self, volume: &str, disk: &Disk) -> io::Result<()> {
        self.disks.lock().unwrap().insert(volume.to_owned(), disk.clone());
        Ok(())
    }

    fn restart(&self, id: MachineId) {
        let Some(fleet) = self.fleet.lock().unwrap().upgrade() else { return };
        let mut boot = self.machines.lock().unwrap()[&id].clone();
        let volume = boot.machine.drives[0].volume.clone().unwrap();
        match self.read_disk(&volume).boot {
            Some(image) => {
                boot.image = image;
                boot.system_disk = Some(volume);
            }
            None => boot.system_disk = None,
        }
        boot.from_iso = boot.system_disk.is_none();
        fleet.start(boot);
    }

    fn power_off(&self, id: MachineId) {
        if let Some(fleet) = self.fleet.lock().unwrap().upgrade() {
            fleet.stop(id);
        }
    }

    fn reachable(&self, _: &Machine, _: &str, address: Ipv4Addr) -> Result<(), String> {
        if self.cut_off.lock().unwrap().contains(&address) { Err("the bridge has no such VLAN".to_owned()) } else { Ok(()) }
    }

    fn lease(&self, machine: &Machine, _: &str) -> Option<(Ipv4Addr, u8, Option<Ipv4Addr>)> {
        Some((address(machine.id), 24, None))
    }

    fn installer(&self, reference: &str) -> Option<Image> {
        let (name, version) = reference.rsplit_once(':')?;
        name.ends_with("installer").then(|| Image { version: version.to_owned(), ..fixtures::image() })
    }
}

fn address(id: MachineId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 10, u8::try_from(id).unwrap())
}

/// A folder with a network that nobody on this computer uses, as long as the folder is there.
fn network() -> (tempfile::TempDir, Network) {
    let folder = tempfile::tempdir().unwrap();
    let network = emhost_sim_kit::addresses::claim(&emhost_sim_kit::addresses::claims_of_tests(), folder.path(), None).unwrap();
    (folder, network)
}

/// A site with the secrets of one cluster.
struct Site {
    fleet: Arc<Fleet>,
    bed: Arc<Bed>,
    secrets: [(String, String); 3],
    _folder: tempfile::TempDir,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.fleet.close();
    }
}

impl Site {
    /// On a 127.N that nobody else on this computer uses now.
    fn new() -> Self {
        let (folder, network) = network();
        let bed = Arc::new(Bed::default());
        let parts = Parts {
            store: Arc::new(Store::open(&folder.path().join("store")).unwrap()),
            dials: Arc::new(Dials::default()),
            audit: Arc::new(Audit::open(&folder.path().join("audit")).unwrap()),
            network,
            ground: bed.clone(),
        };
        let fleet = Fleet::open(parts).unwrap();
        *bed.fleet.lock().unwrap() = Arc::downgrade(&fleet);
        let secrets =
            [(Algorithm::Ed25519, "talos"), (Algorithm::P256, "kubernetes"), (Algorithm::P256, "etcd")].map(|(algorithm, name)| {
                let made = Authority::generate(algorithm, "", name, Duration::from_hours(24)).unwrap();
                (STANDARD.encode(made.pem()), STANDARD.encode(made.key_pem()))
            });
        Self { fleet, bed, secrets, _folder: folder }
    }

    /// A configuration of this cluster, with more lines below `machine`.
    fn config(&self, control_plane: bool, more: &str) -> String {
        let [(talos, talos_key), (kubernetes, kubernetes_key), (etcd, etcd_key)] = &self.secrets;
        let key = |key: &str| if control_plane { format!("\n    key: {key}") } else { String::new() };
        let kind = if control_plane { "controlplane" } else { "worker" };
        let etcd = if control_plane { format!("  etcd:\n    ca:\n      crt: {etcd}\n      key: {etcd_key}\n") } else { String::new() };
        format!(
            "version: v1alpha1\nmachine:\n  type: {kind}\n  token: abcdef.0123456789abcdef\n  ca:\n    crt: {talos}{}\n{more}cluster:\n  id: test-cluster\n  \
             secret: c2VjcmV0\n  controlPlane:\n    endpoint: https://10.0.10.99:6443\n  clusterName: c1\n  token: abcdef.0123456789abcdef\n  ca:\n    \
             crt: {kubernetes}{}\n  discovery:\n    enabled: true\n{etcd}",
            key(talos_key),
            key(kubernetes_key),
        )
    }

    /// Switches on a machine whose disk holds this version.
    fn boot(&self, id: MachineId, version: &str, config: Option<String>) {
        let mut boot = fixtures::boot(fixtures::machine(id));
        boot.image.version = version.to_owned();
        boot.hostname = Some(format!("n{id}"));
        boot.config = config.map(String::into_bytes);
        let disk = Disk { boot: Some(boot.image.clone()), ..Disk::default() };
        self.bed.write_disk(boot.system_disk.as_ref().unwrap(), &disk).unwrap();
        self.bed.machines.lock().unwrap().insert(id, boot);
        self.bed.restart(id);
    }

    fn view(&self, id: MachineId) -> Option<NodeView> {
        self.fleet.nodes().into_iter().find(|node| node.id == id)
    }

    async fn until(&self, what: &str, so: impl Fn() -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(20), async {
            while !so() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(waited.await.is_ok(), "{what} never came true: {:#?}", self.fleet.nodes());
    }

    async fn stage(&self, id: MachineId, stage: &str) {
        self.until(&format!("{id} is {stage}"), || self.view(id).is_some_and(|view| view.stage == stage)).await;
    }

    /// Calls a node as an administrator would.
    async fn call(&self, id: MachineId, method: &str, request: &impl Message) -> Result<Vec<Bytes>, Status> {
        let node = self.fleet.node(id).unwrap();
        let maintenance = node.settings().is_none();
        let caller = Caller { roles: Roles::of(["os:admin"]), maintenance };
        let message = Bytes::from(request.encode_to_vec());
        match node.call(caller, method, stream::iter([Ok(message)]).boxed()).await? {
            Reply::Unary(bytes) => Ok(vec![bytes]),
            Reply::Stream(messages) => messages.try_collect().await,
        }
    }

    async fn apply(
        &self,
        id: MachineId,
        config: &str,
        mode: machine::ApplyConfigurationRequestMode,
    ) -> Result<machine::ApplyConfiguration, Status> {
        let request = machine::ApplyConfigurationRequest { data: config.as_bytes().to_vec(), mode: mode as i32, ..Default::default() };
        let answer = self.call(id, calls::APPLY_CONFIGURATION, &request).await?;
        Ok(machine::ApplyConfigurationResponse::decode(answer[0].clone()).unwrap().messages.remove(0))
    }

    async fn bootstrap(&self, id: MachineId) -> Result<(), Status> {
        self.call(id, calls::BOOTSTRAP, &machine::BootstrapRequest::default()).await.map(drop)
    }

    fn serves(&self, id: MachineId) -> Vec<Ipv4Addr> {
        self.fleet.node(id).map(|node| node.state().serving.keys().copied().collect()).unwrap_or_default()
    }
}

use machine::ApplyConfigurationRequestMode as Mode;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_waits_for_a_control_plane_of_its_own_authority() {
    let site = Site::new();
    site.boot(21, "v1.11.5", Some(site.config(false, "")));
    let node = || site.fleet.node(21).unwrap();
    site.until("it asks", || node().journal.sources().contains(&"machined".to_owned()) && node().state().settings.is_some()).await;
    assert!(site.serves(21).is_empty());
    let stranger = Site::new();
    site.boot(12, "v1.11.5", Some(stranger.config(true, "")));
    site.until("the stranger answers", || !site.serves(12).is_empty()).await;
    assert!(site.serves(21).is_empty(), "another cluster's authority is no help");
    site.boot(11, "v1.11.5", Some(site.config(true, "")));
    site.until("the worker answers", || !site.serves(21).is_empty()).await;
    assert_eq!(site.bootstrap(21).await.unwrap_err().code, Code::FailedPrecondition);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_bootstrap_makes_a_second_etcd() {
    let site = Site::new();
    for id in [11, 12] {
        site.boot(id, "v1.11.5", Some(site.config(true, "")));
    }
    site.until("both may be bootstrapped", || [11, 12].iter().all(|id| site.fleet.node(*id).unwrap().state().bootstrap_allowed)).await;
    // At the same moment, before one can join the other.
    let (one, other) = (site.bootstrap(11).await, site.bootstrap(12).await);
    assert!(one.is_ok());
    match other {
        Ok(()) => assert_eq!(super::lock(&site.fleet.etcd).len(), 2, "as with real nodes"),
        Err(status) => assert_eq!(status.code, Code::AlreadyExists, "it had joined already"),
    }
    assert_eq!(site.bootstrap(11).await.unwrap_err().message, "etcd data directory is not empty");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_does_not_come_up_is_taken_back() {
    let site = Site::new();
    // 1.11 does not know this document, so it cannot boot with it.
    let config = site.config(true, "") + "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n";
    site.boot(11, "v1.12.1", Some(config));
    site.until("it may be bootstrapped", || site.fleet.node(11).unwrap().state().bootstrap_allowed).await;
    site.bootstrap(11).await.unwrap();
    site.stage(11, "running").await;
    let request = machine::UpgradeRequest { image: "ghcr.io/siderolabs/installer:v1.11.5".to_owned(), ..Default::default() };
    site.call(11, calls::UPGRADE, &request).await.unwrap();
    let boot_id = site.fleet.node(11).unwrap().boot_id.clone();
    site.until("it is back", || site.fleet.node(11).is_some_and(|node| node.boot_id != boot_id)).await;
    site.until("the old one runs", || site.view(11).is_some_and(|view| view.version == "v1.12.1" && view.stage == "running")).await;
    let disk = site.bed.read_disk("local-lvm:vm-11-disk-0");
    assert_eq!((disk.boot.unwrap().version, disk.previous.unwrap().version), ("v1.12.1".to_owned(), "v1.11.5".to_owned()));
    let too_far = machine::UpgradeRequest { image: "ghcr.io/siderolabs/installer:v1.10.1".to_owned(), ..Default::default() };
    site.call(11, calls::UPGRADE, &too_far).await.unwrap();
    site.stage(11, "running").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_services_of_1_13_install_and_leave_the_rest_to_others() {
    let site = Site::new();
    site.boot(11, "v1.13.0", Some(site.config(true, "")));
    site.until("it may be bootstrapped", || site.fleet.node(11).unwrap().state().bootstrap_allowed).await;
    site.bootstrap(11).await.unwrap();
    site.stage(11, "running").await;
    let name = "ghcr.io/siderolabs/installer:v1.13.1".to_owned();
    let source = Some(machine::InstallArtifactsSource { image_name: name.clone() });
    let upgrade = machine::LifecycleServiceUpgradeRequest { containerd: None, source };
    assert_eq!(site.call(11, lifecycle::UPGRADE, &upgrade).await.unwrap_err().code, Code::NotFound);
    let pull = machine::ImageServicePullRequest { containerd: None, image_ref: name };
    site.call(11, images::PULL, &pull).await.unwrap();
    let lines = site.call(11, lifecycle::UPGRADE, &upgrade).await.unwrap();
    let last = machine::LifecycleServiceUpgradeResponse::decode(lines.last().unwrap().clone()).unwrap();
    let code = machine::LifecycleServiceInstallProgressResponse::ExitCode(0);
    assert_eq!(last.progress.unwrap().response, Some(code));
    assert_eq!(site.view(11).unwrap().version, "v1.13.0", "nothing reboots by itself");
    site.call(11, calls::REBOOT, &machine::RebootRequest::default()).await.unwrap();
    site.until("the new one runs", || site.view(11).is_some_and(|view| view.version == "v1.13.1" && view.stage == "running")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_staged_upgrade_happens_during_the_next_boot() {
    let site = Site::new();
    site.boot(11, "v1.11.5", Some(site.config(true, "")));
    site.until("it may be bootstrapped", || site.fleet.node(11).unwrap().state().bootstrap_allowed).await;
    site.bootstrap(11).await.unwrap();
    site.stage(11, "running").await;
    let image = "ghcr.io/siderolabs/installer:v1.12.1".to_owned();
    site.call(11, calls::UPGRADE, &machine::UpgradeRequest { image, stage: true, ..Default::default() }).await.unwrap();
    site.until("the new one runs", || site.view(11).is_some_and(|view| view.version == "v1.12.1" && view.stage == "running")).await;
    let disk = site.bed.read_disk("local-lvm:vm-11-disk-0");
    assert!(disk.meta.is_empty(), "{:?}", disk.meta);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configurations_are_kept_tried_staged_or_refused() {
    let site = Site::new();
    site.boot(11, "v1.11.5", None);
    site.stage(11, "maintenance").await;
    assert_eq!(site.apply(11, "machine: [", Mode::Auto).await.unwrap_err().code, Code::Unknown);
    assert_eq!(site.apply(11, &site.config(true, ""), Mode::Staged).await.unwrap_err().code, Code::Unimplemented);
    site.apply(11, &site.config(true, ""), Mode::Auto).await.unwrap();
    site.until("it is configured", || site.fleet.node(11).unwrap().state().bootstrap_allowed).await;
    assert_eq!(site.apply(11, "version: v1alpha1\n", Mode::Auto).await.unwrap_err().code, Code::InvalidArgument);
    let labels = "  nodeLabels:\n    rack: a\n";
    let answer = site.apply(11, &site.config(true, labels), Mode::Auto).await.unwrap();
    assert_eq!((answer.mode, answer.mode_details.as_str()), (Mode::NoReboot as i32, "Applied configuration without a reboot"));
    let env = "  env:\n    A: b\n";
    let refused = site.apply(11, &site.config(true, env), Mode::NoReboot).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidArgument, "{}", refused.message);
    let boot_id = site.fleet.node(11).unwrap().boot_id.clone();
    let staged = site.apply(11, &site.config(true, env), Mode::Staged).await.unwrap();
    assert_eq!(staged.mode_details, "Staged configuration to be applied after the next reboot");
    assert!(!site.fleet.node(11).unwrap().settings().unwrap().text.contains("A: b"));
    let answer = site.apply(11, &site.config(true, env), Mode::Auto).await.unwrap();
    assert!(answer.mode_details.starts_with("Applied configuration with a reboot: "), "{}", answer.mode_details);
    let changed = || {
        site.fleet
            .node(11)
            .is_some_and(|node| node.boot_id != boot_id && node.settings().is_some_and(|settings| settings.text.contains("A: b")))
    };
    site.until("it rebooted with it", changed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_cannot_be_reached_is_not_answered_on() {
    let site = Site::new();
    site.bed.cut_off.lock().unwrap().insert(address(11));
    site.boot(11, "v1.11.5", None);
    site.until("it says why", || site.view(11).is_some_and(|view| view.unreachable.iter().any(|why| why.contains("no such VLAN")))).await;
    assert!(site.serves(11).is_empty());
    site.bed.cut_off.lock().unwrap().clear();
    site.fleet.recheck(11);
    site.until("it answers", || !site.serves(11).is_empty()).await;
    site.fleet.stop(11);
    assert!(site.view(11).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_virtual_address_goes_where_the_leader_is() {
    let site = Site::new();
    let vip = "  network:\n    interfaces:\n      - interface: eth0\n        dhcp: true\n        vip:\n          ip: 10.0.10.99\n";
    for id in [11, 12, 13] {
        site.boot(id, "v1.11.5", Some(site.config(true, vip)));
    }
    site.until("it may be bootstrapped", || site.fleet.node(11).unwrap().state().bootstrap_allowed).await;
    site.bootstrap(11).await.unwrap();
    let vip = site.fleet.parts.network.dial(Ipv4Addr::new(10, 0, 10, 99));
    let holders = || [11, 12, 13].into_iter().filter(|id| site.serves(*id).contains(&vip)).collect::<Vec<_>>();
    site.until("all have joined", || super::lock(&site.fleet.etcd).values().all(|etcd| etcd.members.len() == 3)).await;
    site.until("somebody holds it", || holders() == [11]).await;
    site.fleet.stop(11);
    site.until("another holds it", || holders().len() == 1 && holders() != [11]).await;
    let connected = tokio::net::TcpStream::connect((vip, 6443)).await;
    assert!(connected.is_ok(), "Kubernetes answers there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshots_travel_up_and_down() {
    let site = Site::new();
    site.boot(11, "v1.11.5", Some(site.config(true, "")));
    site.until("etcd waits", || site.fleet.node(11).unwrap().state().bootstrap_allowed).await;
    site.until("etcd waits", || {
        site.fleet.node(11).unwrap().state().services.get("etcd").is_some_and(|etcd| etcd.state.name() == "Preparing")
    })
    .await;
    let recover = machine::BootstrapRequest { recover_etcd: true, recover_skip_hash_check: false };
    assert_eq!(site.call(11, calls::BOOTSTRAP, &recover).await.unwrap_err().code, Code::Unknown, "nothing was uploaded");
    let garbage = common::Data { metadata: None, bytes: b"no snapshot".to_vec() };
    site.call(11, calls::ETCD_RECOVER, &garbage).await.unwrap();
    let refused = site.call(11, calls::BOOTSTRAP, &recover).await.unwrap_err();
    assert!(refused.message.contains("missing hash"), "{}", refused.message);
    site.bootstrap(11).await.unwrap();
    site.stage(11, "running").await;
    assert_eq!(site.call(11, calls::ETCD_RECOVER, &garbage).await.unwrap_err().code, Code::FailedPrecondition);
    let parts = site.call(11, calls::ETCD_SNAPSHOT, &machine::EtcdSnapshotRequest {}).await.unwrap();
    let bytes: Vec<u8> = parts.into_iter().flat_map(|part| common::Data::decode(part).unwrap().bytes).collect();
    assert!(!crate::etcd::snapshot::read(&bytes, false).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_machine_installs_itself_where_the_configuration_says() {
    let site = Site::new();
    let mut boot = fixtures::boot(fixtures::machine(11));
    boot.image.medium = Medium::Iso;
    boot.image.platform = Platform::Metal;
    boot.hostname = Some("n11".to_owned());
    site.bed.machines.lock().unwrap().insert(11, boot);
    site.bed.restart(11);
    site.stage(11, "maintenance").await;
    let install = |disk: &str| format!("  install:\n    {disk}\n    image: ghcr.io/siderolabs/installer:v1.11.5\n");
    let wrong = site.apply(11, &site.config(true, ""), Mode::Auto).await.unwrap_err();
    assert!(wrong.message.contains("install"), "{}", wrong.message);
    site.apply(11, &site.config(true, &install("disk: /dev/sda")), Mode::Auto).await.unwrap();
    site.until("it may be bootstrapped", || site.fleet.node(11).is_some_and(|node| node.state().bootstrap_allowed)).await;
    let disk = site.bed.read_disk("local-lvm:vm-11-disk-0");
    assert_eq!(disk.boot.unwrap().medium, Medium::Disk);
    let node_id = site.fleet.node(11).unwrap().state().node_id.clone();
    site.bed.restart(11);
    site.until("it is the same node", || site.fleet.node(11).unwrap().state().node_id == node_id).await;
    let reset = machine::ResetRequest { reboot: true, ..Default::default() };
    site.call(11, calls::RESET, &reset).await.unwrap();
    site.stage(11, "maintenance").await;
    assert_eq!(site.bed.read_disk("local-lvm:vm-11-disk-0"), Disk::default(), "everything is gone");
}
