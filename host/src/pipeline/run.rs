//! One run: the crew, what is remembered, and the jobs that plan and step a unit through its plugin.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rand::Rng;
use tokio::sync::Semaphore;

use super::crew::{Crew, Now, Worker};
use super::events::{Event, Progress, Watch};
use super::plan::{Action, Change, Disruption, Intent, Planned};
use super::quorum::Quorum;
use super::unit::{Phase, UnitId};
use crate::bindings::emhost::plugin::inventory::NodeRole;
use crate::bindings::emhost::plugin::types::{Boot, Document, Medium, State, Step};
use crate::bindings::exports::emhost::plugin::provisioner::{FirstBoot, Machine};
use crate::inventory::{Node, Sources};
use crate::plugins::CallError;
use crate::state::{Entry, Store, Timings, UnitJournal};

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
}

impl Default for Options {
    fn default() -> Self {
        Self { parallel: 16, deadline: Duration::from_mins(30), backoff: Duration::from_millis(200), until: None }
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
    /// What it boots from.
    pub boot: Arc<Boot>,
    /// The same once it was made sure that it can be had.
    pub ensured: Arc<OnceLock<Boot>>,
    /// Its configuration.
    pub config: Arc<Vec<Document>>,
    /// What is attached for its first boot.
    pub media: Arc<Vec<Medium>>,
}

impl Inputs {
    fn boot(&self) -> &Boot {
        self.ensured.get().unwrap_or(&self.boot)
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
    /// The last trouble that was told.
    told: Mutex<String>,
    /// What was seen of each node's machine in this run.
    seen: Mutex<BTreeMap<String, Option<Machine>>>,
}

/// What a job does, and what it needs for it.
#[derive(Clone)]
pub enum Task {
    /// Makes sure that what machines boot from can be had.
    Ensure {
        /// The boot source.
        worker: Worker,
        /// One of the nodes that boot from it.
        node: String,
        /// What.
        inputs: Inputs,
    },
    /// Makes a machine as intended.
    Machine {
        /// The node.
        node: String,
        /// What it starts from; none for a removal.
        inputs: Option<Inputs>,
    },
    /// Makes a node's operating system as intended.
    Os {
        /// The node.
        node: String,
        /// Its configuration; none for a removal.
        inputs: Option<Inputs>,
    },
    /// Bootstraps the cluster, or brings it up to date.
    Cluster,
    /// Takes away what a node needed for its first boot.
    Media {
        /// The node.
        node: String,
    },
    /// Waits for the cluster to be healthy.
    Health {
        /// Whether to wait for what only a network brings.
        networking: bool,
    },
    /// Removes a machine that belongs to no node.
    Discard {
        /// The machine.
        machine: Box<Machine>,
    },
}

/// A unit with something to do, and how to do it.
#[derive(Clone)]
pub struct Job {
    /// What was planned for it.
    pub planned: Planned,
    /// How.
    pub task: Task,
}

/// A plugin's proposal as the host sees it.
pub struct Proposed {
    /// What would happen.
    pub actions: Vec<Action>,
    /// What the first step may not share.
    pub holds: Vec<String>,
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
            boot_of: BTreeMap::new(),
            networking: true,
            options,
            turns,
            timings,
            began: OnceLock::new(),
            there: OnceLock::new(),
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

impl Job {
    /// The plugin that answers for it.
    pub fn worker<'a>(&'a self, run: &'a Run) -> &'a Worker {
        match &self.task {
            Task::Ensure { worker, .. } => worker,
            Task::Machine { .. } | Task::Media { .. } | Task::Discard { .. } => &run.crew.provisioner,
            Task::Os { .. } | Task::Cluster | Task::Health { .. } => &run.crew.distro,
        }
    }

    /// Whether it only waits, so that there is nothing to write down.
    pub fn only_waits(&self) -> bool {
        matches!(self.task, Task::Health { .. })
    }

