//! What runs in the cluster: addon plugins render it, the host applies it and takes away what is not wanted any more.
//!
//! A stage of a plugin is one addon and one unit. Everything is done in the steps that plugins take too: one change at most, written
//! down before it goes out, and a look at the cluster instead of a memory of what was done.

mod charts;
mod proposing;
mod rendering;
mod secrets;
mod seeing;
mod sources;
mod steps;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::events::Event;
use super::job::{Job, Task, unplanned};
use super::kubernetes::{HOST, trouble};
use super::plan::Intent;
use super::planning::{Problems, problems};
use super::run::{Run, Turn};
use super::unit::{Phase, UnitId};
use crate::bindings::exports::emhost::plugin::addon::Wait;
use crate::capabilities::SecretValue;
use crate::diagnostic::{Diagnostic, Severity};
use crate::kube::inventory::{self, Inventory};
use crate::kube::object::{Id, Mark};
use crate::plugins::lock::Image;
pub use sources::Pins;

/// Who the host is to Kubernetes, among the managers of fields.
const MANAGER: &str = "emhost";

/// One addon as it is to be.
pub struct Addon {
    /// Its name, which its objects are marked with.
    pub name: String,
    /// When it comes among the others.
    pub order: usize,
    /// What is to be there; none: it goes.
    pub stage: Option<Stage>,
    /// What other addons want: it is theirs from now on, and not taken away.
    pub elsewhere: Vec<Id>,
    /// Whether the plan was made when there was no cluster to look at.
    pub blind: bool,
}

/// What a plugin rendered, as objects in the order in which they are applied.
pub struct Stage {
    plugin: String,
    objects: Vec<Object>,
    waits: Vec<Wait>,
    /// The values that manifests name, to be put in at the last moment.
    secrets: BTreeMap<String, SecretValue>,
    /// What was read from elsewhere and is in no lock file yet.
    pins: Vec<(String, Image)>,
}

/// One object of a stage.
struct Object {
    /// Which, as the manifest says: whether its kind has namespaces is for the server to say.
    id: Id,
    value: Value,
    /// The namespace of what names none.
    home: String,
    /// Whether nothing of it may be shown.
    sensitive: bool,
    /// Where it was written.
    from: String,
}

/// An addon at work, as long as the run remembers.
#[derive(Default)]
pub(super) struct Going {
    /// How many of its objects were seen to be as they should.
    next: usize,
    /// Since when it waits for something, and for what.
    since: Option<(String, Instant)>,
    /// How often it looked whether it is ready.
    looks: u32,
}

impl Addon {
    fn mark<'a>(&'a self, cluster: &'a str) -> Mark<'a> {
        Mark { cluster, addon: &self.name }
    }

    fn unit(&self) -> UnitId {
        UnitId::Addon(self.name.clone())
    }

    /// The plugin that rendered it; what goes needs none.
    fn plugin(&self) -> &str {
        self.stage.as_ref().map_or(HOST, |stage| &stage.plugin)
    }
}

