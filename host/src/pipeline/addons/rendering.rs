//! From what plugins render to objects: manifests, files of the site, and charts, checked before anything is made.

use std::collections::{BTreeMap, BTreeSet};

use super::super::crew::Worker;
use super::super::events::Event;
use super::super::planning::{Problems, problems};
use super::super::run::{Run, Turn};
use super::super::unit::Phase;
use super::sources::Text;
use super::{Addon, Object, Stage, secrets};
use crate::bindings::exports::emhost::plugin::addon::{Stage as Rendered, Wait};
use crate::diagnostic::Diagnostic;
use crate::kube::documents;
use crate::kube::object::{Id, rank};
use crate::redact::one_line;

/// The longest name: it is the value of a label.
const LONGEST: usize = 50;
/// The namespace of manifests that name none, as every client has it.
const DEFAULT: &str = "default";

/// Every addon of the site, in the order in which they are applied.
pub(super) async fn rendered(run: &Run, notes: &mut Vec<Diagnostic>) -> Result<Vec<Addon>, Problems> {
    let mut all: Vec<Addon> = Vec::new();
    let mut found = Problems::new();
    for worker in run.crew.addons.iter().filter(|_| run.options.reaches(Phase::Addons)) {
        run.watch.event(Event::Planning { what: format!("rendering the addons of plugin {}", worker.name()) });
        let stages = run.look(Turn::Take, || async {
            let context = worker.looks(None);
            worker.plugin.render_addon(&context).await
        });
        for rendered in stages.await.map_err(|error| problems(&error))? {
            let name = rendered.name.clone();
            if let Some(other) = all.iter().find(|other| other.name == name) {
                let summary = format!("two addons are called `{name}`, of plugin `{}` and of plugin `{}`", other.plugin(), worker.name());
                found.push(Diagnostic::error("addon/twice", summary).help(Some("rename one of them, or take one of them out")));
                continue;
            }
            match stage(run, worker, rendered, notes).await {
                Ok(stage) => all.push(Addon { name, order: all.len(), stage: Some(stage), elsewhere: Vec::new(), blind: false }),
                Err(problems) => found.extend(problems),
            }
        }
    }
    share(&mut all);
    found.extend(twice(&all));
    if !found.is_empty() {
        return Err(found);
    }
    let ids: Vec<Vec<Id>> = all.iter().map(|addon| addon.stage.iter().flat_map(Stage::ids).collect()).collect();
    for (index, addon) in all.iter_mut().enumerate() {
        addon.elsewhere = ids.iter().enumerate().filter(|(other, _)| *other != index).flat_map(|(_, ids)| ids.clone()).collect();
    }
    Ok(all)
}

/// A namespace that several addons bring in the same words is the first one's.
fn share(addons: &mut [Addon]) {
    let mut seen: Vec<serde_json::Value> = Vec::new();
    for stage in addons.iter_mut().filter_map(|addon| addon.stage.as_mut()) {
        stage.objects.retain(|object| {
            let known = rank(&object.id) == 0 && seen.contains(&object.value);
            if rank(&object.id) == 0 && !known {
                seen.push(object.value.clone());
            }
            !known
        });
    }
}

/// Objects that several addons want: each would take it from the other for ever.
fn twice(addons: &[Addon]) -> Problems {
    let mut seen: BTreeMap<(String, String, String, String), &str> = BTreeMap::new();
    let mut found = Problems::new();
    for addon in addons {
        for id in addon.stage.iter().flat_map(Stage::ids) {
            let key = (id.group().to_owned(), id.kind.clone(), id.namespace.clone(), id.name.clone());
            let Some(other) = seen.insert(key, &addon.name) else { continue };
            let who = if other == addon.name {
                format!("addon {other} has it twice")
            } else {
                format!("addons {other} and {} have it", addon.name)
            };
            let summary = format!("{} is rendered more than once: {who}", id.title());
            found.push(Diagnostic::error("addon/object-twice", summary).help(Some("keep it in one place")));
        }
    }
    found
}

/// A name that can be a label, a part of a unit and of an object's name.
fn is_name(name: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    name.len() <= LONGEST
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(byte))
        && !name.contains("..")
}

/// What a stage waits for.
pub(super) fn waited(wait: &Wait) -> Id {
    Id {
        api_version: wait.api_version.clone(),
        kind: wait.kind.clone(),
        namespace: wait.namespace.clone().unwrap_or_default(),
        name: wait.name.clone(),
    }
}

async fn stage(run: &Run, worker: &Worker, rendered: Rendered, notes: &mut Vec<Diagnostic>) -> Result<Stage, Problems> {
    let name = rendered.name;
    if !is_name(&name) {
        let summary = format!("plugin `{}` renders an addon called `{}`", worker.name(), one_line(&name, 80));
        let help = format!(
            "names have lower-case letters, digits, - and . between them, {LONGEST} at most; report it to the author of the plugin"
        );
        return Err(vec![Diagnostic::error("addon/name", summary).help(Some(help))]);
    }
    let wrong = |from: &str, why: &str| {
        let summary = one_line(&worker.redactor().text(&format!("addon {name}: {from}: {why}")), 500);
        vec![Diagnostic::error("addon/manifest", summary).help(Some(format!("mend it; plugin `{}` renders this addon", worker.name())))]
    };
    let (mut objects, mut pins) = (Vec::new(), Vec::new());
    for document in rendered.manifests {
        // A text that is not to be seen may be quoted in what is said about it.
        let hidden = |why: String| if document.sensitive { "it cannot be read".to_owned() } else { why };
        let values = documents::parse(&document.body).map_err(|why| wrong(&document.name, &hidden(why)))?;
        objects.extend(values.into_iter().map(|value| (value, document.sensitive, document.name.clone(), DEFAULT.to_owned())));
    }
    for source in &rendered.sources {
        for Text { from, body, pin } in run.source(&name, source).await.map_err(|diagnostic| vec![*diagnostic])? {
            pins.extend(pin);
            let values = documents::parse(&body).map_err(|why| wrong(&from, &why))?;
            objects.extend(values.into_iter().map(|value| (value, false, from.clone(), DEFAULT.to_owned())));
        }
    }
    for chart in &rendered.charts {
        let from = format!("chart {} {}", chart.reference, chart.version);
        for value in run.chart(&name, chart, notes).await? {
            objects.push((value, false, from.clone(), chart.namespace.clone()));
        }
    }
    let mut names = BTreeSet::new();
    let mut all = Vec::new();
    for (mut value, sensitive, from, home) in objects {
        names.extend(secrets::named(&mut value).map_err(|why| wrong(&from, &why))?);
        let Some(id) = Id::of(&value) else { return Err(wrong(&from, "it is no object that can be applied")) };
        all.push(Object { id, value, home, sensitive, from });
    }
    if let Some(wait) = rendered.waits.iter().find(|wait| !waited(wait).is_sound()) {
        return Err(wrong("a wait", &format!("it is for `{}`, which no object can be", waited(wait).title())));
    }
    // What is the same for the server keeps the order in which it was written.
    all.sort_by_key(|object| rank(&object.id));
    let secrets = worker.named_secrets(&name, names)?;
    Ok(Stage { plugin: worker.name().to_owned(), objects: all, waits: rendered.waits, secrets, pins })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_addons_are_labels() {
        for good in ["a", "metrics-server", "cilium.2", "0"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a/b", "a..b", "ä", "a b", &"a".repeat(51)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
