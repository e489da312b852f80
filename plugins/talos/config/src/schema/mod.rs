//! Which keys a configuration may have and of which type, because Talos merges and compares by type.
//!
//! The tables are those that the simulated nodes load configurations with, and are checked there against Talos itself: a line is
//! `key  type  versions`. A type with `*` tells absence from emptiness.

mod check;
mod secret;
mod zero;

use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) use check::check;
pub(crate) use secret::is_secret;
pub(crate) use zero::{NUMBERS, is_zero};

use emhost_talos_schema::TABLES;

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
    fn read(text: &'static str) -> Self {
        let (text, named) = text.split_once(" = ").map_or((text, None), |(text, named)| (text, Some(named)));
        let inner = |rest: &'static str| Box::new(Self::read(rest.trim_start_matches('*')));
        if let Some(rest) = text.strip_prefix("list ") {
            Self::List(inner(rest), named)
        } else if let Some(rest) = text.strip_prefix("map ") {
            Self::Map(inner(rest), named)
        } else {
            Self::Named(text)
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

/// Minor versions, both ends included.
#[derive(Clone, Copy, Debug)]
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

    /// What a person should know: since when, or until when.
    fn words(self) -> String {
        if self.to == u16::MAX { format!("Talos 1.{} or newer", self.from) } else { format!("Talos up to 1.{}", self.to) }
    }
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
        let mut current = MAIN;
        let lines = TABLES.iter().chain([&PEM]).flat_map(|text| text.lines()).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            if let Some(row) = line.strip_prefix("    ") {
                let mut columns = row.split("  ").map(str::trim).filter(|column| !column.is_empty());
                if let (Some(name), Some(shape)) = (columns.next(), columns.next()) {
                    let span = columns.next().map_or(Span::ALWAYS, Span::read);
                    // All Boolean values but one are behind pointers.
                    let bool = shape == "bool" && (current, name) != ("v1alpha1.VolumeMountConfig", "readonly");
                    let (shape, pointer) = shape.strip_prefix('*').map_or((shape, bool), |shape| (shape, true));
                    let key = Key { name: name.trim_end_matches('!'), shape: Shape::read(shape), pointer, span };
                    table.structs.entry(current).or_default().push(key);
                }
                continue;
            }
            let mut words = line.split(' ');
            current = words.next().unwrap_or(MAIN);
            let keys = table.structs.entry(current).or_default();
            if words.next() == Some("kind")
                && let Some(kind) = words.next()
            {
                table.kinds.insert(kind, (current, words.next().map_or(Span::ALWAYS, Span::read)));
                let text = |name| Key { name, shape: Shape::Named("text"), pointer: false, span: Span::ALWAYS };
                keys.extend(["apiVersion", "kind"].map(text));
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
