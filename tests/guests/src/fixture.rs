//! What the fixtures share: clients for the small world of `tests/world`, digests, randomness and settings.

use emhost_sdk::grpc::{Channel, Status as Refusal};
use emhost_sdk::http::{Body, Client, Response, encode};
use emhost_sdk::types::Again;
use emhost_sdk::{Cluster, Failure, Node, Operation, State, Step};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a site can tell the fixtures; the others make them misbehave for tests.
#[derive(Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The pause between two looks at something that takes time.
    pub pause_ms: u32,
    /// `apply` never comes to an end.
    pub again_forever: bool,
    /// `plan` never says the same twice.
    pub drift: bool,
    /// What `check` finds.
    pub in_the_way: Option<String>,
    /// What machines start from has no digest, so that the host has to find it out.
    pub no_digest: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pause_ms: 5, again_forever: false, drift: false, in_the_way: None, no_digest: false }
    }
}

impl Settings {
    /// Those of the running call.
    ///
    /// # Errors
    /// Settings that the schema should not have let through.
    pub fn of(operation: &Operation) -> Result<Self, Failure> {
        operation.read_settings()
    }

    /// Not yet: there is something to wait for, and nothing is held while waiting.
    ///
    /// # Errors
    /// State that is no JSON.
    pub fn wait(&self, reason: impl Into<String>, state: &impl Serialize) -> Result<Step, Failure> {
        Ok(Step::again(self.pause_ms, reason, State::of(1, state)?))
    }
}

/// Not yet: the next step can be made at once, holding these.
///
/// # Errors
/// State that is no JSON.
pub fn next(reason: impl Into<String>, state: &impl Serialize, holds: Vec<String>) -> Result<Step, Failure> {
    Ok(Step::Again(Again { after_ms: 0, reason: reason.into(), state: Some(State::of(1, state)?), holds }))
}

/// The JSON Schema of [`Settings`], for manifests.
#[macro_export]
macro_rules! fixture_settings {
    () => {
        r#"{"type": "object", "additionalProperties": false, "properties": {
            "pause_ms": {"type": "integer", "minimum": 0, "maximum": 60000},
            "again_forever": {"type": "boolean"},
            "drift": {"type": "boolean"},
            "in_the_way": {"type": "string"},
            "no_digest": {"type": "boolean"}
        }}"#
    };
}

/// `sha256:` and the digest.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Half a line that nobody else will ever have.
pub fn random() -> String {
    hex(&wasip2::random::random::get_random_bytes(16))
}

/// The value of a state, if there is one.
///
/// # Errors
/// State of another layout.
pub fn remembered<T: for<'de> Deserialize<'de>>(state: Option<&State>) -> Result<Option<T>, Failure> {
    state.map(State::read).transpose()
}

// ---- the hypervisor -----------------------------------------------------------------------

/// A volume of a machine.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its label.
    pub label: String,
    /// Digest of what is on it.
    pub digest: String,
}

/// A machine, as the hypervisor has it.
#[derive(Clone, Deserialize)]
pub struct Vm {
    /// Its number, which another one had before it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What proves it.
    pub identity: String,
    /// The id of the cluster that owns it.
    pub cluster: String,
    /// Cores.
    pub cores: u32,
    /// Memory in MiB.
    pub memory: u64,
    /// Disk in GiB.
    pub disk: u32,
    /// Attached volumes.
    pub media: Vec<Volume>,
    /// `creating`, `stopped` or `running`.
    pub status: String,
    /// What makes it.
    pub task: Option<u32>,
}

/// A machine to be made.
#[derive(Serialize)]
pub struct NewVm {
    /// Its name.
    pub name: String,
    /// What will prove it.
    pub identity: String,
    /// The id of the cluster that owns it.
    pub cluster: String,
    /// Cores.
    pub cores: u32,
    /// Memory in MiB.
    pub memory: u64,
    /// Disk in GiB.
    pub disk: u32,
    /// Where the disk goes.
    pub storage: String,
    /// What it is made from.
    pub image: String,
    /// Where that is.
    pub url: String,
    /// What that must be.
    pub digest: Option<String>,
    /// Volumes to attach.
    pub media: Vec<Volume>,
}

/// What is to be different.
#[derive(Default, Serialize)]
pub struct VmUpdate {
    /// Cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Memory in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Disk in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<u32>,
    /// Attached volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<Volume>>,
}

