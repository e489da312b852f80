//! From text to trees.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};

use super::{Entries, Node, Scalar, Style};

/// Values a text may hold, those that aliases repeat included: a few lines of aliases could ask for any number.
const MOST: usize = 400_000;
/// How deep a value may lie.
const DEEPEST: usize = 200;

/// The documents of a text, or where and why it is no YAML.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, String> {
    let mut builder = Builder::default();
    builder.run(text)?;
    Ok(builder.documents)
}

enum Open {
    List { anchor: usize, items: Vec<Node> },
    Map { anchor: usize, entries: Entries, key: Option<String> },
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    count: usize,
}

impl Builder {
    fn run(&mut self, text: &str) -> Result<(), String> {
        let mut options = granit_parser::options! { flow_nesting_limit: DEEPEST, block_nesting_limit: DEEPEST };
        options.set_emit_comments(false);
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
            let line = span.start.line();
            match event {
                Event::DocumentStart(..) => self.anchors.clear(),
                Event::Alias(anchor) => {
                    let (node, size) = self.anchors.get(&anchor).cloned().ok_or_else(|| format!("line {line}: an alias of itself"))?;
                    self.counted(size)?;
                    self.place(node, 0, line)?;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let style = match style {
                        // A tag that says "text" is the same as quotes.
                        ScalarStyle::Plain if tag.is_some_and(|tag| tag.core_suffix() == Some("str")) => Style::Double,
                        ScalarStyle::Plain => Style::Plain,
                        ScalarStyle::SingleQuoted => Style::Single,
                        ScalarStyle::DoubleQuoted => Style::Double,
                        ScalarStyle::Literal | ScalarStyle::Folded => Style::Literal,
                    };
                    // A value left out comes as the tilde it stands for.
                    let absent = style == Style::Plain && span.start.index() == span.end.index();
                    let text = if absent { String::new() } else { text.into_owned() };
                    self.counted(1)?;
                    self.place(Node::Scalar(Scalar { text, style }), anchor, line)?;
                }
                Event::SequenceStart(_, anchor, _) => {
                    self.counted(1)?;
                    self.open.push(Open::List { anchor, items: Vec::new() });
                }
                Event::MappingStart(_, anchor, _) => {
                    self.counted(1)?;
                    self.open.push(Open::Map { anchor, entries: Vec::new(), key: None });
                }
                Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                    Some(Open::List { anchor, items }) => self.place(Node::List(items), anchor, line)?,
                    Some(Open::Map { anchor, entries, .. }) => self.place(Node::Map(entries), anchor, line)?,
                    None => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn counted(&mut self, values: usize) -> Result<(), String> {
        self.count += values;
        if self.count > MOST { Err("too many values, aliases included".to_owned()) } else { Ok(()) }
    }

    fn place(&mut self, node: Node, anchor: usize, line: usize) -> Result<(), String> {
        if anchor != 0 {
            let size = size(&node);
            self.counted(size)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            None => self.documents.push(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match (key.take(), node) {
                (None, Node::Scalar(scalar)) => *key = Some(scalar.text),
                (None, _) => return Err(format!("line {line}: a key that is a list or a map")),
                (Some(key), node) => {
                    if entries.iter().any(|(known, _)| *known == key) {
                        return Err(format!("line {line}: the key `{key}` is there twice"));
                    }
                    entries.push((key, node));
                }
            },
        }
        Ok(())
    }
}

fn size(node: &Node) -> usize {
    1 + match node {
        Node::Scalar(_) => 0,
        Node::List(items) => items.iter().map(size).sum(),
        Node::Map(entries) => entries.iter().map(|(_, value)| 1 + size(value)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(text: &str) -> Vec<serde_json::Value> {
        parse(text).unwrap().iter().map(Node::data).collect()
    }

    #[test]
    fn documents_are_read_with_their_aliases() {
        assert_eq!(
            data("a: &x {b: 1, c: 2}\nd: [*x]\n---\n[1, '1']\n"),
            [json!({"a": {"b": 1, "c": 2}, "d": [{"b": 1, "c": 2}]}), json!([1, "1"])]
        );
        assert_eq!(data("a: !!str 5\nb:\n"), [json!({"a": "5", "b": null})]);
        assert!(data("# nothing\n").is_empty());
    }

    #[test]
    fn faults_name_their_line() {
        for (text, fault) in
            [("a: 1\na: 2\n", "line 2: the key `a` is there twice"), ("a: [\n", "line 1"), ("? [a]\n: b\n", "a key that is a list")]
        {
            let said = parse(text).unwrap_err();
            assert!(said.contains(fault), "{text:?}: {said}");
        }
    }
}