/// Renders what is to be there, finds what is there and not wanted any more, and plans both. Tells how many are as they should be.
pub(super) async fn jobs(run: &Arc<Run>, silent: bool, notes: &mut Vec<Diagnostic>) -> Result<(Vec<Job>, usize), Problems> {
    if !run.options.reaches(Phase::Addons) {
        return Ok((Vec::new(), 0));
    }
    let mut wanted = rendering::rendered(run, notes).await?;
    let remembered: BTreeSet<String> = run.store.units().iter().filter_map(|unit| unit.strip_prefix("addon/").map(str::to_owned)).collect();
    if !run.bootstrapped() {
        let blind = wanted.into_iter().map(|addon| Addon { blind: true, ..addon });
        return Ok((propose_all(run, blind, notes).await?.0, 0));
    }
    let nothing = wanted.is_empty() && remembered.is_empty();
    // Who remembers the cluster would remember its addons; a fresh clone asks the cluster.
    if nothing && !run.store.units().is_empty() {
        return Ok((Vec::new(), 0));
    }
    if !nothing {
        run.watch.event(Event::Planning { what: format!("looking at {} addons", wanted.len().max(remembered.len())) });
    }
    let kept = if silent { Err(Vec::new()) } else { inventories(run, nothing).await };
    let kept = match kept {
        Ok(kept) => kept,
        Err(_) if nothing => return Ok((Vec::new(), 0)),
        Err(why) => {
            let cause = why.first().map_or_else(String::new, |first| format!(": {}", first.summary));
            let summary = format!("addons are left as they are, because Kubernetes cannot be asked{cause}");
            let help = "the next apply to which it answers looks at them";
            notes.push(Diagnostic::warning("addons/unreachable", summary).help(Some(help)));
            return Ok((Vec::new(), 0));
        }
    };
    let elsewhere: Vec<Id> = wanted.iter().flat_map(|addon| addon.stage.iter().flat_map(Stage::ids)).collect();
    let names: BTreeSet<String> = wanted.iter().map(|addon| addon.name.clone()).collect();
    let orders: BTreeMap<String, usize> = kept.into_iter().map(|inventory| (inventory.addon, inventory.order)).collect();
    let gone = remembered.iter().chain(orders.keys()).collect::<BTreeSet<_>>();
    for name in gone.into_iter().filter(|name| !names.contains(*name)) {
        let order = orders.get(name).copied().unwrap_or_default();
        wanted.push(Addon { name: name.clone(), order, stage: None, elsewhere: elsewhere.clone(), blind: false });
    }
    propose_all(run, wanted, notes).await
}

/// The inventories that the cluster keeps.
async fn inventories(run: &Run, hasty: bool) -> Result<Vec<Inventory>, Problems> {
    let unit = UnitId::Addon("inventory".to_owned());
    let cluster = run.now.get();
    let look = || async {
        let client = run.kubernetes(&unit, Turn::Have).await?;
        client.get(&inventory::all(&cluster.id)).await.map_err(|error| trouble(&unit, &error))
    };
    // Where no addon is wanted, nobody waits for a cluster that is silent.
    let list = if hasty { look().await } else { run.look(Turn::Take, look).await };
    let list = list.map_err(|error| problems(&error))?.unwrap_or_default();
    let items = list.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Ok(items.iter().filter_map(|item| Inventory::of(item, &cluster.id)).collect())
}

async fn propose_all(
    run: &Arc<Run>,
    addons: impl IntoIterator<Item = Addon>,
    notes: &mut Vec<Diagnostic>,
) -> Result<(Vec<Job>, usize), Problems> {
    let (mut jobs, mut unchanged) = (Vec::new(), 0);
    for addon in addons {
        let intent = if addon.stage.is_some() { Intent::Present } else { Intent::Absent };
        let mut job = Job { planned: unplanned(addon.unit(), addon.plugin(), intent), task: Task::Addon { addon: Arc::new(addon) } };
        let proposed = job.propose(run, Turn::Take).await.map_err(|error| problems(&error))?;
        // What keeps one addon from being applied keeps nobody else from anything: it is told, and it fails when its turn comes.
        notes.extend(proposed.notes.into_iter().map(|note| match note.severity {
            Severity::Error => Diagnostic { severity: Severity::Warning, ..note },
            Severity::Warning | Severity::Note => note,
        }));
        if proposed.actions.is_empty() && !proposed.unfinished {
            unchanged += usize::from(intent == Intent::Present);
            continue;
        }
        (job.planned.actions, job.planned.holds) = (proposed.actions, proposed.holds);
        jobs.push(job);
    }
    Ok((jobs, unchanged))
}

impl Stage {
    fn ids(&self) -> impl Iterator<Item = Id> {
        let placed = |object: &Object| Id { namespace: object.namespace().to_owned(), ..object.id.clone() };
        self.objects.iter().map(placed).collect::<Vec<_>>().into_iter()
    }
}

impl Object {
    /// The namespace it is in, if its kind has namespaces.
    fn namespace(&self) -> &str {
        if self.id.namespace.is_empty() { &self.home } else { &self.id.namespace }
    }
}