    /// Looks, and asks the plugin what it would do now.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn propose(&self, run: &Run, turn: Turn) -> Result<Proposed, CallError> {
        let unit = &self.planned.unit;
        let worker = self.worker(run);
        let intent = self.planned.intent;
        let proposal = match &self.task {
            Task::Ensure { .. } | Task::Health { .. } => return Ok(Proposed { actions: Vec::new(), holds: Vec::new() }),
            Task::Discard { machine } => return Ok(discarding(machine)),
            Task::Machine { node, inputs } => {
                run.observe(turn, unit, node).await?;
                self.plan_machine(run, turn, node, inputs.as_ref()).await?
            }
            Task::Media { node } => {
                run.observe(turn, unit, node).await?;
                self.plan_machine(run, turn, node, None).await?
            }
            Task::Os { node, inputs } => {
                let Some(node) = run.node(node) else { return Ok(Proposed { actions: Vec::new(), holds: Vec::new() }) };
                let state = run.state(unit);
                let config = inputs.as_ref().map_or(&[][..], |inputs| &inputs.config[..]);
                let boot = inputs.as_ref().map(Inputs::boot);
                let planned = run.look(turn, || async {
                    let context = worker.looks(Some(unit));
                    worker.plugin.plan_node(&context, &node, config, boot, intent.into(), state.as_ref()).await
                });
                planned.await?
            }
            Task::Cluster => {
                let state = run.state(unit);
                let planned = run.look(turn, || async {
                    let context = worker.looks(Some(unit));
                    worker.plugin.plan_cluster(&context, state.as_ref()).await
                });
                planned.await?
            }
        };
        Ok(Proposed { actions: proposal.actions.into_iter().map(Action::from_plugin).collect(), holds: proposal.holds })
    }

    async fn plan_machine(
        &self,
        run: &Run,
        turn: Turn,
        node: &str,
        inputs: Option<&Inputs>,
    ) -> Result<crate::bindings::emhost::plugin::types::Proposal, CallError> {
        let unit = &self.planned.unit;
        let worker = self.worker(run);
        let nothing = crate::bindings::emhost::plugin::types::Proposal { actions: Vec::new(), holds: Vec::new() };
        let Some(node) = run.node(node) else { return Ok(nothing) };
        let first_boot = first_boot(run, &node, inputs);
        let state = run.state(unit);
        run.look(turn, || async {
            let context = worker.looks(Some(unit));
            worker.plugin.plan_machine(&context, &node, first_boot.as_ref(), self.planned.intent.into(), state.as_ref()).await
        })
        .await
    }

    /// Takes one step.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn step(&self, run: &Run) -> Result<Step, CallError> {
        let unit = &self.planned.unit;
        let worker = self.worker(run);
        let context = worker.acts(Some(unit), Arc::new(UnitJournal { store: Arc::clone(&run.store), unit: key(unit) }));
        let state = run.state(unit);
        let intent = self.planned.intent;
        match &self.task {
            Task::Ensure { node, inputs, .. } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                let ensured = worker.plugin.ensure(&context, &node, &inputs.boot).await?;
                // A second run finds the same, so whoever was first is right.
                let _ = inputs.ensured.set(ensured);
                Ok(Step::Done(None))
            }
            Task::Machine { node, inputs } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                let first_boot = first_boot(run, &node, inputs.as_ref());
                worker.plugin.apply_machine(&context, &node, first_boot.as_ref(), intent.into(), state.as_ref()).await
            }
            Task::Media { node } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                worker.plugin.apply_machine(&context, &node, None, intent.into(), state.as_ref()).await
            }
            Task::Os { node, inputs } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                let config = inputs.as_ref().map_or(&[][..], |inputs| &inputs.config[..]);
                let boot = inputs.as_ref().map(Inputs::boot);
                worker.plugin.apply_node(&context, &node, config, boot, intent.into(), state.as_ref()).await
            }
            Task::Cluster => worker.plugin.apply_cluster(&context, state.as_ref()).await,
            Task::Health { networking } => worker.plugin.health(&context, *networking).await,
            Task::Discard { machine } => worker.plugin.discard(&context, machine, state.as_ref()).await,
        }
    }
}

/// What a machine is to start from, unless it is there and has joined.
fn first_boot(run: &Run, node: &Node, inputs: Option<&Inputs>) -> Option<FirstBoot> {
    let inputs = inputs.filter(|_| !run.joined(node))?;
    Some(FirstBoot { boot: inputs.boot().clone(), media: Vec::clone(&inputs.media) })
}

/// Removing a machine that no node claims. The plugin proves its identity again when it does it.
fn discarding(machine: &Machine) -> Proposed {
    let belonged = machine.node.as_deref().map_or_else(String::new, |node| format!(", made for {node}"));
    let action = Action {
        change: Change::Destroy,
        subject: format!("machine {} on {}{belonged}", machine.id, machine.host),
        disruption: Disruption::DataLoss,
        reason: "it carries this cluster's mark and belongs to no node".to_owned(),
        fields: Vec::new(),
        place: None,
        irreversible: true,
    };
    Proposed { actions: vec![action], holds: Vec::new() }
}

/// A unit of which nothing is planned yet.
pub(super) fn unplanned(unit: UnitId, plugin: &str, intent: Intent) -> Planned {
    Planned { unit, plugin: plugin.to_owned(), intent, actions: Vec::new(), holds: Vec::new(), after: Vec::new(), quorum: None }
}
