//! One Talos node: what it is, in which stage it is, and what it does when it
//! boots, is configured, upgraded, reset or switched off.

mod apply;
mod boot;
mod calls;
pub(crate) mod credentials;
pub(crate) mod disks;
mod etcd_calls;
mod events;
mod files;
mod install;
mod journal;
pub(crate) mod network;
pub(crate) mod power;
pub(crate) mod resources;
mod sequence;
pub(crate) mod services;
pub(crate) mod settings;
mod state;
mod system;
#[cfg(test)]
pub(crate) mod tests;
mod upgrade;

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use bytes::Bytes;
use emhost_sim_kit::hardware::MachineId;
use emhost_sim_kit::{Disk, Interface};
use emhost_talos_api::machine;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::config::Version;
use crate::cosi::Resources;
use crate::fleet::{Boot, Fleet, NodeView};
use crate::seam::{Access, Caller, Identity, Machined, Reply, RequestStream};
use crate::wire::Status;
use disks::{EPHEMERAL, EphemeralPartition, STATE, StatePartition};
use events::Events;
use journal::Journal;
use services::ServiceState;
use settings::Settings;
pub(crate) use state::Stage;
use state::State;

/// A node from its boot until its next one.
pub(crate) struct Node {
    me: Weak<Node>,
    fleet: Weak<Fleet>,
    pub boot: Boot,
    pub version: Version,
    pub boot_id: String,
    pub since: SystemTime,
    pub resources: Resources,
    pub events: Events,
    pub journal: Journal,
    state: Mutex<State>,
    /// Held from looking at the state until the resource that shows it is written, so that an older look never comes last.
    telling: Mutex<()>,
    /// Counts changes of the state, for those who wait for one.
    changed: watch::Sender<u64>,
    /// A configuration that somebody gave to a node without one.
    offered: watch::Sender<Option<Arc<Settings>>>,
    /// Whether the machine has lost its power, which ends every answer that is still under way.
    gone: watch::Sender<bool>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Node {
    pub fn new(fleet: Weak<Fleet>, boot: Boot) -> Arc<Self> {
        let version = boot.image.version.parse().unwrap_or(Version::new(1, 11, 0));
        let resources = Resources::new(&boot.image.version);
        let state = State::new(&boot);
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            fleet,
            version,
            boot_id: uuid(),
            since: SystemTime::now(),
            resources,
            events: Events::new(),
            journal: Journal::new(),
            state: Mutex::new(state),
            telling: Mutex::default(),
            changed: watch::Sender::new(0),
            offered: watch::Sender::new(None),
            gone: watch::Sender::new(false),
            tasks: Mutex::default(),
            boot,
        })
    }

    pub fn id(&self) -> MachineId {
        self.boot.machine.id
    }

    /// Whoever shows the state as a resource holds this meanwhile.
    pub fn tell(&self) -> MutexGuard<'_, ()> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fleet, while there is one.
    pub fn fleet(&self) -> Option<Arc<Fleet>> {
        self.fleet.upgrade()
    }

    fn need_fleet(&self) -> Result<Arc<Fleet>, Status> {
        self.fleet().ok_or_else(|| Status::unavailable("the machine is shutting down"))
    }

    /// This node again, to take along into a task.
    pub fn me(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// Runs something that ends when the machine does.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        let fleet = self.fleet()?;
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        let handle = fleet.spawn(work);
        tasks.push(handle.clone());
        Some(handle)
    }

    /// Power is off: nothing answers any more.
    pub fn stop(&self) {
        {
            let mut state = self.state();
            state.alive = false;
            state.serving.clear();
            state.vips.clear();
        }
        self.gone.send_replace(true);
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }

    /// Tells those who wait, and the fleet, that something is different.
    pub fn touch(&self) {
        self.changed.send_modify(|count| *count += 1);
        if let Some(fleet) = self.fleet() {
            fleet.poke();
        }
    }

    /// Waits until the state is so.
    pub async fn until(&self, mut so: impl FnMut(&State) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            if so(&self.state()) {
                return;
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Puts a service into a state and tells of it.
    pub fn service(&self, id: &str, state: ServiceState, message: &str) {
        self.service_for("", id, state, message);
    }

    /// The same, on behalf of a call.
    pub fn service_for(&self, actor: &str, id: &str, state: ServiceState, message: &str) {
        let event = self.state().services.set(id, state, message);
        self.tell_service(actor, event);
    }

    /// The result of a health check.
    pub fn check(&self, id: &str, problem: Option<&str>) {
        let event = self.state().services.check(id, problem);
        self.tell_service("", event);
    }

    fn tell_service(&self, actor: &str, event: Option<machine::ServiceStateEvent>) {
        let Some(event) = event else { return };
        let state = self.state().services.get(&event.service).map_or("Running", |service| service.state.name());
        self.journal.talos(&format!("service[{}]({state}): {}", event.service, event.message));
        self.events.publish(actor, "machine.ServiceStateEvent", &event);
        resources::service(self, &event.service);
        resources::machine_status(self);
        self.touch();
    }

    /// Goes into a stage and tells of it.
    pub fn enter(&self, stage: Stage) {
        {
            let mut now = self.state();
            if now.stage == stage {
                return;
            }
            now.stage = stage;
        }
        resources::machine_status(self);
        self.touch();
    }

    /// What is on the system disk; empty where there is none.
    pub fn disk(&self) -> Disk {
        let volume = self.state().system_disk.clone();
        match (volume, self.fleet()) {
            (Some(volume), Some(fleet)) => fleet.parts.ground.read_disk(&volume),
            _ => Disk::default(),
        }
    }

    /// Changes the system disk. Without one the change is lost, as it is in memory.
    pub fn change_disk(&self, change: impl FnOnce(&mut Disk)) -> Result<(), Status> {
        let fleet = self.need_fleet()?;
        let Some(volume) = self.state().system_disk.clone() else { return Ok(()) };
        // Two writers at once would lose one of the changes.
        let _writing = fleet.writing();
        let mut disk = fleet.parts.ground.read_disk(&volume);
        let before = disk.clone();
        change(&mut disk);
        if disk == before {
            return Ok(());
        }
        fleet.parts.ground.write_disk(&volume, &disk).map_err(|error| Status::unknown(format!("write {volume}: {error}")))
    }

    /// Changes STATE.
    pub fn change_state_partition(&self, change: impl FnOnce(&mut StatePartition)) -> Result<(), Status> {
        self.change_disk(|disk| {
            let mut state = disks::partition(disk, STATE);
            change(&mut state);
            disks::set_partition(disk, STATE, &state);
        })
    }

    /// Changes EPHEMERAL.
    pub fn change_ephemeral(&self, change: impl FnOnce(&mut EphemeralPartition)) -> Result<(), Status> {
        self.change_disk(|disk| {
            let mut ephemeral = disks::partition(disk, EPHEMERAL);
            change(&mut ephemeral);
            disks::set_partition(disk, EPHEMERAL, &ephemeral);
        })
    }

    /// Whether Talos itself keeps pods away from this node.
    pub fn cordoned(&self) -> bool {
        disks::partition::<EphemeralPartition>(&self.disk(), EPHEMERAL).cordoned
    }

    pub fn settings(&self) -> Option<Arc<Settings>> {
        self.state().settings.clone()
    }

    /// The settings, for calls that only a configured node answers.
    pub fn need_settings(&self) -> Result<Arc<Settings>, Status> {
        self.settings().ok_or_else(|| Status::unimplemented("API is not implemented in maintenance mode"))
    }

    pub fn hostname(&self) -> String {
        self.state().hostname.clone()
    }

    /// Whether Talos is on a disk of this machine.
    pub fn installed(&self) -> bool {
        self.state().system_disk.is_some()
    }

    /// Its addresses on the site, the first one first.
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let state = self.state();
        state.links.iter().flat_map(|link| link.addresses.iter().map(|(address, _)| *address)).collect()
    }

    /// Derived from the identity, as systemd's would be.
    pub fn machine_id(&self) -> String {
        use sha2::{Digest, Sha256};
        let hash = Sha256::digest(self.state().node_id.as_bytes());
        hex(&hash[..16])
    }

    /// What the guest agent says, where its extension is installed and its channel is there.
    pub fn agent(&self) -> Option<Vec<Interface>> {
        let agent = self.boot.machine.agent && self.boot.image.extensions.iter().any(|name| name.ends_with("/qemu-guest-agent"));
        let state = self.state();
        if !agent || !state.services.running("ext-qemu-guest-agent") {
            return None;
        }
        let own = state.links.iter().map(|link| Interface {
            name: link.name.clone(),
            mac: link.mac.clone(),
            addresses: link.addresses.iter().map(|(address, prefix)| ((*address).into(), *prefix)).collect(),
        });
        let loopback =
            Interface { name: "lo".to_owned(), mac: "00:00:00:00:00:00".to_owned(), addresses: vec![(Ipv4Addr::LOCALHOST.into(), 8)] };
        Some(std::iter::once(loopback).chain(own).collect())
    }

    pub fn view(&self) -> NodeView {
        let ready = resources::unmet(self).is_empty();
        let state = self.state();
        NodeView {
            id: self.id(),
            hostname: state.hostname.clone(),
            stage: state.stage.name().to_owned(),
            ready: ready && state.stage == Stage::Running,
            version: self.boot.image.version.clone(),
            cluster: state.settings.as_ref().map(|settings| settings.cluster_name.clone()),
            control_plane: state.settings.as_ref().is_some_and(|settings| settings.control_plane),
            addresses: state.links.iter().flat_map(|link| link.addresses.iter().map(|(address, _)| *address)).collect(),
            unreachable: state.unreachable.clone(),
        }
    }
}

