//! YAML as the factory writes it, byte for byte: an id is the hash of that text.
//!
//! Four spaces for each level, lists indented below their key, strings plain
//! unless they would be read as something else (facts/talos.md §5.2).

use std::fmt::Write as _;

use crate::scalars::stays_text;

/// Spaces for each level.
const STEP: usize = 4;

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A string, quoted where needed.
    Text(String),
    /// A number, a truth value or null, as it stands.
    Plain(String),
    /// Values one after the other.
    List(Vec<Node>),
    /// Keys and their values, in this order.
    Table(Vec<(String, Node)>),
}

/// The document of a node.
pub fn document(node: &Node) -> String {
    let mut text = String::new();
    match node {
        Node::Table(entries) if !entries.is_empty() => table(&mut text, entries, 0),
        Node::List(items) if !items.is_empty() => list(&mut text, items, 0),
        other => value(&mut text, other, 0, 0),
    }
    text
}

/// Writes entries from where the text is; lines after the first begin with `indent` spaces.
fn table(text: &mut String, entries: &[(String, Node)], indent: usize) {
    for (index, (key, node)) in entries.iter().enumerate() {
        if index > 0 {
            spaces(text, indent);
        }
        scalar(text, key, None);
        text.push(':');
        let below = STEP * ((indent + STEP) / STEP);
        match node {
            Node::Table(entries) if !entries.is_empty() => {
                text.push('\n');
                spaces(text, below);
                table(text, entries, below);
            }
            Node::List(items) if !items.is_empty() => {
                text.push('\n');
                spaces(text, below);
                list(text, items, below);
            }
            other => {
                text.push(' ');
                value(text, other, below, indent);
            }
        }
    }
}

fn list(text: &mut String, items: &[Node], indent: usize) {
    for (index, node) in items.iter().enumerate() {
        if index > 0 {
            spaces(text, indent);
        }
        text.push_str("- ");
        value(text, node, indent + 2, indent);
    }
}

/// Writes a value and ends its line. Literal text goes `below`.
fn value(text: &mut String, node: &Node, below: usize, indent: usize) {
    match node {
        Node::Table(entries) if entries.is_empty() => text.push_str("{}\n"),
        Node::List(items) if items.is_empty() => text.push_str("[]\n"),
        Node::Table(entries) => table(text, entries, indent + 2),
        Node::List(items) => list(text, items, indent + 2),
        Node::Plain(plain) => {
            text.push_str(plain);
            text.push('\n');
        }
        Node::Text(string) => {
            scalar(text, string, Some(below));
            if !text.ends_with('\n') || !string.contains('\n') {
                text.push('\n');
            }
        }
    }
}

fn spaces(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}

/// Writes a string; as literal text where it has lines and there is a place for them.
fn scalar(text: &mut String, string: &str, below: Option<usize>) {
    let allowed = Allowed::of(string);
    if string.contains('\n') {
        match below.filter(|_| allowed.literal && string.chars().any(|c| !c.is_whitespace())) {
            Some(below) => literal(text, string, below),
            None => double(text, string),
        }
    } else if !stays_text(string) {
        double(text, string);
    } else if allowed.plain {
        text.push_str(string);
    } else if allowed.single {
        text.push('\'');
        text.push_str(&string.replace('\'', "''"));
        text.push('\'');
    } else {
        double(text, string);
    }
}

fn literal(text: &mut String, string: &str, below: usize) {
    text.push('|');
    if string.starts_with(' ') {
        text.push_str(&STEP.to_string());
    }
    match string.strip_suffix('\n') {
        None => text.push('-'),
        Some(rest) if rest.is_empty() || rest.ends_with('\n') => text.push('+'),
        Some(_) => {}
    }
    text.push('\n');
    for line in string.split_inclusive('\n') {
        if line != "\n" {
            spaces(text, below);
        }
        text.push_str(line);
    }
    if !string.ends_with('\n') {
        text.push('\n');
    }
}

fn double(text: &mut String, string: &str) {
    text.push('"');
    for c in string.chars() {
        let short = match c {
            '\0' => Some('0'),
            '\x07' => Some('a'),
            '\x08' => Some('b'),
            '\t' => Some('t'),
            '\n' => Some('n'),
            '\x0B' => Some('v'),
            '\x0C' => Some('f'),
            '\r' => Some('r'),
            '\x1B' => Some('e'),
            '"' | '\\' => Some(c),
            '\u{85}' => Some('N'),
            '\u{2028}' => Some('L'),
            '\u{2029}' => Some('P'),
            _ => None,
        };
        let code = u32::from(c);
        // Writing into a String cannot fail.
        let _ = match short {
            Some(short) => write!(text, "\\{short}"),
            None if printable(c) => write!(text, "{c}"),
            None if code <= 0xFF => write!(text, "\\x{code:02X}"),
            None if code <= 0xFFFF => write!(text, "\\u{code:04X}"),
            None => write!(text, "\\U{code:08X}"),
        };
    }
    text.push('"');
}

/// What the factory's library takes for printable, which nothing beyond 16 bits is.
fn printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}')
}

/// Which styles can hold a string.
struct Allowed {
    plain: bool,
    single: bool,
    literal: bool,
}

impl Allowed {
    fn of(string: &str) -> Self {
        let is_break = |c: char| matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let blank = |c: char| c == ' ' || c == '\t';
        let mut indicators = string.starts_with("---") || string.starts_with("...");
        let (mut breaks, mut special, mut tabs, mut space_then_break, mut break_then_space) = (false, false, false, false, false);
        // As after a space, so that `#` in the first place counts.
        let mut before = ' ';
        let mut rest = string.chars().peekable();
        let mut first = true;
        while let Some(c) = rest.next() {
            let ends_word = rest.peek().is_none_or(|next| blank(*next));
            indicators |= match c {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if first => true,
                '?' | '-' if first => ends_word,
                ':' => ends_word,
                '#' => blank(before),
                _ => false,
            };
            tabs |= c == '\t';
            special |= c != '\t' && !printable(c);
            breaks |= is_break(c);
            space_then_break |= is_break(c) && before == ' ' && !first;
            break_then_space |= c == ' ' && is_break(before);
            (before, first) = (c, false);
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let edges = edge(string.chars().next()) || edge(string.chars().next_back());
        let unfit = space_then_break || tabs || special;
        Self {
            plain: !indicators && !edges && !breaks && !unfit && !break_then_space,
            single: !unfit && !break_then_space,
            literal: !string.ends_with(' ') && !space_then_break && !special,
        }
    }
}
