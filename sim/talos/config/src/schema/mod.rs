//! Which keys a configuration may have, of which kind, in which versions of Talos.
//!
//! The tables that say so are read in [`rows`]. Structs carry the names that refusals repeat.

mod leaf;
pub mod rows;

use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) use leaf::{Leaf, words};

use self::rows::{Elements, Kind, Row, Span};
use super::Version;

/// The struct of the document that has no kind.
pub(crate) const MAIN: &str = "v1alpha1.Config";

impl Span {
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
    fn of(kind: Kind) -> Self {
        let many =
            |elements: Elements| Many { element: Box::new(Self::of(*elements.kind)), pointer: elements.pointer, named: elements.named };
        match kind {
            Kind::List(elements) => Self::List(many(elements)),
            Kind::Map(elements) => Self::Map(many(elements)),
            Kind::Named(name) => Leaf::read(name).map_or(Self::Struct(name), Self::Leaf),
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
        for row in rows::all() {
            match row {
                Row::Struct { name, document } => {
                    table.structs.entry(name).or_default();
                    table.kinds.extend(document.map(|(kind, span)| (kind, (name, span))));
                }
                Row::Key { owner, name, kind, always, pointer, span } => {
                    table.structs.entry(owner).or_default().push(Key { name, shape: Shape::of(kind), always, pointer, span });
                }
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
