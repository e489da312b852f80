//! Merges what plugins ask of each other's phases for a node. Pure.
//!
//! Plugins never call each other, so two that disagree can only be told apart here: both are named.

use crate::bindings::emhost::plugin::types::{Attribute, Contribution};
use crate::diagnostic::Diagnostic;
use crate::inventory::nothing;

/// A contribution and who asks for it: the inventory, or a plugin.
pub struct Asked<'a> {
    /// In words, for example `plugin gpu`.
    pub by: &'a str,
    /// What.
    pub contribution: Contribution,
}

/// A value, and who asked for it first.
struct Known {
    key: String,
    by: String,
}

/// Merges contributions for one node, in their order.
///
/// # Errors
/// Every disagreement, with both sides named.
pub fn merge(node: &str, all: &[Asked<'_>]) -> Result<Contribution, Vec<Diagnostic>> {
    let mut merged = nothing();
    let mut problems = Vec::new();
    let mut known: [Vec<Known>; 4] = Default::default();
    let [machine, labels, attributes, devices] = &mut known;
    for asked in all {
        let from = &asked.contribution;
        let mut disagree = |what: &str, key: &str, first: &str, was: &str, is: &str| {
            problems.push(
                Diagnostic::error(
                    "contribution/disagree",
                    format!("{first} wants {what} `{key}` to be `{was}` on node {node}, and {} wants `{is}`", asked.by),
                )
                .help(Some(format!("change one of the two: the node cannot have both `{key}={was}` and `{key}={is}`"))),
            );
        };
        keyed(&mut merged.machine, machine, &from.machine, asked.by, &mut |key, first, was, is| {
            disagree("machine setting", key, first, was, is);
        });
        keyed(&mut merged.labels, labels, &from.labels, asked.by, &mut |key, first, was, is| disagree("label", key, first, was, is));
        keyed(&mut merged.attributes, attributes, &from.attributes, asked.by, &mut |key, first, was, is| {
            disagree("attribute", key, first, was, is);
        });
        for device in &from.devices {
            match merged.devices.iter().position(|other| other.device == device.device) {
                None => {
                    merged.devices.push(device.clone());
                    devices.push(Known { key: device.device.clone(), by: asked.by.to_owned() });
                }
                Some(at) if merged.devices[at] == *device => {}
                Some(at) => {
                    let first = devices.get(at).map_or("another plugin", |known| known.by.as_str()).to_owned();
                    let place = |of: &crate::bindings::emhost::plugin::types::Passthrough| format!("{} {}", of.host, of.address);
                    disagree("device", &device.device, &first, &place(&merged.devices[at]), &place(device));
                }
            }
        }
        let new = |have: &[String], want: &[String]| want.iter().filter(|one| !have.contains(one)).cloned().collect::<Vec<_>>();
        merged.extensions.extend(new(&merged.extensions, &from.extensions));
        merged.kernel_args.extend(new(&merged.kernel_args, &from.kernel_args));
        merged.patches.extend(from.patches.iter().cloned());
    }
    // The same inputs give the same bytes, whoever comes first in the site's list.
    merged.extensions.sort();
    if problems.is_empty() { Ok(merged) } else { Err(problems) }
}

fn keyed(
    merged: &mut Vec<Attribute>,
    known: &mut Vec<Known>,
    from: &[Attribute],
    by: &str,
    disagree: &mut dyn FnMut(&str, &str, &str, &str),
) {
    for attribute in from {
        let first = merged.iter().find(|other| other.key == attribute.key).cloned();
        match first {
            None => {
                merged.push(attribute.clone());
                known.push(Known { key: attribute.key.clone(), by: by.to_owned() });
            }
            Some(first) if first.value == attribute.value => {}
            Some(first) => {
                let who = known.iter().find(|known| known.key == attribute.key).map_or("another", |known| known.by.as_str());
                disagree(&attribute.key, who, &first.value, &attribute.value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(by: &'static str, key: &str, value: &str) -> Asked<'static> {
        let machine = vec![Attribute { key: key.to_owned(), value: value.to_owned() }];
        Asked { by, contribution: Contribution { machine, ..nothing() } }
    }

    #[test]
    fn what_agrees_is_merged_once() {
        let mut gpu = machine("plugin gpu", "bios", "ovmf");
        gpu.contribution.extensions = vec!["b".to_owned(), "a".to_owned()];
        let mut other = machine("plugin x", "bios", "ovmf");
        other.contribution.extensions = vec!["a".to_owned()];
        let merged = merge("wk-1", &[gpu, other, machine("plugin y", "cpu", "host")]).expect("no disagreement");
        assert_eq!(merged.machine.len(), 2);
        assert_eq!(merged.extensions, ["a", "b"]);
    }

    #[test]
    fn what_disagrees_is_refused_with_both_sides_named() {
        let problems =
            merge("wk-1", &[machine("plugin gpu", "bios", "ovmf"), machine("plugin x", "bios", "seabios")]).expect_err("refused");
        assert_eq!(problems[0].summary, "plugin gpu wants machine setting `bios` to be `ovmf` on node wk-1, and plugin x wants `seabios`");
    }
}
