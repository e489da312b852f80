//! YAML as a tree that knows where each of its parts is written, with a bound on everything.
//!
//! Parsed by the parser that serde-saphyr uses, event by event, so that a person sees every mistake of a file at once
//! and not only the first one that a deserialiser stumbles over.

use std::collections::{BTreeMap, HashMap};

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value as Json};

/// The largest file that is read, in bytes.
pub const LARGEST: usize = 1 << 20;
/// The deepest nesting that is followed.
const DEEPEST: usize = 64;
/// The most values a file may hold, those that aliases repeat among them.
const MOST: usize = 50_000;

/// Where something begins. Lines and columns begin at 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub line: u32,
    pub column: u32,
}

/// The beginning of a file.
pub const START: Mark = Mark { line: 1, column: 1 };

/// A value and where it begins.
#[derive(Debug, Clone)]
pub struct Tree {
    pub at: Mark,
    pub value: Value,
}

/// What can be written.
#[derive(Debug, Clone)]
pub enum Value {
    Null,
    Bool(bool),
    /// A number, and its text as written.
    Number(serde_json::Number, String),
    Text(String),
    List(Vec<Tree>),
    Table(Vec<(Key, Tree)>),
}

/// A key and where it is written.
#[derive(Debug, Clone)]
pub struct Key {
    pub at: Mark,
    pub name: String,
}

/// What is wrong with the text itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where; none for the file as a whole.
    pub at: Option<Mark>,
    pub kind: FlawKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlawKind {
    Large,
    Binary,
    NotUtf8,
    Syntax(String),
    Deep,
    Many,
    Tag(String),
    Documents,
    KeyShape,
    Merge,
    /// A key that was there before, and where.
    Twice(String, Mark),
}

/// The first document of a file, and what is wrong with the text. Without a tree there is at least one flaw, or the file is empty.
pub fn parse(bytes: &[u8]) -> (Option<Tree>, Vec<Flaw>) {
    let text = match text(bytes) {
        Ok(text) => text,
        Err(flaw) => return (None, vec![flaw]),
    };
    let mut builder = Builder::default();
    match builder.run(text, false) {
        Ok(()) => (builder.root, builder.flaws),
        Err(flaw) => {
            builder.flaws.push(flaw);
            (None, builder.flaws)
        }
    }
}

/// What is wrong with a file that may hold several documents and whose meaning is not ours.
pub fn check(bytes: &[u8]) -> Vec<Flaw> {
    let text = match text(bytes) {
        Ok(text) => text,
        Err(flaw) => return vec![flaw],
    };
    let mut builder = Builder::default();
    if let Err(flaw) = builder.run(text, true) {
        builder.flaws.push(flaw);
    }
    builder.flaws
}

/// The bytes of a file as text.
fn text(bytes: &[u8]) -> Result<&str, Flaw> {
    let flaw = |at, kind| Err(Flaw { at, kind });
    if bytes.len() > LARGEST {
        return flaw(None, FlawKind::Large);
    }
    if bytes.contains(&0) {
        return flaw(None, FlawKind::Binary);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            flaw(Some(mark(line, column)), FlawKind::NotUtf8)
        }
    }
}

fn mark(line: usize, column: usize) -> Mark {
    Mark { line: u32::try_from(line).unwrap_or(u32::MAX).max(1), column: u32::try_from(column).unwrap_or(u32::MAX).max(1) }
}

/// A list or a table of which not everything was seen yet.
struct Open {
    at: Mark,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Tree>),
    Table { entries: Vec<(Key, Tree)>, seen: HashMap<String, Mark>, key: Option<Key> },
}

#[derive(Default)]
struct Builder {
    root: Option<Tree>,
    open: Vec<Open>,
    /// What anchors stand for, with the number of values and the depth, so that an alias costs what it repeats.
    anchors: BTreeMap<usize, (Tree, usize, usize)>,
    count: usize,
    flaws: Vec<Flaw>,
}

