//! The order of units: what has to be done before what. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::job::{Job, Task};
use super::plan::Intent;
use super::run::Run;
use super::unit::UnitId;
use crate::inventory::Node;

/// What has to be done before what.
pub(super) fn order(jobs: &mut Vec<Job>, run: &Run) {
    let rank = |unit: &UnitId, intent: Intent| match (unit, intent) {
        (UnitId::Drain(_), _) => 0,
        (UnitId::Os(_), Intent::Absent) => 1,
        (UnitId::Machine(_) | UnitId::Orphan(_), Intent::Absent) => 2,
        (UnitId::Node(_) | UnitId::Image(_), _) => 3,
        (UnitId::Boot(_), _) => 4,
        (UnitId::Machine(_) | UnitId::Orphan(_), _) => 5,
        (UnitId::Os(_), _) => 6,
        (UnitId::Cluster, _) => 7,
        (UnitId::Media(_), _) => 8,
        (UnitId::Ready, _) => 9,
        (UnitId::Addon(_), _) => 10,
        (UnitId::Health, _) => 11,
    };
    jobs.sort_by_key(|job| rank(&job.planned.unit, job.planned.intent));
    let planned: BTreeSet<UnitId> = jobs.iter().map(|job| job.planned.unit.clone()).collect();
    let removed: Vec<Arc<Node>> = run.removed.values().cloned().collect();
    let boots: BTreeMap<usize, UnitId> = jobs
        .iter()
        .filter_map(|job| match &job.task {
            Task::Ensure { inputs, .. } => Some((Arc::as_ptr(&inputs.ensured) as usize, job.planned.unit.clone())),
            _ => None,
        })
        .collect();
    let every = |matches: &dyn Fn(&UnitId) -> bool| planned.iter().filter(|unit| matches(unit)).cloned().collect::<Vec<_>>();
    let chain = chain(jobs);
    let control = |unit: &UnitId| unit.node().is_some_and(|node| run.votes(node));
    for job in jobs {
        let after: Vec<UnitId> = match (&job.task, job.planned.intent) {
            (Task::Machine { node, .. }, Intent::Absent) => vec![UnitId::Drain(node.clone()), UnitId::Os(node.clone())],
            (Task::Forget { node }, _) => vec![UnitId::Drain(node.clone()), UnitId::Os(node.clone()), UnitId::Machine(node.clone())],
            (Task::Machine { node, inputs }, Intent::Present) => {
                let boot = inputs.as_ref().and_then(|inputs| boots.get(&(Arc::as_ptr(&inputs.ensured) as usize)).cloned());
                let freed = run.node(node).map_or_else(Vec::new, |node| freed_by(&node, &removed));
                boot.into_iter().chain(freed).collect()
            }
            (Task::Os { node, .. }, Intent::Absent) => vec![UnitId::Drain(node.clone())],
            (Task::Ensure { .. } | Task::Discard { .. } | Task::Drain { .. }, _) => Vec::new(),
            (Task::Os { node, .. }, Intent::Present) => vec![UnitId::Machine(node.clone())],
            (Task::Cluster, _) => every(&|unit| matches!(unit, UnitId::Os(_) | UnitId::Machine(_)) && control(unit)),
            (Task::Media { node }, _) => vec![UnitId::Machine(node.clone()), UnitId::Os(node.clone()), UnitId::Cluster],
            (Task::Health { .. }, _) if job.planned.unit == UnitId::Health => {
                every(&|unit| matches!(unit, UnitId::Ready | UnitId::Addon(_)))
            }
            (Task::Health { .. }, _) => every(&|unit| {
                let later = matches!(unit, UnitId::Media(_) | UnitId::Ready | UnitId::Health | UnitId::Addon(_));
                !later && !matches!(unit, UnitId::Orphan(_) | UnitId::Boot(_))
            }),
            (Task::Addon { .. }, _) => chain.get(&job.planned.unit).cloned().into_iter().chain([UnitId::Ready]).collect(),
        };
        let own = &job.planned.unit;
        job.planned.after = after.into_iter().filter(|unit| planned.contains(unit) && unit != own).collect();
    }
}

/// The addon that each one waits for: they come in their order, and go in the other one.
fn chain(jobs: &[Job]) -> BTreeMap<UnitId, UnitId> {
    let of = |intent: Intent| {
        let mut all: Vec<(usize, &UnitId)> = jobs
            .iter()
            .filter_map(|job| match &job.task {
                Task::Addon { addon } if job.planned.intent == intent => Some((addon.order, &job.planned.unit)),
                _ => None,
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, unit)| unit.clone()).collect::<Vec<_>>()
    };
    let coming = of(Intent::Present);
    let going: Vec<UnitId> = of(Intent::Absent).into_iter().rev().collect();
    let pairs = |all: &[UnitId]| all.windows(2).map(|pair| (pair[1].clone(), pair[0].clone())).collect::<Vec<_>>();
    pairs(&coming).into_iter().chain(pairs(&going)).collect()
}

/// Machines that have to go first, because the new one takes their address, number or device.
fn freed_by(node: &Node, removed: &[Arc<Node>]) -> Vec<UnitId> {
    let shares = |old: &Node| {
        let number = node.machine_number.is_some() && node.machine_number == old.machine_number;
        let card = |of: &Node| of.cards.first().map(|card| (card.mac.clone(), card.address.clone()));
        let cards = card(node).zip(card(old));
        let address = cards.is_some_and(|(new, old)| new.0 == old.0 || (new.1.is_some() && new.1 == old.1));
        let device = |one: &str| old.contribution.devices.iter().any(|other| other.device == one);
        number || address || node.contribution.devices.iter().any(|one| device(&one.device))
    };
    removed.iter().filter(|old| shares(old)).map(|old| UnitId::Machine(old.name.clone())).collect()
}
