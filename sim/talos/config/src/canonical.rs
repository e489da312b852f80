//! One way to write a configuration, so that two that mean the same read the same.

use super::schema::{Key, Leaf, MAIN, Shape, Table, words};
use super::values;
use super::yaml::{Content, Node, Style, emit, key_order, text_style};
use super::{Config, Version};

impl Config {
    /// All documents as Talos writes them: keys in their order, nothing that is null or empty, no comments.
    pub fn canonical(&self) -> String {
        let mut documents: Vec<_> = self.documents.iter().collect();
        documents.sort_by_key(|document| !document.is_main());
        let write = |document: &&super::Document| {
            let name = if document.is_main() { MAIN } else { Table::get().kind(&document.kind, self.version).unwrap_or(MAIN) };
            emit(&canonical(&document.root, name, self.version))
        };
        documents.iter().map(write).collect::<Vec<_>>().join("---\n")
    }
}

/// A document of a struct in its canonical form.
pub(super) fn canonical(root: &Node, name: &'static str, version: Version) -> Node {
    record(root, name, version)
}

fn record(node: &Node, name: &'static str, version: Version) -> Node {
    let entry = |key: &Key| {
        let value = match node.get(key.name) {
            Some(inner) => Some(value(inner, &key.shape, version)).filter(|value| key.always || key.pointer || !is_zero(value, &key.shape)),
            None if !key.always => None,
            None if key.pointer => Some(Node::scalar("null", Style::Plain)),
            None => Some(zero(&key.shape, version)),
        };
        value.map(|value| (Node::scalar(key.name, Style::Plain), value))
    };
    Node::map(Table::get().keys(name, version).filter_map(entry).collect())
}

/// What is written where nothing is set.
fn zero(shape: &Shape, version: Version) -> Node {
    match shape {
        Shape::Struct(name) => record(&Node::map(Vec::new()), name, version),
        Shape::List(_) => Node::list(Vec::new()),
        Shape::Map(_) | Shape::Leaf(Leaf::Anything) => Node::map(Vec::new()),
        Shape::Leaf(Leaf::Number(..)) => Node::scalar("0", Style::Plain),
        Shape::Leaf(Leaf::Word(name)) => text(words(name).first().copied().unwrap_or_default()),
        Shape::Leaf(_) => Node::scalar("", Style::Double),
    }
}

fn is_zero(node: &Node, shape: &Shape) -> bool {
    match &node.content {
        Content::Scalar { text, style, .. } => text.is_empty() || *style == Style::Plain && matches!(text.as_str(), "0" | "0s" | "0o0"),
        Content::List(items) => items.is_empty(),
        // A map is there with its keys, a struct with its values.
        Content::Map(entries) if matches!(shape, Shape::Struct(_)) => entries.iter().all(|(_, value)| is_zero(value, shape)),
        Content::Map(entries) => entries.is_empty(),
    }
}

fn value(node: &Node, shape: &Shape, version: Version) -> Node {
    match (shape, &node.content) {
        (Shape::Struct(name), _) => record(node, name, version),
        (Shape::List(many), Content::List(items)) => Node::list(items.iter().map(|item| value(item, &many.element, version)).collect()),
        (Shape::Map(many), Content::Map(entries)) => {
            let entry = |(key, inner): &(Node, Node)| Some((text(key.raw()?), value(inner, &many.element, version)));
            let mut entries: Vec<_> = entries.iter().filter_map(entry).collect();
            entries.sort_by(|(one, _), (other, _)| key_order(one.raw().unwrap_or_default(), other.raw().unwrap_or_default()));
            Node::map(entries)
        }
        (Shape::Leaf(leaf), _) => scalar(node, *leaf),
        _ => zero(shape, version),
    }
}

fn text(text: &str) -> Node {
    Node::scalar(text, text_style(text))
}

fn scalar(node: &Node, leaf: Leaf) -> Node {
    let plain = |text: String| Node::scalar(text, Style::Plain);
    let raw = node.text().unwrap_or_default();
    match leaf {
        Leaf::Anything => anything(node),
        Leaf::Argument => match &node.content {
            Content::List(items) => Node::list(items.iter().map(|item| text(item.raw().unwrap_or_default())).collect()),
            _ => text(raw),
        },
        Leaf::Pem { certificate, key } => {
            let parts = [("crt", certificate), ("key", key)].into_iter().filter(|(_, wanted)| *wanted);
            let part = |name: &str| node.get(name).and_then(Node::text).unwrap_or_default().replace(['\r', '\n'], "");
            Node::map(parts.map(|(name, _)| (text(name), text(&part(name)))).collect())
        }
        Leaf::Bool => plain(node.truth().unwrap_or_default().to_string()),
        Leaf::Number("v1alpha1.FileMode", ..) => plain(format!("0o{:o}", node.number().unwrap_or_default())),
        Leaf::Number(..) => plain(node.number().unwrap_or_default().to_string()),
        Leaf::Duration => plain(duration(values::duration(raw).unwrap_or_default())),
        Leaf::DiskSize => text(&size(values::bytes(raw).unwrap_or_default())),
        Leaf::SizeMatch => text(raw.trim()),
        Leaf::Word(_) => text(&raw.to_lowercase()),
        Leaf::Ports => match raw.split_once('-') {
            Some((low, high)) if low == high => plain(low.to_owned()),
            _ => plain(raw.to_owned()),
        },
        _ => text(raw),
    }
}