/// What a create answers.
#[derive(Deserialize)]
pub struct Created {
    /// The machine's number.
    pub id: u32,
    /// What makes it.
    pub task: u32,
}

#[derive(Deserialize)]
struct Machines {
    machines: Vec<Vm>,
}

#[derive(Deserialize)]
struct Images {
    images: Vec<String>,
}

#[derive(Deserialize)]
struct Task {
    status: String,
}

/// The slot `hypervisor`.
pub struct Hypervisor(Client);

impl Default for Hypervisor {
    fn default() -> Self {
        Self(Client::new("hypervisor", ""))
    }
}

#[expect(clippy::missing_errors_doc, reason = "every request may fail")]
impl Hypervisor {
    /// The machine of this number, if there is one.
    pub fn machine(&self, id: u32) -> Result<Option<Vm>, Failure> {
        match self.0.get(&format!("/machines/{id}"))? {
            Response { status: 404, .. } => Ok(None),
            response => Ok(Some(response.ok()?.json()?)),
        }
    }

    /// The machine of this cluster and name, if there is one.
    pub fn named(&self, cluster: &str, name: &str) -> Result<Option<Vm>, Failure> {
        let found: Machines = self.0.get(&format!("/machines?cluster={}&name={}", encode(cluster), encode(name)))?.ok()?.json()?;
        Ok(found.machines.into_iter().find(|vm| vm.cluster == cluster && vm.name == name))
    }

    /// Every machine with the cluster's mark.
    pub fn owned(&self, cluster: &str) -> Result<Vec<Vm>, Failure> {
        let found: Machines = self.0.get(&format!("/machines?cluster={}", encode(cluster)))?.ok()?.json()?;
        Ok(found.machines)
    }

    /// Every image.
    pub fn images(&self) -> Result<Vec<String>, Failure> {
        let found: Images = self.0.get("/images")?.ok()?.json()?;
        Ok(found.images)
    }

    /// Deletes an image.
    pub fn delete_image(&self, name: &str) -> Result<(), Failure> {
        self.0.delete(&format!("/images/{}", encode(name)))?.ok()?;
        Ok(())
    }

    /// Whether a task is done.
    pub fn is_done(&self, task: u32) -> Result<bool, Failure> {
        let task: Task = self.0.get(&format!("/tasks/{task}"))?.ok()?.json()?;
        Ok(task.status == "done")
    }

    /// Makes a machine. None: the hypervisor has one like it, or had.
    pub fn create(&self, new: &NewVm) -> Result<Option<Created>, Failure> {
        match self.0.post("/machines", Body::json(new)?)? {
            Response { status: 409, .. } => Ok(None),
            response => Ok(Some(response.ok()?.json()?)),
        }
    }

    /// Changes a machine.
    pub fn update(&self, id: u32, update: &VmUpdate) -> Result<(), Failure> {
        self.0.put(&format!("/machines/{id}"), Body::json(update)?)?.ok()?;
        Ok(())
    }

    /// Switches a machine on.
    pub fn start(&self, id: u32) -> Result<(), Failure> {
        self.0.post(&format!("/machines/{id}/start"), Body::json(&())?)?.ok()?;
        Ok(())
    }

    /// Switches a machine off.
    pub fn stop(&self, id: u32) -> Result<(), Failure> {
        self.0.post(&format!("/machines/{id}/stop"), Body::json(&())?)?.ok()?;
        Ok(())
    }

    /// Deletes a machine, if it is the one that is meant.
    pub fn delete(&self, id: u32, identity: &str) -> Result<(), Failure> {
        self.0.delete(&format!("/machines/{id}?identity={}", encode(identity)))?.ok()?;
        Ok(())
    }
}

// ---- the operating system -----------------------------------------------------------------

/// One node of one cluster.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeRef {
    /// The cluster's id.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// The node's name.
    #[prost(string, tag = "2")]
    pub node: String,
}

/// How a node is.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeState {
    /// `maintenance`, `installing` or `running`.
    #[prost(string, tag = "1")]
    pub stage: String,
    /// Digest of the configuration it has.
    #[prost(string, optional, tag = "2")]
    pub digest: Option<String>,
    /// Identity of the machine it runs on.
    #[prost(string, tag = "3")]
    pub identity: String,
}

