//! The plan: what would happen, in words of consequences. What runs is what was approved.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::quorum::Quorum;
use super::unit::{Phase, UnitId};
use crate::bindings::emhost::plugin::types;
use crate::diagnostic::{Diagnostic, Place};

/// The layout of saved plans that this emhost writes.
pub const LAYOUT: u32 = 1;

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Purpose {
    Apply,
    Destroy,
}

/// What happens to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Change {
    Create,
    Update,
    Replace,
    Destroy,
}

/// The worst a running workload sees of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Disruption {
    None,
    Restart,
    Reboot,
    DataLoss,
}

/// One value that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// JSON pointer into the unit.
    pub pointer: String,
    /// What it is, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<serde_json::Value>,
    /// What it will be, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<serde_json::Value>,
    /// Whether neither value may be shown.
    #[serde(default)]
    pub sensitive: bool,
    /// Where the inventory says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// One consequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// What happens.
    pub change: Change,
    /// To what, for example `virtual machine 1201 (cp-1)`.
    pub subject: String,
    /// What a running workload sees of it.
    pub disruption: Disruption,
    /// Why.
    pub reason: String,
    /// Which values change.
    pub fields: Vec<Field>,
    /// The line of the inventory that causes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Whether it cannot be undone.
    pub irreversible: bool,
}

impl Action {
    /// Takes a plugin's word; where the inventory says so is added later.
    pub fn from_plugin(action: types::Action) -> Self {
        let change = match action.change {
            types::Change::Create => Change::Create,
            types::Change::Update => Change::Update,
            types::Change::Replace => Change::Replace,
            types::Change::Destroy => Change::Destroy,
        };
        let disruption = match action.disruption {
            types::Disruption::None => Disruption::None,
            types::Disruption::Restart => Disruption::Restart,
            types::Disruption::Reboot => Disruption::Reboot,
            types::Disruption::DataLoss => Disruption::DataLoss,
        };
        // Redacted text may have stopped being JSON; it is then shown as the text it is.
        let value = |text: String| serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text));
        let field = |field: types::FieldChange| Field {
            pointer: field.pointer,
            before: field.before.map(value),
            after: field.after.map(value),
            sensitive: field.sensitive,
            place: None,
        };
        Self {
            change,
            subject: action.subject,
            disruption,
            reason: action.reason,
            fields: action.fields.into_iter().map(field).collect(),
            place: None,
            irreversible: matches!(change, Change::Replace | Change::Destroy) || disruption == Disruption::DataLoss,
        }
    }

    /// Whether both say that the same happens, in whatever words and for whatever reason.
    pub fn same(&self, other: &Self) -> bool {
        let fields = |action: &Self| {
            let plain = |field: &Field| (field.pointer.clone(), field.before.clone(), field.after.clone(), field.sensitive);
            action.fields.iter().map(plain).collect::<Vec<_>>()
        };
        self.change == other.change && self.subject == other.subject && self.disruption == other.disruption && fields(self) == fields(other)
    }
}

/// Whether a unit is to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Intent {
    Present,
    Absent,
}

impl From<Intent> for types::Intent {
    fn from(intent: Intent) -> Self {
        match intent {
            Intent::Present => Self::Present,
            Intent::Absent => Self::Absent,
        }
    }
}

/// One unit with something to do, or to wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The unit.
    pub unit: UnitId,
    /// The plugin that answers for it.
    pub plugin: String,
    /// Whether it is to exist.
    pub intent: Intent,
    /// What happens. None: it is only waited for.
    pub actions: Vec<Action>,
    /// What its first step may not share with another.
    pub holds: Vec<String>,
    /// What has to be done before it.
    pub after: Vec<UnitId>,
    /// The control plane before and during it, where it costs a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<String>,
}

impl Planned {
    /// The worst of its actions.
    pub fn disruption(&self) -> Disruption {
        self.actions.iter().map(|action| action.disruption).max().unwrap_or(Disruption::None)
    }
}

/// A plugin that answers for a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answering {
    /// The role.
    pub role: String,
    /// The plugin.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its bytes.
    pub digest: String,
}

/// A machine that carries the cluster's mark and belongs to no node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orphan {
    /// The provisioner's identifier.
    pub id: String,
    /// What proves it.
    pub identity: String,
    /// The node it says it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The host it is on.
    pub host: String,
}

