//! YAML as Talos reads it: a tree that keeps the lines and the styles of the text, because refusals repeat both.

mod emit;
mod parse;
mod scalar;

pub(crate) use emit::key_order;
pub use emit::{emit, text_style};
pub use parse::{Stream, parse};
pub use scalar::{Resolved, plain, word};

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes, with escapes.
    Double,
    /// As a block that keeps its lines.
    Literal,
    /// As a block that joins its lines.
    Folded,
}

/// One value of a document.
#[derive(Clone, Debug)]
pub struct Node {
    /// The line it starts at, from 1.
    pub line: usize,
    /// Lists and maps only: written in one line, with brackets.
    pub flow: bool,
    /// What it consists of.
    pub content: Content,
}

/// What a value consists of.
#[derive(Clone, Debug)]
pub enum Content {
    /// One value.
    Scalar {
        /// Its text, quotes and escapes resolved.
        text: String,
        /// How it is written.
        style: Style,
        /// The tag before it.
        tag: Option<String>,
    },
    /// Values in their order.
    List(Vec<Node>),
    /// Keys and values in their order.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// A scalar of no line.
    pub fn scalar(text: impl Into<String>, style: Style) -> Self {
        Self { line: 0, flow: false, content: Content::Scalar { text: text.into(), style, tag: None } }
    }

    /// A list of no line.
    pub fn list(items: Vec<Self>) -> Self {
        Self { line: 0, flow: false, content: Content::List(items) }
    }

    /// A map of no line.
    pub fn map(entries: Vec<(Self, Self)>) -> Self {
        Self { line: 0, flow: false, content: Content::Map(entries) }
    }

    /// The value of a key, if there is one and it is not null.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Content::Map(entries) = &self.content else { return None };
        entries.iter().find(|(name, _)| name.raw() == Some(key)).map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// The value at the end of a way of keys.
    pub fn at(&self, way: &[&str]) -> Option<&Self> {
        way.iter().try_fold(self, |node, key| node.get(key))
    }

    /// A scalar's text as it was written.
    pub fn raw(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// A scalar's text; nothing for null.
    pub fn text(&self) -> Option<&str> {
        self.raw().filter(|_| !self.is_null())
    }

    /// Whether it is a scalar that stands for nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.resolve(), Some(Resolved::Null))
    }

    /// A scalar as a Boolean value; words of YAML 1.1 count, because a typed field takes them.
    pub fn truth(&self) -> Option<bool> {
        match self.resolve()? {
            Resolved::Bool(value) => Some(value),
            Resolved::Text => word(self.raw()?),
            _ => None,
        }
    }

    /// A scalar as a whole number.
    pub fn number(&self) -> Option<i128> {
        match self.resolve()? {
            Resolved::Int(value) => Some(value),
            #[allow(clippy::cast_possible_truncation, reason = "a float in an integer field loses its fraction, as in Talos")]
            Resolved::Float(value) => Some(value as i128),
            _ => None,
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[(Self, Self)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// A list of texts, without nulls.
    pub fn texts(&self) -> Vec<String> {
        self.items().iter().filter_map(|item| item.text().map(str::to_owned)).collect()
    }

    /// A map of texts, sorted by key, null as the empty text.
    pub fn text_map(&self) -> std::collections::BTreeMap<String, String> {
        let pair = |(key, value): &(Self, Self)| Some((key.raw()?.to_owned(), value.text().unwrap_or_default().to_owned()));
        self.entries().iter().filter_map(pair).collect()
    }
}
