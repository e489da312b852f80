//! What a scalar means, and how a text is written so that it stays one.

use emhost_talos_schema::yaml::{self, Resolved};
use serde_json::Value;

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub text: String,
    pub style: Style,
}

/// What a scalar stands for where nothing says its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text,
}

impl Scalar {
    /// A text, quoted where it would read as something else.
    pub(crate) fn of(text: String) -> Self {
        let style = style(&text);
        Self { text, style }
    }

    pub(crate) fn meaning(&self) -> Meaning {
        if self.style == Style::Plain { plain(&self.text) } else { Meaning::Text }
    }

    /// As a Boolean value; words of YAML 1.1 count, because a typed key takes them.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.meaning() {
            Meaning::Bool(value) => Some(value),
            Meaning::Text => yaml::word(&self.text),
            _ => None,
        }
    }

    pub(crate) fn data(&self) -> Value {
        match self.meaning() {
            Meaning::Null => Value::Null,
            Meaning::Bool(value) => Value::Bool(value),
            Meaning::Int(value) => number(value).unwrap_or_else(|| Value::String(self.text.clone())),
            Meaning::Float(value) => serde_json::Number::from_f64(value).map_or_else(|| Value::String(self.text.clone()), Value::Number),
            Meaning::Text => Value::String(self.text.clone()),
        }
    }
}

/// A whole number as data, if it fits.
pub(crate) fn number(value: i128) -> Option<Value> {
    i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from)).ok()
}

/// How a text is written when nobody chose: plainly where that reads back as the same text.
fn style(text: &str) -> Style {
    if text.contains('\n') {
        let block = !text.starts_with(|first: char| first.is_whitespace())
            && !text.contains(|character: char| character.is_control() && character != '\n')
            && text.lines().all(|line| line == line.trim_end());
        return if block { Style::Literal } else { Style::Double };
    }
    let word = Scalar { text: text.to_owned(), style: Style::Plain };
    if plain(text) != Meaning::Text || word.truth().is_some() || is_date(text) || text == "<<" || text.contains(char::is_control) {
        return Style::Double;
    }
    let first = text.chars().next().unwrap_or(' ');
    let sign = "#,[]{}&*!|>'\"%@`".contains(first) || "-?:".contains(first) && text[1..].chars().next().is_none_or(char::is_whitespace);
    let special =
        sign || text.contains(": ") || text.ends_with(':') || text.contains(" #") || text != text.trim() || text.starts_with("---");
    if special { Style::Single } else { Style::Plain }
}

/// The meaning of an unquoted word. Dates, `.inf` and `.nan` are texts here, because JSON has no values for them.
fn plain(text: &str) -> Meaning {
    match yaml::plain(text) {
        Resolved::Null => Meaning::Null,
        Resolved::Bool(value) => Meaning::Bool(value),
        Resolved::Int(value) => Meaning::Int(value),
        Resolved::Float(value) if text.contains(|character: char| character.is_ascii_digit()) => Meaning::Float(value),
        Resolved::Float(_) | Resolved::Time | Resolved::Text => Meaning::Text,
    }
}

/// Dates are quoted: what has no type of its own would read them as times.
fn is_date(text: &str) -> bool {
    text.len() >= 8 && text.as_bytes()[4] == b'-' && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_talos_takes_them_for() {
        for (text, meaning) in [
            ("", Meaning::Null),
            ("~", Meaning::Null),
            ("true", Meaning::Bool(true)),
            ("yes", Meaning::Text),
            ("0x10", Meaning::Int(16)),
            ("017", Meaning::Int(15)),
            ("1_000", Meaning::Int(1000)),
            ("-5", Meaning::Int(-5)),
            ("08", Meaning::Float(8.0)),
            ("1.5", Meaning::Float(1.5)),
            ("1.2.3", Meaning::Text),
            ("10.0.0.1", Meaning::Text),
            ("2001-01-01", Meaning::Text),
            (".inf", Meaning::Text),
            ("-", Meaning::Text),
        ] {
            assert_eq!(plain(text), meaning, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_quoted_only_where_it_would_read_as_something_else() {
        for (text, expected) in [
            ("plain", Style::Plain),
            ("https://a:6443", Style::Plain),
            ("off", Style::Double),
            ("1.5", Style::Double),
            ("", Style::Double),
            ("2001-01-01", Style::Double),
            ("a: b", Style::Single),
            ("- item", Style::Single),
            ("x #y", Style::Single),
            ("a\nb\n", Style::Literal),
            (" a\nb", Style::Double),
        ] {
            assert_eq!(style(text), expected, "{text:?}");
        }
    }
}
