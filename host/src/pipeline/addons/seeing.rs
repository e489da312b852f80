//! An addon's objects as the cluster has them, and what an apply would make of them.

use reqwest::Method;
use serde_json::Value;

use super::super::run::Run;
use super::{Addon, MANAGER, Object, Stage, secrets};
use crate::diagnostic::Diagnostic;
use crate::kube::diff::{Difference, differences};
use crate::kube::discovery::Resource;
use crate::kube::inventory::{self, Inventory};
use crate::kube::object::{Id, Whose, is_adopted, is_leaving};
use crate::kube::owner::{Owner, conflicts, gitops};
use crate::kube::{ApiError, Body, Client};
use crate::redact::one_line;

/// What an apply would do to an object.
pub(super) enum Seen {
    /// Its kind is not there yet.
    Unknown,
    /// It is not there.
    New,
    /// It is as it should be.
    Same,
    /// It differs; and whether it was there before emhost had to do with it.
    Differs { fields: Vec<Difference>, taken: bool },
    /// Flux or Argo CD have it.
    Owned(Owner),
    /// One of its name is on its way out.
    Leaving,
    /// The server, or we, would not do it.
    Refused(Box<Diagnostic>),
}

/// An object as it was found.
pub(super) struct Found {
    pub seen: Seen,
    /// Which it is, and where.
    pub place: Option<(Id, String)>,
    /// What would be sent.
    pub wanted: Value,
}

/// What is known of an addon's objects.
pub(super) struct Kept {
    /// The inventory as the cluster has it.
    pub live: Option<Value>,
    /// What that says.
    pub inventory: Inventory,
    /// The same, and what is remembered here.
    pub known: Vec<Id>,
}

/// What becomes of something that is not wanted any more.
pub(super) enum Fate {
    /// It goes.
    Goes,
    /// It is on its way out, held by these finalizers.
    Leaving(Vec<String>),
    /// It was there before, so it stays and loses the mark.
    Stays,
    /// Somebody else has it now.
    Handed(Owner),
}

/// An object that was applied and is not wanted any more.
pub(super) struct Left {
    pub id: Id,
    pub path: String,
    pub live: Value,
    pub fate: Fate,
}

/// Where something is applied.
pub(super) fn applied(path: &str) -> String {
    format!("{path}?fieldManager={MANAGER}")
}

impl Object {
    /// Which it is, once it is known whether its kind has namespaces.
    pub(super) fn placed(&self, resource: &Resource) -> Id {
        let namespace = if resource.namespaced { self.namespace().to_owned() } else { String::new() };
        Id { namespace, ..self.id.clone() }
    }

    /// As it is sent.
    fn wanted(&self, id: &Id, addon: &Addon, stage: &Stage, cluster: &str, adopted: bool) -> Value {
        let mut value = self.value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("namespace");
            if !id.namespace.is_empty() {
                metadata.insert("namespace".to_owned(), id.namespace.as_str().into());
            }
        }
        addon.mark(cluster).put(&mut value, adopted);
        secrets::fill(&mut value, &stage.secrets);
        value
    }
}

impl Run {
    /// Looks at one object, and has the server say what an apply would make of it.
    pub(super) async fn look_at(&self, client: &Client, addon: &Addon, stage: &Stage, object: &Object) -> Result<Found, ApiError> {
        let kind = self.kubernetes.kinds.find(client, &object.id.api_version, &object.id.kind).await?;
        let Some(resource) = kind else { return Ok(Found { seen: Seen::Unknown, place: None, wanted: Value::Null }) };
        let cluster = self.now.get();
        let (id, mark) = (object.placed(&resource), addon.mark(&cluster.id));
        let path = resource.path(&id);
        let live = client.get(&path).await?;
        let taken = live.as_ref().is_some_and(|live| mark.whose(live) == Whose::Nobody);
        let adopted = taken || live.as_ref().is_some_and(is_adopted);
        let wanted = object.wanted(&id, addon, stage, &cluster.id, adopted);
        let found = |seen: Seen| Found { seen, place: Some((id.clone(), path.clone())), wanted: wanted.clone() };
        if let Some(live) = &live {
            if is_leaving(live) {
                return Ok(found(Seen::Leaving));
            }
            if let Some(owner) = gitops(live) {
                return Ok(found(Seen::Owned(owner)));
            }
            if let Whose::Cluster(other) = mark.whose(live) {
                let summary = format!("{} of addon {} carries the mark of another cluster ({other})", id.title(), addon.name);
                let help =
                    "it is left alone; rename one of the two, or take the label emhost.dev/cluster off it if nobody else works on it";
                return Ok(found(Seen::Refused(Box::new(Diagnostic::error("addon/other-cluster", summary).help(Some(help))))));
            }
        }
        let tried = client.ask(&Method::PATCH, &format!("{}&dryRun=All", applied(&path)), Body::Apply(&wanted)).await;
        let seen = match (tried, live) {
            // What it is to be in may not be there yet.
            (Ok(_), None) => Seen::New,
            (Err(error), _) if error.code() == Some(404) => Seen::New,
            (Ok(would), Some(live)) => match differences(&live, &would) {
                fields if fields.is_empty() => Seen::Same,
                fields => Seen::Differs { fields, taken },
            },
            (Err(error), _) if error.is_passing() || error.code().is_none() => return Err(error),
            (Err(error), _) => Seen::Refused(Box::new(refused(addon, object, &id, &error))),
        };
        Ok(found(seen))
    }

