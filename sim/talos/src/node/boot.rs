//! From power on to a running node.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use emhost_sim_kit::certificates::Authority;
use emhost_sim_kit::{DriveKind, Platform};
use emhost_talos_api::machine;
use rand::Rng;

use super::disks::{self, EPHEMERAL, EphemeralPartition, STATE, StatePartition};
use super::network;
use super::power::UPGRADE_TAG;
use super::sequence::{PARTING, Sequence};
use super::services::{self, ServiceState, unchecked};
use super::settings::Settings;
use super::{Node, Stage, credentials, resources};
use crate::config;

/// How long a node that failed waits before it boots again.
const AFTER_FAILURE: Duration = Duration::from_secs(35);

impl Node {
    /// The life of a node from its boot on.
    pub async fn live(self: Arc<Self>) {
        self.state().sequence = Some("initialize");
        let sequence = Sequence::begin(&self, "initialize", "");
        self.kernel_messages();
        resources::hardware(&self);
        resources::machine_status(&self);
        self.restore();
        self.take_time("boot", Duration::from_secs(12)).await;
        for id in services::early() {
            self.start_service(id);
        }
        sequence.pass("systemRequirements", "enforceKSPPRequirements").await;
        sequence.pass("earlyServices", "startMachined").await;
        sequence.pass("meta", "reloadMeta").await;
        self.set_up_network(&[]);
        if self.staged_upgrade(&sequence).await {
            sequence.end(None);
            return self.boot_again().await;
        }
        let settings = match self.acquire() {
            Ok(found) => found,
            Err(error) => {
                sequence.end(Some(&error));
                return self.fail(&error).await;
            }
        };
        let settings = match settings {
            Some(settings) => settings,
            None => self.maintenance().await,
        };
        sequence.pass("config", "loadConfig").await;
        sequence.end(None);
        if !self.installed() {
            self.state().sequence = Some("install");
            let sequence = Sequence::begin(&self, "install", "");
            self.enter(Stage::Installing);
            let installed = sequence.phase("install", "install", self.install(&settings)).await;
            sequence.end(installed.as_ref().err().map(String::as_str));
            return match installed {
                Ok(()) => self.boot_again().await,
                Err(error) => self.fail(&error).await,
            };
        }
        if let Err(error) = self.keep(&settings.text) {
            return self.fail(&error).await;
        }
        self.boot(settings).await;
    }

    async fn take_time(&self, what: &str, home: Duration) {
        if let Some(fleet) = self.fleet() {
            fleet.parts.dials.wait(what, home).await;
        }
    }

    async fn boot_again(&self) {
        tokio::time::sleep(PARTING).await;
        if let Some(fleet) = self.fleet() {
            self.depart(&fleet, true);
        }
    }

    /// What a node does that cannot go on: back to the image before an upgrade, and boot again.
    async fn fail(&self, error: &str) {
        self.journal.talos(&format!("controller failed: {error}"));
        let reverted = self.revert();
        if let Some(fleet) = self.fleet() {
            if !reverted {
                self.journal.talos("rebooting in 35 seconds");
                tokio::time::sleep(fleet.parts.dials.limit(AFTER_FAILURE)).await;
            }
            self.depart(&fleet, true);
        }
    }

    fn kernel_messages(&self) {
        let (machine, image) = (&self.boot.machine, &self.boot.image);
        let kernel = resources::kernel(self.version.minor);
        self.journal.kernel(&format!("Linux version {kernel} (@buildkitsandbox) (gcc (GCC) 14.2.0, GNU ld (GNU Binutils) 2.43.1) #1 SMP"));
        self.journal.kernel(&format!("Command line: {}", resources::cmdline(image)));
        self.journal.kernel(&format!("DMI: QEMU Standard PC ({})", machine.chipset));
        self.journal.kernel("Hypervisor detected: KVM");
        self.journal.kernel(&format!("smpboot: Allowing {} CPUs, 0 hotplug CPUs", machine.cores));
        self.journal.kernel(&format!("Memory: {}K/{}K available", machine.memory_mib * 983, machine.memory_mib * 1024));
        for device in disks::devices(machine).iter().filter(|device| device.drive.kind == DriveKind::Disk) {
            let blocks = device.drive.size / 512;
            self.journal.kernel(&format!("sd: [{}] {blocks} 512-byte logical blocks", device.name));
        }
        for (at, nic) in machine.nics.iter().enumerate() {
            self.journal.kernel(&format!("virtio_net virtio{at} eth{at}: {}", nic.mac.to_lowercase()));
        }
    }

