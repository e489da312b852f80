use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::pipeline::UnitId;
use emhost::pipeline::graph::{self, Graph, Status, Vertex};
use emhost::pipeline::plan::Change;
use emhost::state::Store;

use super::{Failed, Session, opening};

/// Draw what depends on what, and how far each part is
#[derive(clap::Args)]
pub struct Arguments {
    /// dot, svg or html
    #[arg(long, value_enum, default_value_t = Format::Dot)]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Dot,
    Svg,
    Html,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let loaded = opening::inventory(session)?;
    let state = Store::read(&session.folder)?;
    let roles = loaded.site.plugins.clone().with_defaults();
    let name = |reference: &Option<String>| reference.clone().unwrap_or_default();
    let status = |unit: &UnitId| {
        let known = state.as_ref().and_then(|state| state.units.get(&unit.to_string()));
        match known {
            Some(known) if known.done => Status::Done,
            Some(_) => Status::Open,
            None => Status::Planned(Change::Create),
        }
    };
    let mut graph = Graph { title: String::new(), units: Vec::new() };
    let mut add =
        |unit: UnitId, plugin: String, after: Vec<UnitId>, status: Status| graph.units.push(Vertex { unit, after, status, plugin });
    let Some(cluster) = &loaded.cluster else { return Ok(()) };
    let mut systems = Vec::new();
    for node in &cluster.nodes {
        let (machine, os) = (UnitId::Machine(node.name.clone()), UnitId::Os(node.name.clone()));
        add(machine.clone(), name(&roles.provisioner), Vec::new(), status(&machine));
        add(os.clone(), name(&roles.distro), vec![machine], status(&os));
        systems.push((os, node.role == NodeRole::ControlPlane));
    }
    let control = systems.iter().filter(|(_, control)| *control).map(|(os, _)| os.clone()).collect();
    let bootstrapped = state.as_ref().is_some_and(|state| state.bootstrapped);
    let ready = if bootstrapped { Status::Done } else { Status::Planned(Change::Create) };
    add(UnitId::Cluster, name(&roles.distro), control, ready);
    let after = systems.into_iter().map(|(os, _)| os).chain([UnitId::Cluster]).collect();
    add(UnitId::Ready, name(&roles.distro), after, Status::Waited);
    graph.title.clone_from(&cluster.name);
    let text = match arguments.format {
        Format::Dot => graph::dot(&graph),
        Format::Svg => graph::svg(&graph),
        Format::Html => graph::html(&graph),
    };
    session.ui.document(&text);
    Ok(())
}
