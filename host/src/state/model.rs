//! What is remembered of a cluster between runs, and the records it is rebuilt from.
//!
//! Live systems are the truth; this only remembers what they cannot tell: the cluster's random id,
//! what each plugin wants back at its next call, and every node as it was last applied, so that one
//! that is gone from the inventory can still be taken down.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bindings::emhost::plugin::types;
use crate::bindings::exports::emhost::plugin::gpu::Assignment;
use crate::capabilities::journal::{Change, Outcome};
use crate::inventory::Node;

/// The layout of `state.json` that this emhost writes.
pub const LAYOUT: u32 = 1;

/// Everything remembered of one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The layout of this file.
    pub version: u32,
    /// Grows with every write.
    pub serial: u64,
    /// Which emhost wrote it last.
    #[serde(default)]
    pub emhost: String,
    /// The cluster's name when it was first applied.
    pub cluster: String,
    /// The cluster's id: random, made once, never reused.
    pub id: String,
    /// Whether the control plane was bootstrapped, so that quorum counts.
    #[serde(default)]
    pub bootstrapped: bool,
    /// What plugins want back, by unit.
    #[serde(default)]
    pub units: BTreeMap<String, UnitState>,
    /// Every node as it was last applied, by name.
    #[serde(default)]
    pub nodes: BTreeMap<String, Applied>,
    /// Which accelerator belongs to which node.
    #[serde(default)]
    pub assignments: Vec<Assignment>,
    /// Journals that are part of this, each with the number of the last record taken in, so that
    /// none is taken in twice.
    #[serde(default)]
    pub journals: BTreeMap<String, u64>,
}

/// What is remembered of one unit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitState {
    /// The plugin that answers for it.
    pub plugin: String,
    /// What the plugin wants back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<types::State>,
    /// Whether its last step ended with `done`.
    #[serde(default)]
    pub done: bool,
}

/// A node as it was last applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The node.
    pub node: Node,
    /// The hypervisor host its machine was seen on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The identity of the machine that joined the cluster as this node, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<String>,
}

/// How one step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// The unit is as intended.
    Done {
        /// What the plugin wants back.
        state: Option<types::State>,
    },
    /// Not yet.
    Again {
        /// What it waits for.
        reason: String,
        /// What the plugin wants back.
        state: Option<types::State>,
    },
    /// It failed.
    Failed {
        /// Why.
        reason: String,
        /// What was learnt on the way; none leaves what was known.
        state: Option<types::State>,
    },
}

/// One record of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    /// A run begins.
    Begin {
        /// The command.
        command: String,
        /// Which emhost.
        emhost: String,
    },
    /// A node is about to be applied for the first time, or anew: what it is to be.
    Node {
        /// The node.
        node: Box<Node>,
        /// The hypervisor host its machine was seen on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A step is about to be taken.
    Call {
        /// The unit.
        unit: String,
        /// The plugin.
        plugin: String,
        /// Which of the unit's steps in this run.
        step: u32,
    },
    /// A change is about to leave the host.
    Change {
        /// Its number in this journal.
        number: u64,
        /// The unit whose step makes it.
        unit: String,
        /// What it is.
        change: Change,
    },
    /// How the change ended, as far as the host knows.
    Outcome {
        /// The change's number.
        number: u64,
        /// How.
        outcome: Outcome,
    },
    /// How a step ended.
    Answer {
        /// The unit.
        unit: String,
        /// Which of its steps.
        step: u32,
        /// How.
        answer: Answer,
    },
    /// A machine joined the cluster as this node.
    Joined {
        /// The node.
        node: String,
        /// The machine's identity.
        identity: String,
    },
    /// The unit is gone for good.
    Gone {
        /// The unit.
        unit: String,
    },
    /// The node is gone for good.
    NodeGone {
        /// The node.
        node: String,
    },
    /// The control plane was bootstrapped.
    Bootstrapped,
    /// The accelerators were given out anew.
    Assigned {
        /// Which to whom.
        assignments: Vec<Assignment>,
    },
    /// The run ended in good order.
    End,
}

/// What a run left open: a step that began and has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Open {
    /// The unit.
    pub unit: String,
    /// Changes of that step without an outcome: each may have happened.
    pub changes: Vec<Change>,
}

impl State {
    /// The state of a cluster of which nothing exists yet.
    pub fn new(cluster: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            version: LAYOUT,
            serial: 0,
            emhost: env!("CARGO_PKG_VERSION").to_owned(),
            cluster: cluster.into(),
            id: id.into(),
            bootstrapped: false,
            units: BTreeMap::new(),
            nodes: BTreeMap::new(),
            assignments: Vec::new(),
            journals: BTreeMap::new(),
        }
    }

    /// Takes in one record. The same records give the same state.
    pub fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Begin { .. } | Entry::Change { .. } | Entry::Outcome { .. } | Entry::End => {}
            Entry::Node { node, host } => {
                let joined = self.nodes.remove(&node.name).and_then(|applied| applied.joined);
                self.nodes.insert(node.name.clone(), Applied { node: Node::clone(node), host: host.clone(), joined });
            }
            Entry::Call { unit, plugin, .. } => {
                let known = self.units.entry(unit.clone()).or_default();
                known.plugin.clone_from(plugin);
                known.done = false;
            }
            Entry::Answer { unit, answer, .. } => {
                let known = self.units.entry(unit.clone()).or_default();
                match answer {
                    Answer::Done { state } => (known.state, known.done) = (state.clone(), true),
                    Answer::Again { state, .. } => known.state.clone_from(state),
                    Answer::Failed { state: Some(state), .. } => known.state = Some(state.clone()),
                    Answer::Failed { state: None, .. } => {}
                }
            }
            Entry::Joined { node, identity } => {
                if let Some(applied) = self.nodes.get_mut(node) {
                    applied.joined = Some(identity.clone());
                }
            }
            Entry::Gone { unit } => {
                self.units.remove(unit);
                // The cluster itself, as `UnitId` writes it: the next one of this name is bootstrapped anew.
                self.bootstrapped &= unit != "cluster";
            }
            Entry::NodeGone { node } => {
                self.nodes.remove(node);
                self.assignments.retain(|assignment| assignment.node != *node);
            }
            Entry::Bootstrapped => self.bootstrapped = true,
            Entry::Assigned { assignments } => self.assignments.clone_from(assignments),
        }
    }
}

/// The steps without an answer among these records, in the order they began.
pub fn open(entries: &[Entry]) -> Vec<Open> {
    let mut open: Vec<Open> = Vec::new();
    let mut unknown: BTreeMap<u64, (&str, &Change)> = BTreeMap::new();
    for entry in entries {
        match entry {
            // Another run: it looked at whatever was open before it.
            Entry::Begin { .. } => (open, unknown) = (Vec::new(), BTreeMap::new()),
            Entry::Call { unit, .. } => open.push(Open { unit: unit.clone(), changes: Vec::new() }),
            // What is gone needs no other look either.
            Entry::Answer { unit, .. } | Entry::Gone { unit } => {
                open.retain(|step| step.unit != *unit);
                unknown.retain(|_, (of, _)| of != unit);
            }
            Entry::Change { number, unit, change } => {
                unknown.insert(*number, (unit, change));
            }
            Entry::Outcome { number, outcome: Outcome::Answered(_) } => {
                unknown.remove(number);
            }
            _ => {}
        }
    }
    for (unit, change) in unknown.into_values() {
        if let Some(step) = open.iter_mut().find(|step| step.unit == unit) {
            step.changes.push(change.clone());
        }
    }
    open
}
