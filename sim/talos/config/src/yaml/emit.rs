//! From a tree to text, in the style of the YAML library Talos uses: four spaces, lists indented below their key.

use std::cmp::Ordering;

use super::{Content, Node, Resolved, Style, plain, word};

/// The text of a tree, ending with a line break.
pub fn emit(node: &Node) -> String {
    let mut out = String::new();
    match &node.content {
        Content::Map(entries) if !entries.is_empty() && !node.flow => map(&mut out, entries, 0, false),
        Content::List(items) if !items.is_empty() && !node.flow => list(&mut out, items, 0, false),
        _ => {
            inline(&mut out, node, 0);
            out.push('\n');
        }
    }
    out
}

/// How a text is written when nobody chose: plainly where that reads back as the same text.
pub fn text_style(text: &str) -> Style {
    if text.contains('\n') {
        return Style::Literal;
    }
    let ambiguous = !matches!(plain(text), Resolved::Text) || word(text).is_some() || text == "<<";
    if ambiguous || is_sexagesimal(text) || text.chars().any(char::is_control) {
        return Style::Double;
    }
    let first = text.chars().next().unwrap_or(' ');
    let indicator =
        "#,[]{}&*!|>'\"%@`".contains(first) || "-?:".contains(first) && text[1..].chars().next().is_none_or(char::is_whitespace);
    let special = indicator
        || text.contains(": ")
        || text.ends_with(':')
        || text.contains(" #")
        || text.starts_with(' ')
        || text.ends_with(' ')
        || text.starts_with("---");
    if special { Style::Single } else { Style::Plain }
}

/// Whether an older YAML would take it for a number to the base of 60, as it takes `1:30` and some addresses of network cards.
fn is_sexagesimal(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let place = |part: &str| digits(part) && (part.len() == 1 || part.len() == 2 && part.as_bytes()[0] < b'6');
    let mut parts = text.strip_prefix(['-', '+']).unwrap_or(text).split(':');
    let first = parts.next().unwrap_or_default();
    let mut rest: Vec<_> = parts.collect();
    if let Some((whole, fraction)) = rest.last().and_then(|last| last.split_once('.')) {
        if !fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
            return false;
        }
        rest.pop();
        rest.push(whole);
    }
    first.starts_with(|first: char| first.is_ascii_digit())
        && digits(&first.replace('_', ""))
        && !rest.is_empty()
        && rest.into_iter().all(place)
}

fn pad(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push(' ');
    }
}

/// `started`: the first entry stands on the line of a dash.
fn map(out: &mut String, entries: &[(Node, Node)], depth: usize, started: bool) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 || !started {
            pad(out, depth);
        }
        inline(out, key, depth);
        out.push(':');
        below(out, value, depth);
    }
}

fn list(out: &mut String, items: &[Node], depth: usize, started: bool) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !started {
            pad(out, depth);
        }
        out.push('-');
        match &item.content {
            Content::Map(entries) if !entries.is_empty() && !item.flow => {
                out.push(' ');
                map(out, entries, depth + 2, true);
            }
            Content::List(inner) if !inner.is_empty() && !item.flow => {
                out.push(' ');
                list(out, inner, depth + 2, true);
            }
            Content::Scalar { style: Style::Literal | Style::Folded, .. } => {
                out.push(' ');
                inline(out, item, depth + 2);
                out.push('\n');
            }
            _ => below(out, item, depth),
        }
    }
}

/// The column of what lies below a column: the next one that four divides.
fn deeper(depth: usize) -> usize {
    (depth + 4) / 4 * 4
}

/// A value after its key or dash, with the end of the line.
fn below(out: &mut String, value: &Node, depth: usize) {
    match &value.content {
        Content::Map(entries) if !entries.is_empty() && !value.flow => {
            out.push('\n');
            map(out, entries, deeper(depth), false);
        }
        Content::List(items) if !items.is_empty() && !value.flow => {
            out.push('\n');
            list(out, items, deeper(depth), false);
        }
        Content::Scalar { text, style: Style::Plain, .. } if text.is_empty() => out.push('\n'),
        _ => {
            out.push(' ');
            inline(out, value, deeper(depth));
            out.push('\n');
        }
    }
}

