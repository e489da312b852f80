//! What comes before machines: secrets, what phases ask of each other, what nodes boot from, their configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::accelerators::{Given, give};
use super::contributions::{Asked, merge};
use super::crew::Worker;
use super::events::Event;
use super::planning::{Problems, each, placed, problems};
use super::run::{Inputs, Run, Turn};
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::Contribution;
use crate::bindings::exports::emhost::plugin::gpu::{Assignment, Device};
use crate::diagnostic::{Diagnostic, Severity};
use crate::inventory::Node;

/// Asks every plugin once whether its settings make sense beyond their schema. What it only wants known comes back.
pub(super) async fn settings(run: &Run) -> Result<Vec<Diagnostic>, Problems> {
    let (mut errors, mut notes) = (Vec::new(), Vec::new());
    for worker in run.crew.everyone() {
        let context = worker.looks(None);
        let said = worker.plugin.validate(&context).await.map_err(|error| problems(&error))?;
        for said in &said {
            let mut said = Diagnostic::from_plugin(said, &context.redactor);
            said.pointer = said.pointer.map(|pointer| format!("site.yaml settings.{}{pointer}", worker.name()));
            let refused = said.severity == Severity::Error;
            if refused { &mut errors } else { &mut notes }.push(said);
        }
    }
    if errors.is_empty() { Ok(notes) } else { Err(errors) }
}

/// Secrets first, then what every phase asks of the others for each node. What should be known of accelerators is added to the notes.
pub(super) async fn contributions(run: &Arc<Run>, notes: &mut Vec<Diagnostic>) -> Result<Option<Vec<Assignment>>, Problems> {
    run.watch.event(Event::Planning { what: "preparing secrets".to_owned() });
    let configurator = &run.crew.configurator;
    let prepared = run.look(Turn::Take, || async {
        let context = configurator.prepares();
        configurator.plugin.prepare(&context).await
    });
    prepared.await.map_err(|error| problems(&error))?;

    let given = give(run).await?;
    if let Some(given) = &given {
        notes.extend(given.judged()?);
    }
    contributed(run, given.as_ref()).await?;
    let kept = run.store.assignments();
    Ok(given.map(|given| given.assignments).filter(|assignments| *assignments != kept))
}

/// Asks every phase what it wants of the others for each node, and puts that where everybody sees it.
pub(super) async fn contributed(run: &Arc<Run>, given: Option<&Given>) -> Result<(), Problems> {
    let cluster = run.now.get();
    let merged = each(cluster.nodes.iter().cloned(), |node| {
        let run = Arc::clone(run);
        let devices = given.and_then(|given| given.devices.get(&node.name)).cloned().unwrap_or_default();
        async move {
            let asked = asked(&run, &node, &devices).await?;
            let asked: Vec<Asked<'_>> = asked.iter().map(|(by, contribution)| Asked { by, contribution: contribution.clone() }).collect();
            Ok((node.name.clone(), merge(&node.name, &asked)?))
        }
    });
    let merged: BTreeMap<String, Contribution> = merged.await?.into_iter().collect();
    run.now.change(|cluster| {
        for node in &mut cluster.nodes {
            if let Some(contribution) = merged.get(&node.name).filter(|merged| node.contribution != **merged) {
                Arc::make_mut(node).contribution = contribution.clone();
            }
        }
    });
    Ok(())
}

/// Everything that is asked for on one node, and by whom.
async fn asked(run: &Run, node: &Node, devices: &[Device]) -> Result<Vec<(String, Contribution)>, Problems> {
    let mut all = vec![("the inventory".to_owned(), node.contribution.clone())];
    if let Some(gpu) = run.crew.gpu.as_ref().filter(|_| !devices.is_empty()) {
        let said = run.look(Turn::Take, || async {
            let context = gpu.looks(None);
            gpu.plugin.contribute_gpu(&context, node, devices).await
        });
        let said = said.await.map_err(|error| placed(run, Some(&node.name), problems(&error)))?;
        all.push((format!("plugin {}", gpu.name()), said));
    }
    for addon in &run.crew.addons {
        let said = run.look(Turn::Take, || async {
            let context = addon.looks(None);
            addon.plugin.contribute_addon(&context, node).await
        });
        all.push((format!("plugin {}", addon.name()), said.await.map_err(|error| problems(&error))?));
    }
    Ok(all)
}

/// What each node boots from, its configuration, and what is attached for its first boot.
pub(super) async fn configuration(run: &Arc<Run>) -> Result<BTreeMap<String, Inputs>, Problems> {
    let cluster = run.now.get();
    run.watch.event(Event::Planning { what: format!("rendering the configuration of {} nodes", cluster.nodes.len()) });
    let made = each(cluster.nodes.iter().cloned(), |node| {
        let run = Arc::clone(run);
        async move { Ok((node.name.clone(), inputs(&run, &node).await?)) }
    });
    let mut made: BTreeMap<String, Inputs> = made.await?.into_iter().collect();
    // Nodes that boot from the same thing have it made sure of once.
    let mut known: Vec<Inputs> = Vec::new();
    for inputs in made.values_mut() {
        match known.iter().find(|other| other.boot == inputs.boot) {
            Some(other) => {
                (inputs.boot, inputs.planned) = (Arc::clone(&other.boot), Arc::clone(&other.planned));
                (inputs.ensured, inputs.pinned) = (Arc::clone(&other.ensured), Arc::clone(&other.pinned));
            }
            None => known.push(inputs.clone()),
        }
    }
    Ok(made)
}

async fn inputs(run: &Run, node: &Node) -> Result<Inputs, Problems> {
    let unit = UnitId::Machine(node.name.clone());
    let source = boot_source(run, &node.name)?;
    let resolved = run.look(Turn::Take, || async {
        let context = source.looks(Some(&unit));
        source.plugin.resolve(&context, node).await
    });
    let boot = resolved.await.map_err(|error| placed(run, Some(&node.name), problems(&error)))?;
    let planned = run.told(source, &boot)?;
    let configurator = &run.crew.configurator;
    let rendered = run.look(Turn::Take, || async {
        let context = configurator.looks(Some(&unit));
        configurator.plugin.render_config(&context, node, &boot).await
    });
    let config = rendered.await.map_err(|error| placed(run, Some(&node.name), problems(&error)))?;
    let media = run.look(Turn::Take, || async {
        let context = source.looks(Some(&unit));
        source.plugin.media(&context, node, &boot, &config).await
    });
    let media = media.await.map_err(|error| placed(run, Some(&node.name), problems(&error)))?;
    Ok(Inputs {
        boot: Arc::new(boot),
        planned: Arc::new(planned),
        ensured: Arc::default(),
        pinned: Arc::default(),
        config: Arc::new(config),
        media: Arc::new(media),
    })
}

pub(super) fn boot_source<'a>(run: &'a Run, node: &str) -> Result<&'a Worker, Problems> {
    let name = run.boot_of.get(node).map_or("", String::as_str);
    let missing = || vec![Diagnostic::error("boot/source", format!("node {node} boots from `{name}`, and no such boot source is loaded"))];
    run.crew.boot.get(name).ok_or_else(missing)
}
