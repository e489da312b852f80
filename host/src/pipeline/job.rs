//! Jobs: how a unit is planned and stepped through its plugin, or by the host itself.

use std::sync::Arc;

use super::addons::Addon;
use super::crew::Worker;
use super::plan::{Action, Change, Disruption, Intent, Planned};
use super::run::{Inputs, Run, Turn, key};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::{Boot, Step};
use crate::bindings::exports::emhost::plugin::provisioner::{FirstBoot, Machine};
use crate::capabilities::policy::Verb;
use crate::diagnostic::Diagnostic;
use crate::inventory::Node;
use crate::plugins::CallError;
use crate::state::UnitJournal;

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
    /// Finds another place for the pods of a node that goes.
    Drain {
        /// The node.
        node: String,
    },
    /// Takes a node that went out of Kubernetes.
    Forget {
        /// The node.
        node: String,
    },
    /// Makes an addon as intended.
    Addon {
        /// The addon.
        addon: Arc<Addon>,
    },
    /// Removes a machine that belongs to no node, or an image.
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
#[derive(Default)]
pub struct Proposed {
    /// What would happen.
    pub actions: Vec<Action>,
    /// What the first step may not share.
    pub holds: Vec<String>,
    /// What should be known; an error keeps it from being done.
    pub notes: Vec<Diagnostic>,
    /// Whether there is something to wait for, or to write down, where nothing changes.
    pub unfinished: bool,
}

impl Job {
    /// The plugin that answers for it.
    pub fn worker<'a>(&'a self, run: &'a Run) -> &'a Worker {
        match &self.task {
            Task::Ensure { worker, .. } => worker,
            Task::Machine { .. } | Task::Media { .. } | Task::Discard { .. } => &run.crew.provisioner,
            // It lends the access to what the host does itself.
            Task::Os { .. } | Task::Cluster | Task::Health { .. } | Task::Drain { .. } | Task::Forget { .. } | Task::Addon { .. } => {
                &run.crew.distro
            }
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
            Task::Ensure { .. } | Task::Health { .. } => return Ok(Proposed::default()),
            Task::Discard { machine } => return Ok(discarding(machine)),
            Task::Drain { node } => return run.look(turn, || run.plan_drain(unit, Turn::Have, node)).await,
            Task::Forget { node } => return run.look(turn, || run.plan_forget(unit, Turn::Have, node)).await,
            Task::Addon { addon } => return run.look(turn, || run.plan_addon(unit, Turn::Have, addon)).await,
            Task::Machine { node, inputs } => {
                run.observe(turn, unit, node).await?;
                self.plan_machine(run, turn, node, inputs.as_ref()).await?
            }
            Task::Media { node } => {
                run.observe(turn, unit, node).await?;
                self.plan_machine(run, turn, node, None).await?
            }
            Task::Os { node, inputs } => {
                let Some(node) = run.node(node) else { return Ok(Proposed::default()) };
                let state = run.state(unit);
                let config = inputs.as_ref().map_or(&[][..], |inputs| &inputs.config[..]);
                let boot = inputs.as_ref().map(Inputs::to_plan);
                let planned = run.look(turn, || async {
                    let context = worker.looks(Some(unit));
                    worker.plugin.plan_node(&context, &node, config, boot.as_ref(), intent.into(), state.as_ref()).await
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
        let actions = proposal.actions.into_iter().map(Action::from_plugin).collect();
        Ok(Proposed { actions, holds: proposal.holds, ..Proposed::default() })
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
        let first_boot = first_boot(run, &node, inputs, Inputs::to_plan);
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
                let told = run.told(worker, &ensured).map_err(|refused| worker.misanswered(Verb::Ensure, unit, refused))?;
                // A second run finds the same, so whoever was first is right.
                let _ = inputs.ensured.set(told);
                Ok(Step::Done(None))
            }
            Task::Machine { node, inputs } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                let first_boot = first_boot(run, &node, inputs.as_ref(), Inputs::to_apply);
                worker.plugin.apply_machine(&context, &node, first_boot.as_ref(), intent.into(), state.as_ref()).await
            }
            Task::Media { node } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                worker.plugin.apply_machine(&context, &node, None, intent.into(), state.as_ref()).await
            }
            Task::Os { node, inputs } => {
                let Some(node) = run.node(node) else { return Ok(Step::Done(None)) };
                let config = inputs.as_ref().map_or(&[][..], |inputs| &inputs.config[..]);
                let boot = inputs.as_ref().map(Inputs::to_apply);
                worker.plugin.apply_node(&context, &node, config, boot.as_ref(), intent.into(), state.as_ref()).await
            }
            Task::Cluster => worker.plugin.apply_cluster(&context, state.as_ref()).await,
            Task::Health { networking } => worker.plugin.health(&context, *networking).await,
            Task::Drain { node } => run.drain(unit, node).await,
            Task::Forget { node } => run.forget(unit, node).await,
            Task::Addon { addon } => run.step_addon(unit, addon).await,
            Task::Discard { machine } => worker.plugin.discard(&context, machine, state.as_ref()).await,
        }
    }
}

/// What a machine is to start from, unless it is there and has joined.
fn first_boot(run: &Run, node: &Node, inputs: Option<&Inputs>, boot: impl Fn(&Inputs) -> Boot) -> Option<FirstBoot> {
    let inputs = inputs.filter(|_| !run.joined(node))?;
    Some(FirstBoot { boot: boot(inputs), media: Vec::clone(&inputs.media) })
}

/// Whether a provisioner lists an image, not a machine.
pub(super) fn is_image(machine: &Machine) -> bool {
    machine.attributes.iter().any(|attribute| attribute.key == "kind" && attribute.value == "image")
}

/// Removing a machine that no node claims. The plugin proves its identity again when it does it.
fn discarding(machine: &Machine) -> Proposed {
    if is_image(machine) {
        let action = Action {
            change: Change::Destroy,
            subject: format!("image {} on {}", machine.id, machine.host),
            disruption: Disruption::None,
            reason: "machines were made from it, and --delete-images was given".to_owned(),
            fields: Vec::new(),
            place: None,
            irreversible: true,
        };
        return Proposed { actions: vec![action], ..Proposed::default() };
    }
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
    Proposed { actions: vec![action], ..Proposed::default() }
}

/// A unit of which nothing is planned yet.
pub(super) fn unplanned(unit: UnitId, plugin: &str, intent: Intent) -> Planned {
    Planned { unit, plugin: plugin.to_owned(), intent, actions: Vec::new(), holds: Vec::new(), after: Vec::new(), quorum: None }
}
