//! Where everything is written: from a node and a value of it back to file, line and column.

use std::collections::{BTreeMap, BTreeSet};

use super::yaml::Mark;
use crate::diagnostic::Place;
use crate::redact::one_line;

/// The longest line that is shown.
const WIDEST: usize = 200;

/// Where one value is written: its key, and the value itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub key: Mark,
    pub value: Mark,
}

/// A file and where its values are, by JSON pointer with the usual spelling of every key.
#[derive(Debug, Clone, Default)]
pub struct Document {
    pub(super) file: String,
    text: String,
    /// Where each line of the text begins.
    lines: Vec<usize>,
    pub(super) spots: BTreeMap<String, Spot>,
    /// Values that are there and were refused, so that nobody takes them for absent.
    pub(super) broken: BTreeSet<String>,
}

impl Document {
    pub(super) fn new(file: &str, bytes: &[u8]) -> Self {
        // Of a file that is too large nothing is shown.
        let text = if bytes.len() > super::yaml::LARGEST { String::new() } else { String::from_utf8_lossy(bytes).into_owned() };
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file: file.to_owned(), text, lines, ..Self::default() }
    }

    pub(super) fn place(&self, at: Mark) -> Place {
        let begin = usize::try_from(at.line).ok().and_then(|line| self.lines.get(line.checked_sub(1)?));
        // More than is shown is not looked at: a line can be as long as the file.
        let line = begin.map(|begin| self.text[*begin..].chars().take_while(|c| *c != '\n').take(WIDEST + 1).collect::<String>());
        Place { file: self.file.clone(), line: at.line, column: at.column, text: line.map(|line| one_line(line.trim_end(), WIDEST)) }
    }

    /// Where a value is written, if it is.
    pub(super) fn value(&self, pointer: &str) -> Option<Place> {
        self.spots.get(pointer).map(|spot| self.place(spot.value))
    }

    /// Where a key is written, if it is.
    pub(super) fn key(&self, pointer: &str) -> Option<Place> {
        self.spots.get(pointer).map(|spot| self.place(spot.key))
    }
}

/// The pointer to a key below another pointer.
pub(super) fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Where a node is written.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub name: String,
    pub file: &'static str,
    /// Its entry.
    pub pointer: String,
    /// What shapes it beside its entry: `gpu_worker` in `cluster.yaml`.
    pub shaped_by: Option<&'static str>,
    /// Its place in a list of addresses elsewhere.
    pub address: Option<String>,
    /// The key of its template in `templates`.
    pub template: &'static str,
}

impl Entry {
    /// The pointer to one of its keys.
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}/{key}", self.shaped_by.unwrap_or(&self.pointer))
    }
}

/// Where everything of an inventory is written.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub(super) documents: BTreeMap<String, Document>,
    pub(super) entries: Vec<Entry>,
}

impl Sources {
    pub(super) fn value(&self, file: &str, pointer: &str) -> Option<Place> {
        self.documents.get(file)?.value(pointer)
    }

    pub(super) fn key(&self, file: &str, pointer: &str) -> Option<Place> {
        self.documents.get(file)?.key(pointer)
    }

    /// Whether there is such a key; asked for every node, so without making a place of it.
    pub(super) fn written(&self, file: &str, pointer: &str) -> bool {
        self.documents.get(file).is_some_and(|document| document.spots.contains_key(pointer))
    }

    /// Whether a value is there and was refused.
    pub(super) fn broken(&self, file: &str, pointer: &str) -> bool {
        self.documents.get(file).is_some_and(|document| document.broken.contains(pointer))
    }

