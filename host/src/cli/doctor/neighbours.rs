//! Other clusters of the same site: two of them must not want the same address, MAC or number.

use std::collections::BTreeMap;
use std::path::Path;

use emhost::diagnostic::Diagnostic;
use emhost::inventory::Cluster;

/// The most clusters that are looked at.
const MOST: usize = 64;

/// What this cluster and others beside it both want.
pub fn clashes(folder: &Path, cluster: &Cluster) -> Vec<Diagnostic> {
    let above = folder.join("..");
    // Without a site above, the folders beside this one are anything.
    if !above.join("site.yaml").exists() {
        return Vec::new();
    }
    let Ok(here) = folder.canonicalize() else { return Vec::new() };
    let mut beside: Vec<_> = std::fs::read_dir(&above).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    beside.retain(|path| path.join("cluster.yaml").exists() && path.canonicalize().is_ok_and(|path| path != here));
    beside.sort();
    let wanted = wants(cluster);
    let mut found = Vec::new();
    for path in beside.iter().take(MOST) {
        let Some(other) = emhost::inventory::load(path).cluster else { continue };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for (what, who) in wants(&other) {
            if let Some(own) = wanted.get(&what) {
                let summary = format!("{what} is of {own} here, and of {who} of cluster {} (../{name})", other.name);
                found.push(Diagnostic::warning("site/clash", summary).help(Some("change one of the two, unless their networks are apart")));
            }
        }
    }
    found
}

/// Everything that only one machine of a site can have, and which node wants it.
fn wants(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for node in &cluster.nodes {
        let who = || format!("node {}", node.name);
        if let Some(card) = node.cards.first() {
            all.insert(format!("MAC {}", card.mac), who());
            if let Some(address) = &card.address {
                all.insert(format!("address {}", address.split('/').next().unwrap_or(address)), who());
            }
        }
        if let Some(number) = node.machine_number {
            all.insert(format!("VMID {number}"), who());
        }
    }
    if let Some(vip) = &cluster.vip {
        all.insert(format!("address {vip}"), "the API".to_owned());
    }
    all
}