    /// Brings a service up.
    pub fn start_service(&self, id: &str) {
        self.service(id, ServiceState::Starting, "Starting service");
        self.service(id, ServiceState::Preparing, "Running pre state");
        self.service(id, ServiceState::Running, &format!("Started task {id} (PID {}) for container {id}", resources::pid(id)));
        self.journal.service(id, &format!("{id} started"));
        if !unchecked(id) {
            self.check(id, None);
        }
    }

    /// Reads back who the node was before it was switched off.
    fn restore(&self) {
        let disk = self.disk();
        let (state, ephemeral): (StatePartition, EphemeralPartition) = (disks::partition(&disk, STATE), disks::partition(&disk, EPHEMERAL));
        let node_id = if state.node_id.is_empty() { new_node_id() } else { state.node_id };
        let mut now = self.state();
        now.node_id = node_id;
        now.etcd = ephemeral.etcd;
        now.kubelet_registered = ephemeral.registered;
    }

    /// A configuration from the disk, else from the platform; none leads to maintenance.
    fn acquire(&self) -> Result<Option<Arc<Settings>>, String> {
        let state: StatePartition = disks::partition(&self.disk(), STATE);
        let (text, source) = match (state.config, &self.boot.config) {
            (Some(text), _) => (text.into_bytes(), "state"),
            (None, Some(text)) => (text.clone(), self.boot.why_source.as_str()),
            (None, None) => return Ok(None),
        };
        self.journal
            .talos(&format!("machine config loaded successfully {{\"component\": \"controller-runtime\", \"sources\": [\"{source}\"]}}"));
        let loaded = config::load(&text, self.version).map_err(|error| {
            let event = machine::ConfigLoadErrorEvent { error: error.to_string() };
            self.events.publish("", "machine.ConfigLoadErrorEvent", &event);
            format!("failed to load config via platform {}: {error}", self.boot.image.platform.name())
        })?;
        if !loaded.is_complete() {
            return Ok(None);
        }
        let mode = if self.boot.image.platform == Platform::Metal { config::Mode::Metal } else { config::Mode::Cloud };
        if source != "state"
            && let Err(invalid) = config::validate(&loaded, mode)
        {
            let error = invalid.to_string();
            self.events.publish("", "machine.ConfigValidationErrorEvent", &machine::ConfigValidationErrorEvent { error: error.clone() });
            return Err(format!("config validation failed: {error}"));
        }
        Ok(Some(Arc::new(Settings::of(loaded))))
    }

