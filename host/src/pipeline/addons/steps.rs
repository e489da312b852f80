//! Addons carried out, one change at a time: put in, cleaned up behind, waited for; or taken out.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use super::super::kubernetes::{again, failed, trouble};
use super::super::run::{Run, Turn};
use super::super::unit::UnitId;
use super::seeing::{Fate, Found, Kept, Left, Seen, applied, refused};
use super::sources::refusal;
use super::{Addon, Object, Stage};
use crate::bindings::emhost::plugin::types::{Again, FailureKind, State, Step};
use crate::diagnostic::Diagnostic;
use crate::kube::inventory::{self, Inventory};
use crate::kube::object::{Id, release, round, uid};
use crate::kube::{ApiError, Body, Client};
use crate::plugins::CallError;

/// How long a kind may take to be there: whoever defines it may have to start first.
const KIND: Duration = Duration::from_mins(3);
/// The pause before something that goes is looked at again.
const PAUSE: Duration = Duration::from_millis(300);
/// The layout of what is remembered: the objects, as a list.
const SCHEMA: u32 = 1;

impl Run {
    /// One step of an addon.
    pub(in super::super) async fn step_addon(&self, unit: &UnitId, addon: &Addon) -> Result<Step, CallError> {
        let client = self.kubernetes(unit, Turn::Have).await?;
        let kept = self.inventory_of(&client, addon).await.map_err(|error| trouble(unit, &error))?;
        let known = kept.known.clone();
        let step = match &addon.stage {
            Some(stage) => self.put_in(&client, unit, addon, stage, &kept).await?,
            None => self.take_out(&client, unit, addon, &kept, &[]).await?,
        };
        // What is remembered beside the cluster is never less than what may be there.
        Ok(match step {
            Some(Step::Again(again)) => Step::Again(Again { state: Some(remembered(&known)), ..again }),
            Some(done) => done,
            None => {
                self.kubernetes.going().remove(&addon.name);
                Step::Done(None)
            }
        })
    }

    /// Brings the objects to what was rendered, takes away what is not wanted any more, and waits.
    async fn put_in(&self, client: &Client, unit: &UnitId, addon: &Addon, stage: &Stage, kept: &Kept) -> Result<Option<Step>, CallError> {
        for (address, image) in &stage.pins {
            let refused = |error| failed(unit, FailureKind::Conflict, vec![refusal(&error)]);
            self.pins.keep(address, image).map_err(refused)?;
        }
        let first = self.kubernetes.going().get(&addon.name).map_or(0, |going| going.next);
        for (index, object) in stage.objects.iter().enumerate().skip(first) {
            let found = self.look_at(client, addon, stage, object).await.map_err(|error| trouble(unit, &error))?;
            if let Some(step) = self.object(client, unit, (addon, stage, object), found, kept).await? {
                return Ok(Some(step));
            }
            let mut going = self.kubernetes.going();
            let going = going.entry(addon.name.clone()).or_default();
            (going.next, going.since) = (index + 1, None);
        }
        let wanted = self.placed(client, stage).await.map_err(|error| trouble(unit, &error))?;
        if let Some(step) = self.take_out(client, unit, addon, kept, &wanted).await? {
            return Ok(Some(step));
        }
        if let Some(step) = self.wait(client, unit, addon, stage).await? {
            return Ok(Some(step));
        }
        self.kubernetes.going().remove(&addon.name);
        Ok(Some(Step::Done(Some(remembered(&wanted)))))
    }