    /// Where a node is written, or the value of it that a JSON pointer means.
    ///
    /// The pointer may use the names of the contract (`/memory-mib`, `/disks/0/size-gib`, `/cards/0/bridge`) or those of the
    /// inventory (`/ram`, `/labels/x`). A value the node does not name itself is where the cluster names it, and the node's
    /// entry if nobody does.
    pub fn node(&self, name: &str, pointer: Option<&str>) -> Option<Place> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let found = pointer.and_then(|pointer| self.node_value(entry, &tokens(pointer)));
        found.or_else(|| self.value(entry.file, &entry.pointer))
    }

    fn node_value(&self, entry: &Entry, tokens: &[String]) -> Option<Place> {
        let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let (own, shared): (Vec<&str>, &[&str]) = match words[..] {
            [] => return None,
            ["memory_mib" | "memory" | "memory_mb" | "ram", ..] => (vec!["ram"], &[]),
            ["name" | "role", ..] => (vec!["name"], &[]),
            ["cores" | "cpu", ..] => (vec!["cpu"], &[]),
            ["disks", "0", "storage" | "datastore", ..] | ["datastore" | "disk_pool" | "storage", ..] => {
                (vec!["datastore"], &["/proxmox/datastore"])
            }
            ["disks", "0", ..] | ["disk" | "disk_gb", ..] => (vec!["disk"], &[]),
            ["disks", index, ref rest @ ..] => return self.further_disk(entry, index, rest.first().copied()),
            ["cards", _, "bridge", ..] | ["bridge" | "network_bridge", ..] => (vec!["bridge"], &["/proxmox/bridge"]),
            ["cards", _, "vlan", ..] | ["vlan", ..] => (vec!["vlan"], &["/network/vlan"]),
            ["cards", _, "mac", ..] | ["mac", ..] => (vec!["mac"], &[]),
            ["cards", _, "gateway", ..] | ["gateway", ..] => (vec![], &["/network/gateway"]),
            ["cards" | "addresses" | "address" | "ip", ..] => (vec!["ip", "dhcp"], &[]),
            ["gpus", ..] => (vec!["gpu/bdf", "gpu/mapping", "gpu/vendor", "gpu_pci_bdf", "gpu"], &[]),
            ["gpu", key, ..] if ["pcie", "rombar"].contains(&key) => {
                let other = if key == "pcie" { "gpu_pcie_mode" } else { "gpu_rombar" };
                let own = self.value(entry.file, &entry.key(&format!("gpu/{key}")));
                return own.or_else(|| self.value(entry.file, &entry.key(other)));
            }
            ["machine_number" | "vmid", ..] => (vec!["vmid"], &["/proxmox/vmid_range"]),
            ["template", ..] => {
                let own = self.value(entry.file, &entry.key("template"));
                return own.or_else(|| self.value("cluster.yaml", &format!("/templates/{}", entry.template)));
            }
            ["placement" | "host" | "node", ..] => (vec!["host"], &["/proxmox/node", "/proxmox/nodes"]),
            ["placement_pinned" | "host_pinned", ..] => (vec!["host_pinned", "host"], &["/proxmox/node", "/proxmox/nodes"]),
            ["onboot", ..] => (vec!["onboot"], &["/proxmox/onboot"]),
            ["boot", ..] => (vec!["boot"], &["/boot"]),
            ["attributes", ref rest @ ..] if !rest.is_empty() => return self.node_value(entry, &tokens[1..]),
            _ => return self.plain_value(entry, &words),
        };
        let address = || entry.address.as_deref().filter(|_| own.contains(&"ip")).and_then(|pointer| self.value(entry.file, pointer));
        let found = own.iter().find_map(|key| self.value(entry.file, &entry.key(key))).or_else(address);
        found.or_else(|| shared.iter().find_map(|pointer| self.value("cluster.yaml", pointer)))
    }

    fn further_disk(&self, entry: &Entry, index: &str, key: Option<&str>) -> Option<Place> {
        let disk = entry.key(&format!("disks/{}", index.parse::<usize>().ok()?.checked_sub(1)?));
        let key = match key {
            Some("storage" | "datastore") => "datastore",
            Some("name") => "name",
            _ => "size",
        };
        let own = self.value(entry.file, &format!("{disk}/{key}"));
        let shared = || {
            let node = self.value(entry.file, &entry.key("datastore"));
            node.or_else(|| self.value("cluster.yaml", "/proxmox/datastore")).filter(|_| key == "datastore")
        };
        own.or_else(shared).or_else(|| self.value(entry.file, &disk))
    }

    /// The longest part of a pointer that the node's entry has, else the same in `cluster.yaml`.
    fn plain_value(&self, entry: &Entry, words: &[&str]) -> Option<Place> {
        let own = (1..=words.len())
            .rev()
            .find_map(|length| self.value(entry.file, &joined(entry.shaped_by.unwrap_or(&entry.pointer), &words[..length])));
        own.or_else(|| self.cluster_value(words))
    }

    /// Where a value of the cluster is written, by the names of the contract (`/os-version`) or of the inventory
    /// (`/network/vip`, `/proxmox/bridge`); the beginning of `cluster.yaml` for a value nobody wrote.
    pub fn cluster(&self, pointer: &str) -> Option<Place> {
        let tokens = tokens(pointer);
        let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
        if let ["nodes", index, ref rest @ ..] = words[..] {
            let entry = index
                .parse::<usize>()
                .ok()
                .and_then(|index| self.entries.get(index))
                .or_else(|| self.entries.iter().find(|entry| entry.name == index));
            if let Some(entry) = entry {
                return self.node(&entry.name, Some(&joined("", rest)));
            }
        }
        self.cluster_value(&words).or_else(|| self.value("cluster.yaml", ""))
    }

    fn cluster_value(&self, words: &[&str]) -> Option<Place> {
        let renamed: &[&str] = match words {
            ["name", ..] => &["/cluster_name"],
            ["endpoint", ..] => &["/network/endpoint", "/network/vip"],
            ["vip", ..] => &["/network/vip"],
            ["os_version", ..] => &["/talos_version"],
            ["pod_subnets", ..] => &["/network/pod_cidr"],
            ["service_subnets", ..] => &["/network/svc_cidr"],
            ["resolvers", ..] => &["/network/nameservers"],
            ["time_servers", ..] => &["/network/ntp"],
            ["attributes", rest @ ..] if !rest.is_empty() => return self.cluster_value(rest),
            _ => &[],
        };
        let value = |pointer: &str| self.value("cluster.yaml", pointer);
        let renamed = renamed.iter().find_map(|pointer| value(pointer));
        let below = |top: &str| (1..=words.len()).rev().find_map(|length| value(&joined(top, &words[..length])));
        renamed.or_else(|| ["", "/proxmox", "/network"].iter().find_map(|top| below(top)))
    }
}

/// The words of a pointer, or of a dotted name, with `_` as the inventory writes it.
fn tokens(pointer: &str) -> Vec<String> {
    let is_pointer = pointer.starts_with('/');
    let parts: Vec<&str> = if is_pointer { pointer.split('/').skip(1).collect() } else { pointer.split('.').collect() };
    let plain = |token: &str| token.replace("~1", "/").replace("~0", "~");
    let mut words: Vec<String> = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()).take(16) {
        let token = plain(part);
        // Below labels, a name is a name.
        if words.first().is_some_and(|first| first == "labels") {
            words.push(token);
        } else {
            words.extend(token.split('.').map(|word| word.replace('-', "_")));
        }
    }
    words
}

fn joined(top: &str, words: &[&str]) -> String {
    words.iter().fold(top.to_owned(), |pointer, word| child(&pointer, word))
}
