//! What others want changed in a configuration, and whose fault it is where that goes wrong.

use emhost_sdk::{Document, Failure};
use emhost_talos_config::patch::{self, merge_for};
use emhost_talos_config::{Contract, Refused};

/// The generated configuration with every patch: those of plugins first, then those of the inventory, the strongest last. Always from
/// the generated one, because lists grow with every patch.
pub(super) fn apply(
    node: &str,
    base: &str,
    contract: Contract,
    contributed: Vec<Document>,
    inventory: Vec<String>,
) -> Result<String, Failure> {
    let named = contributed.into_iter().map(|patch| (format!("contributed patch `{}`", patch.name), patch.body));
    // They come with the strongest first.
    let own = inventory.into_iter().rev().map(|body| (String::new(), body));
    let all: Vec<(String, String)> = named.chain(own).collect();
    let bodies: Vec<&str> = all.iter().map(|(_, body)| body.as_str()).collect();
    merge_for(contract.version().minor, base, &bodies).map_err(|error| match &error {
        patch::Error::Base(_) => Failure::internal("talos/patch", format!("the configuration of node {node} cannot be patched: {error}")),
        patch::Error::Patch { index, path, problem } => {
            let place = if path.is_empty() { String::new() } else { format!(" at {path}") };
            let summary = match all.get(*index).filter(|(name, _)| !name.is_empty()) {
                Some((name, _)) => format!("the {name} does not fit node {node}{place}: {problem}"),
                None => format!("a patch of the inventory does not fit node {node}{place}: {problem}"),
            };
            let files = format!("patches/all.yaml, the one of its role, and patches/{node}.yaml");
            Failure::invalid("talos/patch", summary).detail(format!("The inventory's patches for this node are {files}")).help(error.help())
        }
    })
}

/// Talos would refuse the result: with patches that is theirs, without any it is ours.
pub(super) fn refused(node: &str, refused: &Refused, generated: bool) -> Failure {
    let summary = format!("the configuration of node {node} is wrong: {refused}");
    if generated {
        return Failure::invalid("talos/configuration", summary)
            .help("correct what the inventory says about this node; if it is right, report this as a bug of emhost");
    }
    Failure::invalid("talos/configuration", summary)
        .help(format!("correct the patch that says so: patches/all.yaml, the one of its role, patches/{node}.yaml, or that of an addon"))
}