impl Machined for Node {
    fn identity(&self) -> Identity {
        let state = self.state();
        let access = if state.settings.is_some() && state.stage != Stage::Maintenance {
            Access::Members(state.clients.clone())
        } else {
            Access::Maintenance
        };
        let addresses = state.links.iter().flat_map(|link| link.addresses.iter().map(|(address, _)| *address));
        Identity {
            server: state.server.clone().unwrap_or_else(credentials::nobody),
            access,
            version: self.boot.image.version.clone(),
            worker: state.settings.as_ref().is_some_and(|settings| !settings.control_plane),
            addresses: addresses.chain(state.vips.iter().copied()).collect(),
            hostname: state.hostname.clone(),
        }
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn call(&self, caller: Caller, method: &str, request: RequestStream) -> BoxFuture<'static, Result<Reply, Status>> {
        let node = self.me();
        let method = method.to_owned();
        Box::pin(async move {
            let node = node.ok_or_else(|| Status::unavailable("the machine is shutting down"))?;
            let reply = node.answer(caller, &method, request).await?;
            Ok(match reply {
                Reply::Unary(message) => Reply::Unary(message),
                Reply::Stream(messages) => Reply::Stream(cut_off(messages, node.gone.subscribe())),
            })
        })
    }
}

/// Messages on their way to somebody.
type Messages = BoxStream<'static, Result<Bytes, Status>>;

/// A stream that breaks off when the machine loses its power, also for those who listen through another node.
fn cut_off(messages: Messages, gone: watch::Receiver<bool>) -> Messages {
    let next = |state: Option<(Messages, watch::Receiver<bool>)>| async move {
        let (mut messages, mut gone) = state?;
        let message = tokio::select! {
            // What was said before still arrives.
            biased;
            message = messages.next() => message,
            // A node that is not there any more has lost its power as well.
            () = lost(&mut gone) => return Some((Err(Status::unavailable("error reading from server: EOF")), None)),
        };
        Some((message?, Some((messages, gone))))
    };
    stream::unfold(Some((messages, gone)), next).boxed()
}

/// Waits until there is no power.
async fn lost(gone: &mut watch::Receiver<bool>) {
    // Nobody left to tell means the same.
    let _ = gone.wait_for(|gone| *gone).await;
}

/// The power button was pressed.
pub(crate) fn power_button(node: &Node) {
    node.journal.talos("shutdown via ACPI received");
    node.power_down(false);
}

/// Bytes as Linux writes them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A random UUID.
pub(crate) fn uuid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