fn inline(out: &mut String, node: &Node, depth: usize) {
    match &node.content {
        Content::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                inline(out, item, depth);
            }
            out.push(']');
        }
        Content::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                inline(out, key, depth);
                out.push_str(": ");
                inline(out, value, depth);
            }
            out.push('}');
        }
        Content::Scalar { text, style, tag } => {
            if let Some(tag) = tag.as_deref().filter(|tag| !tag.is_empty() && *tag != "!") {
                out.push_str(tag);
                out.push(' ');
            }
            match style {
                Style::Plain if text.contains('\n') => double(out, text),
                Style::Plain => out.push_str(text),
                Style::Single => {
                    out.push('\'');
                    out.push_str(&text.replace('\'', "''"));
                    out.push('\'');
                }
                Style::Double => double(out, text),
                Style::Literal | Style::Folded => block(out, text, depth),
            }
        }
    }
}

fn double(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other if other.is_control() => {
                let code = u32::from(other);
                out.push_str("\\x");
                out.extend(
                    [code / 16 % 16, code % 16]
                        .iter()
                        .filter_map(|digit| char::from_digit(*digit, 16))
                        .map(|digit| digit.to_ascii_uppercase()),
                );
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A literal block, without the line break of its last line: the caller ends every line.
fn block(out: &mut String, text: &str, depth: usize) {
    out.push('|');
    if text.starts_with(' ') {
        out.push('4');
    }
    let body = text.strip_suffix('\n');
    match body {
        None => out.push('-'),
        Some(body) if body.ends_with('\n') => out.push('+'),
        Some(_) => {}
    }
    for line in body.unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, depth);
            out.push_str(line);
        }
    }
}

/// The order keys are written in: letters after other signs, numbers by their value.
pub(crate) fn key_order(one: &str, other: &str) -> Ordering {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut digits = false;
    for (at, (left, right)) in one.iter().zip(&other).enumerate() {
        if left == right {
            digits = left.is_numeric();
            continue;
        }
        let number = |text: &[char]| {
            text[at..]
                .iter()
                .map_while(|character| character.to_digit(10))
                .fold((0_u64, 0), |(sum, length), digit| (sum.saturating_mul(10).saturating_add(digit.into()), length + 1))
        };
        return match (left.is_alphabetic(), right.is_alphabetic()) {
            (true, true) => left.cmp(right),
            (true, false) => {
                if digits {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if digits {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) => number(&one).cmp(&number(&other)).then(left.cmp(right)),
        };
    }
    one.len().cmp(&other.len())
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_tree_is_written_as_it_was_read() {
        let text = "a: 1\nb:\n    - x: 1\n      y: 'two'\n    - - deep\n    - plain\nc: {d: [1, 2], e: \"q\\\"\"}\nf: []\ng: {}\nh: |\n    one\n    two\ni:\n";
        let stream = parse(text);
        assert_eq!(stream.fault, None);
        assert_eq!(emit(&stream.documents[0]), text);
    }

    #[test]
    fn a_text_is_quoted_only_where_it_would_read_as_something_else() {
        for (text, style) in [
            ("plain", Style::Plain),
            ("10.0.0.1", Style::Plain),
            ("https://a:6443", Style::Plain),
            ("-console", Style::Plain),
            ("yes", Style::Double),
            ("1.5", Style::Double),
            ("1:30", Style::Double),
            ("02:00:00:00:00:01", Style::Double),
            ("1:30.5", Style::Double),
            ("02:00:00:00:00:61", Style::Plain),
            ("02:00:00:00:00:0a", Style::Plain),
            ("", Style::Double),
            ("a: b", Style::Single),
            ("- item", Style::Single),
            ("x #y", Style::Single),
            ("a\nb", Style::Literal),
        ] {
            assert_eq!(text_style(text), style, "{text:?}");
        }
    }
}
