//! Whether an addon is ready, so that the next one may come; and if it never gets there, why.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::kubernetes::{again, failed, trouble};
use super::super::run::Run;
use super::super::unit::UnitId;
use super::rendering::waited;
use super::{Addon, Stage};
use crate::bindings::emhost::plugin::types::{FailureKind, Step};
use crate::diagnostic::Diagnostic;
use crate::kube::object::{Id, rank};
use crate::kube::readiness::{Readiness, condition, readiness, selector, troubles};
use crate::kube::{ApiError, Client};
use crate::plugins::CallError;

/// How long definitions and namespaces may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// Something that is not ready.
pub(super) struct Unready {
    id: Id,
    why: Readiness,
    live: Option<Value>,
    limit: Duration,
}

impl Unready {
    fn words(&self) -> String {
        let why = match &self.why {
            Readiness::Ready => "is ready",
            Readiness::Not(why) | Readiness::Never(why) => why,
        };
        format!("{}: {why}", self.id.title())
    }
}

impl Run {
    /// What a stage waits for and is not ready yet. Definitions and namespaces are always waited for: what comes next needs them.
    pub(super) async fn unready(&self, client: &Client, stage: &Stage) -> Result<Vec<Unready>, ApiError> {
        let mut all = Vec::new();
        for object in stage.objects.iter().filter(|object| rank(&object.id) <= 1) {
            all.extend(self.waited(client, &object.id, PATIENCE, readiness).await?);
        }
        for wait in &stage.waits {
            let id = waited(wait);
            let limit = if wait.timeout_ms == 0 { self.options.deadline } else { Duration::from_millis(wait.timeout_ms.into()) };
            all.extend(self.waited(client, &id, limit, |live| condition(live, &wait.condition)).await?);
        }
        Ok(all)
    }

    async fn waited(
        &self,
        client: &Client,
        id: &Id,
        limit: Duration,
        judge: impl Fn(&Value) -> Readiness,
    ) -> Result<Option<Unready>, ApiError> {
        let unready = |why: Readiness, live: Option<Value>| Some(Unready { id: id.clone(), why, live, limit });
        let Some(resource) = self.kubernetes.kinds.find(client, &id.api_version, &id.kind).await? else {
            return Ok(unready(Readiness::Not("its kind is not there".to_owned()), None));
        };
        let mut placed = id.clone();
        if resource.namespaced && placed.namespace.is_empty() {
            "default".clone_into(&mut placed.namespace);
        }
        let Some(live) = client.get(&resource.path(&placed)).await? else {
            return Ok(unready(Readiness::Not("it is not there".to_owned()), None));
        };
        let why = judge(&live);
        Ok(if why == Readiness::Ready { None } else { unready(why, Some(live)) })
    }

    /// One look at what an addon waits for. None: it is ready.
    pub(super) async fn wait(&self, client: &Client, unit: &UnitId, addon: &Addon, stage: &Stage) -> Result<Option<Step>, CallError> {
        let unready = self.unready(client, stage).await.map_err(|error| trouble(unit, &error))?;
        let Some(first) = unready.first() else { return Ok(None) };
        let (elapsed, looks) = {
            let mut going = self.kubernetes.going();
            let going = going.entry(addon.name.clone()).or_default();
            going.looks += 1;
            let begun = going.since.get_or_insert_with(|| ("ready".to_owned(), Instant::now())).1;
            (begun.elapsed(), going.looks)
        };
        let lost = unready.iter().find(|one| matches!(one.why, Readiness::Never(_)) || elapsed >= one.limit);
        if let Some(lost) = lost {
            return Err(failed(unit, FailureKind::Conflict, vec![self.never(client, addon, lost, &unready).await]));
        }
        let more = if unready.len() > 1 { format!(" (and {} more)", unready.len() - 1) } else { String::new() };
        let pause = Duration::from_millis(100 << looks.min(4));
        Ok(Some(again(pause, &format!("{}{more}", first.words()))))
    }

    /// Everything that can be said of what does not get ready.
    async fn never(&self, client: &Client, addon: &Addon, lost: &Unready, unready: &[Unready]) -> Diagnostic {
        let mut story: Vec<String> = unready.iter().filter(|one| one.id != lost.id).map(Unready::words).collect();
        if let Some(selector) = lost.live.as_ref().and_then(selector) {
            let path = format!("/api/v1/namespaces/{}/pods?labelSelector={selector}&limit=50", lost.id.namespace);
            // Whatever keeps them from being listed, the first reason is told.
            let pods = client.get(&path).await.ok().flatten().unwrap_or_default();
            story.splice(0..0, troubles(&pods));
        }
        let within = if matches!(lost.why, Readiness::Never(_)) { String::new() } else { format!(" within {:?}", lost.limit) };
        let summary = format!("addon {} did not get ready{within}: {}", addon.name, lost.words());
        let help = "what comes after it is not begun; mend that and apply again: it goes on where it is";
        let diagnostic = Diagnostic::error("addon/not-ready", summary).help(Some(help));
        if story.is_empty() { diagnostic } else { diagnostic.detail(story.join("\n")) }
    }
}
