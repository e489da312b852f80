//! The cluster's Kubernetes, as a run works with it: access of minutes, whichever address answers, and changes that are written down.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Method, Url};

use super::addons::Going;
use super::run::{Run, Turn};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::inventory::NodeRole;
use crate::bindings::emhost::plugin::types::{Again, FailureKind, Step};
use crate::capabilities::journal::{Change as Changing, Journal, Outcome};
use crate::capabilities::policy::Verb;
use crate::diagnostic::Diagnostic;
use crate::kube::discovery::Discovery;
use crate::kube::{Access, ApiError, Body, Client};
use crate::plugins::{CallError, Cause};
use crate::state::UnitJournal;

/// Who does what no plugin does.
pub(super) const HOST: &str = "emhost";
/// How long an access to Kubernetes is good, and when another one is made.
const VALID: Duration = Duration::from_mins(15);
const RENEWED: Duration = Duration::from_mins(8);
/// The port of the API where the configuration names none.
const PORT: u16 = 6443;

/// What a run remembers of the cluster's Kubernetes: never written down.
#[derive(Default)]
pub struct Kubernetes {
    client: tokio::sync::Mutex<Option<(Instant, Arc<Client>)>>,
    held: std::sync::Mutex<BTreeMap<String, Held>>,
    /// Addons at work, by name.
    going: std::sync::Mutex<BTreeMap<String, Going>>,
    /// The kinds that the server knows.
    pub(super) kinds: Discovery,
}

/// Pods of one node that do not go now, by what proves them, and how often all of them were tried.
#[derive(Default)]
pub(super) struct Held {
    pub why: BTreeMap<String, String>,
    pub rounds: u32,
}

impl Kubernetes {
    pub(super) fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn going(&self) -> MutexGuard<'_, BTreeMap<String, Going>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Trouble of the host's own, in the shape in which that of plugins comes.
pub(super) fn trouble(unit: &UnitId, error: &ApiError) -> CallError {
    let kind = match error {
        ApiError::Access(_) => FailureKind::Invalid,
        error if error.is_passing() => FailureKind::Unavailable,
        error if matches!(error.code(), Some(401 | 403)) => FailureKind::Denied,
        _ => FailureKind::Conflict,
    };
    let help = match kind {
        FailureKind::Unavailable => "see how the control plane is with `emhost status`, then apply again: it goes on where it is",
        _ => "look at the answer, then apply again: it goes on where it is",
    };
    failed(unit, kind, vec![Diagnostic::error("kubernetes/api", error.to_string()).help(Some(help))])
}

/// What keeps the host itself from going on.
pub(super) fn failed(unit: &UnitId, kind: FailureKind, diagnostics: Vec<Diagnostic>) -> CallError {
    let cause = Cause::Failed { kind, diagnostics, retry_after: None, state: None };
    let unit = Some(unit.to_string());
    CallError { plugin: String::new(), verb: Verb::Access, unit, cause, remarks: Vec::new(), last_words: None }
}

impl Run {
    /// A client of the cluster's Kubernetes, with an access of minutes.
    pub(super) async fn kubernetes(&self, unit: &UnitId, turn: Turn) -> Result<Arc<Client>, CallError> {
        let mut kept = self.kubernetes.client.lock().await;
        if let Some((made, client)) = kept.as_ref().filter(|(made, _)| made.elapsed() < RENEWED) {
            let _ = made;
            return Ok(Arc::clone(client));
        }
        let distro = &self.crew.distro;
        let seconds = u32::try_from(VALID.as_secs()).unwrap_or(u32::MAX);
        let text = self.look(turn, || async {
            let context = distro.looks(None);
            distro.plugin.access(&context, "kubernetes", &[], seconds).await
        });
        let text = text.await?;
        let access = Access::parse(&text).map_err(|error| trouble(unit, &ApiError::Access(error.to_string())))?;
        let servers = self.servers(&access.server);
        let client = Arc::new(Client::new(&access, servers).map_err(|error| trouble(unit, &error))?);
        *kept = Some((Instant::now(), Arc::clone(&client)));
        Ok(client)
    }

    /// Where the API may be: where the site says; otherwise at every control plane, and at last where the configuration says,
    /// because a shared address is there only once the cluster is.
    fn servers(&self, configured: &Url) -> Vec<Url> {
        if let Some(bound) = self.slots.server("kubernetes") {
            return vec![bound];
        }
        let at = |host: &str| {
            let mut url = configured.clone();
            url.set_port(Some(configured.port().unwrap_or(PORT))).ok()?;
            url.set_host(Some(&self.slots.dial(host))).ok()?;
            Some(url)
        };
        let cluster = self.now.get();
        let planes = cluster.nodes.iter().filter(|node| node.role == NodeRole::ControlPlane);
        let mut servers: Vec<Url> = planes.filter_map(|node| at(node.address()?)).collect();
        let last = configured.host_str().and_then(at).unwrap_or_else(|| configured.clone());
        if !servers.contains(&last) {
            servers.push(last);
        }
        servers
    }

    /// A change of the host's own: written down before it goes out, and how it ended.
    pub(super) async fn change(
        &self,
        client: &Client,
        unit: &UnitId,
        request: (Method, &str, Body<'_>),
    ) -> Result<Result<serde_json::Value, ApiError>, CallError> {
        let (method, path, body) = request;
        let journal = UnitJournal { store: Arc::clone(&self.store), unit: unit.to_string() };
        let change = Changing {
            plugin: HOST.to_owned(),
            verb: unit.kind().to_owned(),
            unit: Some(unit.to_string()),
            operation: unit.to_string(),
            request: format!("{method} {}{path}", client.server()),
        };
        let unwritten = |error: std::io::Error| trouble(unit, &ApiError::Access(format!("the journal cannot be written: {error}")));
        let number = journal.before(&change).map_err(unwritten)?;
        let answer = client.change(&method, path, body).await;
        let outcome = match &answer {
            Ok(_) => Outcome::Answered(200),
            Err(error) => error.code().map_or_else(|| Outcome::Unknown(error.to_string()), Outcome::Answered),
        };
        // The step's own record says as much; one that is missing only makes the next run look.
        let _ = journal.after(number, &outcome);
        Ok(answer)
    }
}

/// Another step follows.
pub(super) fn again(pause: Duration, reason: &str) -> Step {
    let after_ms = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX);
    Step::Again(Again { after_ms, reason: reason.to_owned(), state: None, holds: Vec::new() })
}
