//! One run: the crew, what is remembered, and how it looks at the world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rand::Rng;
use tokio::sync::Semaphore;

use super::addons::Pins;
use super::crew::{Crew, Now};
use super::events::{Event, Progress, Watch};
use super::images::{Images, digest_of, with_digest};
use super::kubernetes::Kubernetes;
use super::quorum::Quorum;
use super::unit::{Phase, UnitId};
use crate::bindings::emhost::plugin::inventory::NodeRole;
use crate::bindings::emhost::plugin::types::{Boot, Document, Medium, State};
use crate::bindings::exports::emhost::plugin::provisioner::Machine;
use crate::capabilities::Slots;
use crate::charts::Charts;
use crate::inventory::{Node, Sources};
use crate::plugins::CallError;
use crate::state::{Entry, Store, Timings};

/// How a run works.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many calls are under way at most.
    pub parallel: usize,
    /// How long one unit may take from its first step on, not counting what it waits in queues.
    pub deadline: Duration,
    /// The first pause before another try; doubled with every further one.
    pub backoff: Duration,
    /// Where the run ends early.
    pub until: Option<Phase>,
    /// Whether nothing may be added to the lock file.
    pub locked: bool,
    /// How long the pods of a node that goes have to find another place.
    pub drain: Duration,
    /// Whether a destroy takes the images along that machines were made from.
    pub delete_images: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            parallel: 16,
            deadline: Duration::from_mins(30),
            backoff: Duration::from_millis(200),
            until: None,
            locked: false,
            drain: Duration::from_mins(5),
            delete_images: false,
        }
    }
}

impl Options {
    /// Whether the run gets as far as this phase.
    pub fn reaches(&self, phase: Phase) -> bool {
        self.until.is_none_or(|until| phase <= until)
    }
}

/// What the phases before a machine made for its node.
#[derive(Clone)]
pub struct Inputs {
    /// What it boots from, in the words of its boot source.
    pub boot: Arc<Boot>,
    /// The same as others are told, as it was known when the plan was made.
    pub planned: Arc<Boot>,
    /// The same once it was made sure that it can be had.
    pub ensured: Arc<OnceLock<Boot>>,
    /// The digest of its image, if that became known after the plan.
    pub pinned: Arc<OnceLock<String>>,
    /// Its configuration.
    pub config: Arc<Vec<Document>>,
    /// What is attached for its first boot.
    pub media: Arc<Vec<Medium>>,
}

impl Inputs {
    /// For whoever says what would happen: a digest that became known since the plan was approved is no other plan.
    pub(super) fn to_plan(&self) -> Boot {
        match self.ensured.get() {
            Some(ensured) => with_digest(ensured.clone(), digest_of(&self.planned)),
            None => Boot::clone(&self.planned),
        }
    }

    /// For whoever makes it happen.
    pub(super) fn to_apply(&self) -> Boot {
        let boot = self.ensured.get().unwrap_or(&self.planned).clone();
        let digest = digest_of(&boot).or_else(|| self.pinned.get().cloned());
        with_digest(boot, digest)
    }
}

/// Everything that one run works with.
pub struct Run {
    /// The plugins.
    pub crew: Crew,
    /// What is remembered, and where every step is written down.
    pub store: Arc<Store>,
    /// The cluster as it is known at the moment.
    pub now: Now,
    /// Nodes that are gone from the inventory, as they were last applied.
    pub removed: BTreeMap<String, Arc<Node>>,
    /// Who watches.
    pub watch: Arc<dyn Watch>,
    /// Where the inventory says what.
    pub sources: Sources,
    /// SHA-256 of the inventory.
    pub inventory: String,
    /// Where slots lead.
    pub slots: Arc<Slots>,
    /// The digests of images.
    pub images: Images,
    /// The digests of manifests that come from elsewhere, and where files are.
    pub pins: Pins,
    /// What renders charts.
    pub charts: Option<Charts>,
    /// Which boot source each node uses.
    pub boot_of: BTreeMap<String, String>,
    /// Whether Kubernetes has a network without addons.
    pub networking: bool,
    /// How it works.
    pub options: Options,
    /// As many as calls may be under way.
    pub turns: Arc<Semaphore>,
    /// How long things took earlier, and take now.
    pub timings: Mutex<Timings>,
    /// Set once what was approved is being done.
    pub(super) began: OnceLock<()>,
    /// Set when a control plane is there that nobody remembers.
    pub(super) there: OnceLock<()>,
    /// The cluster's Kubernetes.
    pub(super) kubernetes: Kubernetes,
    /// Nodes that stay remembered when their machine is gone, because Kubernetes may still know them.
    kept: Mutex<BTreeSet<String>>,
    /// The last trouble that was told.
    told: Mutex<String>,
    /// What was seen of each node's machine in this run.
    seen: Mutex<BTreeMap<String, Option<Machine>>>,
}

/// Whether a call waits for its turn, or is part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Whoever calls has it.
    Have,
    /// It waits for one.
    Take,
}

/// How many times something that only looks is tried.
const LOOKS: u32 = 6;
/// And how long, for those who only ask.
const LOOKING: Duration = Duration::from_secs(45);

