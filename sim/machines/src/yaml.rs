//! YAML as a tree that knows its lines, as Go programs show them to people who
//! made a mistake, with a bound on everything.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle};

/// The deepest nesting that is followed.
const DEEPEST: usize = 64;
/// The most values, those that aliases repeat among them. Long texts count as several.
const MOST: usize = 50_000;
/// Bytes of text that count as one value.
const PIECE: usize = 256;

/// A value and the line it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// What can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A scalar as written, and whether without quotes.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Tree>),
    /// Keys with their lines, in the order they were written.
    Table(Vec<(String, usize, Tree)>),
}

impl Tree {
    /// Whether it says that there is nothing.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// How deep it is nested; at most [`DEEPEST`].
    fn depth(&self) -> usize {
        let below = match &self.value {
            Value::Scalar { .. } => None,
            Value::List(items) => items.iter().map(Self::depth).max(),
            Value::Table(entries) => entries.iter().map(|(_, _, tree)| tree.depth()).max(),
        };
        1 + below.unwrap_or_default()
    }

    /// What a key of a table stands for.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(name, _, _)| name == key).map(|(_, _, tree)| tree),
            _ => None,
        }
    }

    /// The entries of a table.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let entries = match &self.value {
            Value::Table(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, _, tree)| (key.as_str(), tree))
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a scalar that is not null.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// The text of a key's scalar.
    pub(crate) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// Its tag and its text, for a message.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            Value::List(_) => "!!seq".to_owned(),
            Value::Table(_) => "!!map".to_owned(),
            Value::Scalar { text, plain } => {
                let tag = match text.as_str() {
                    _ if !plain => "!!str",
                    "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => "!!bool",
                    text if text.parse::<i128>().is_ok() => "!!int",
                    text if text.parse::<f64>().is_ok() && text.starts_with(|c: char| c.is_ascii_digit() || ".+-".contains(c)) => "!!float",
                    _ => "!!str",
                };
                let cut: String = text.chars().take(7).collect();
                if text.chars().count() > 10 { format!("{tag} `{cut}...`") } else { format!("{tag} `{text}`") }
            }
        }
    }
}

/// The first document of a text; none where there is not any.
pub(crate) fn parse(text: &str) -> Result<Option<Tree>, String> {
    let mut options = granit_parser::options! { flow_nesting_limit: DEEPEST, block_nesting_limit: DEEPEST };
    options.set_emit_comments(false);
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| format!("yaml: line {}: {}", error.marker().line(), error.info()))?;
        let line = span.start.line();
        let fail = |what: &str| Err(format!("yaml: line {line}: {what}"));
        match event {
            Event::DocumentEnd => break,
            Event::Alias(anchor) => {
                let Some((tree, size)) = builder.anchors.get(&anchor).cloned() else { return fail("an alias within what it stands for") };
                builder.count += size;
                if builder.open.len() + tree.depth() > DEEPEST {
                    return fail("exceeded max depth");
                }
                builder.place(Tree { line, ..tree }, 0, size);
            }
            Event::Scalar(text, style, anchor, _) => {
                let size = 1 + text.len() / PIECE;
                builder.count += size;
                let value = Value::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain };
                builder.place(Tree { line, value }, anchor, size);
            }
            Event::SequenceStart(_, anchor, _) => builder.begin(line, anchor, false),
            Event::MappingStart(_, anchor, _) => builder.begin(line, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => builder.end(),
            _ => {}
        }
        if builder.count > MOST {
            return fail("document contains excessive aliasing");
        }
    }
    Ok(builder.root)
}

/// A list or a table of which not everything was seen yet.
struct Open {
    line: usize,
    anchor: usize,
    before: usize,
    table: bool,
    items: Vec<Tree>,
}

#[derive(Default)]
struct Builder {
    root: Option<Tree>,
    open: Vec<Open>,
    /// What anchors stand for and how many values that is.
    anchors: BTreeMap<usize, (Tree, usize)>,
    count: usize,
}

impl Builder {
    fn begin(&mut self, line: usize, anchor: usize, table: bool) {
        self.open.push(Open { line, anchor, before: self.count, table, items: Vec::new() });
        self.count += 1;
    }

    fn end(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let value = if open.table {
            let mut items = open.items.into_iter();
            let mut entries = Vec::new();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                let name = match key.value {
                    Value::Scalar { text, .. } => text,
                    _ => String::new(),
                };
                entries.push((name, key.line, value));
            }
            Value::Table(entries)
        } else {
            Value::List(open.items)
        };
        let size = self.count - open.before;
        self.place(Tree { line: open.line, value }, open.anchor, size);
    }

    fn place(&mut self, tree: Tree, anchor: usize, size: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (tree.clone(), size));
        }
        match self.open.last_mut() {
            Some(open) => open.items.push(tree),
            None => self.root = Some(tree),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn aliases_repeat_what_they_stand_for_within_bounds() {
        let tree = parse("a: &x [1, 2]\nb: *x\n").unwrap().unwrap();
        assert_eq!(tree.get("a").unwrap().items().len(), 2);
        assert_eq!(tree.get("b").unwrap().value, tree.get("a").unwrap().value.clone());
        let wide = |level: u32| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "));
        let wide: Vec<String> = (1..9).map(wide).collect();
        assert!(parse(&format!("a0: &a0 x\n{}", wide.concat())).unwrap_err().contains("excessive aliasing"));
        let deep = |level: u32| format!("a{level}: &a{level} {}*a{}{}\n", "[".repeat(20), level - 1, "]".repeat(20));
        let deep: Vec<String> = (1..9).map(deep).collect();
        assert!(parse(&format!("a0: &a0 x\n{}", deep.concat())).unwrap_err().contains("max depth"));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 1000].join(", "));
        assert!(parse(&long).unwrap_err().contains("excessive aliasing"));
        assert!(parse("a: &a [*a]\n").is_err());
    }

    #[test]
    fn only_the_first_document_counts() {
        assert_eq!(parse("a: 1\n---\nb: [\n").unwrap().unwrap().text_of("a"), Some("1"));
        assert_eq!(parse("# nothing\n").unwrap(), None);
        assert!(parse("~").unwrap().unwrap().is_null());
    }
}
