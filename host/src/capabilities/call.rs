//! One running call of a plugin: what its store holds and what all capabilities share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::events::{Event, Events, Source};
use super::http::Outgoing;
use super::journal::{Change, Journal, Outcome};
use super::policy::{Need, Policy, Refusal, Verb};
use super::record::Tape;
use super::secrets::SecretStore;
use super::slots::Slots;
use crate::bindings::emhost::plugin::types;
use crate::diagnostic::{Diagnostic, story};
use crate::inventory::Cluster;
use crate::plugins::Limits;
use crate::redact::{Redactor, one_line};

/// What the host lends to the calls of one plugin.
#[derive(Clone)]
pub struct Context {
    /// The cluster as the inventory describes it.
    pub cluster: Arc<Cluster>,
    /// The plugin's settings at this site.
    pub settings: serde_json::Value,
    /// What the plugin may do.
    pub policy: Policy,
    /// How much of it.
    pub limits: Limits,
    /// Where slots lead.
    pub slots: Arc<Slots>,
    /// Where secrets are kept.
    pub secrets: Arc<dyn SecretStore>,
    /// What must never be seen.
    pub redactor: Redactor,
    /// Where messages go.
    pub events: Arc<dyn Events>,
    /// Where changes are written down.
    pub journal: Arc<dyn Journal>,
    /// Whether host calls are recorded, replayed, or neither.
    pub tape: Tape,
}

/// The guest went over a limit that the host counts.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Exceeded(pub String);

/// The guest did what cannot be answered with a refusal.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.summary)]
pub(crate) struct Stopped(pub Refusal);

/// How many remarks of the host one call can collect.
const NOTES: usize = 16;

/// How much of standard error is shown after a panic.
const SHOWN_WORDS: usize = 4096;

