//! Which keys a configuration may have, of which kind, in which versions of Talos.
//!
//! The tables in `keys/` name every struct and its keys in the order Talos writes them. A line is `key  kind  versions`;
//! the versions are left out where they are those of the struct. A key with `!` is written even if nothing is set, and a kind with `*`
//! tells absence from emptiness. Structs carry the names that refusals repeat.

mod leaf;

use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) use leaf::{Leaf, words};

use super::Version;

/// The tables, for whoever reads them by rules of his own.
pub const TABLES: [&str; 6] = [
    include_str!("keys/machine.txt"),
    include_str!("keys/machine-network.txt"),
    include_str!("keys/cluster.txt"),
    include_str!("keys/network.txt"),
    include_str!("keys/volumes.txt"),
    include_str!("keys/others.txt"),
];

/// The struct of the document that has no kind.
pub(crate) const MAIN: &str = "v1alpha1.Config";

/// Versions by their minor number, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    from: u16,
    to: u16,
}

impl Span {
    const ALWAYS: Self = Self { from: 0, to: u16::MAX };

    fn read(text: &str) -> Self {
        let minor = |part: &str, otherwise| part.strip_prefix("1.").and_then(|minor| minor.parse().ok()).unwrap_or(otherwise);
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        Self { from: minor(from, 0), to: minor(to, u16::MAX) }
    }

    pub(crate) fn holds(self, version: Version) -> bool {
        version.major > 1 && self.to == u16::MAX || (self.from..=self.to).contains(&version.minor)
    }
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Struct(&'static str),
    List(Many),
    Map(Many),
    Leaf(Leaf),
}

/// A list or a map of one kind of value.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    pub element: Box<Shape>,
    /// Whether a null stays in the list.
    pub pointer: bool,
    /// The name of its own that the type has.
    pub named: Option<&'static str>,
}

impl Shape {
    fn read(text: &'static str) -> Self {
        let (text, named) = match text.split_once(" = ") {
            Some((text, named)) => (text, Some(named)),
            None => (text, None),
        };
        let many = |rest: &'static str| {
            let (pointer, rest) = rest.strip_prefix('*').map_or((false, rest), |rest| (true, rest));
            Many { element: Box::new(Self::read(rest)), pointer, named }
        };
        if let Some(rest) = text.strip_prefix("list ") {
            Self::List(many(rest))
        } else if let Some(rest) = text.strip_prefix("map ") {
            Self::Map(many(rest))
        } else {
            Leaf::read(text).map_or(Self::Struct(text), Self::Leaf)
        }
    }

    /// The type's name in refusals.
    pub(crate) fn type_name(&self) -> String {
        let many = |many: &Many, before: &str| match many.named {
            Some(named) => named.to_owned(),
            None => format!("{before}{}{}", if many.pointer { "*" } else { "" }, many.element.type_name()),
        };
        match self {
            Self::Struct(name) => (*name).to_owned(),
            Self::List(list) => many(list, "[]"),
            Self::Map(map) => many(map, "map[string]"),
            Self::Leaf(leaf) => leaf.type_name().to_owned(),
        }
    }
}

/// One key of a struct.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    /// Whether it is written even if nothing is set.
    pub always: bool,
    /// Whether what is empty differs from what is absent.
    pub pointer: bool,
    span: Span,
}

/// All structs and the kinds of documents.
pub(crate) struct Table {
    structs: HashMap<&'static str, Vec<Key>>,
    kinds: HashMap<&'static str, (&'static str, Span)>,
}