impl Builder {
    fn run(&mut self, text: &str, several: bool) -> Result<(), Flaw> {
        let mut options = granit_parser::options! { flow_nesting_limit: DEEPEST + 2, block_nesting_limit: DEEPEST + 2 };
        options.set_emit_comments(false);
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| {
                use granit_parser::ErrorKind;
                let at = Some(mark(error.marker().line(), error.marker().col() + 1));
                let kind = match error.kind() {
                    ErrorKind::RecursionLimitExceeded => FlawKind::Deep,
                    _ => FlawKind::Syntax(error.info()),
                };
                Flaw { at, kind }
            })?;
            let at = mark(span.start.line(), span.start.col() + 1);
            let fail = |kind| Err(Flaw { at: Some(at), kind });
            // What a patch is meant for knows its tags; here there is none to know.
            if let Some(tag) = event.tag().filter(|tag| !several && !plain_tag(tag)) {
                return fail(FlawKind::Tag(tag.original()));
            }
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 && !several {
                        self.flaws.push(Flaw { at: Some(at), kind: FlawKind::Documents });
                        return Ok(());
                    }
                    self.anchors.clear();
                }
                Event::Alias(anchor) => {
                    let Some((tree, size, depth)) = self.anchors.get(&anchor) else {
                        return fail(FlawKind::Syntax("an alias inside of what it stands for".to_owned()));
                    };
                    self.count += size;
                    if self.count > MOST {
                        return fail(FlawKind::Many);
                    }
                    if self.open.len() + depth > DEEPEST {
                        return fail(FlawKind::Deep);
                    }
                    let tree = Tree { at, value: tree.value.clone() };
                    self.place(tree, 0)?;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.another(at)?;
                    let is_text = style != ScalarStyle::Plain || tag.is_some();
                    let value = if is_text { Value::Text(text.into_owned()) } else { scalar(&text) };
                    self.place(Tree { at, value }, anchor)?;
                }
                Event::SequenceStart(_, anchor, _) => self.begin(at, anchor, OpenKind::List(Vec::new()))?,
                Event::MappingStart(_, anchor, _) => {
                    self.begin(at, anchor, OpenKind::Table { entries: Vec::new(), seen: HashMap::new(), key: None })?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.end()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn another(&mut self, at: Mark) -> Result<(), Flaw> {
        self.count += 1;
        if self.count > MOST { Err(Flaw { at: Some(at), kind: FlawKind::Many }) } else { Ok(()) }
    }

    fn begin(&mut self, at: Mark, anchor: usize, kind: OpenKind) -> Result<(), Flaw> {
        self.another(at)?;
        if self.open.len() >= DEEPEST {
            return Err(Flaw { at: Some(at), kind: FlawKind::Deep });
        }
        self.open.push(Open { at, anchor, kind });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Flaw> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.kind {
            OpenKind::List(items) => Value::List(items),
            OpenKind::Table { entries, .. } => Value::Table(entries),
        };
        self.place(Tree { at: open.at, value }, open.anchor)
    }

    /// Puts a finished value where it belongs: into the open list or table, as key or value, or at the root.
    fn place(&mut self, tree: Tree, anchor: usize) -> Result<(), Flaw> {
        if anchor != 0 {
            let (size, depth) = measure(&tree);
            // The copy that aliases are made from counts too.
            self.count += size;
            if self.count > MOST {
                return Err(Flaw { at: Some(tree.at), kind: FlawKind::Many });
            }
            self.anchors.insert(anchor, (tree.clone(), size, depth));
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(tree),
            Some(OpenKind::List(items)) => items.push(tree),
            Some(OpenKind::Table { entries, seen, key }) => match key.take() {
                None => {
                    let name = match tree.value {
                        Value::Text(text) | Value::Number(_, text) => text,
                        Value::Bool(word) => word.to_string(),
                        Value::Null => "null".to_owned(),
                        Value::List(_) | Value::Table(_) => return Err(Flaw { at: Some(tree.at), kind: FlawKind::KeyShape }),
                    };
                    *key = Some(Key { at: tree.at, name });
                }
                Some(key) => {
                    if key.name == "<<" {
                        self.flaws.push(Flaw { at: Some(key.at), kind: FlawKind::Merge });
                    } else if let Some(first) = seen.get(&key.name) {
                        // The first one stays, so that what follows is checked against something.
                        self.flaws.push(Flaw { at: Some(key.at), kind: FlawKind::Twice(key.name, *first) });
                    } else {
                        seen.insert(key.name.clone(), key.at);
                        entries.push((key, tree));
                    }
                }
            },
        }
        Ok(())
    }
}

/// Tags that say what is said anyway: text, a list, a table.
fn plain_tag(tag: &Tag) -> bool {
    tag.core_suffix().is_some_and(|suffix| ["str", "seq", "map"].contains(&suffix)) || tag.original() == "!"
}

/// How many values a tree holds, and how deep it is.
fn measure(tree: &Tree) -> (usize, usize) {
    let children: &mut dyn Iterator<Item = &Tree> = match &tree.value {
        Value::List(items) => &mut items.iter(),
        Value::Table(entries) => &mut entries.iter().map(|(_, tree)| tree),
        _ => return (1, 0),
    };
    let (mut size, mut depth) = (1, 0);
    for child in children {
        let (inner, deep) = measure(child);
        size += inner;
        depth = depth.max(deep);
    }
    (size, depth + 1)
}

/// A plain scalar, as the core schema of YAML 1.2 reads it.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let number = |number: serde_json::Number| Value::Number(number, text.to_owned());
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Value::Text(text.to_owned());
    }
    let radix = |prefix, radix| text.strip_prefix(prefix).and_then(|digits| u64::from_str_radix(digits, radix).ok());
    if let Some(value) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return number(value.into());
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let plain = text.strip_prefix('+').unwrap_or(text);
        if let Ok(value) = plain.parse::<u64>() {
            return number(value.into());
        }
        if let Ok(value) = plain.parse::<i64>() {
            return number(value.into());
        }
    }
    let float = unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match text.parse::<f64>().ok().filter(|_| float).and_then(serde_json::Number::from_f64) {
        Some(value) => number(value),
        None => Value::Text(text.to_owned()),
    }
}

impl Value {
    /// What it is, for a person.
    pub fn what(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Number(_, text) => format!("the number {text}"),
            Self::Text(_) => "text".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a mapping".to_owned(),
        }
    }

    /// The same without places.
    pub fn json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(number, _) => Json::Number(number.clone()),
            Self::Text(text) => Json::String(text.clone()),
            Self::List(items) => Json::Array(items.iter().map(|item| item.value.json()).collect()),
            Self::Table(entries) => {
                Json::Object(entries.iter().map(|(key, tree)| (key.name.clone(), tree.value.json())).collect::<Map<_, _>>())
            }
        }
    }
}