/// Bytes for people: `10 GB`.
fn size(bytes: u64) -> String {
    if bytes < 10 {
        return format!("{bytes} B");
    }
    let power = bytes.ilog(1000);
    let unit = ["B", "kB", "MB", "GB", "TB", "PB", "EB"].get(power as usize).copied().unwrap_or("EB");
    #[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let value = (bytes as f64 / 1000_u64.pow(power) as f64 * 10.0).round() / 10.0;
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A value without a type: maps sorted, words as they mean.
fn anything(node: &Node) -> Node {
    match &node.content {
        Content::List(items) => Node::list(items.iter().map(anything).collect()),
        Content::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().map(|(key, inner)| (anything(key), anything(inner))).collect();
            entries.sort_by(|(one, _), (other, _)| key_order(one.raw().unwrap_or_default(), other.raw().unwrap_or_default()));
            Node::map(entries)
        }
        Content::Scalar { text: raw, style: Style::Plain, .. } => Node::scalar(if node.is_null() { "null" } else { raw }, Style::Plain),
        Content::Scalar { text: raw, .. } => text(raw),
    }
}

/// A duration as Go writes it: `1h0m0s`.
fn duration(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let decimal = |value: u64, unit: u64| {
        let fraction = format!("{:0width$}", value % unit, width = unit.ilog10() as usize);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { (value / unit).to_string() } else { format!("{}.{fraction}", value / unit) }
    };
    if total < 1_000_000_000 {
        return match total {
            0..1_000 => format!("{sign}{total}ns"),
            1_000..1_000_000 => format!("{sign}{}µs", decimal(total, 1_000)),
            _ => format!("{sign}{}ms", decimal(total, 1_000_000)),
        };
    }
    let minutes = total / 60_000_000_000;
    let seconds = decimal(total % 60_000_000_000, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::super::oracle::Oracle;
    use super::*;

    #[test]
    fn two_ways_to_say_the_same_read_the_same() {
        let version = Version::new(1, 12, 1);
        let one = "cluster:\n  adminKubeconfig: {certLifetime: 60m}\nmachine:\n  token: \"abc\"\n  env: {b: 1, a: '2'}\n  network: {}\n  sysctls:\n  kubelet: {registerWithFQDN: yes}\n  type: worker # comment\n  files: [{permissions: 0644, path: /x, content: \"a\\nb\\n\"}]\n---\nkind: HostnameConfig\napiVersion: v1alpha1\nauto: stable\n";
        let config = load(one.as_bytes(), version).unwrap();
        let written = config.canonical();
        assert_eq!(
            written,
            "version: \"\"\nmachine:\n    type: worker\n    token: abc\n    certSANs: []\n    kubelet:\n        registerWithFQDN: true\n    network: {}\n    files:\n        - content: |\n            a\n            b\n          permissions: 0o644\n          path: /x\n          op: \"\"\n    env:\n        a: \"2\"\n        b: \"1\"\ncluster:\n    controlPlane: null\n    adminKubeconfig:\n        certLifetime: 1h0m0s\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n"
        );
        assert_eq!(load(written.as_bytes(), version).unwrap().canonical(), written);
    }

    /// What Talos itself writes after a patch that changes nothing.
    #[test]
    fn configurations_are_written_as_talos_writes_them() {
        let more = "  udev: {rules: []}\n  disks: [{device: /dev/sdb, partitions: [{size: 10000000000, mountpoint: /var/a}, {size: 1.5TB}]}]\n  pods: [{b: [[1, 2], \"x\\ny\"], a: {}}]\n  time: {bootTimeout: 90s, servers: []}\n  registries: {mirrors: {ghcr.io: {endpoints: [b]}}}\n  sysctls: {net.core.somaxconn: 65535, a: yes}\n  files: [{path: /a, permissions: 0600, content: 'x: y'}]\n";
        let mut wrong = Vec::new();
        for oracle in Oracle::all() {
            let contract = format!("v1.{}", oracle.version.minor);
            for kind in ["controlplane", "worker"] {
                let generated = oracle.generate(&contract, kind);
                let extended =
                    generated.replacen("machine:\n", &format!("machine:\n{}", more.replace("\n  ", "\n    ").replacen("  ", "    ", 1)), 1);
                for text in [generated, extended] {
                    let theirs = oracle.rewritten(&text, &format!("machine: {{type: {kind}}}\n"));
                    let ours = load(text.as_bytes(), oracle.version).unwrap().canonical();
                    if ours != theirs {
                        wrong.push(format!("{} {kind}\n{}", oracle.version, super::super::diff::unified(&theirs, &ours)));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn sizes_are_written_for_people() {
        for (bytes, text) in [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_500_000_000_000, "1.5 TB"), (10_000_000_000, "10 GB")] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanoseconds, text) in [
            (60_000_000_000, "1m0s"),
            (1_500_000_000, "1.5s"),
            (100_000_000, "100ms"),
            (-1_500, "-1.5µs"),
            (31_536_000_000_000_000, "8760h0m0s"),
        ] {
            assert_eq!(duration(nanoseconds), text);
        }
    }
}
