//! From a tree to text, in the style Talos writes: four spaces, lists indented below their key.

use super::{Entries, Node, Scalar, Style};

/// The text of documents, the same for the same trees.
pub(crate) fn emit(documents: &[Node]) -> String {
    let mut out = String::new();
    for (index, document) in documents.iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        match document {
            Node::Map(entries) if !entries.is_empty() => map(&mut out, entries, 0, false),
            Node::List(items) if !items.is_empty() => list(&mut out, items, 0, false),
            _ => below(&mut out, document, 0),
        }
    }
    out
}

fn pad(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n(' ', depth));
}

/// `started`: the first entry stands on the line of a dash.
fn map(out: &mut String, entries: &Entries, depth: usize, started: bool) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 || !started {
            pad(out, depth);
        }
        let mut key = Scalar::of(key.clone());
        if key.style == Style::Literal {
            key.style = Style::Double;
        }
        scalar(out, &key, depth);
        out.push(':');
        match value {
            Node::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                map(out, entries, depth + 4, false);
            }
            Node::List(items) if !items.is_empty() => {
                out.push('\n');
                list(out, items, depth + 4, false);
            }
            Node::Scalar(Scalar { text, style: Style::Plain }) if text.is_empty() => out.push('\n'),
            _ => {
                out.push(' ');
                below(out, value, depth + 4);
            }
        }
    }
}

fn list(out: &mut String, items: &[Node], depth: usize, started: bool) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !started {
            pad(out, depth);
        }
        out.push('-');
        match item {
            Node::Scalar(Scalar { text, style: Style::Plain }) if text.is_empty() => {
                out.push('\n');
                continue;
            }
            _ => out.push(' '),
        }
        match item {
            Node::Map(entries) if !entries.is_empty() => map(out, entries, depth + 2, true),
            Node::List(inner) if !inner.is_empty() => list(out, inner, depth + 2, true),
            _ => below(out, item, depth + 2),
        }
    }
}

/// A scalar or something empty, with the end of its line.
fn below(out: &mut String, value: &Node, depth: usize) {
    match value {
        Node::Map(_) => out.push_str("{}"),
        Node::List(_) => out.push_str("[]"),
        Node::Scalar(value) => scalar(out, value, depth),
    }
    out.push('\n');
}

fn scalar(out: &mut String, value: &Scalar, depth: usize) {
    let style = match value.style {
        // Lines that were folded, or a block that only other rules of indentation could hold.
        Style::Plain if value.text.contains('\n') => Style::Double,
        Style::Literal => Scalar::of(value.text.clone()).style,
        style => style,
    };
    match style {
        Style::Plain => out.push_str(&value.text),
        Style::Single if !value.text.contains('\n') => {
            out.push('\'');
            out.push_str(&value.text.replace('\'', "''"));
            out.push('\'');
        }
        Style::Single | Style::Double => double(out, &value.text),
        Style::Literal => block(out, &value.text, depth),
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
            other if other.is_control() => out.extend(format!("\\u{:04X}", u32::from(other)).chars()),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A literal block, without the line break of its last line: the caller ends every line.
fn block(out: &mut String, text: &str, depth: usize) {
    out.push('|');
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

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn a_tree_is_written_as_it_was_read() {
        let text = "a: 1\nb:\n    - x: 1\n      z: 'two'\n    - - deep\n    - plain\nc: \"q\\\"\"\nf: []\ng: {}\nh: |\n    one\n\n    two\ni:\n---\n- 0x10\n- |-\n  a\n  b\n";
        assert_eq!(emit(&parse(text).unwrap()), text);
    }

    #[test]
    fn whatever_is_written_reads_back_as_the_same() {
        for text in [
            "a: |2\n    indented\n  less\n",
            "a: \"\\t\\r\\n\\0x\"\n",
            "a: >\n  folded\n  line\n\n\n",
            "'b: c': {'': [[], {}]}\n",
            "a: one\n  two\n",
            "a: 'it''s\n\n  x'\n",
            "a: |+\n  x\n\n\nb: 1\n",
        ] {
            let tree = parse(text).unwrap();
            let written = emit(&tree);
            let again = parse(&written).unwrap_or_else(|fault| panic!("{fault}\n{written}"));
            assert_eq!(tree.iter().map(Node::data).collect::<Vec<_>>(), again.iter().map(Node::data).collect::<Vec<_>>(), "{written}");
            assert_eq!(emit(&again), written);
        }
    }
}