/// Everything one call shares between its capabilities.
pub struct Call {
    pub(crate) verb: Verb,
    pub(crate) unit: Option<String>,
    pub(crate) operation: String,
    pub(crate) settings: String,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) deadline: Instant,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) secrets: Arc<dyn SecretStore>,
    pub(crate) redactor: Redactor,
    pub(crate) tape: Tape,
    events: Arc<dyn Events>,
    journal: Arc<dyn Journal>,
    channels: AtomicUsize,
    changed: AtomicBool,
    requests: AtomicU32,
    ephemeral: AtomicUsize,
    messages: AtomicU32,
    log_bytes: AtomicUsize,
    muted: AtomicBool,
    notes: Mutex<Vec<Diagnostic>>,
    broken: Mutex<Option<Refusal>>,
    waits_for: Mutex<Option<String>>,
    last_words: Mutex<Vec<u8>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Call {
    pub(crate) fn new(context: &Context, verb: Verb, unit: Option<String>, operation: String) -> Self {
        Self {
            verb,
            unit,
            operation,
            settings: context.settings.to_string(),
            policy: context.policy.clone(),
            limits: context.limits.clone(),
            deadline: Instant::now() + context.limits.wall,
            cluster: Arc::clone(&context.cluster),
            slots: Arc::clone(&context.slots),
            secrets: Arc::clone(&context.secrets),
            redactor: context.redactor.clone(),
            tape: context.tape.clone(),
            events: Arc::clone(&context.events),
            journal: Arc::clone(&context.journal),
            channels: AtomicUsize::new(0),
            changed: AtomicBool::new(false),
            requests: AtomicU32::new(0),
            ephemeral: AtomicUsize::new(0),
            messages: AtomicU32::new(0),
            log_bytes: AtomicUsize::new(0),
            muted: AtomicBool::new(false),
            notes: Mutex::default(),
            broken: Mutex::default(),
            waits_for: Mutex::default(),
            last_words: Mutex::default(),
        }
    }

    // ---- rights ---------------------------------------------------------------------------

    /// Asks the policy; a refusal is remembered and shown whatever the guest makes of it.
    pub(crate) fn allow(&self, need: &Need<'_>) -> Result<(), Refusal> {
        self.policy.check(self.verb, need).map_err(|refusal| self.refused(refusal))
    }

    /// A text of the guest's, fit to be shown. Cut only after it was redacted: half a secret is not found.
    pub(crate) fn shown(&self, text: &str, most: usize) -> String {
        one_line(&self.redactor.text(text), most)
    }

    /// Remembers a refusal and gives it back as it may be shown: what the guest wrote (a name, a method)
    /// is in it, so it is cleaned like the guest's words.
    pub(crate) fn refused(&self, mut refusal: Refusal) -> Refusal {
        refusal.summary = self.shown(&refusal.summary, 500);
        refusal.help = refusal.help.map(|help| story(&help, &self.redactor));
        self.remark(Diagnostic::note("host/refused", &refusal.summary).help(refusal.help.clone()));
        if refusal.broke_rule {
            lock(&self.broken).get_or_insert_with(|| refusal.clone());
        }
        refusal
    }

    /// A refusal that the guest cannot be told about: the call ends with it.
    #[expect(clippy::unused_self, reason = "reads as a sentence where it is used")]
    pub(crate) fn stop(&self, refusal: &Refusal) -> wasmtime::Error {
        wasmtime::Error::from(Stopped(refusal.clone()))
    }

    /// Takes the one change of this step and writes it down.
    pub(crate) fn begin_change(&self, request: &str) -> Result<u64, Refusal> {
        if self.changed.swap(true, Ordering::SeqCst) {
            return Err(self.refused(Refusal {
                summary: format!("one change per step: {} already made one, and `{}` is another", self.verb, self.shown(request, 200)),
                help: Some(self.policy.fault()),
                broke_rule: true,
            }));
        }
        let change = Change {
            plugin: self.policy.plugin().to_owned(),
            verb: self.verb.to_string(),
            unit: self.unit.clone(),
            operation: self.operation.clone(),
            request: self.shown(request, 1000),
        };
        self.journal.before(&change).map_err(|error| {
            self.refused(Refusal {
                summary: format!("the change was not made because it could not be journaled: {error}"),
                help: Some("make room for the journal, then run the command again".to_owned()),
                broke_rule: false,
            })
        })
    }

    /// Writes down how the change ended.
    pub(crate) fn end_change(&self, number: u64, outcome: &Outcome) {
        let outcome = match outcome {
            Outcome::Unknown(reason) => &Outcome::Unknown(self.shown(reason, 500)),
            answered @ Outcome::Answered(_) => answered,
        };
        if let Err(error) = self.journal.after(number, outcome) {
            self.remark(Diagnostic::note("journal/outcome", format!("the outcome of a change could not be journaled: {error}")));
        }
    }

    // ---- failures for the guest -----------------------------------------------------------

    pub(crate) fn denied(&self, code: &str, refusal: &Refusal) -> types::Failure {
        self.failure(types::FailureKind::Denied, code, &refusal.summary, refusal.help.clone())
    }

    pub(crate) fn invalid(&self, code: &str, summary: &str) -> types::Failure {
        self.failure(types::FailureKind::Invalid, code, summary, None)
    }

    pub(crate) fn unavailable(&self, code: &str, summary: &str) -> types::Failure {
        self.failure(types::FailureKind::Unavailable, code, summary, None)
    }

    fn failure(&self, kind: types::FailureKind, code: &str, summary: &str, help: Option<String>) -> types::Failure {
        let diagnostic = types::Diagnostic {
            severity: types::Severity::Error,
            code: code.to_owned(),
            summary: self.redactor.text(summary).into_owned(),
            detail: None,
            pointer: None,
            help,
        };
        types::Failure { kind, diagnostics: vec![diagnostic], retry_after_ms: None, state: None }
    }

    // ---- what people see ------------------------------------------------------------------

    pub(crate) fn source(&self) -> Source {
        Source { plugin: self.policy.plugin().to_owned(), call: self.verb.as_str(), unit: self.unit.clone() }
    }

    /// Something the host noticed; it goes with the call's error, if there is one.
    pub(crate) fn remark(&self, diagnostic: Diagnostic) {
        let mut notes = lock(&self.notes);
        if notes.len() < NOTES && !notes.contains(&diagnostic) {
            notes.push(diagnostic);
        }
    }

    pub(crate) fn take_remarks(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut lock(&self.notes))
    }

    pub(crate) fn broken_rule(&self) -> Option<Refusal> {
        lock(&self.broken).clone()
    }

    /// Whether the call may still say something of this length.
    pub(crate) fn may_say(&self, bytes: usize) -> bool {
        let messages = self.messages.fetch_add(1, Ordering::Relaxed);
        let total = self.log_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let within = messages < self.limits.messages && total <= self.limits.log_bytes;
        if !within && !self.muted.swap(true, Ordering::Relaxed) {
            let said = "said more than one call may say; the rest is dropped";
            self.say(Event::Log { source: self.source(), level: "warn", message: said.to_owned(), fields: Vec::new() });
        }
        within
    }

    pub(crate) fn say(&self, event: Event) {
        self.events.event(event);
    }

    /// Keeps the end of standard error for the message of a panic.
    pub(crate) fn hear(&self, bytes: &[u8]) {
        // What is shown, and the longest secret before it: see `last_words`.
        const KEPT: usize = SHOWN_WORDS + (64 << 10);
        let mut words = lock(&self.last_words);
        words.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let excess = words.len().saturating_sub(KEPT);
        words.drain(..excess);
    }

    pub(crate) fn last_words(&self) -> String {
        let words = lock(&self.last_words);
        let words = String::from_utf8_lossy(&words);
        let words = self.redactor.text(&words);
        words[words.ceil_char_boundary(words.len().saturating_sub(SHOWN_WORDS))..].to_owned()
    }

    // ---- volume and time ------------------------------------------------------------------

    /// Counts one request to the outside.
    pub(crate) fn spend_request(&self) -> wasmtime::Result<()> {
        if self.requests.fetch_add(1, Ordering::Relaxed) >= self.limits.requests {
            return Err(Exceeded(format!("made more than {} requests in one call", self.limits.requests)).into());
        }
        Ok(())
    }

    /// Counts bytes that are to be secret for this run only.
    pub(crate) fn spend_ephemeral(&self, bytes: usize, most: usize) -> wasmtime::Result<()> {
        if self.ephemeral.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > most {
            return Err(Exceeded(format!("wants more than {most} bytes kept secret in one call")).into());
        }
        Ok(())
    }

    /// A number for a channel, by which a cassette tells one from another.
    pub(crate) fn number_channel(&self) -> usize {
        self.channels.fetch_add(1, Ordering::Relaxed)
    }

    /// Says what the call waits for while the guard lives.
    pub(crate) fn waiting(self: &Arc<Self>, what: String) -> Waiting {
        *lock(&self.waits_for) = Some(what);
        Waiting(Arc::clone(self))
    }

    pub(crate) fn waits_for(&self) -> Option<String> {
        lock(&self.waits_for).clone()
    }
}

/// Clears what the call waits for.
pub(crate) struct Waiting(Arc<Call>);

impl Drop for Waiting {
    fn drop(&mut self) {
        *lock(&self.0.waits_for) = None;
    }
}

/// The data of one call's store.
pub struct Guest {
    pub(crate) call: Arc<Call>,
    pub(crate) table: ResourceTable,
    pub(crate) wasi: WasiCtx,
    pub(crate) http: WasiHttpCtx,
    pub(crate) outgoing: Outgoing,
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let most = self.call.limits.memory;
        if desired > most {
            return Err(Exceeded(format!("needs more than the {} MiB of memory it may have", most >> 20)).into());
        }
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let most = self.call.limits.table_elements;
        if desired > most {
            return Err(Exceeded(format!("needs a table of more than the {most} elements it may have")).into());
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.call.limits.instances
    }

    fn tables(&self) -> usize {
        self.call.limits.instances
    }

    fn memories(&self) -> usize {
        self.call.limits.instances
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.outgoing }
    }
}

// Types are shared by all interfaces; the interface itself has no functions.
impl types::Host for Guest {}