/// Everything that would happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The layout.
    pub version: u32,
    /// What it is for.
    pub purpose: Purpose,
    /// The cluster.
    pub cluster: String,
    /// The cluster's random id.
    pub id: String,
    /// When it was made.
    pub made: String,
    /// SHA-256 of the inventory.
    pub inventory: String,
    /// Where it ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Phase>,
    /// Which plugin answers for which role.
    pub plugins: Vec<Answering>,
    /// The control plane as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// Units with something to do, in the order they can be done.
    pub units: Vec<Planned>,
    /// How many units are as intended.
    pub unchanged: usize,
    /// Machines of the cluster that belong to no node.
    pub orphans: Vec<Orphan>,
    /// Secrets that planning made and stored.
    pub secrets: Vec<String>,
    /// What should be known.
    pub notes: Vec<Diagnostic>,
}

impl Plan {
    /// Whether nothing would happen.
    pub fn is_empty(&self) -> bool {
        self.units.iter().all(|unit| unit.actions.is_empty())
    }

    /// How many actions there are of a kind.
    pub fn count(&self, change: Change) -> usize {
        self.units.iter().flat_map(|unit| &unit.actions).filter(|action| action.change == change).count()
    }

    /// How much of what, for example `2 to create, 1 to destroy`.
    pub fn counts(&self) -> String {
        let kinds = [Change::Create, Change::Update, Change::Replace, Change::Destroy];
        let counted = kinds.into_iter().map(|change| (self.count(change), change)).filter(|(number, _)| *number > 0);
        counted.map(|(number, change)| format!("{number} to {change}")).collect::<Vec<_>>().join(", ")
    }

    /// The planned unit of this name.
    pub fn unit(&self, unit: &UnitId) -> Option<&Planned> {
        self.units.iter().find(|planned| planned.unit == *unit)
    }

    /// What the plan comes down to: two plans with the same digest do the same.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(&self.id);
        for planned in &self.units {
            add(&planned.unit.to_string());
            add(&planned.plugin);
            for action in &planned.actions {
                add(&format!("{:?} {} {:?} {:?}", action.change, action.subject, action.disruption, action.fields.len()));
                for field in &action.fields {
                    add(&format!("{} {:?} {:?}", field.pointer, field.before, field.after));
                }
            }
        }
        hash.finalize().iter().fold(String::from("sha256:"), |text, byte| format!("{text}{byte:02x}"))
    }

    /// How this plan differs from the one that was approved; a line each, none if it does not.
    pub fn differences(&self, approved: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for planned in &self.units {
            let known = approved.unit(&planned.unit).map_or(&[][..], |unit| &unit.actions);
            lines.extend(differences(&planned.unit, known, &planned.actions));
        }
        for planned in &approved.units {
            if self.unit(&planned.unit).is_none() {
                lines.extend(differences(&planned.unit, &planned.actions, &[]));
            }
        }
        lines
    }
}

/// How what a unit would do now differs from what was approved; a line each.
pub fn differences(unit: &UnitId, approved: &[Action], now: &[Action]) -> Vec<String> {
    let word = |action: &Action| {
        let fields: Vec<String> = action.fields.iter().map(Field::to_string).collect();
        let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
        format!("{unit}: {} {}{fields}", action.change, action.subject)
    };
    let gone = approved.iter().filter(|action| !now.iter().any(|other| other.same(action))).map(|action| format!("- {}", word(action)));
    let new = now.iter().filter(|action| !approved.iter().any(|other| other.same(action))).map(|action| format!("+ {}", word(action)));
    gone.chain(new).collect()
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Destroy => "destroy",
        })
    }
}

impl std::fmt::Display for Disruption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "no disruption",
            Self::Restart => "restarts",
            Self::Reboot => "reboots",
            Self::DataLoss => "loses data",
        })
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.sensitive {
            return write!(f, "{} (sensitive)", self.pointer);
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, "{} {before} -> {after}", self.pointer),
            (None, Some(after)) => write!(f, "{} = {after}", self.pointer),
            (Some(before), None) => write!(f, "{} {before} -> none", self.pointer),
            (None, None) => f.write_str(&self.pointer),
        }
    }
}
