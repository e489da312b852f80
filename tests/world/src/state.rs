//! What there is: machines, tasks, images, clusters. Pure: no time, no network, no luck.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kube::Kubernetes;
use crate::proto;

/// How the world behaves. Ticks are polls, so nothing here takes wall time but `create_latency`.
#[derive(Debug, Clone)]
pub struct Dials {
    /// Polls of its task until a machine is made.
    pub ticks: u32,
    /// Polls that a machine which was started does not answer.
    pub boot_ticks: u32,
    /// Polls for which a first configuration is being installed.
    pub config_ticks: u32,
    /// Polls that a node which restarts does not answer.
    pub restart_ticks: u32,
    /// How long a create holds its storage.
    pub create_latency: Duration,
    /// Tasks never end.
    pub endless: bool,
    /// `cores`, `memory`, `disk` or `media`: takes an update and stays as it was.
    pub stubborn: Option<String>,
}

impl Default for Dials {
    fn default() -> Self {
        Self { ticks: 2, boot_ticks: 2, config_ticks: 2, restart_ticks: 3, create_latency: Duration::ZERO, endless: false, stubborn: None }
    }
}

/// Whether a machine has power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Power {
    Creating,
    Stopped,
    Running,
}

/// What the operating system of a running machine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Stage {
    Off,
    Booting,
    Maintenance,
    Installing,
    Restarting,
    Running,
}

/// A volume that is attached to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    /// Its label.
    pub label: String,
    /// Digest of what is on it.
    pub digest: String,
}

/// A machine, with the operating system on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The lowest number that was free.
    pub id: u32,
    /// Its name, as it was created.
    pub name: String,
    /// Random, by whoever created it.
    pub identity: String,
    /// The mark of the cluster that owns it.
    pub cluster: String,
    /// Cores.
    pub cores: u32,
    /// Memory in MiB.
    pub memory: u64,
    /// Disk in GiB.
    pub disk: u32,
    /// Where the disk is.
    pub storage: String,
    /// What the disk was made from.
    pub image: String,
    /// What is attached.
    pub media: Vec<Medium>,
    /// Whether it runs.
    pub status: Power,
    /// The task that makes it, until it is made.
    pub task: Option<u32>,
    /// What its operating system does.
    pub stage: Stage,
    /// Digest of the configuration it has.
    pub digest: Option<String>,
    /// Whether that configuration makes it a control plane.
    pub control_plane: bool,
    /// Polls until the stage ends.
    #[serde(skip)]
    pub(crate) left: u32,
}

/// A machine that is asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMachine {
    pub name: String,
    pub identity: String,
    pub cluster: String,
    pub cores: u32,
    pub memory: u64,
    pub disk: u32,
    pub storage: String,
    pub image: String,
    /// Where the image is fetched from, and what it must be.
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    pub digest: Option<String>,
    #[serde(default)]
    pub media: Vec<Medium>,
}

/// What is to be different about a machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Update {
    pub cores: Option<u32>,
    pub memory: Option<u64>,
    pub disk: Option<u32>,
    pub media: Option<Vec<Medium>>,
}

/// A request that changes something.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Create(NewMachine),
    Update(u32, Update),
    Start(u32),
    Stop(u32),
    Delete(u32, String),
    Image(String, Vec<u8>),
    DeleteImage(String),
    Cordon(String),
    EvictPod(String, String),
    ForgetNode(String),
    Configure(proto::Configure),
    Reset(proto::Node),
    Bootstrap(proto::Node),
    Evict(proto::Node),
}

/// A request that only looks. Polls move time on.
#[derive(Debug, Clone)]
pub(crate) enum Look {
    Machines { cluster: Option<String>, name: Option<String> },
    Machine(u32),
    Task(u32),
    Image(String),
    Images,
    KubeNode(String),
    KubePods(String),
    KubeInventories,
    Status(proto::Node),
    Members(proto::Cluster),
    Health(proto::Cluster),
}

/// A no: an HTTP status, or a gRPC code where the request was gRPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub code: u16,
    pub text: String,
}

pub(crate) fn refuse<T>(code: u16, text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { code, text: text.into() })
}

pub(crate) type Answer = Result<Vec<u8>, Refusal>;

/// One cluster's consensus.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Consensus {
    pub bootstrapped: Option<String>,
    /// Whether each member answers.
    pub members: BTreeMap<String, bool>,
}

impl Consensus {
    pub fn count(&self) -> (usize, usize) {
        (self.members.len(), self.members.values().filter(|healthy| **healthy).count())
    }
}

#[derive(Clone)]
struct Task {
    machine: u32,
    left: u32,
}