    /// The inventory of an addon, as the cluster has it and as it is remembered here.
    pub(super) async fn inventory_of(&self, client: &Client, addon: &Addon) -> Result<Kept, ApiError> {
        let live = client.get(&inventory::path(&addon.name)).await?;
        let read = live.as_ref().and_then(|live| Inventory::of(live, &self.now.get().id));
        let empty = Inventory { addon: addon.name.clone(), order: addon.order, objects: Vec::new() };
        let inventory = read.unwrap_or(empty);
        let mut all = inventory.clone();
        all.add(self.remembered(addon));
        Ok(Kept { live, inventory, known: all.objects })
    }

    fn remembered(&self, addon: &Addon) -> Vec<Id> {
        // What another emhost wrote there in another shape is in the cluster too.
        self.state(&addon.unit()).and_then(|state| serde_json::from_str(&state.data).ok()).unwrap_or_default()
    }

    /// What was applied, is there, and is not wanted any more. What does not carry the mark of this addon is nobody's to take away.
    pub(super) async fn left(&self, client: &Client, addon: &Addon, known: &[Id], wanted: &[Id]) -> Result<Vec<Left>, ApiError> {
        let cluster = self.now.get();
        let mark = addon.mark(&cluster.id);
        let mut all = Vec::new();
        let is_elsewhere = |id: &Id| {
            addon
                .elsewhere
                .iter()
                .any(|other| other.is_but_for_namespace(id) && (id.namespace.is_empty() || id.namespace == other.namespace))
        };
        for id in known.iter().filter(|id| !wanted.iter().any(|other| other.is(id)) && !is_elsewhere(id)) {
            let Some((id, resource)) = self.kubernetes.kinds.find_any(client, id).await? else { continue };
            let path = resource.path(&id);
            let Some(live) = client.get(&path).await? else { continue };
            if mark.whose(&live) != Whose::Ours {
                continue;
            }
            let fate = match gitops(&live) {
                Some(owner) => Fate::Handed(owner),
                None if is_leaving(&live) => Fate::Leaving(finalizers(&live)),
                None if is_adopted(&live) => Fate::Stays,
                None => Fate::Goes,
            };
            all.push(Left { id, path, live, fate });
        }
        Ok(all)
    }
}

fn finalizers(live: &Value) -> Vec<String> {
    let all = live.pointer("/metadata/finalizers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// Why the server would not take an object, for a person.
pub(super) fn refused(addon: &Addon, object: &Object, id: &Id, error: &ApiError) -> Diagnostic {
    let title = format!("{} of addon {}", id.title(), addon.name);
    let ApiError::Refused { refused, .. } = error else { return Diagnostic::error("addon/refused", format!("{title}: {error}")) };
    let conflicts = conflicts(refused);
    if !conflicts.is_empty() {
        let whose: Vec<String> = conflicts.into_iter().map(|(manager, fields)| format!("{manager} has {}", fields.join(", "))).collect();
        let summary = format!("{title} is held by somebody else: {}", one_line(&whose.join("; "), 400));
        let help = "nothing was forced: put these values back to what the addon says or remove them there, or have the addon say what \
                    they are now, or leave them out of it; then apply again";
        return Diagnostic::error("addon/conflict", summary).help(Some(help));
    }
    // Of what is not to be seen, the server's words may quote a part.
    let said = if object.sensitive || object.id.kind == "Secret" { "its words may quote what is in it" } else { &refused.message };
    let summary = format!("{title} was refused with {}: {said}", refused.code);
    let help = if refused.message.contains("immutable") {
        format!(
            "this cannot be changed in place: `kubectl delete` it if that can be afforded, then apply again and it is made anew ({})",
            object.from
        )
    } else {
        format!("mend it where it is written ({}), then apply again", object.from)
    };
    Diagnostic::error("addon/refused", summary).help(Some(help))
}
