//! What a running plugin lets people see: log lines, progress and reports, already redacted.

use std::sync::Mutex;

use serde::Serialize;

use crate::diagnostic::Diagnostic;

/// Where an event comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The plugin.
    pub plugin: String,
    /// The verb it is in.
    pub call: &'static str,
    /// The unit it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// One event. No text in it holds a known secret or drives a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A log line.
    Log {
        /// Where it comes from.
        #[serde(flatten)]
        source: Source,
        /// `trace` to `error`.
        level: &'static str,
        /// The text.
        message: String,
        /// Its fields, by name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        fields: Vec<(String, String)>,
    },
    /// The unit's current activity.
    Progress {
        /// Where it comes from.
        #[serde(flatten)]
        source: Source,
        /// The activity.
        activity: String,
        /// How far it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        percent: Option<u8>,
    },
    /// Something the plugin or the host wants known without the call failing.
    Report {
        /// Where it comes from.
        #[serde(flatten)]
        source: Source,
        /// What it is.
        diagnostic: Diagnostic,
    },
}

/// Takes events as they happen.
pub trait Events: Send + Sync {
    /// Takes one.
    fn event(&self, event: Event);
}

/// Keeps events in memory.
#[derive(Debug, Default)]
pub struct MemoryEvents(Mutex<Vec<Event>>);

impl MemoryEvents {
    /// Everything that happened so far.
    pub fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Events for MemoryEvents {
    fn event(&self, event: Event) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(event);
    }
}
