//! Which keys a configuration may have and of which type, because Talos merges and compares by type.
//!
//! The tables are those that the simulated nodes load configurations with, and are checked there against Talos itself.

mod check;
mod secret;
mod zero;

use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) use check::check;
pub(crate) use secret::is_secret;
pub(crate) use zero::{NUMBERS, is_zero};

use emhost_talos_schema::rows::{self, Kind, Row, Span};

use crate::tree::Node;

/// Leaves of the tables that have keys.
const PEM: &str = "
x509.PEMEncodedCertificateAndKey
    crt  text
    key  text

x509.PEMEncodedCertificate
    crt  text

x509.PEMEncodedKey
    key  text
";

/// The type of the document that has no kind.
pub(crate) const MAIN: &str = "v1alpha1.Config";
/// The type that takes any map.
pub(crate) const ANYTHING: &str = "v1alpha1.Unstructured";

/// The type of a value.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A struct of the table, or a leaf.
    Named(&'static str),
    List(Box<Shape>, Option<&'static str>),
    Map(Box<Shape>, Option<&'static str>),
}

impl Shape {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Named(name) => Self::Named(name),
            Kind::List(elements) => Self::List(Box::new(Self::of(*elements.kind)), elements.named),
            Kind::Map(elements) => Self::Map(Box::new(Self::of(*elements.kind)), elements.named),
        }
    }
}

/// One key of a struct.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    /// Whether what is empty differs from what is absent.
    pub pointer: bool,
    span: Span,
}

/// The minor version of Talos that a configuration is for, or any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release(pub Option<u16>);

impl Release {
    /// The last one the tables know.
    const NEWEST: u16 = 13;

    fn holds(self, span: Span) -> bool {
        self.0.is_none_or(|minor| (span.from..=span.to).contains(&minor))
    }

    /// Whether it may have keys that the tables lack.
    pub(crate) fn is_unknown(self) -> bool {
        self.0.is_some_and(|minor| minor > Self::NEWEST)
    }

    pub(crate) fn at_least(self, minor: u16) -> bool {
        self.0.is_none_or(|own| own >= minor)
    }
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
        for row in rows::all().chain(rows::of(PEM)) {
            match row {
                Row::Struct { name, document } => {
                    table.structs.entry(name).or_default();
                    table.kinds.extend(document.map(|(kind, span)| (kind, (name, span))));
                }
                Row::Key { owner, name, kind, pointer, span, .. } => {
                    table.structs.entry(owner).or_default().push(Key { name, shape: Shape::of(kind), pointer, span });
                }
            }
        }
        table
    }

    /// The struct of a document.
    pub(crate) fn document(&self, document: &Node, release: Release) -> Option<&'static str> {
        match document.text_of("kind") {
            None => Some(MAIN),
            Some(kind) => self.kinds.get(kind).filter(|(_, span)| release.holds(*span)).map(|(name, _)| *name),
        }
    }

    /// All keys of a struct; of those with one name the newest comes last.
    pub(crate) fn keys(&self, name: &str, release: Release) -> impl Iterator<Item = &Key> {
        self.structs.get(name).into_iter().flatten().filter(move |key| release.holds(key.span))
    }

    /// A key of a struct.
    pub(crate) fn key(&self, name: &str, key: &str, release: Release) -> Option<&Key> {
        self.keys(name, release).filter(|known| known.name == key).last()
    }

    /// The kinds of documents and their structs.
    #[cfg(test)]
    pub(crate) fn kinds(&self, release: Release) -> Vec<(&'static str, &'static str)> {
        self.kinds.iter().filter(|(_, (_, span))| release.holds(*span)).map(|(kind, (name, _))| (*kind, *name)).collect()
    }

    pub(crate) fn is_struct(&self, name: &str) -> bool {
        self.structs.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_and_change_with_versions() {
        let table = Table::get();
        let arguments = |minor| table.key("v1alpha1.KubeletConfig", "extraArgs", Release(minor)).map(|key| format!("{:?}", key.shape));
        assert_eq!(arguments(Some(12)).as_deref(), Some("Map(Named(\"text\"), None)"));
        assert_eq!(arguments(Some(13)), arguments(None));
        assert!(arguments(None).is_some_and(|shape| shape.contains("v1alpha1.Args")));
        let hostname = Node::Map(vec![("kind".to_owned(), Node::text("HostnameConfig"))]);
        assert!(table.document(&hostname, Release(Some(11))).is_none());
        assert!(table.document(&hostname, Release(None)).is_some());
        assert!(table.is_struct("x509.PEMEncodedKey") && !table.is_struct("text"));
    }
}
