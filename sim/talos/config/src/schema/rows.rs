//! The tables of keys, line by line.
//!
//! The files in `keys/` name every struct and its keys in the order Talos writes them. A line is `key  kind  versions`;
//! the versions are left out where they are those of the struct. A key with `!` is written even if nothing is set, and a kind with `*`
//! tells absence from emptiness.

const TABLES: [&str; 6] = [
    include_str!("keys/machine.txt"),
    include_str!("keys/machine-network.txt"),
    include_str!("keys/cluster.txt"),
    include_str!("keys/network.txt"),
    include_str!("keys/volumes.txt"),
    include_str!("keys/others.txt"),
];

/// The only Boolean value that is not behind a pointer.
const NO_POINTER: (&str, &str) = ("v1alpha1.VolumeMountConfig", "readonly");

/// What a line of a table says.
#[derive(Clone, Debug)]
pub enum Row {
    /// There is a struct.
    Struct {
        /// As refusals call it.
        name: &'static str,
        /// The kind of document that it is, and the versions that know the kind.
        document: Option<(&'static str, Span)>,
    },
    /// A struct has a key.
    Key {
        /// The struct.
        owner: &'static str,
        /// The key itself.
        name: &'static str,
        /// The kind of its value.
        kind: Kind,
        /// Whether it is written even if nothing is set.
        always: bool,
        /// Whether what is empty differs from what is absent.
        pointer: bool,
        /// The versions that know the key.
        span: Span,
    },
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A struct of the table, or a leaf.
    Named(&'static str),
    /// A list.
    List(Elements),
    /// A map with texts as keys.
    Map(Elements),
}

/// What a list or a map consists of.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The kind of each.
    pub kind: Box<Kind>,
    /// Whether a null stays among them.
    pub pointer: bool,
    /// The name of its own that the list or the map has.
    pub named: Option<&'static str>,
}

impl Kind {
    fn read(text: &'static str) -> Self {
        let (text, named) = text.split_once(" = ").map_or((text, None), |(text, named)| (text, Some(named)));
        let elements = |rest: &'static str| {
            let (rest, pointer) = pointed(rest);
            Elements { kind: Box::new(Self::read(rest)), pointer, named }
        };
        if let Some(rest) = text.strip_prefix("list ") {
            Self::List(elements(rest))
        } else if let Some(rest) = text.strip_prefix("map ") {
            Self::Map(elements(rest))
        } else {
            Self::Named(text)
        }
    }
}

/// Versions by their minor number, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub from: u16,
    /// The last.
    pub to: u16,
}

impl Span {
    const ALWAYS: Self = Self { from: 0, to: u16::MAX };

    fn read(text: &str) -> Self {
        let minor = |part: &str, otherwise| part.strip_prefix("1.").and_then(|minor| minor.parse().ok()).unwrap_or(otherwise);
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        Self { from: minor(from, 0), to: minor(to, u16::MAX) }
    }
}

/// The rows of all tables.
pub fn all() -> impl Iterator<Item = Row> {
    TABLES.into_iter().flat_map(of)
}

/// The rows of one table. Documents have their `apiVersion` and `kind` without a line that says so.
pub fn of(table: &'static str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut owner = "";
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(line) = line.strip_prefix("    ") {
            rows.extend(key(owner, line));
            continue;
        }
        let mut words = line.split(' ');
        owner = words.next().unwrap_or_default();
        let kind = words.next().filter(|word| *word == "kind").and_then(|_| words.next());
        let document = kind.map(|kind| (kind, words.next().map_or(Span::ALWAYS, Span::read)));
        rows.push(Row::Struct { name: owner, document });
        if document.is_some() {
            let text = |name| Row::Key { owner, name, kind: Kind::Named("text"), always: true, pointer: false, span: Span::ALWAYS };
            rows.extend(["apiVersion", "kind"].map(text));
        }
    }
    rows
}

fn key(owner: &'static str, line: &'static str) -> Option<Row> {
    let mut columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
    let (name, kind) = (columns.next()?, columns.next()?);
    let span = columns.next().map_or(Span::ALWAYS, Span::read);
    let (name, always) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    let (kind, pointer) = pointed(kind);
    let pointer = pointer || kind == "bool" && (owner, name) != NO_POINTER;
    Some(Row::Key { owner, name, kind: Kind::read(kind), always, pointer, span })
}

fn pointed(kind: &'static str) -> (&'static str, bool) {
    kind.strip_prefix('*').map_or((kind, false), |kind| (kind, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_its_marks_mean() {
        let said = |table| of(table).into_iter().map(|row| format!("{row:?}")).collect::<Vec<_>>().join("\n");
        let table = "# a note\na.A kind Thing 1.12..\n    one!  list *a.B = a.Bs  1.9..1.11\n\na.B\n    two  *text\n    three  bool\n";
        assert_eq!(
            said(table),
            r#"Struct { name: "a.A", document: Some(("Thing", Span { from: 12, to: 65535 })) }
Key { owner: "a.A", name: "apiVersion", kind: Named("text"), always: true, pointer: false, span: Span { from: 0, to: 65535 } }
Key { owner: "a.A", name: "kind", kind: Named("text"), always: true, pointer: false, span: Span { from: 0, to: 65535 } }
Key { owner: "a.A", name: "one", kind: List(Elements { kind: Named("a.B"), pointer: true, named: Some("a.Bs") }), always: true, pointer: false, span: Span { from: 9, to: 11 } }
Struct { name: "a.B", document: None }
Key { owner: "a.B", name: "two", kind: Named("text"), always: false, pointer: true, span: Span { from: 0, to: 65535 } }
Key { owner: "a.B", name: "three", kind: Named("bool"), always: false, pointer: true, span: Span { from: 0, to: 65535 } }"#
        );
    }

    #[test]
    fn one_boolean_value_has_no_pointer() {
        let bare = |row: &Row| matches!(row, Row::Key { kind: Kind::Named("bool"), pointer: false, .. });
        let bare: Vec<_> = all().filter(bare).collect();
        assert!(matches!(bare[..], [Row::Key { owner, name, .. }] if (owner, name) == NO_POINTER), "{bare:?}");
    }
}
