//! Reads arbitrary text as an inventory: no panic, no hang, no growth, and the promises of `inventory::read` kept.
#![no_main]

use std::collections::BTreeMap;

use emhost::inventory::{Files, Loaded, read};

/// The files, in the order in which an input holds them. One that is missing or empty is the good one, so that a change of one
/// file is still compared with the others.
const FILES: [(&str, &str); 4] = [
    ("cluster.yaml", include_str!("../cases/inventory/full/cluster.yaml")),
    ("nodes.yaml", include_str!("../cases/inventory/full/nodes.yaml")),
    ("site.yaml", include_str!("../cases/inventory/full/site.yaml")),
    ("patches/all.yaml", ""),
];

libfuzzer_sys::fuzz_target!(|input: &[u8]| check(input));

fn check(input: &[u8]) {
    let mut files = Files::default();
    let mut lines = BTreeMap::new();
    let mut parts = split(input);
    for (name, good) in FILES {
        let text = parts.next().filter(|part| !part.is_empty()).unwrap_or(good.as_bytes());
        lines.insert(name, text.iter().filter(|byte| [b'\n', b'\r'].contains(byte)).count() + 1);
        files = files.with(name, text);
    }
    let loaded = read(&files);
    assert_eq!(loaded.cluster.is_none(), loaded.has_errors(), "errors and a cluster, or neither");
    assert!(loaded.findings.len() <= 101, "too many findings");
    for finding in &loaded.findings {
        assert!(!finding.summary.is_empty() && !finding.summary.contains('\n'), "a summary is one line");
        let Some(place) = &finding.place else { continue };
        let last = lines.get(place.file.as_str()).copied().unwrap_or_default();
        assert!(place.line >= 1 && place.column >= 1 && place.line as usize <= last + 1, "{place} is not in a file of {last} lines");
    }
    nodes(&loaded);
}

/// Every node can be found again, whatever is asked of it.
fn nodes(loaded: &Loaded) {
    let Some(cluster) = &loaded.cluster else { return };
    assert!(!cluster.nodes.is_empty() && !cluster.endpoint.is_empty(), "a cluster without nodes or endpoint");
    for node in &cluster.nodes {
        for pointer in ["", "/memory-mib", "/disks/1/storage", "/cards/0/address", "/gpus/0/selector", "/labels/a~1b", "/attributes/boot"] {
            assert!(loaded.sources.node(&node.name, Some(pointer)).is_some(), "{}{pointer} is nowhere", node.name);
        }
        assert!(!node.disks.is_empty() && node.cards.len() == 1 && node.cores > 0 && node.memory_mib > 0, "{} is no machine", node.name);
    }
}

/// The parts of an input, between lines of `%%%`.
fn split(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.windows(5).position(|window| window == b"\n%%%\n");
        rest = end.map(|end| &text[end + 5..]);
        Some(end.map_or(text, |end| &text[..=end]))
    })
}
