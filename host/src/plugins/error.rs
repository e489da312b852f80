//! What can go wrong with a plugin, always with its name, the call and the cause.

use std::fmt;
use std::time::Duration;

use crate::bindings::emhost::plugin::types::{FailureKind, State};
use crate::capabilities::policy::Verb;
use crate::diagnostic::Diagnostic;

/// Why a plugin cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its bytes say no.
    #[error(transparent)]
    Inspect(#[from] super::inspect::InspectError),
    /// It does not compile or link.
    #[error("plugin `{plugin}` cannot be compiled: {reason}")]
    Compile {
        /// The plugin.
        plugin: String,
        /// What the compiler says.
        reason: String,
    },
    /// Instantiating it failed, so it would fail in every run.
    #[error("plugin `{plugin}` does not start: {reason}")]
    Start {
        /// The plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
    /// This host cannot run plugins at all.
    #[error("the sandbox cannot be set up: {0}")]
    Engine(String),
}

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// The plugin itself said so.
    Failed {
        /// How the host should react.
        kind: FailureKind,
        /// What the plugin says, cleaned.
        diagnostics: Vec<Diagnostic>,
        /// The pause before the next try.
        retry_after: Option<Duration>,
        /// What was learnt on the way.
        state: Option<State>,
    },
    /// The site did not give the plugin the role.
    Role,
    /// It panicked, with these last words.
    Panicked(String),
    /// It trapped.
    Trapped(String),
    /// It tried to end the process.
    Exited,
    /// It used more than it may.
    Limit(String),
    /// It did not finish in time; what it waited for, if the host knows.
    TooLong(Duration, Option<String>),
    /// It did what no grant allows, and was stopped or is not believed any more.
    Broke {
        /// What it did.
        summary: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// What it answered cannot be used.
    Answer(String),
    /// It does not do what was recorded.
    Replay(String),
    /// The host could not call it.
    Host(String),
}

/// A call that gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallError {
    /// The plugin's name; none for what the host does itself.
    pub plugin: String,
    /// What it was called for.
    pub verb: Verb,
    /// The unit it was called on.
    pub unit: Option<String>,
    /// Why there is no answer.
    pub cause: Cause,
    /// What the host noticed on the way.
    pub remarks: Vec<Diagnostic>,
    /// The end of its standard error, cleaned.
    pub last_words: Option<String>,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plugin.is_empty() {
            // The host's own work.
            return write!(f, "{}", self.cause);
        }
        write!(f, "plugin `{}`, {}", self.plugin, self.verb)?;
        if let Some(unit) = &self.unit {
            write!(f, " of `{unit}`")?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { diagnostics, .. } => {
                let said = diagnostics.iter().map(|said| said.summary.as_str()).find(|said| !said.trim().is_empty());
                f.write_str(said.unwrap_or("failed and did not say why"))
            }
            Self::Role => f.write_str("was not given this role at this site"),
            Self::Panicked(words) => write!(f, "panicked: {words}"),
            Self::Trapped(why) => write!(f, "crashed: {why}"),
            Self::Exited => f.write_str("tried to end the process"),
            Self::Limit(what) => f.write_str(what),
            Self::TooLong(limit, None) => write!(f, "did not finish within {limit:?}"),
            Self::TooLong(limit, Some(waited)) => write!(f, "did not finish within {limit:?}; it was waiting for {waited}"),
            Self::Broke { summary, .. } => f.write_str(summary),
            Self::Answer(why) => write!(f, "its answer cannot be used: {why}"),
            Self::Replay(why) => f.write_str(why),
            Self::Host(why) => write!(f, "could not be called: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

impl CallError {
    /// The whole story for the person at the terminal: the error first, then remarks.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match &self.cause {
            Cause::Failed { diagnostics, .. } => diagnostics.first().map_or("plugin/failed", |first| first.code.as_str()),
            Cause::Role => "plugin/role",
            Cause::Panicked(_) => "plugin/panicked",
            Cause::Trapped(_) => "plugin/crashed",
            Cause::Exited => "plugin/exited",
            Cause::Limit(_) => "plugin/limit",
            Cause::TooLong(..) => "plugin/too-long",
            Cause::Broke { .. } => "plugin/broke-rule",
            Cause::Answer(_) => "plugin/answer",
            Cause::Replay(_) => "plugin/replay",
            Cause::Host(_) => "plugin/host",
        };
        let mut first = Diagnostic::error(code, self.to_string());
        first.detail.clone_from(&self.last_words);
        let mut all = Vec::new();
        match &self.cause {
            Cause::Failed { diagnostics, kind, .. } => {
                if let Some(said) = diagnostics.first() {
                    let denied = *kind == FailureKind::Denied;
                    first = Diagnostic { denied, summary: self.to_string(), severity: crate::diagnostic::Severity::Error, ..said.clone() };
                }
                all.extend(diagnostics.iter().skip(1).cloned());
            }
            Cause::Broke { help, .. } => first.help.clone_from(help),
            Cause::Limit(_) => {
                first.help = Some(format!(
                    "one call of plugin `{}` may not use more: report it to its author; nothing else was affected",
                    self.plugin
                ));
            }
            Cause::TooLong(_, Some(_)) => first.help = Some("see whether the other side works, then try again".to_owned()),
            Cause::TooLong(_, None) => {
                first.help = Some(format!("try again; if it stays so, report it to the author of plugin `{}`", self.plugin));
            }
            Cause::Role => {
                if let Some(role) = self.verb.role() {
                    first.help =
                        Some(format!("to give it the role, add this line to `plugins.{}.roles` in emhost.lock:\n  - {role}", self.plugin));
                }
            }
            Cause::Host(_) => first.help = Some("name a plugin that fills the role in site.yaml".to_owned()),
            Cause::Panicked(_) | Cause::Trapped(_) | Cause::Exited | Cause::Answer(_) => {
                first.help =
                    Some(format!("this is a fault of plugin `{}`: report it to its author; nothing else was affected", self.plugin));
            }
            _ => {}
        }
        all.insert(0, first);
        all.extend(self.remarks.iter().cloned());
        all
    }
}
