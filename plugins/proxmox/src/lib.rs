//! Makes, changes and removes machines at Proxmox VE.
//!
//! Every step looks at Proxmox first and makes at most one request that changes something. What must not be lost (the machine's random
//! identity, its number, the task that is waited for) is in the state before the request that needs it goes out, so an answer that got
//! lost is a question that the next look answers.

pub mod api;
mod change;
pub mod check;
mod create;
pub mod digest;
pub mod find;
pub mod identity;
mod images;
pub mod machine;
pub mod mappings;
pub mod media;
pub mod memory;
mod observe;
pub mod placement;
mod plan;
pub mod property;
mod remove;
#[cfg(test)]
mod schema;
mod work;

use emhost_sdk::provisioner::{FirstBoot, Machine};
use emhost_sdk::{Diagnostic, Failure, Intent, Lifecycle, Node, Proposal, Provisioner, Site, State, Step, Unit};

use api::Api;
use find::{Owner, Seen, find};
use machine::Wanted;
use memory::Memory;
use work::Work;

/// The provisioner for Proxmox VE.
pub struct Proxmox;

impl Lifecycle for Proxmox {}

/// The names of the cluster's nodes but for this one.
fn others(unit: Unit<'_>) -> Vec<String> {
    let name = unit.node.name();
    unit.cluster.nodes().iter().map(Node::name).filter(|other| *other != name).collect()
}

fn wanted(unit: Unit<'_>, intent: Intent) -> Result<Wanted, Failure> {
    match intent {
        Intent::Present => Wanted::of(unit),
        Intent::Absent => Ok(Wanted::for_looking(unit)),
    }
}

impl Provisioner for Proxmox {
    fn check(site: Site<'_>) -> Result<Vec<Diagnostic>, Failure> {
        check::check(site)
    }

    fn observe(unit: Unit<'_>, state: Option<State>) -> Result<Option<Machine>, Failure> {
        let memory = Memory::read(state.as_ref())?;
        let wanted = Wanted::for_looking(unit);
        let others = others(unit);
        let owner = Owner { cluster: &wanted.cluster, node: &wanted.node, others: &others };
        let api = Api::default();
        match find(&api, owner, memory.as_ref())?.0 {
            Seen::Ours(found) => observe::machine(&api, &found, &wanted.cards, wanted.agent).map(Some),
            Seen::Nothing { .. } | Seen::Unfinished { .. } => Ok(None),
        }
    }

    fn plan(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Result<Proposal, Failure> {
        let memory = Memory::read(state.as_ref())?;
        let wanted = wanted(unit, intent)?;
        let others = others(unit);
        let owner = Owner { cluster: &wanted.cluster, node: &wanted.node, others: &others };
        plan::plan(Work { api: &Api::default(), wanted: &wanted, owner }, first_boot.as_ref(), intent, memory.as_ref())
    }

    fn apply(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Result<Step, Failure> {
        let memory = Memory::read(state.as_ref())?;
        let wanted = wanted(unit, intent)?;
        let others = others(unit);
        let owner = Owner { cluster: &wanted.cluster, node: &wanted.node, others: &others };
        let work = Work { api: &Api::default(), wanted: &wanted, owner };
        match intent {
            Intent::Present => work::present(work, first_boot.as_ref(), memory),
            Intent::Absent => remove::absent(work, memory, unit.node.machine_identity().as_deref()),
        }
    }

    fn owned(site: Site<'_>) -> Result<Vec<Machine>, Failure> {
        let with_images = machine::wanted::values(site.cluster.attributes()).get(images::ASKED).is_some_and(|asked| *asked == true);
        let (machines, strangers) = observe::owned(&Api::default(), &site.cluster.id(), with_images)?;
        for stranger in strangers {
            let summary = format!("{stranger} carries this cluster's tag and was not made by emhost: it is left alone");
            site.operation.report(&Diagnostic::note("proxmox/copy", summary).help("remove the tag if it is a copy"));
        }
        Ok(machines)
    }

    fn discard(site: Site<'_>, machine: Machine, state: Option<State>) -> Result<Step, Failure> {
        let memory = Memory::read(state.as_ref())?;
        if images::is_image(&machine) {
            let wanted = Wanted::of_orphan(site.cluster, "", &machine.host);
            let cluster = site.cluster.id();
            let owner = Owner { cluster: &cluster, node: "", others: &[] };
            return images::discard(Work { api: &Api::default(), wanted: &wanted, owner }, &machine, memory);
        }
        let vmid: u32 = machine
            .id
            .parse()
            .map_err(|_| Failure::invalid("proxmox/id", format!("`{}` is no number of a machine", machine.id)).help("plan again"))?;
        let Some(node) = machine.node.clone() else {
            let summary = format!("VM {vmid} on {} does not say which node it was made for, so it is not removed", machine.host);
            return Err(Failure::conflict("proxmox/identity", summary)
                .help(format!("look at it, and run `qm destroy {vmid}` there if it is not needed")));
        };
        let cluster = site.cluster.id();
        let owner = Owner { cluster: &cluster, node: &node, others: &[] };
        let memory = memory.unwrap_or_else(|| Memory { made: true, ..Memory::new(vmid, machine.identity.clone(), machine.host.clone()) });
        let wanted = Wanted::of_orphan(site.cluster, &node, &machine.host);
        remove::absent(Work { api: &Api::default(), wanted: &wanted, owner }, Some(memory), Some(&machine.identity))
    }
}

emhost_sdk::plugin!(Proxmox: provisioner; "emhost-plugin.json");
