//! Parameters as they come, and as they are after the check.

use std::collections::BTreeMap;

use super::{list, perl};

/// One parameter as a client gave it. Form values are [`Given::Text`]; JSON keeps its types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Text.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// An array, or a key that was repeated in a form.
    List(Vec<Given>),
    /// `null`, which is as good as absent.
    Null,
    /// An object, which no parameter takes.
    Object,
}

impl From<&str> for Given {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Given {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<serde_json::Value> for Given {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(flag),
            serde_json::Value::Number(number) => Self::Number(perl::printed(&number)),
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(_) => Self::Object,
        }
    }
}

impl Given {
    /// What Perl makes of it where it wants text; none for what it would print as a reference.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(true) => Some("1"),
            Self::Bool(false) => Some("0"),
            Self::List(_) | Self::Null | Self::Object => None,
        }
    }

    /// What Perl's `ref` says of it.
    pub(super) fn reference(&self) -> Option<&'static str> {
        match self {
            Self::Bool(_) => Some("JSON::PP::Boolean"),
            Self::List(_) => Some("ARRAY"),
            Self::Object => Some("HASH"),
            Self::Text(_) | Self::Number(_) | Self::Null => None,
        }
    }
}

/// One checked value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// Several, of a parameter of type array.
    List(Vec<String>),
}

/// Checked parameters. Everything is text, as in Perl; numbers and booleans that came as JSON too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(pub BTreeMap<String, Value>);

impl Params {
    /// The text of a parameter; none where it is absent or an array.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    /// A parameter as an integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.text(name)?.trim_end_matches('\n').parse().ok()
    }

    /// A parameter as a number that may have a fraction.
    pub fn number(&self, name: &str) -> Option<f64> {
        perl::number(self.text(name)?)
    }

    /// A boolean parameter.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(perl::truthy)
    }

    /// The items of an array, or of a list in one text. Empty where the parameter is absent.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Text(text)) => list::split(text),
            Some(Value::List(items)) => items.clone(),
            None => Vec::new(),
        }
    }

    /// Whether the parameter was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The parameter `node`; empty where the path has none.
    pub fn node(&self) -> &str {
        self.text("node").unwrap_or_default()
    }

    /// The parameter `vmid`.
    pub fn vmid(&self) -> Option<u32> {
        self.text("vmid")?.trim_end_matches('\n').parse().ok()
    }

    /// Every parameter, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Every parameter that is text, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Value::Text(text) => Some((name.as_str(), text.as_str())),
            Value::List(_) => None,
        })
    }

    /// Sets a parameter to a text.
    pub fn set(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.0.insert(name.into(), Value::Text(text.into()));
    }

    /// Takes a parameter away.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }
}