/// A configuration for a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Configure {
    /// The cluster's id.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// The node's name.
    #[prost(string, tag = "2")]
    pub node: String,
    /// Identity of the machine that is meant.
    #[prost(string, tag = "3")]
    pub identity: String,
    /// Digest of `config`.
    #[prost(string, tag = "4")]
    pub digest: String,
    /// The configuration.
    #[prost(string, tag = "5")]
    pub config: String,
    /// Whether it makes a control plane.
    #[prost(bool, tag = "6")]
    pub control_plane: bool,
}

/// A cluster, and how many nodes it is to have.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClusterRef {
    /// The cluster's id.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// How many nodes it is to have.
    #[prost(uint32, tag = "2")]
    pub nodes: u32,
}

/// One member of the consensus.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemberState {
    /// The node's name.
    #[prost(string, tag = "1")]
    pub node: String,
    /// Whether it answers.
    #[prost(bool, tag = "2")]
    pub healthy: bool,
}

/// All of them.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemberList {
    /// By name.
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<MemberState>,
}

/// Whether a cluster works.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Health {
    /// Empty when it does.
    #[prost(string, tag = "1")]
    pub waits_for: String,
}

/// Nothing to say.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Done {}

/// The slot `os`.
pub struct Os(Channel);

#[expect(clippy::missing_errors_doc, reason = "every call may fail")]
impl Os {
    /// Opens the slot.
    pub fn open() -> Result<Self, Failure> {
        Ok(Self(Channel::open("os", None, None)?))
    }

    /// How a node is. None: the node is down; when the way to it is down, that is a failure.
    pub fn status(&self, cluster: &Cluster, node: &Node) -> Result<Option<NodeState>, Failure> {
        answered(self.0.try_call("/world.Os/Status", &reference(cluster, node)))
    }

    /// Gives a node its configuration.
    pub fn configure(&self, configure: &Configure) -> Result<(), Failure> {
        self.0.call::<Done>("/world.Os/Configure", configure).map(drop)
    }

    /// Takes a node out of its cluster, and everything from the node.
    pub fn reset(&self, cluster: &Cluster, node: &Node) -> Result<(), Failure> {
        self.0.call::<Done>("/world.Os/Reset", &reference(cluster, node)).map(drop)
    }

    /// Takes a member out whose node is gone.
    pub fn evict(&self, cluster: &Cluster, node: &Node) -> Result<(), Failure> {
        self.0.call::<Done>("/world.Os/Evict", &reference(cluster, node)).map(drop)
    }

    /// Makes a cluster of one node.
    pub fn bootstrap(&self, cluster: &Cluster, node: &Node) -> Result<(), Failure> {
        self.0.call::<Done>("/world.Os/Bootstrap", &reference(cluster, node)).map(drop)
    }

    /// The members of the consensus, none before the bootstrap. None at all: none of them answers.
    pub fn members(&self, cluster: &Cluster) -> Result<Option<Vec<MemberState>>, Failure> {
        let asked = ClusterRef { cluster: cluster.id(), nodes: 0 };
        Ok(answered::<MemberList>(self.0.try_call("/world.Os/Members", &asked))?.map(|list| list.members))
    }

    /// What the cluster waits for, if it does not work yet.
    pub fn health(&self, cluster: &Cluster) -> Result<Option<String>, Failure> {
        let nodes = u32::try_from(cluster.nodes().len()).unwrap_or(u32::MAX);
        let health: Health = self.0.call("/world.Os/Health", &ClusterRef { cluster: cluster.id(), nodes })?;
        Ok(Some(health.waits_for).filter(|waits_for| !waits_for.is_empty()))
    }
}

fn reference(cluster: &Cluster, node: &Node) -> NodeRef {
    NodeRef { cluster: cluster.id(), node: node.name() }
}

/// The world says in the details that it is the node which is down; anything else that is unavailable is the way there.
fn answered<T>(answer: Result<T, Refusal>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Refusal { code: 14, details, .. }) if details == b"node-down" => Ok(None),
        Err(Refusal { code: 4 | 14, message, .. }) => Err(Failure::unavailable("os/unavailable", format!("os: {message}"))),
        Err(Refusal { code, message, .. }) => Err(Failure::conflict("os/refused", format!("os: {message} (code {code})"))),
    }
}