    /// One object. None: it is as it should be, or not ours to change.
    async fn object(
        &self,
        client: &Client,
        unit: &UnitId,
        (addon, stage, object): (&Addon, &Stage, &Object),
        found: Found,
        kept: &Kept,
    ) -> Result<Option<Step>, CallError> {
        let title = object.id.title();
        match (found.seen, found.place) {
            (Seen::Same | Seen::Owned(_), _) => Ok(None),
            (Seen::Refused(why), _) => Err(failed(unit, FailureKind::Conflict, vec![*why])),
            (Seen::Leaving, _) => Ok(Some(again(PAUSE, &format!("an earlier {title} to be gone")))),
            (Seen::New | Seen::Differs { .. }, Some((id, path))) => {
                if !kept.inventory.has(&id) {
                    let mut inventory = Inventory { order: addon.order, objects: kept.known.clone(), ..kept.inventory.clone() };
                    inventory.add(self.placed(client, stage).await.map_err(|error| trouble(unit, &error))?);
                    return Ok(Some(self.keep(client, unit, &inventory).await?));
                }
                let answer = self.change(client, unit, (Method::PATCH, &applied(&path), Body::Apply(&found.wanted))).await?;
                match answer {
                    Ok(_) => Ok(Some(again(Duration::ZERO, &format!("{title} is applied")))),
                    Err(error) if error.code() == Some(404) => self.not_yet(client, unit, addon, &id, &error.to_string()).await.map(Some),
                    Err(error) if error.is_passing() || error.code().is_none() => Err(trouble(unit, &error)),
                    Err(error) => Err(failed(unit, FailureKind::Conflict, vec![refused(addon, object, &id, &error)])),
                }
            }
            (Seen::Unknown | Seen::New | Seen::Differs { .. }, _) => {
                let why = format!("the cluster does not know {} {}", object.id.api_version, object.id.kind);
                self.not_yet(client, unit, addon, &object.id, &why).await.map(Some)
            }
        }
    }

    /// Something that an object needs is not there: a namespace nobody brings; or a kind, which is waited for, and not for ever.
    async fn not_yet(&self, client: &Client, unit: &UnitId, addon: &Addon, id: &Id, why: &str) -> Result<Step, CallError> {
        let namespace = format!("/api/v1/namespaces/{}", id.namespace);
        if !id.namespace.is_empty() && client.get(&namespace).await.map_err(|error| trouble(unit, &error))?.is_none() {
            let summary = format!("{} of addon {}: there is no namespace {}", id.title(), addon.name, id.namespace);
            let help =
                format!("add a manifest of kind Namespace to the addon, or make it with `kubectl create namespace {}`", id.namespace);
            return Err(failed(unit, FailureKind::Conflict, vec![Diagnostic::error("addon/namespace", summary).help(Some(help))]));
        }
        let limit = KIND.min(self.options.deadline);
        if self.waits_since(addon, why) < limit {
            return Ok(again(PAUSE, why));
        }
        let summary = format!("addon {}: {why}, and nobody brought it within {limit:?}", addon.name);
        let help = "bring its CustomResourceDefinition with this addon or an earlier one; or correct `apiVersion` and `kind`";
        Err(failed(unit, FailureKind::Conflict, vec![Diagnostic::error("addon/kind", summary).help(Some(help))]))
    }

    /// For how long an addon has been waiting for this.
    fn waits_since(&self, addon: &Addon, why: &str) -> Duration {
        let mut going = self.kubernetes.going();
        let going = going.entry(addon.name.clone()).or_default();
        let since = going.since.take().filter(|(what, _)| what == why).unwrap_or_else(|| (why.to_owned(), Instant::now()));
        let elapsed = since.1.elapsed();
        going.since = Some(since);
        elapsed
    }

    /// Which objects a stage has, as far as their kinds are there.
    async fn placed(&self, client: &Client, stage: &Stage) -> Result<Vec<Id>, ApiError> {
        let mut all = Vec::new();
        for object in &stage.objects {
            let kind = self.kubernetes.kinds.find(client, &object.id.api_version, &object.id.kind).await?;
            all.extend(kind.map(|resource| object.placed(&resource)));
        }
        Ok(all)
    }

    /// Keeps an inventory in the cluster.
    async fn keep(&self, client: &Client, unit: &UnitId, inventory: &Inventory) -> Result<Step, CallError> {
        let value = inventory.value(&self.now.get().id);
        let answer = self.change(client, unit, (Method::PATCH, &applied(&inventory::path(&inventory.addon)), Body::Apply(&value))).await?;
        answer.map_err(|error| trouble(unit, &error))?;
        Ok(again(Duration::ZERO, "its inventory is kept in the cluster"))
    }

