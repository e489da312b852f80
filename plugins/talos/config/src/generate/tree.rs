//! Short words for trees of YAML.

use emhost_talos_schema::yaml::{Node, Style, text_style};

/// A text, in quotes only where it would read as something else.
pub(crate) fn text(text: &str) -> Node {
    Node::scalar(text, text_style(text))
}

/// Keys and values in their order; those without a value are left out.
pub(crate) fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Option<Node>)>) -> Node {
    Node::map(entries.into_iter().filter_map(|(key, value)| Some((text(key), value?))).collect())
}

pub(crate) fn list(items: impl IntoIterator<Item = Node>) -> Node {
    Node::list(items.into_iter().collect())
}

pub(crate) fn texts<'a>(items: impl IntoIterator<Item = &'a String>) -> Node {
    list(items.into_iter().map(|item| text(item)))
}

/// A list that is left out where it is empty.
pub(crate) fn some_texts(items: &[String]) -> Option<Node> {
    (!items.is_empty()).then(|| texts(items))
}

pub(crate) fn truth(value: bool) -> Node {
    Node::scalar(value.to_string(), Style::Plain)
}

pub(crate) fn number(value: impl Into<u64>) -> Node {
    Node::scalar(value.into().to_string(), Style::Plain)
}
