//! The machines that the inventory wants: what each starts from, and whether it has a number and a template to get. Devices are
//! judged by the plugin that gives them out.

use std::collections::BTreeMap;

use emhost_sdk::{Diagnostic, Failure, Site, Unit};
use serde_json::Value;

use super::survey::Survey;
use crate::create::{check_fixed, named};
use crate::machine::Wanted;
use crate::machine::wanted::values;

/// What the system disk of a machine starts as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A disk image that the host downloads.
    Image,
    /// An ISO that the host downloads, and a medium with the configuration.
    Installer,
    /// A clone of this template.
    Template(String),
    /// A plugin that is not ours knows.
    Unknown,
}

/// A machine that the inventory wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Its shape.
    pub wanted: Wanted,
    /// What it starts from.
    pub base: Base,
    /// Whether it is there already.
    pub made: bool,
}

fn text(values: &BTreeMap<String, Value>, key: &str) -> Option<String> {
    values.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Every machine; what cannot be one is a finding.
pub fn planned(site: Site<'_>) -> (Vec<Planned>, Vec<Diagnostic>) {
    let cluster = site.cluster;
    let of_cluster = values(cluster.attributes());
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for node in cluster.nodes() {
        let wanted = match Wanted::of(Unit { operation: site.operation, cluster, node: &node }) {
            Ok(wanted) => wanted,
            Err(failure) => {
                wrong.extend(failure.diagnostics);
                continue;
            }
        };
        let boot = text(&values(node.attributes()), "boot").or_else(|| text(&of_cluster, "boot"));
        let base = match boot.as_deref() {
            None | Some("image-factory") => Base::Image,
            Some("config-iso") => Base::Installer,
            Some("template") => Base::Template(node.template().unwrap_or_else(|| format!("talos-{}-base", cluster.os_version()))),
            Some(_) => Base::Unknown,
        };
        all.push(Planned { wanted, base, made: false });
    }
    (all, wrong)
}

/// Numbers, templates and pools of the machines that are to be made.
pub fn judge(planned: &[Planned], survey: &Survey) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let missing: Vec<&Planned> = planned.iter().filter(|one| !one.made).collect();
    for one in &missing {
        found.extend(first(check_fixed(&one.wanted, &survey.machines, &[])));
        if let Base::Template(name) = &one.base {
            found.extend(first(named(&survey.machines, name, &one.wanted.host, &one.wanted.node).map(drop)));
        }
    }
    found.extend(numbers(&missing, survey));
    for (pool, there) in &survey.pools {
        if *there == Some(false) {
            let summary = format!("there is no pool `{pool}`");
            let help = format!("make it (`pvesh create /pools --poolid {pool}`), or correct proxmox.pool in cluster.yaml");
            found.push(Diagnostic::error("proxmox/pool", summary).help(help));
        }
    }
    // The same trouble of many nodes is told once for each cause.
    let mut told: Vec<Diagnostic> = Vec::new();
    for one in found {
        if !told.iter().any(|known| known.summary == one.summary) {
            told.push(one);
        }
    }
    told
}

fn first(answer: Result<(), Failure>) -> Option<Diagnostic> {
    answer.err().and_then(|failure| failure.diagnostics.into_iter().next())
}

fn numbers(missing: &[&Planned], survey: &Survey) -> Option<Diagnostic> {
    let (first, last) = missing.iter().find(|one| one.wanted.number.is_none()).map(|one| one.wanted.numbers)?;
    let wanted = missing.iter().filter(|one| one.wanted.number.is_none()).count();
    let fixed: Vec<u32> = missing.iter().filter_map(|one| one.wanted.number).collect();
    let inside = |number: &u32| (first..=last).contains(number);
    let mut taken: Vec<u32> = survey.machines.iter().map(|listed| listed.vmid).chain(fixed).filter(inside).collect();
    taken.sort_unstable();
    taken.dedup();
    let free = usize::try_from(last - first + 1).unwrap_or(usize::MAX).saturating_sub(taken.len());
    if free >= wanted {
        return None;
    }
    let summary = format!("of the numbers {first} to {last}, {free} are free, and {wanted} machines are to get one");
    Some(
        Diagnostic::error("proxmox/numbers", summary)
            .help("widen proxmox.vmid_range in cluster.yaml, or remove machines that nobody needs"),
    )
}