    /// Waits for somebody to bring a configuration.
    async fn maintenance(self: &Arc<Self>) -> Arc<Settings> {
        let addresses = self.addresses();
        let network = self.fleet().map(|fleet| fleet.parts.network);
        let both: Vec<Ipv4Addr> =
            addresses.iter().flat_map(|one| [Some(*one), network.map(|network| network.dial(*one))]).flatten().collect();
        let hostname = self.hostname();
        match credentials::maintenance(&hostname, &both) {
            Ok(identity) => self.state().server = Some(Arc::new(identity)),
            Err(error) => self.journal.talos(&format!("cannot make a certificate: {error}")),
        }
        resources::configuration(self);
        self.enter(Stage::Maintenance);
        self.journal.talos("this machine is reachable at:");
        for address in &addresses {
            self.journal.talos(&format!("\t{address}"));
        }
        self.journal.talos("upload configuration using talosctl:");
        self.journal.talos(&format!("\ttalosctl apply-config --insecure --nodes {} --file <config.yaml>", text(&addresses)));
        if self.version.minor >= 13 {
            self.start_service("apid");
        }
        self.answer_on_all().await;
        let mut offered = self.offered.subscribe();
        let settings = loop {
            let found = offered.borrow_and_update().clone();
            if let Some(found) = found {
                break found;
            }
            if offered.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        // The answer to whoever brought it still has to leave.
        tokio::time::sleep(PARTING).await;
        self.state().serving.clear();
        self.enter(Stage::Booting);
        settings
    }

    /// Takes over a configuration: names, addresses, resources.
    pub fn adopt(&self, settings: &Arc<Settings>) {
        let hostname = self.name_for(settings);
        {
            let mut state = self.state();
            state.settings = Some(settings.clone());
            state.hostname = hostname;
            state.clients = credentials::authorities(settings);
        }
        self.set_up_network(&settings.links);
        resources::configuration(self);
        self.touch();
    }

    fn name_for(&self, settings: &Settings) -> String {
        let platform = self.boot.hostname.clone();
        settings.hostname.clone().or(platform).unwrap_or_else(|| {
            let (node_id, links) = {
                let state = self.state();
                (state.node_id.clone(), state.links.clone())
            };
            if settings.stable_hostname {
                stable_hostname(&node_id)
            } else {
                let address = links.iter().flat_map(|link| &link.addresses).next().map_or(Ipv4Addr::UNSPECIFIED, |(address, _)| *address);
                format!("talos-{}", address.to_string().replace('.', "-"))
            }
        })
    }

    /// Gives the network cards their addresses.
    pub fn set_up_network(&self, wanted: &[config::Link]) {
        let Some(fleet) = self.fleet() else { return };
        let links = network::links(&self.boot, wanted, |mac| fleet.parts.ground.lease(&self.boot.machine, mac));
        self.state().links = links;
        resources::network(self);
    }

    /// The boot sequence of a node with a configuration.
    async fn boot(self: &Arc<Self>, settings: Arc<Settings>) {
        self.state().sequence = Some("boot");
        let sequence = Sequence::begin(self, "boot", "");
        self.enter(Stage::Booting);
        self.adopt(&settings);
        sequence.pass("memorySizeCheck", "memorySizeCheck").await;
        sequence.pass("ephemeral", "mountEphemeralPartition").await;
        resources::volumes(self);
        self.prove_identity(&settings).await;
        self.answer_on_all().await;
        self.start_service("apid");
        self.start_service("cri");
        self.state().bootstrap_allowed = true;
        if settings.control_plane {
            self.start_service("trustd");
            let message = "Running pre state";
            let known = self.state().etcd.is_some();
            self.service("etcd", ServiceState::Starting, "Starting service");
            self.service("etcd", ServiceState::Waiting, "Waiting for service \"cri\" to be \"up\", time sync, network, etcd spec");
            self.service("etcd", ServiceState::Preparing, if known { "Creating service runner" } else { message });
        }
        for extension in &self.boot.image.extensions {
            let Some(id) = services::of_extension(extension) else { continue };
            let waits = id == "ext-tailscale" && !settings.extension_services.iter().any(|name| name == "tailscale");
            if waits {
                self.service(&id, ServiceState::Waiting, "Waiting for extension service config");
            } else {
                self.start_service(&id);
            }
        }
        self.start_kubelet();
        self.touch();
        sequence
            .phase("startEverything", "startAllServices", async {
                let control_plane = settings.control_plane;
                self.until(|state| state.services.up("kubelet") && (!control_plane || state.services.up("etcd"))).await;
                Ok(())
            })
            .await
            .unwrap_or_default();
        sequence.end(None);
        {
            let mut state = self.state();
            state.sequence = None;
            state.runner = None;
        }
        // An upgrade has proved itself.
        if let Err(status) = self.change_disk(|disk| {
            disk.meta.remove(&UPGRADE_TAG);
        }) {
            self.journal.talos(&status.message);
        }
        self.enter(Stage::Running);
    }

    /// The kubelet runs at once; it is healthy when it has found the API.
    pub fn start_kubelet(&self) {
        self.service("kubelet", ServiceState::Starting, "Starting service");
        self.service("kubelet", ServiceState::Waiting, "Waiting for service \"cri\" to be \"up\", time sync, network");
        self.service("kubelet", ServiceState::Preparing, "Running pre state");
        self.service("kubelet", ServiceState::Running, "Started task kubelet (PID 2210) for container kubelet");
        if self.state().kubelet_registered {
            self.check("kubelet", None);
        } else {
            self.check("kubelet", Some("Get \"http://127.0.0.1:10248/healthz\": dial tcp 127.0.0.1:10248: connect: connection refused"));
        }
    }

    /// Gets a certificate: signs it, or asks a control plane of the same cluster until one answers.
    pub async fn prove_identity(&self, settings: &Settings) {
        let Some(fleet) = self.fleet() else { return };
        let mut changed = fleet.changes();
        let mut told = false;
        loop {
            let own = match &settings.machine_ca {
                (certificate, Some(key)) => Authority::from_pem(certificate, key).ok(),
                (certificate, None) => fleet.authority(certificate),
            };
            if let Some(authority) = own {
                let made = credentials::server(&authority, fleet.parts.network, &self.hostname(), &self.addresses(), settings);
                match made {
                    Ok(identity) => {
                        self.state().server = Some(Arc::new(identity));
                        return;
                    }
                    Err(error) => self.journal.talos(&format!("cannot make a certificate: {error}")),
                }
            }
            if !told {
                self.journal.talos("waiting for trustd of a control plane node");
                told = true;
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Answers on every address that can be reached.
    pub async fn answer_on_all(self: &Arc<Self>) {
        let Some(fleet) = self.fleet() else { return };
        let (links, vips, before) = {
            let state = self.state();
            (state.links.clone(), state.vips.clone(), (state.serving.keys().copied().collect::<Vec<_>>(), state.unreachable.clone()))
        };
        let mut wanted: Vec<Ipv4Addr> = vips;
        let mut unreachable = Vec::new();
        // Who had the address before may still be about to let go of it.
        let mut wants_port = false;
        for link in &links {
            for (address, _) in &link.addresses {
                match fleet.parts.ground.reachable(&self.boot.machine, &link.mac, *address) {
                    Ok(()) => wanted.push(*address),
                    Err(why) => {
                        self.journal.talos(&format!("{address} on {}: {why}", link.name));
                        unreachable.push(format!("{address}: {why}"));
                    }
                }
            }
        }
        let dialled: Vec<Ipv4Addr> = wanted.iter().map(|address| fleet.parts.network.dial(*address)).collect();
        self.state().serving.retain(|address, _| dialled.contains(address));
        for address in dialled {
            if self.state().serving.contains_key(&address) {
                continue;
            }
            match fleet.serve(address, self).await {
                Ok(serving) => {
                    let mut state = self.state();
                    if state.alive {
                        state.serving.insert(address, serving);
                    }
                }
                Err(error) => {
                    wants_port = true;
                    unreachable.push(format!("{address}: {error}"));
                }
            }
        }
        let after = {
            let mut state = self.state();
            state.unreachable.clone_from(&unreachable);
            state.wants_port = wants_port;
            (state.serving.keys().copied().collect(), unreachable)
        };
        if before != after {
            self.touch();
        }
    }
}

fn text(addresses: &[Ipv4Addr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// 32 random bytes in letters and digits.
fn new_node_id() -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut random = rand::thread_rng();
    (0..43).map(|_| char::from(ALPHABET[random.gen_range(0..62)])).collect()
}

/// `talos-xxx-yyy`, the same for the same identity.
pub(crate) fn stable_hostname(node_id: &str) -> String {
    use sha2::{Digest, Sha256};
    const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let hash = Sha256::digest(node_id.as_bytes());
    let letters = |range: std::ops::Range<usize>| -> String {
        hash[range].iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % 36])).collect()
    };
    format!("talos-{}-{}", letters(0..3), letters(3..6))
}