impl Run {
    /// A run that has not begun.
    pub fn new(crew: Crew, store: Arc<Store>, now: Now, watch: Arc<dyn Watch>, options: Options) -> Self {
        let kept = now.get();
        let gone = store.applied().into_iter().filter(|applied| kept.node(&applied.node.name).is_none());
        let removed = gone.map(|applied| (applied.node.name.clone(), Arc::new(applied.node))).collect();
        let timings = Mutex::new(store.timings());
        let turns = Arc::new(Semaphore::new(options.parallel.max(1)));
        Self {
            crew,
            store,
            now,
            removed,
            watch,
            sources: Sources::default(),
            inventory: String::new(),
            slots: Arc::new(Slots::none()),
            images: Images::default(),
            pins: Pins::default(),
            charts: None,
            boot_of: BTreeMap::new(),
            networking: true,
            options,
            turns,
            timings,
            began: OnceLock::new(),
            there: OnceLock::new(),
            kubernetes: Kubernetes::default(),
            kept: Mutex::default(),
            told: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Says what happened to a unit.
    pub fn say(&self, unit: &UnitId, progress: Progress) {
        self.watch.event(Event::Unit { unit: unit.clone(), progress });
    }

    /// The node of this name, as it is known now; or as it was last applied.
    pub fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.now.get().node(name).or_else(|| self.removed.get(name)).cloned()
    }

    /// Whether the machine that is there now has joined the cluster as this node.
    pub fn joined(&self, node: &Node) -> bool {
        let joined = self.store.node(&node.name).and_then(|applied| applied.joined);
        joined.is_some() && joined == node.machine_identity
    }

    /// Whether the control plane was bootstrapped, so that its majority has to stay: remembered, or seen while planning.
    pub fn bootstrapped(&self) -> bool {
        self.store.bootstrapped() || self.there.get().is_some()
    }

    /// Whether a node votes in the control plane.
    pub fn votes(&self, node: &str) -> bool {
        self.node(node).is_some_and(|node| node.role == NodeRole::ControlPlane)
    }

    /// The pause before the next try: twice as long each time, and never the same for two.
    pub fn pause(&self, attempt: u32, asked: Option<Duration>) -> Duration {
        const LONGEST: Duration = Duration::from_secs(30);
        let base = asked.unwrap_or_else(|| self.options.backoff.saturating_mul(1 << attempt.min(10))).min(LONGEST);
        base.mul_f64(rand::thread_rng().gen_range(0.5..1.5))
    }

    /// Makes a call that changes nothing, again and again while the trouble is passing.
    ///
    /// # Errors
    /// Why there is no answer, after several tries.
    pub async fn look<T, F>(&self, turn: Turn, call: impl Fn() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let begun = Instant::now();
        let mut attempt = 0;
        loop {
            let answer = {
                let _turn = if turn == Turn::Take { self.turns.acquire().await.ok() } else { None };
                call().await
            };
            // Who has begun goes on as long as a unit may take; who only asks wants to know.
            let patient = match self.began.get() {
                Some(()) => begun.elapsed() < self.options.deadline,
                None => attempt + 1 < LOOKS && begun.elapsed() < LOOKING,
            };
            match answer {
                Err(error) if error.is_passing() && patient => {
                    self.trouble(&error);
                    tokio::time::sleep(self.pause(attempt, error.retry_after()).min(Duration::from_secs(3))).await;
                    attempt += 1;
                }
                answer => return answer,
            }
        }
    }

    /// Says why it takes longer, once for all nodes that meet the same.
    fn trouble(&self, error: &CallError) {
        let why = error.cause.to_string();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if self.began.get().is_none() && *told != why {
            self.watch.event(Event::Planning { what: format!("tries again: {why}") });
            *told = why;
        }
    }

    /// Looks at a node's machine and remembers what it saw.
    pub(super) async fn observe(&self, turn: Turn, unit: &UnitId, node: &str) -> Result<Option<Machine>, CallError> {
        let state = self.state(unit);
        let worker = &self.crew.provisioner;
        let Some(as_known) = self.node(node) else { return Ok(None) };
        let machine = self.look(turn, || async {
            let context = worker.looks(Some(unit));
            worker.plugin.observe_machine(&context, &as_known, state.as_ref()).await
        });
        let machine = machine.await?;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(node.to_owned(), machine.clone());
        let known = (&as_known.machine_id, &as_known.machine_identity, &as_known.addresses);
        let seen = machine.as_ref().map_or((None, None, Vec::new()), |machine| {
            (Some(machine.id.clone()), Some(machine.identity.clone()), machine.addresses.clone())
        });
        if known != (&seen.0, &seen.1, &seen.2) {
            self.now.change(|cluster| {
                if let Some(node) = cluster.nodes.iter_mut().find(|other| other.name == node) {
                    let node = Arc::make_mut(node);
                    (node.machine_id, node.machine_identity, node.addresses) = seen;
                }
            });
        }
        Ok(machine)
    }

    /// The record of what a node is to be, or was made.
    pub(super) fn snapshot(&self, node: &Node) -> Entry {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let host = seen.get(&node.name).and_then(Option::as_ref).map(|machine| machine.host.clone());
        Entry::Node { node: Box::new(node.clone()), host }
    }

    /// Nodes that stay remembered when their machine is gone.
    pub(super) fn kept(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every machine seen in this run, by identity.
    pub(super) fn seen(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.values().flatten().map(|machine| machine.identity.clone()).collect()
    }

    /// What the plugin that answers for a unit wants back.
    pub fn state(&self, unit: &UnitId) -> Option<State> {
        self.store.unit(&key(unit)).and_then(|known| known.state)
    }

    /// The voting members of the control plane.
    ///
    /// # Errors
    /// Why the distribution cannot say.
    pub async fn quorum(&self) -> Result<Quorum, CallError> {
        let worker = &self.crew.distro;
        let members = self.look(Turn::Take, || async {
            let context = worker.looks(None);
            worker.plugin.members(&context).await
        });
        Ok(Quorum::new(&members.await?))
    }
}

/// The name a unit is remembered by. Taking media away is another step of the machine.
pub fn key(unit: &UnitId) -> String {
    match unit {
        UnitId::Media(node) => UnitId::Machine(node.clone()).to_string(),
        unit => unit.to_string(),
    }
}
