//! From text to trees.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};

use super::{Content, Node, Style};

/// Values a text may hold, those that aliases repeat included: a few lines of aliases could ask for any number.
const MOST: usize = 400_000;
/// How deep a value may lie.
const DEEPEST: usize = 200;

/// The documents of a text, up to the first fault in its syntax.
pub struct Stream {
    /// Those before the fault.
    pub documents: Vec<Node>,
    /// Where and why reading stopped.
    pub fault: Option<String>,
}

/// Reads all documents; what stands before a fault in the syntax is read, as by a decoder that goes from one to the next.
pub fn parse(text: &str) -> Stream {
    let mut builder = Builder::default();
    let fault = builder.run(text).err();
    Stream { documents: builder.documents, fault }
}

enum Open {
    List { line: usize, flow: bool, anchor: usize, items: Vec<Node> },
    Map { line: usize, flow: bool, anchor: usize, entries: Vec<(Node, Node)>, key: Option<Node> },
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
                    let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                        return Err("anchor value contains itself".to_owned());
                    };
                    self.counted(size)?;
                    self.place(node, 0)?;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let style = match style {
                        ScalarStyle::Plain => Style::Plain,
                        ScalarStyle::SingleQuoted => Style::Single,
                        ScalarStyle::DoubleQuoted => Style::Double,
                        ScalarStyle::Literal => Style::Literal,
                        ScalarStyle::Folded => Style::Folded,
                    };
                    let tag = tag.map(|tag| short(&tag));
                    // A value left out comes as the tilde it stands for.
                    let absent = style == Style::Plain && span.start.index() == span.end.index();
                    let text = if absent { String::new() } else { text.into_owned() };
                    let content = Content::Scalar { text, style, tag };
                    self.counted(1)?;
                    self.place(Node { line, flow: false, content }, anchor)?;
                }
                Event::SequenceStart(style, anchor, _) => {
                    self.counted(1)?;
                    self.open.push(Open::List { line, flow: style == StructureStyle::Flow, anchor, items: Vec::new() });
                }
                Event::MappingStart(style, anchor, _) => {
                    self.counted(1)?;
                    self.open.push(Open::Map { line, flow: style == StructureStyle::Flow, anchor, entries: Vec::new(), key: None });
                }
                Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                    Some(Open::List { line, flow, anchor, items }) => {
                        self.place(Node { line, flow, content: Content::List(items) }, anchor)?;
                    }
                    Some(Open::Map { line, flow, anchor, entries, .. }) => {
                        self.place(Node { line, flow, content: Content::Map(entries) }, anchor)?;
                    }
                    None => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn counted(&mut self, values: usize) -> Result<(), String> {
        self.count += values;
        if self.count > MOST { Err("document contains excessive aliasing".to_owned()) } else { Ok(()) }
    }

    fn place(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            let size = size(&node);
            self.counted(size)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            None => self.documents.push(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                None => *key = Some(node),
                Some(key) => entries.push((key, node)),
            },
        }
        Ok(())
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.content {
        Content::Scalar { .. } => 0,
        Content::List(items) => items.iter().map(size).sum(),
        Content::Map(entries) => entries.iter().map(|(key, value)| size(key) + size(value)).sum(),
    }
}

/// `!!str` for the tags of YAML itself, as it stands for others.
fn short(tag: &Tag) -> String {
    match tag.core_suffix() {
        Some(suffix) => format!("!!{suffix}"),
        None => tag.original(),
    }
}
