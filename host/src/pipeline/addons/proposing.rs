//! What an apply would do to the objects of an addon, for the plan.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};

use super::super::job::Proposed;
use super::super::kubernetes::trouble;
use super::super::plan::{Action, Change, Disruption, Field};
use super::super::run::{Run, Turn};
use super::super::unit::UnitId;
use super::seeing::{Fate, Found, Left, Seen};
use super::{Addon, Object, secrets};
use crate::diagnostic::Diagnostic;
use crate::kube::diff::Difference;
use crate::kube::object::{Id, loses};
use crate::kube::{ApiError, Client};
use crate::plugins::CallError;

/// How many objects are looked at together.
const WIDE: usize = 8;
/// How many objects a note names.
const NAMED: usize = 3;

impl Run {
    /// What an apply would do to an addon now.
    pub(in super::super) async fn plan_addon(&self, unit: &UnitId, turn: Turn, addon: &Addon) -> Result<Proposed, CallError> {
        if let Some(stage) = addon.stage.as_ref().filter(|_| !self.bootstrapped()) {
            let actions = stage.objects.iter().map(|object| action(Change::Create, object.id.title(), String::new())).collect();
            return Ok(Proposed { actions, ..Proposed::default() });
        }
        let client = self.kubernetes(unit, turn).await?;
        self.compare(&client, addon).await.map_err(|error| trouble(unit, &error))
    }

    async fn compare(&self, client: &Client, addon: &Addon) -> Result<Proposed, ApiError> {
        let mut proposed = Proposed::default();
        let mut owned = Owned::default();
        let kept = self.inventory_of(client, addon).await?;
        let mut wanted: Vec<Id> = Vec::new();
        if let Some(stage) = &addon.stage {
            let looks: Vec<_> = stage.objects.iter().map(|object| self.look_at(client, addon, stage, object)).collect();
            let all: Vec<Found> = futures::stream::iter(looks).buffered(WIDE).try_collect().await?;
            for (object, found) in stage.objects.iter().zip(all) {
                match found.seen {
                    Seen::Same => {}
                    Seen::Owned(by) => owned.add(&format!("{} ({})", by.tool, by.by), &object.id),
                    Seen::Refused(why) => {
                        proposed.actions.push(action(Change::Update, object.id.title(), "it cannot be applied as it is".to_owned()));
                        proposed.notes.push(*why);
                    }
                    Seen::Unknown => proposed.actions.push(action(Change::Create, object.id.title(), "once its kind is there".to_owned())),
                    Seen::New => proposed.actions.push(action(Change::Create, object.id.title(), String::new())),
                    Seen::Leaving => {
                        proposed.actions.push(action(
                            Change::Create,
                            object.id.title(),
                            "once the one that is being deleted is gone".to_owned(),
                        ));
                    }
                    Seen::Differs { fields, taken } => proposed.actions.push(update(object, fields, taken)),
                }
                wanted.extend(found.place.map(|(id, _)| id));
            }
            proposed.unfinished = !self.unready(client, stage).await?.is_empty();
        }
        for left in self.left(client, addon, &kept.known, &wanted).await? {
            match &left.fate {
                Fate::Goes | Fate::Leaving(_) => proposed.actions.push(removal(addon, &left)),
                Fate::Stays => {
                    let reason = "it was there before this addon, so it stays; only emhost's mark goes".to_owned();
                    proposed.actions.push(action(Change::Update, left.id.title(), reason));
                }
                Fate::Handed(by) => owned.add(&format!("{} ({})", by.tool, by.by), &left.id),
            }
        }
        proposed.unfinished |= match &addon.stage {
            Some(stage) => kept.live.is_none() && !stage.objects.is_empty(),
            // What is remembered of it goes, too.
            None => true,
        };
        proposed.notes.extend(owned.notes(&addon.name));
        Ok(proposed)
    }
}

/// What somebody else has, by who that is.
#[derive(Default)]
struct Owned(BTreeMap<String, Vec<String>>);

impl Owned {
    fn add(&mut self, owner: &str, id: &Id) {
        self.0.entry(owner.to_owned()).or_default().push(id.title());
    }

    fn notes(self, addon: &str) -> Vec<Diagnostic> {
        let note = |(owner, titles): (String, Vec<String>)| {
            let more = titles.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = titles.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let summary = format!("addon {addon}: {named}{more} belong to {owner}; emhost only looks at what was handed over");
            Diagnostic::note("addon/handed-over", summary)
        };
        self.0.into_iter().map(note).collect()
    }
}

fn action(change: Change, subject: String, reason: String) -> Action {
    Action { change, subject, disruption: Disruption::None, reason, fields: Vec::new(), place: None, irreversible: false }
}

fn update(object: &Object, fields: Vec<Difference>, taken: bool) -> Action {
    // A changed template means new pods.
    let restarts = matches!(object.id.kind.as_str(), "Deployment" | "DaemonSet" | "StatefulSet")
        && fields.iter().any(|field| field.pointer.starts_with("/spec/template/"));
    let field = |one: Difference| {
        let sensitive = object.sensitive || secrets::hides(&object.id.kind, &one.pointer);
        let shown = |value: Option<serde_json::Value>| value.filter(|_| !sensitive);
        Field { pointer: one.pointer, before: shown(one.before), after: shown(one.after), sensitive, place: None }
    };
    let reason = if taken { "it is there already, and nobody else holds what the addon says of it" } else { "" };
    Action {
        disruption: if restarts { Disruption::Restart } else { Disruption::None },
        fields: fields.into_iter().map(field).collect(),
        ..action(Change::Update, object.id.title(), reason.to_owned())
    }
}

fn removal(addon: &Addon, left: &Left) -> Action {
    let why = if addon.stage.is_some() { "the addon does not have it any more" } else { "the addon is not wanted any more" };
    let lost = loses(&left.id);
    Action {
        disruption: if left.id.kind == "PersistentVolumeClaim" { Disruption::DataLoss } else { Disruption::None },
        irreversible: lost.is_some(),
        ..action(Change::Destroy, left.id.title(), lost.map_or_else(|| why.to_owned(), |lost| format!("{why}; {lost}")))
    }
}
