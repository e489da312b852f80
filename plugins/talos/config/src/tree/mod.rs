//! YAML as a tree that keeps the order of keys and the way scalars are written.

mod emit;
mod parse;
mod scalar;

use serde_json::Value;

pub(crate) use emit::emit;
pub(crate) use parse::parse;
pub(crate) use scalar::{Meaning, Scalar, Style, number};

/// The entries of a map, in their order.
pub(crate) type Entries = Vec<(String, Node)>;

/// One value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Entries),
}

impl Node {
    /// A text, quoted where it would read as something else.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Scalar(Scalar::of(text.into()))
    }

    /// The value of a key, if there is one and it is not null.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        get(entries, key)
    }

    /// The text of a key's scalar.
    pub(crate) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// A scalar's text as it was written; nothing for null.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar(scalar) if !self.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.meaning() == Meaning::Null)
    }

    /// What kind of value it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => "null",
                Meaning::Bool(_) => "true or false",
                Meaning::Int(_) | Meaning::Float(_) => "a number",
                Meaning::Text => "a text",
            },
        }
    }

    /// The value as data, scalars taken for what they look like.
    pub(crate) fn data(&self) -> Value {
        match self {
            Self::List(items) => Value::Array(items.iter().map(Self::data).collect()),
            Self::Map(entries) => Value::Object(entries.iter().map(|(key, value)| (key.clone(), value.data())).collect()),
            Self::Scalar(scalar) => scalar.data(),
        }
    }
}

/// The value of a key, if there is one and it is not null.
pub(crate) fn get<'entries>(entries: &'entries Entries, key: &str) -> Option<&'entries Node> {
    entries.iter().find(|(name, _)| name == key).map(|(_, value)| value).filter(|value| !value.is_null())
}

/// Sets a key in its place, or behind the others.
pub(crate) fn set(entries: &mut Entries, key: String, value: Node) {
    match entries.iter_mut().find(|(name, _)| *name == key) {
        Some((_, old)) => *old = value,
        None => entries.push((key, value)),
    }
}