/// Everything there is.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub dials: Dials,
    pub machines: BTreeMap<u32, Machine>,
    /// By cluster and name, so that a thousand machines can look for themselves.
    by_name: HashMap<(String, String), u32>,
    free: BTreeSet<u32>,
    next: u32,
    tasks: Vec<Task>,
    pub images: BTreeMap<String, Vec<u8>>,
    /// How often an image was read to its end.
    pub image_reads: u64,
    /// From where images of machines were to be fetched.
    pub fetched: Vec<String>,
    pub kubernetes: Kubernetes,
    identities: HashSet<String>,
    deleted: HashSet<String>,
    pub clusters: BTreeMap<String, Consensus>,
    /// Nodes between two stages, by cluster and name.
    pub moving: BTreeMap<String, BTreeSet<String>>,
    pub teardown: bool,
    pub twice: Vec<String>,
    pub violations: Vec<String>,
    pub outages: Vec<String>,
    /// Storages that a create holds.
    pub busy: HashSet<String>,
}

const FIRST: u32 = 100;

fn body(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

impl State {
    /// Who a machine is to people.
    pub fn name_of(&self, id: u32) -> String {
        self.machines.get(&id).map_or_else(|| format!("machine {id}"), |machine| machine.name.clone())
    }

    pub fn find(&self, cluster: &str, name: &str) -> Option<u32> {
        self.by_name.get(&(cluster.to_owned(), name.to_owned())).copied()
    }

    fn machine(&mut self, id: u32) -> Result<&mut Machine, Refusal> {
        self.machines.get_mut(&id).ok_or_else(|| Refusal { code: 404, text: format!("there is no machine {id}") })
    }

    pub fn insert(&mut self, new: NewMachine, status: Power, task: Option<u32>) -> u32 {
        let id = self.free.pop_first().unwrap_or_else(|| {
            self.next = self.next.max(FIRST) + 1;
            self.next - 1
        });
        self.by_name.insert((new.cluster.clone(), new.name.clone()), id);
        self.identities.insert(new.identity.clone());
        let NewMachine { name, identity, cluster, cores, memory, disk, storage, image, media, .. } = new;
        let machine = Machine {
            id,
            name,
            identity,
            cluster,
            cores,
            memory,
            disk,
            storage,
            image,
            media,
            status,
            task,
            stage: Stage::Off,
            digest: None,
            control_plane: false,
            left: 0,
        };
        self.machines.insert(id, machine);
        id
    }

    fn remove(&mut self, id: u32) {
        let Some(machine) = self.machines.remove(&id) else { return };
        self.free.insert(id);
        self.deleted.insert(machine.identity);
        if let Some(moving) = self.moving.get_mut(&machine.cluster) {
            moving.remove(&machine.name);
        }
        let cluster = machine.cluster.clone();
        self.by_name.remove(&(machine.cluster, machine.name));
        // What a cluster knows is on its members' disks, and goes with the last of them.
        let there = |member: &String| self.by_name.contains_key(&(cluster.clone(), member.clone()));
        if self.clusters.get(&cluster).is_some_and(|consensus| !consensus.members.keys().any(there)) {
            self.clusters.remove(&cluster);
        }
    }

    /// Takes over what somebody did behind everybody's back.
    pub fn edited(&mut self) {
        self.free = (FIRST..self.next).filter(|id| !self.machines.contains_key(id)).collect();
        self.by_name = self.machines.iter().map(|(id, machine)| ((machine.cluster.clone(), machine.name.clone()), *id)).collect();
        for machine in self.machines.values_mut() {
            match (machine.status, machine.stage) {
                (Power::Running, Stage::Off) => {
                    machine.stage = Stage::Booting;
                    self.moving.entry(machine.cluster.clone()).or_default().insert(machine.name.clone());
                }
                (Power::Running, _) => {}
                _ => machine.stage = Stage::Off,
            }
        }
        for (cluster, consensus) in &mut self.clusters {
            for (name, healthy) in &mut consensus.members {
                let id = self.by_name.get(&(cluster.clone(), name.clone()));
                *healthy = id.and_then(|id| self.machines.get(id)).is_some_and(|machine| machine.stage == Stage::Running);
            }
        }
    }

    pub fn look(&mut self, look: &Look) -> Answer {
        match look {
            Look::Machines { cluster: Some(cluster), name: Some(name) } => {
                let found: Vec<&Machine> = self.find(cluster, name).and_then(|id| self.machines.get(&id)).into_iter().collect();
                Ok(body(&json!({"machines": found})))
            }
            Look::Machines { cluster, name } => {
                let wanted = |machine: &&Machine| {
                    cluster.as_ref().is_none_or(|cluster| machine.cluster == *cluster)
                        && name.as_ref().is_none_or(|name| machine.name == *name)
                };
                Ok(body(&json!({"machines": self.machines.values().filter(wanted).collect::<Vec<_>>()})))
            }
            Look::Machine(id) => Ok(body(&json!(self.machine(*id)?))),
            Look::Task(id) => self.poll_task(*id),
            Look::Image(name) => match self.images.get(name) {
                Some(bytes) => {
                    self.image_reads += 1;
                    Ok(bytes.clone())
                }
                None => refuse(404, format!("there is no image {name}")),
            },
            Look::Images => Ok(body(&json!({"images": self.images.keys().collect::<Vec<_>>()}))),
            Look::KubeNode(name) => self.kube_node(name),
            Look::KubePods(node) => Ok(self.kube_pods(node)),
            // No addon is ever applied here.
            Look::KubeInventories => Ok(br#"{"kind": "ConfigMapList", "items": []}"#.to_vec()),
            Look::Status(node) => self.status(node),
            Look::Members(cluster) => self.members(cluster),
            Look::Health(cluster) => Ok(self.health(cluster)),
        }
    }

    fn poll_task(&mut self, id: u32) -> Answer {
        let endless = self.dials.endless;
        let Some(task) = usize::try_from(id).ok().and_then(|id| self.tasks.get_mut(id)) else {
            return refuse(404, format!("there is no task {id}"));
        };
        if !endless {
            task.left = task.left.saturating_sub(1);
        }
        let (left, machine) = (task.left, task.machine);
        if left == 0 && !endless {
            self.made(machine, id);
        }
        Ok(body(&json!({"id": id, "status": if left == 0 && !endless { "done" } else { "running" }})))
    }

    fn made(&mut self, machine: u32, task: u32) {
        // The number may belong to another machine by now.
        if let Some(machine) = self.machines.get_mut(&machine).filter(|machine| machine.task == Some(task)) {
            machine.status = Power::Stopped;
            machine.task = None;
        }
    }

    /// Processes a change. `number` is what it is called in the records.
    pub fn act(&mut self, number: u64, act: Act) -> Answer {
        match act {
            Act::Create(new) => self.create(number, new),
            Act::Update(id, update) => self.update(number, id, update),
            Act::Start(id) => self.start(number, id),
            Act::Stop(id) => self.stop(number, id),
            Act::Delete(id, identity) => self.delete(number, id, &identity),
            Act::Image(name, bytes) => {
                if self.images.contains_key(&name) {
                    self.twice.push(format!("image {name} (change {number})"));
                }
                self.images.insert(name, bytes);
                Ok(body(&json!({})))
            }
            Act::DeleteImage(name) => {
                if self.images.remove(&name).is_some() {
                    return Ok(body(&json!({})));
                }
                self.twice.push(format!("delete image {name} (change {number})"));
                refuse(404, format!("there is no image {name}"))
            }
            Act::Cordon(node) => Ok(self.cordon(number, &node)),
            Act::EvictPod(namespace, pod) => self.evict_pod(number, &namespace, &pod),
            Act::ForgetNode(node) => self.forget_node(number, &node),
            Act::Configure(configure) => self.configure(number, configure),
            Act::Reset(node) => {
                self.judge_drain("the reset of", &node.node);
                self.reset(number, &node)
            }
            Act::Bootstrap(node) => self.bootstrap(number, &node),
            Act::Evict(node) => self.evict(number, &node),
        }
    }

    fn create(&mut self, number: u64, new: NewMachine) -> Answer {
        if new.name.is_empty() || new.identity.is_empty() || new.storage.is_empty() {
            return refuse(400, "a machine has a name, an identity and a storage");
        }
        if self.find(&new.cluster, &new.name).is_some() {
            self.twice.push(format!("create {} (change {number}): there is one of that cluster and name", new.name));
            return refuse(409, format!("there is a machine {} of that cluster", new.name));
        }
        if self.identities.contains(&new.identity) {
            self.twice.push(format!("create {} (change {number}): its identity was used before", new.name));
            return refuse(409, "this identity was used before");
        }
        let Some(image) = self.images.get(&new.image) else {
            return refuse(400, format!("there is no image {}", new.image));
        };
        let found = crate::digest(image);
        if let Some(wanted) = new.digest.as_ref().filter(|wanted| **wanted != found) {
            return refuse(400, format!("checksum mismatch: got '{found}' != expect '{wanted}'"));
        }
        self.fetched.extend(new.url.clone());
        let task = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let id = self.insert(new, Power::Creating, Some(task));
        self.tasks.push(Task { machine: id, left: self.dials.ticks });
        if self.dials.ticks == 0 && !self.dials.endless {
            self.made(id, task);
        }
        Ok(body(&json!({"id": id, "task": task})))
    }

    fn update(&mut self, number: u64, id: u32, update: Update) -> Answer {
        let stubborn = self.dials.stubborn.clone();
        let machine = self.machine(id)?;
        if machine.status == Power::Creating {
            return refuse(409, format!("machine {id} is being made"));
        }
        if update.disk.is_some_and(|disk| disk < machine.disk) {
            return refuse(400, format!("the disk of machine {id} can only grow"));
        }
        let before = machine.clone();
        machine.cores = update.cores.unwrap_or(machine.cores);
        machine.memory = update.memory.unwrap_or(machine.memory);
        machine.disk = update.disk.unwrap_or(machine.disk);
        machine.media = update.media.unwrap_or_else(|| machine.media.clone());
        let reboots = (machine.cores, machine.memory) != (before.cores, before.memory) && machine.status == Power::Running;
        let idle = *machine == before;
        match stubborn.as_deref() {
            Some("cores") => machine.cores = before.cores,
            Some("memory") => machine.memory = before.memory,
            Some("disk") => machine.disk = before.disk,
            Some("media") => machine.media = before.media,
            _ => {}
        }
        if idle {
            self.twice.push(format!("update {} (change {number}): it was like that already", before.name));
        }
        if reboots {
            self.interrupt(id, "an update of");
        }
        Ok(body(&json!({})))
    }

    fn start(&mut self, number: u64, id: u32) -> Answer {
        let ticks = self.dials.boot_ticks;
        let machine = self.machine(id)?;
        match machine.status {
            Power::Creating => refuse(409, format!("machine {id} is being made")),
            Power::Running => {
                let name = machine.name.clone();
                self.twice.push(format!("start {name} (change {number})"));
                refuse(409, format!("machine {id} runs"))
            }
            Power::Stopped => {
                machine.status = Power::Running;
                machine.stage = Stage::Booting;
                machine.left = ticks;
                let (cluster, name) = (machine.cluster.clone(), machine.name.clone());
                self.moving.entry(cluster).or_default().insert(name);
                Ok(body(&json!({})))
            }
        }
    }

    fn stop(&mut self, number: u64, id: u32) -> Answer {
        let machine = self.machine(id)?;
        match machine.status {
            Power::Creating => refuse(409, format!("machine {id} is being made")),
            Power::Stopped => {
                let name = machine.name.clone();
                self.twice.push(format!("stop {name} (change {number})"));
                refuse(409, format!("machine {id} does not run"))
            }
            Power::Running => {
                machine.status = Power::Stopped;
                machine.stage = Stage::Off;
                let (cluster, name) = (machine.cluster.clone(), machine.name.clone());
                if let Some(moving) = self.moving.get_mut(&cluster) {
                    moving.remove(&name);
                }
                self.judged(&cluster, &format!("the stop of {name}"), |consensus| {
                    if let Some(healthy) = consensus.members.get_mut(&name) {
                        *healthy = false;
                    }
                });
                Ok(body(&json!({})))
            }
        }
    }

    fn delete(&mut self, number: u64, id: u32, identity: &str) -> Answer {
        if self.deleted.contains(identity) {
            self.twice.push(format!("delete {} (change {number}): it was deleted before", self.name_of(id)));
            return refuse(404, "it was deleted before");
        }
        let machine = self.machine(id)?;
        if machine.identity != identity {
            return refuse(412, format!("machine {id} has another identity"));
        }
        if machine.status != Power::Stopped {
            return refuse(409, format!("machine {id} is not stopped"));
        }
        self.remove(id);
        Ok(body(&json!({})))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, identity: &str) -> Act {
        Act::Create(NewMachine {
            name: name.to_owned(),
            identity: identity.to_owned(),
            cluster: "c".to_owned(),
            cores: 1,
            memory: 512,
            disk: 8,
            storage: "s".to_owned(),
            image: "i".to_owned(),
            url: None,
            digest: None,
            media: Vec::new(),
        })
    }

    fn configure(identity: &str, config: &str) -> Act {
        Act::Configure(proto::Configure {
            cluster: "c".to_owned(),
            node: "a".to_owned(),
            identity: identity.to_owned(),
            digest: crate::digest(config.as_bytes()),
            config: config.to_owned(),
            control_plane: true,
        })
    }

    fn at(name: &str) -> proto::Node {
        proto::Node { cluster: "c".to_owned(), node: name.to_owned() }
    }

    /// A world in which nothing takes any time.
    fn world() -> State {
        let dials = Dials { ticks: 0, boot_ticks: 0, config_ticks: 0, restart_ticks: 0, ..Dials::default() };
        State { dials, ..State::default() }
    }

    /// The codes of these changes, 0 where one happened.
    fn codes(state: &mut State, acts: Vec<Act>) -> Vec<u16> {
        let code = |act| {
            let code = state.act(0, act).err().map_or(0, |refusal| refusal.code);
            // The next one is not hurried.
            let _ = state.look(&Look::Status(at("a")));
            code
        };
        acts.into_iter().map(code).collect()
    }

    #[test]
    fn every_change_that_is_made_twice_is_noted() {
        let (one, two) = (r#"{"node":"a"}"#, r#"{"node":"a","x":1}"#);
        let image = || Act::Image("i".to_owned(), Vec::new());
        let memory = || Act::Update(100, Update { memory: Some(1024), ..Update::default() });
        let mut state = world();
        let acts = vec![new("a", "A"), image(), image(), new("a", "A"), new("a", "B"), new("b", "A")];
        assert_eq!(codes(&mut state, acts), [400, 0, 0, 0, 409, 409]);
        assert_eq!(codes(&mut state, vec![Act::Start(100), Act::Start(100), memory(), memory()]), [0, 409, 0, 0]);
        let acts = vec![configure("A", one), configure("A", one), configure("A", two), configure("A", one), configure("B", two)];
        assert_eq!(codes(&mut state, acts), [0, 6, 0, 0, 9]);
        assert_eq!(codes(&mut state, vec![Act::Bootstrap(at("a")), Act::Bootstrap(at("a"))]), [0, 6]);
        let acts = vec![Act::Reset(at("a")), Act::Reset(at("a")), Act::Evict(at("a")), Act::Stop(100), Act::Stop(100)];
        assert_eq!(codes(&mut state, acts), [0, 9, 9, 0, 409]);
        let delete = |identity: &str| Act::Delete(100, identity.to_owned());
        assert_eq!(codes(&mut state, vec![delete("B"), delete("A"), delete("A"), Act::Start(100)]), [412, 0, 404, 404]);
        let twice: Vec<&str> = state.twice.iter().map(|text| text.split_once(" (").map_or(text.as_str(), |(what, _)| what)).collect();
        assert_eq!(
            twice,
            [
                "image i",
                "create a",
                "create b",
                "start a",
                "update a",
                "configure a",
                "bootstrap a",
                "reset a",
                "evict a",
                "stop a",
                "delete machine 100"
            ]
        );
        assert_eq!(state.violations, ["bootstrapped twice: a after a"]);
    }

    #[test]
    fn the_lowest_free_number_is_next() {
        let mut state = world();
        state.images.insert("i".to_owned(), Vec::new());
        codes(&mut state, vec![new("a", "A"), new("b", "B"), new("c", "C"), Act::Delete(101, "B".to_owned())]);
        state.machines.remove(&100);
        state.edited();
        codes(&mut state, vec![new("d", "D"), new("e", "E"), new("f", "F")]);
        assert_eq!(state.machines.values().map(|machine| machine.name.as_str()).collect::<Vec<_>>(), ["d", "e", "c", "f"]);
    }

    #[test]
    fn time_passes_by_polls() {
        let mut state = State::default();
        state.images.insert("i".to_owned(), Vec::new());
        assert!(state.act(1, new("a", "A")).is_ok());
        let refused = |answer: Answer| answer.is_err();
        assert!(refused(state.act(2, Act::Start(100))) && refused(state.act(3, Act::Delete(100, "A".to_owned()))));
        let poll = |state: &mut State| String::from_utf8(state.look(&Look::Task(0)).expect("a task")).expect("JSON");
        assert!(poll(&mut state).contains("running") && poll(&mut state).contains("done"));
        assert!(state.act(4, Act::Start(100)).is_ok());
        let up: Vec<bool> = (0..3).map(|_| state.look(&Look::Status(at("a"))).is_ok()).collect();
        assert_eq!(up, [false, false, true]);
    }

    #[test]
    fn a_configuration_is_for_its_node_and_for_its_machine() {
        let mut state = world();
        state.images.insert("i".to_owned(), Vec::new());
        codes(&mut state, vec![new("a", "A"), Act::Start(100)]);
        assert_eq!(codes(&mut state, vec![configure("A", r#"{"node":"b"}"#)]), [3]);
        assert_eq!(state.violations, ["a was given the configuration of b"]);
    }
}
