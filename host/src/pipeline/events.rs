//! What a run lets people see while it works.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::unit::{Phase, UnitId};
use crate::capabilities::events as plugin;
use crate::diagnostic::Diagnostic;

/// What a unit waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Other units have to be done first.
    Units(Vec<UnitId>),
    /// Another step holds one of these names.
    Holds(Vec<String>),
    /// As many calls as `--parallel` allows are under way.
    Turn,
    /// The control plane cannot spare a member now.
    Quorum(String),
}

/// What happened to a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Progress {
    /// It cannot go on yet.
    Waits {
        /// For what.
        on: Wait,
    },
    /// Its first step is about to be taken.
    Began {
        /// What is going to happen, in a few words.
        activity: String,
        /// How long it took earlier.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_seconds")]
        estimate: Option<Duration>,
    },
    /// A step ended; there is another one.
    Again {
        /// What it waits for.
        reason: String,
        /// The pause before it.
        #[serde(serialize_with = "seconds")]
        pause: Duration,
    },
    /// Passing trouble; another try follows.
    Retries {
        /// What the trouble is.
        reason: String,
        /// The pause before it.
        #[serde(serialize_with = "seconds")]
        pause: Duration,
        /// Which try comes next.
        attempt: u32,
    },
    /// It is as intended.
    Done {
        /// How long it took.
        #[serde(serialize_with = "seconds")]
        elapsed: Duration,
        /// Whether anything had to be done.
        changed: bool,
    },
    /// It failed.
    Failed {
        /// Why.
        diagnostics: Vec<Diagnostic>,
    },
    /// It was not begun, because another one failed.
    Skipped {
        /// Which one.
        because: UnitId,
    },
    /// It was stopped by the person at the terminal; the next run goes on.
    Stopped,
}

/// One event of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// What planning looks at.
    Planning {
        /// In a few words.
        what: String,
    },
    /// The units of a run, before the first of them begins.
    Run {
        /// In the order they can be done, with what each needs first.
        units: Vec<(UnitId, Vec<UnitId>)>,
    },
    /// Something happened to a unit.
    Unit {
        /// The unit.
        unit: UnitId,
        /// What.
        #[serde(flatten)]
        progress: Progress,
    },
    /// A plugin says something.
    Plugin {
        /// The unit it works on.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<UnitId>,
        /// What it says.
        said: plugin::Event,
    },
    /// The person asked to stop.
    Stopping {
        /// Units at work, which end their step first.
        running: Vec<UnitId>,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many units had something to do, and it is done.
    pub done: usize,
    /// How many were as intended.
    pub unchanged: usize,
    /// Units that failed, and why.
    pub failed: Vec<(UnitId, Vec<Diagnostic>)>,
    /// Units that were not begun, each with the one that failed before it.
    pub skipped: Vec<(UnitId, UnitId)>,
    /// Units that the person at the terminal stopped.
    pub stopped: Vec<UnitId>,
    /// How long each phase took in which something was done, from its first unit to its last. They overlap.
    pub phases: Vec<Took>,
    /// How long it took.
    #[serde(serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// How long a phase took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Took {
    /// The phase.
    pub phase: Phase,
    /// From its first unit to its last.
    #[serde(serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// Seconds with a fraction: what a program that reads events can compute with.
fn seconds<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64((duration.as_secs_f64() * 1000.0).round() / 1000.0)
}

#[expect(clippy::ref_option, reason = "serde asks for it")]
fn maybe_seconds<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => seconds(duration, to),
        None => to.serialize_none(),
    }
}

/// Takes events as they happen, from any thread.
pub trait Watch: Send + Sync {
    /// Takes one.
    fn event(&self, event: Event);
}
