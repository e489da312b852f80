//! A node that leaves: out of etcd, then its system disk is wiped and it is switched off.
//!
//! Draining came before, and the machine goes afterwards: both are not Talos's.

use emhost_sdk::{Action, Change, Disruption, Failure, NodeRole, Proposal, State, Step, Unit};
use emhost_talos_api::machine::EtcdMember;

use super::api::Api;
use super::client::{Answer, Client};
use super::identity;
use super::members::{Council, is_of};
use super::memory::{self, NodeMemory};
use super::refusal::{self, code, said};

/// How often a node that does not answer is looked at before it is taken for dead: it may only be restarting.
const PATIENCE: u32 = 30;
/// How often in a row a node that was told to leave does not answer before it counts as gone: a single answer may get lost.
const QUIET: u32 = 4;

/// Says what `apply` would do.
pub fn plan(unit: Unit<'_>, state: Option<&State>) -> Result<Proposal, Failure> {
    let memory: NodeMemory = memory::read(state)?;
    let client = Client::new(unit.cluster);
    let known = unit.node.machine_identity().is_some_and(|identity| identity == memory.identity);
    let leaves = match answer(&client, unit)? {
        Some(Answer::Configured(..)) => true,
        // It may be on its way up again.
        Some(Answer::Silent(_) | Answer::Foreign(_)) if known => true,
        _ => membership(&client, unit)?.is_some(),
    };
    if !leaves {
        return Ok(Proposal::nothing());
    }
    let reason = match unit.node.role() {
        NodeRole::ControlPlane => "its node is to go: it leaves etcd, and its system disk is wiped",
        NodeRole::Worker => "its node is to go: its system disk is wiped",
    };
    let action = Action {
        change: Change::Destroy,
        subject: format!("operating system of {}", unit.node.name()),
        disruption: Disruption::DataLoss,
        reason: reason.to_owned(),
        fields: Vec::new(),
        attributes: Vec::new(),
    };
    Ok(Proposal { actions: vec![action], holds: Vec::new() })
}

/// How the node answers, if it has a machine.
fn answer(client: &Client<'_>, unit: Unit<'_>) -> Result<Option<Answer>, Failure> {
    unit.node.machine_identity().map(|_| client.reach(unit.node)).transpose()
}

/// A member of etcd, and who else there is.
struct Membership {
    council: Council,
    own: EtcdMember,
    others: usize,
}

/// The node's member of etcd, if it has one that somebody else knows of.
fn membership(client: &Client<'_>, unit: Unit<'_>) -> Result<Option<Membership>, Failure> {
    if unit.node.role() == NodeRole::Worker {
        return Ok(None);
    }
    let council = Council::gather(client)?;
    let found = council.members().and_then(|(_, members)| {
        let own = members.iter().find(|member| is_of(unit.node, member))?;
        Some((own.clone(), members.len() - 1))
    });
    Ok(found.map(|(own, others)| Membership { council, own, others }))
}

/// One step.
pub fn apply(unit: Unit<'_>, state: Option<&State>) -> Result<Step, Failure> {
    let mut memory: NodeMemory = memory::read(state)?;
    memory.looks = memory.looks.saturating_add(1);
    memory.sending = None;
    let client = Client::new(unit.cluster);
    let name = unit.node.name();
    let membership = membership(&client, unit)?;
    match answer(&client, unit)? {
        Some(Answer::Configured(api, _)) => go(unit, &api, membership, NodeMemory { quiet: 0, ..memory }),
        // Without configuration it is no member of anything, whatever etcd still lists.
        None | Some(Answer::Maintenance(_)) => evict(&name, membership, &memory),
        Some(Answer::Silent(why) | Answer::Foreign(why)) => {
            memory.quiet = memory.quiet.saturating_add(1);
            if (memory.reset && memory.quiet >= QUIET) || memory.looks > PATIENCE {
                return evict(&name, membership, &memory);
            }
            memory::wait(memory.looks, format!("waiting for {name} to answer ({why})"), &memory)
        }
    }
}

/// A node that answers leaves by itself.
fn go(unit: Unit<'_>, api: &Api, membership: Option<Membership>, mut memory: NodeMemory) -> Result<Step, Failure> {
    let name = &api.node;
    let status = api.machine_status().map_err(api.failed("ask for the stage"))?;
    if status.leaves() || (memory.reset && memory.looks < PATIENCE) {
        return memory::wait(memory.looks, format!("waiting for {name} to wipe its disk and switch off"), &memory);
    }
    // From here on nothing can be undone.
    identity::prove(api, unit.node)?;
    if let Some(membership) = membership
        && membership.others > 0
    {
        return match api.etcd_leave() {
            Ok(()) => memory::wait(0, format!("{name} has left etcd"), &NodeMemory { looks: 0, ..memory }),
            Err(status) if refusal::is_passing(&status) => {
                memory::wait(0, format!("looking whether {name} left etcd ({})", said(&status)), &memory)
            }
            Err(status) => Err(refusal::failure(name, "leave etcd", &status)),
        };
    }
    // The last member has nobody to give anything to. One that did not go when it was asked nicely is not asked again.
    let last = unit.node.role() == NodeRole::ControlPlane && client_is_last(unit);
    let graceful = !last && !memory.reset;
    memory.reset = true;
    memory.looks = 0;
    match api.reset(graceful) {
        Ok(()) => memory::wait(0, format!("{name} wipes its disk"), &memory),
        Err(status) if refusal::is_passing(&status) => {
            memory::wait(0, format!("looking whether {name} wipes its disk ({})", said(&status)), &memory)
        }
        Err(status) => Err(refusal::failure(name, "reset it", &status)),
    }
}

/// Whether no other control plane is left in the inventory.
fn client_is_last(unit: Unit<'_>) -> bool {
    let name = unit.node.name();
    !unit.cluster.nodes().iter().any(|node| node.role() == NodeRole::ControlPlane && node.name() != name)
}

/// A node that cannot leave by itself is taken out of etcd by another member. The rest is the machine's.
fn evict(name: &str, membership: Option<Membership>, memory: &NodeMemory) -> Result<Step, Failure> {
    let Some(Membership { council, own, others }) = membership else { return Ok(Step::finished()) };
    let Some((through, _)) = council.members() else { return Ok(Step::finished()) };
    if others == 0 {
        return Ok(Step::finished());
    }
    match through.etcd_remove(own.id) {
        Ok(()) => memory::wait(0, format!("{name} was taken out of etcd"), memory),
        Err(status) if status.code == code::NOT_FOUND => memory::wait(0, format!("{name} is not in etcd any more"), memory),
        Err(status) if refusal::is_passing(&status) => {
            memory::wait(memory.looks, format!("looking whether {name} is still in etcd ({})", said(&status)), memory)
        }
        Err(status) => Err(refusal::failure(&through.node, &format!("take {name} out of etcd"), &status)),
    }
}
