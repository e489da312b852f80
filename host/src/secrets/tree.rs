//! A YAML file as a tree that knows where each value is written.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::error::FormatError;
use super::scalar::Plain;

/// No file of secrets is nested or filled like that.
const DEEPEST: usize = 64;
const MOST: usize = 100_000;

/// A value and its place in the text.
pub(super) struct Node {
    pub(super) content: Content,
    /// Where a scalar is written; of anything else, where it begins.
    pub(super) span: Range<usize>,
    pub(super) line: usize,
}

/// A value. Sealed is one that was encrypted in the file.
pub(super) enum Content {
    Scalar { plain: Plain, style: ScalarStyle, sealed: bool },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key begins.
    pub(super) start: usize,
    pub(super) value: Node,
}

impl Node {
    /// The value under a key of a mapping.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The text of a scalar that is text.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { plain: Plain::Text(bytes), .. } => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The members of a list.
    pub(super) fn list(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }
}

/// The entries of a file that is one mapping.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, FormatError> {
    let mut options = granit_parser::options! { block_nesting_limit: DEEPEST, flow_nesting_limit: DEEPEST };
    options.set_emit_comments(false);
    let mut reader = Reader { parser: Parser::new_from_str_with_options(text, options), line: 1, left: MOST };
    let root = loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (Event::StreamEnd, _) => return Err(FormatError::Empty),
            (event, span) => break reader.node(event, &span)?,
        }
    };
    loop {
        match reader.next()? {
            (Event::DocumentEnd, _) => {}
            (Event::StreamEnd, _) => break,
            _ => return Err(reader.wrong("a second document begins here: keep all secrets in one")),
        }
    }
    match root.content {
        Content::Map(entries) => Ok(entries),
        Content::Scalar { plain: Plain::Null, .. } => Err(FormatError::Empty),
        _ => Err(FormatError::Yaml { line: root.line, reason: "expected `NAME: VALUE` lines".to_owned() }),
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    line: usize,
    left: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, reason: &str) -> FormatError {
        FormatError::Yaml { line: self.line, reason: reason.to_owned() }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), FormatError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.wrong("too many values for a file of secrets"))?;
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok((event, span))
            }
            Some(Err(error)) => Err(FormatError::Yaml { line: error.marker().line(), reason: error.info() }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Node, FormatError> {
        // Go expands them, and so could a few lines become gigabytes. sops never writes them.
        if event.is_alias() || event.anchor_id().is_some() {
            return Err(self.wrong("anchors and aliases are not used in encrypted files: write the value out"));
        }
        let line = span.start.line();
        let (Some(start), Some(end)) = (span.start.byte_offset(), span.end.byte_offset()) else {
            return Err(self.wrong("unknown position"));
        };
        let content = match event {
            Event::Scalar(text, style, _, tag) => {
                let tag = tag.as_deref().map(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:").map_or_else(String::new, Cow::into_owned));
                let plain = self.scalar(&text, style, tag.as_deref())?;
                Content::Scalar { plain, style, sealed: false }
            }
            Event::SequenceStart(_, _, None) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, span) => items.push(self.node(event, &span)?),
                    }
                }
                Content::List(items)
            }
            Event::MappingStart(_, _, None) => Content::Map(self.entries()?),
            _ => return Err(self.wrong("unexpected tag or document")),
        };
        Ok(Node { content, span: start..end, line })
    }

    fn entries(&mut self) -> Result<Vec<Entry>, FormatError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(entries);
            }
            let key = self.node(event, &span)?;
            let Some(name) = key.text().map(str::to_owned) else {
                return Err(self.wrong("a key is not text: put it in quotes"));
            };
            if !seen.insert(name.clone()) {
                return Err(self.wrong("this key was there before: keep one of them"));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, &span)?;
            entries.push(Entry { key: name, start: key.span.start, value });
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&str>) -> Result<Plain, FormatError> {
        match (tag, style) {
            (None, ScalarStyle::Plain) => {
                Plain::resolve(text).ok_or_else(|| self.wrong("the number is too large for sops: put it in quotes"))
            }
            (None | Some("str"), _) => Ok(Plain::text(text)),
            (Some("binary"), _) => Plain::binary(text).ok_or_else(|| self.wrong("this is not base64")),
            (Some(_), _) => Err(self.wrong("this tag is not used in encrypted files")),
        }
    }
}