impl Table {
    /// The table, read once.
    pub(crate) fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut table = Self { structs: HashMap::new(), kinds: HashMap::new() };
        let mut current = MAIN;
        let lines = TABLES.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            if let Some(row) = line.strip_prefix("    ") {
                let mut columns = row.split("  ").map(str::trim).filter(|column| !column.is_empty());
                if let (Some(name), Some(shape)) = (columns.next(), columns.next()) {
                    let span = columns.next().map_or(Span::ALWAYS, Span::read);
                    let (name, always) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
                    let (shape, pointer) = shape.strip_prefix('*').map_or((shape, shape == "bool"), |shape| (shape, true));
                    table.structs.entry(current).or_default().push(Key { name, shape: Shape::read(shape), always, pointer, span });
                }
                continue;
            }
            let mut words = line.split(' ');
            current = words.next().unwrap_or(MAIN);
            table.structs.entry(current).or_default();
            if words.next() == Some("kind")
                && let Some(kind) = words.next()
            {
                table.kinds.insert(kind, (current, words.next().map_or(Span::ALWAYS, Span::read)));
                let text = || Shape::Leaf(Leaf::Text);
                let keys = ["apiVersion", "kind"].map(|name| Key { name, shape: text(), always: true, pointer: false, span: Span::ALWAYS });
                table.structs.entry(current).or_default().extend(keys);
            }
        }
        table
    }

    /// The struct behind a kind of document, if this version knows the kind.
    pub(crate) fn kind(&self, kind: &str, version: Version) -> Option<&'static str> {
        self.kinds.get(kind).filter(|(_, span)| span.holds(version)).map(|(name, _)| *name)
    }

    /// The keys of a struct in this version, in the order they are written.
    pub(crate) fn keys(&self, name: &str, version: Version) -> impl Iterator<Item = &Key> {
        self.structs.get(name).into_iter().flatten().filter(move |key| key.span.holds(version))
    }

    /// The kind of a key's value, if this version knows the key.
    pub(crate) fn key(&self, name: &str, key: &str, version: Version) -> Option<&Shape> {
        self.keys(name, version).find(|known| known.name == key).map(|known| &known.shape)
    }

    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &Vec<Key>)> {
        self.structs.iter().map(|(name, keys)| (*name, keys))
    }

    #[cfg(test)]
    pub(crate) fn all_kinds(&self, version: Version) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.kinds.iter().filter(|(_, (_, span))| span.holds(version)).map(|(kind, _)| *kind).collect();
        kinds.sort_unstable();
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structs_of(shape: &Shape) -> Option<&'static str> {
        match shape {
            Shape::Struct(name) => Some(name),
            Shape::List(many) | Shape::Map(many) => structs_of(&many.element),
            Shape::Leaf(_) => None,
        }
    }

    #[test]
    fn every_struct_that_a_key_names_is_in_the_table() {
        let table = Table::get();
        for (name, keys) in table.all() {
            for key in keys {
                if let Some(inner) = structs_of(&key.shape) {
                    assert!(table.structs.contains_key(inner), "{name}.{}: {inner}", key.name);
                }
            }
        }
        assert!(table.structs.len() > 100, "{}", table.structs.len());
    }

    #[test]
    fn kinds_appear_with_their_version() {
        let table = Table::get();
        let count = |minor| table.all_kinds(Version::new(1, minor, 0)).len();
        assert_eq!([8, 9, 10, 11, 12, 13].map(count), [10, 10, 13, 17, 36, 44]);
        assert!(table.kind("HostnameConfig", Version::new(1, 11, 5)).is_none());
        assert!(table.kind("HostnameConfig", Version::new(1, 12, 0)).is_some());
    }

    #[test]
    fn keys_come_and_change_with_versions() {
        let table = Table::get();
        let arguments = |minor| table.key("v1alpha1.KubeletConfig", "extraArgs", Version::new(1, minor, 0)).map(Shape::type_name);
        assert_eq!(arguments(12).as_deref(), Some("map[string]string"));
        assert_eq!(arguments(13).as_deref(), Some("v1alpha1.Args"));
        let cmdline = |minor| table.key("v1alpha1.InstallConfig", "grubUseUKICmdline", Version::new(1, minor, 0)).is_some();
        assert!(!cmdline(11) && cmdline(12));
        let devices = table.key("v1alpha1.NetworkConfig", "interfaces", Version::new(1, 11, 0)).map(Shape::type_name);
        assert_eq!(devices.as_deref(), Some("v1alpha1.NetworkDeviceList"));
    }
}