    /// Takes away what was applied and is not wanted any more. None: nothing of it is left, and the inventory says so.
    async fn take_out(&self, client: &Client, unit: &UnitId, addon: &Addon, kept: &Kept, wanted: &[Id]) -> Result<Option<Step>, CallError> {
        let left = self.left(client, addon, &kept.known, wanted).await.map_err(|error| trouble(unit, &error))?;
        if let Some(step) = self.remove(client, unit, &left).await? {
            return Ok(Some(step));
        }
        if addon.stage.is_none() {
            let Some(live) = &kept.live else { return Ok(None) };
            return self.delete(client, unit, &inventory::path(&addon.name), uid(live), "its inventory").await.map(Some);
        }
        let same = kept.inventory.objects.len() == wanted.len() && wanted.iter().all(|id| kept.inventory.objects.contains(id));
        // An addon of nothing needs no inventory.
        if (same && kept.inventory.order == addon.order && kept.live.is_some()) || (wanted.is_empty() && kept.live.is_none()) {
            return Ok(None);
        }
        let inventory = Inventory { addon: addon.name.clone(), order: addon.order, objects: wanted.to_vec() };
        self.keep(client, unit, &inventory).await.map(Some)
    }

    /// What needs a controller to clean up after it goes before that does, definitions and namespaces go last; each round is over
    /// before the next begins.
    async fn remove(&self, client: &Client, unit: &UnitId, left: &[Left]) -> Result<Option<Step>, CallError> {
        let going = left.iter().filter(|left| matches!(left.fate, Fate::Goes | Fate::Leaving(_)));
        if let Some(now) = going.clone().map(|left| round(&left.id)).min() {
            let of_round: Vec<&Left> = going.filter(|left| round(&left.id) == now).collect();
            // The last to come is the first to go.
            if let Some(next) = of_round.iter().rev().find(|left| matches!(left.fate, Fate::Goes)) {
                self.kubernetes.kinds.forget();
                return self.delete(client, unit, &next.path, uid(&next.live), &next.id.title()).await.map(Some);
            }
            let waits = of_round.first().map_or_else(String::new, |left| match &left.fate {
                Fate::Leaving(finalizers) if !finalizers.is_empty() => {
                    format!("{} to be gone, which waits for {}", left.id.title(), finalizers.join(", "))
                }
                _ => format!("{} to be gone", left.id.title()),
            });
            return Ok(Some(again(PAUSE, &waits)));
        }
        let Some(stays) = left.iter().find(|left| matches!(left.fate, Fate::Stays)) else { return Ok(None) };
        let answer = self.change(client, unit, (Method::PATCH, &stays.path, Body::Merge(&release(&stays.live)))).await?;
        match answer {
            Ok(_) => Ok(Some(again(Duration::ZERO, &format!("{} stays, without the mark", stays.id.title())))),
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(Some(again(PAUSE, "it is looked at again"))),
            Err(error) => Err(trouble(unit, &error)),
        }
    }

    /// Deletes the one object that was seen, and no other of its name.
    async fn delete(&self, client: &Client, unit: &UnitId, path: &str, uid: &str, title: &str) -> Result<Step, CallError> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": {"uid": uid},
        });
        match self.change(client, unit, (Method::DELETE, path, Body::Json(&options))).await? {
            Ok(_) => Ok(again(Duration::ZERO, &format!("{title} goes"))),
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(again(PAUSE, "it is looked at again")),
            Err(error) => Err(trouble(unit, &error)),
        }
    }
}

fn remembered(objects: &[Id]) -> State {
    // A list of plain records can always be written.
    State { schema: SCHEMA, data: serde_json::to_string(objects).unwrap_or_else(|_| "[]".to_owned()) }
}
