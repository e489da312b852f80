//! The text of an inventory's files.

use std::fmt::Write;

use crate::inventory::starter::quoted;

/// What a node looks like; nothing is written of what is not known.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub name: String,
    pub ip: Option<String>,
    pub dhcp: Option<String>,
    pub shape: Shape,
}

/// The size of a machine and where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub cores: Option<u32>,
    pub memory_mib: Option<u64>,
    pub disk_gib: Option<u64>,
    pub datastore: Option<String>,
    pub bridge: Option<String>,
}

/// The text of `nodes.yaml`.
pub(super) fn nodes(control_planes: &[Node], workers: &[Node]) -> String {
    let mut text = String::new();
    for (list, nodes) in [("controlplane", control_planes), ("workers", workers)] {
        let separator = if text.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{separator}{list}:{}", if nodes.is_empty() { " []" } else { "" });
        for node in nodes {
            let _ = writeln!(text, "  - name: {}", quoted(&node.name));
            let Shape { cores, memory_mib, disk_gib, datastore, bridge } = &node.shape;
            let rows = [
                ("ip", node.ip.as_deref().map(quoted)),
                ("dhcp", node.dhcp.as_deref().map(quoted)),
                ("cpu", cores.map(|cores| cores.to_string())),
                ("ram", memory_mib.map(|memory| memory.to_string())),
                ("disk", disk_gib.map(|disk| format!("{disk}G"))),
                ("datastore", datastore.as_deref().map(quoted)),
                ("bridge", bridge.as_deref().map(quoted)),
            ];
            for (key, value) in rows.into_iter().filter_map(|(key, value)| Some((key, value?))) {
                let _ = writeln!(text, "    {key}: {value}");
            }
        }
    }
    text
}

/// A section of `cluster.yaml`: its keys with values, those that are there.
pub(super) fn section(name: &str, rows: &[(&str, Option<String>)]) -> String {
    let rows: Vec<String> = rows.iter().filter_map(|(key, value)| Some(format!("  {key}: {}\n", value.as_ref()?))).collect();
    if rows.is_empty() { String::new() } else { format!("\n{name}:\n{}", rows.concat()) }
}

/// A list in one line.
pub(super) fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}
