//! Reads a tree by its schema: every value of the wrong shape and every unknown key becomes a finding, and what is right
//! comes out as JSON under the usual spelling of its keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::findings::Findings;
use super::formats::Format;
use super::sources::{Document, Spot, child};
use super::words::{advice, choices_of, example, kind_of, nearest, numbers, or_list, types_of};
use super::yaml::{Key, Mark, START, Tree, Value};
use crate::diagnostic::Diagnostic;
use crate::redact::one_line;

/// Reads one file. Nothing comes out of a file that is no mapping.
pub fn read(document: &mut Document, schema: &Json, tree: &Tree, findings: &mut Findings) -> Option<Json> {
    let mut reader = Reader { document, root: schema, findings, spots: BTreeMap::new(), broken: BTreeSet::new() };
    let value = reader.value(schema, tree, &Here { name: "", item: false, pointer: String::new(), key: tree.at });
    let (spots, broken) = (reader.spots, reader.broken);
    (document.spots, document.broken) = (spots, broken);
    value
}

/// Where in a file the reader is.
struct Here<'a> {
    /// The key as it is written; empty at the root.
    name: &'a str,
    /// Whether it is in the list of that name.
    item: bool,
    pointer: String,
    key: Mark,
}

impl Here<'_> {
    /// What is meant, for the beginning of a sentence.
    fn called(&self, document: &Document) -> String {
        match self.name {
            "" => document.file.clone(),
            name if self.item => format!("an entry of `{name}`"),
            name => format!("`{name}`"),
        }
    }
}

struct Reader<'a> {
    document: &'a Document,
    root: &'a Json,
    findings: &'a mut Findings,
    spots: BTreeMap<String, Spot>,
    broken: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn value(&mut self, schema: &'a Json, tree: &Tree, here: &Here<'_>) -> Option<Json> {
        let value = self.right_value(schema, tree, here);
        if value.is_none() {
            self.broken.insert(here.pointer.clone());
        }
        value
    }

    fn right_value(&mut self, schema: &'a Json, tree: &Tree, here: &Here<'_>) -> Option<Json> {
        self.spots.insert(here.pointer.clone(), Spot { key: here.key, value: tree.at });
        let alternatives = self.alternatives(schema);
        let fitting = alternatives.iter().copied().find(|alternative| accepts(alternative, &tree.value));
        let Some(fitting) = fitting else {
            self.wrong_kind(&alternatives, tree, here);
            return None;
        };
        match &tree.value {
            Value::Table(entries) if fitting.get("properties").is_some() || fitting.get("additionalProperties").is_some() => {
                Some(self.table(fitting, entries, here))
            }
            Value::List(items) => Some(self.list(fitting, items, here)?),
            Value::Text(text) => self.text(&alternatives, fitting, text, tree, here).then(|| Json::String(text.clone())),
            Value::Number(number, _) => self.number(fitting, number, tree, here).then(|| Json::Number(number.clone())),
            other => Some(other.json()),
        }
    }

    /// The schemas of which a value has to fit one, without references and without the one for nothing.
    fn alternatives(&self, schema: &'a Json) -> Vec<&'a Json> {
        let mut open = vec![schema];
        let mut found = Vec::new();
        // The schema is ours and has no circles; the bound is for the day when it has.
        for _ in 0..64 {
            let Some(next) = open.pop() else { break };
            let referred = next.get("$ref").and_then(Json::as_str).and_then(|path| self.root.pointer(path.trim_start_matches('#')));
            let choices = ["anyOf", "oneOf"].iter().find_map(|key| next.get(*key)).and_then(Json::as_array);
            match (referred, choices) {
                (Some(referred), _) => open.push(referred),
                // An object that asks for one of several keys has a type; a choice between shapes has none.
                (None, Some(choices)) if next.get("type").is_none() => open.extend(choices.iter().rev()),
                _ if next.get("type").and_then(Json::as_str) == Some("null") => {}
                _ => found.push(next),
            }
        }
        found
    }

    fn table(&mut self, schema: &'a Json, entries: &[(Key, Tree)], here: &Here<'_>) -> Json {
        let mut read = Map::new();
        let mut written: BTreeMap<&str, &Key> = BTreeMap::new();
        let mut meant: Vec<&str> = Vec::new();
        let required = schema.get("required").and_then(Json::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        for (key, tree) in entries {
            let known = schema.get("properties").and_then(|all| all.get(&key.name));
            let others = schema.get("additionalProperties").filter(|others| others.is_object());
            let Some(property) = known.or(others) else {
                if schema.get("additionalProperties") == Some(&Json::Bool(true)) {
                    read.insert(key.name.clone(), tree.value.json());
                } else {
                    meant.extend(self.unknown(schema, key, here));
                }
                continue;
            };
            let name = property.get("x-spelling-of").and_then(Json::as_str).unwrap_or(&key.name);
            // A key without a value is as good as none, but below a key that people name themselves.
            let empty = matches!(tree.value, Value::Null) && known.is_some() && accepts_null(property);
            if empty && !is_required(name) {
                continue;
            }
            if let Some(first) = written.insert(name, key) {
                self.two_spellings(first, key);
                continue;
            }
            if empty {
                let finding = Diagnostic::error("inventory/missing", format!("`{}` has no value", key.name));
                let help = example(property).map(|text| format!("write for example `{}: {text}`", key.name));
                self.findings
                    .push(finding.help(Some(help.unwrap_or_else(|| "give it one".to_owned()))).at(Some(self.document.place(key.at))));
                continue;
            }
            let inner = Here { name: &key.name, item: false, pointer: child(&here.pointer, name), key: key.at };
            if let Some(value) = self.value(property, tree, &inner) {
                read.insert(name.to_owned(), value);
            }
        }
        for name in required.into_iter().flatten().filter_map(Json::as_str) {
            // Who misspelt a key knows that it is needed.
            if !written.contains_key(name) && !meant.contains(&name) {
                self.missing(schema, name, here);
            }
        }
        // Of several keys, one at least.
        let sets = schema.get("anyOf").and_then(Json::as_array).into_iter().flatten();
        let sets: Vec<&str> = sets.filter_map(|set| set.get("required")?.get(0)?.as_str()).collect();
        if !sets.is_empty() && !sets.iter().any(|name| written.contains_key(name) || meant.contains(name)) {
            self.missing(schema, sets[0], here);
        }
        Json::Object(read)
    }

    fn list(&mut self, schema: &'a Json, items: &[Tree], here: &Here<'_>) -> Option<Json> {
        let Some(shape) = schema.get("items") else { return Some(Json::Array(items.iter().map(|item| item.value.json()).collect())) };
        let mut read = Vec::with_capacity(items.len());
        let mut broken = false;
        for (index, item) in items.iter().enumerate() {
            let inner = Here { name: here.name, item: true, pointer: format!("{}/{index}", here.pointer), key: item.at };
            match self.value(shape, item, &inner) {
                Some(value) => read.push(value),
                None => broken = true,
            }
        }
        // With one item less, the others would be somebody else.
        (!broken).then_some(Json::Array(read))
    }

    /// Whether a text is one of the choices and of the right format.
    fn text(&mut self, alternatives: &[&'a Json], schema: &Json, text: &str, tree: &Tree, here: &Here<'_>) -> bool {
        let choices: Vec<&str> = alternatives.iter().flat_map(|one| choices_of(one)).collect();
        let format = schema.get("format").and_then(Json::as_str).and_then(Format::named);
        let problem = format.and_then(|format| format.problem(text));
        let right = if choices.is_empty() { problem.is_none() } else { choices.contains(&text) };
        if right || self.findings.only_count() {
            return right;
        }
        let shown = one_line(text, 60);
        let called = here.called(self.document);
        let mut place = self.document.place(tree.at);
        let (summary, help) = match format.filter(|_| choices.is_empty()) {
            None => {
                let near = nearest(text, choices.iter().copied()).map(|near| format!("did you mean `{near}`?"));
                (format!("{called} cannot be `{shown}`"), near.or_else(|| Some(format!("write {}", or_list(&choices)))))
            }
            Some(format) => {
                let hidden = format.hides(text);
                if hidden {
                    place.text = None;
                }
                let found = if hidden { "something else".to_owned() } else { format!("`{shown}`") };
                let example = || example(schema).map(|text| format!("write for example `{text}`"));
                let help = problem.filter(|problem| !problem.is_empty()).or_else(example);
                (format!("{called}: expected {}, found {found}", format.what), help)
            }
        };
        self.findings.push(Diagnostic::error("inventory/value", summary).help(help).at(Some(place)));
        false
    }

    fn number(&mut self, schema: &Json, number: &serde_json::Number, tree: &Tree, here: &Here<'_>) -> bool {
        let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
        let value = number.as_f64().unwrap_or(f64::NAN);
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most) {
            return true;
        }
        let finding =
            Diagnostic::error("inventory/value", format!("{} cannot be {number}", here.called(self.document))).help(numbers(schema));
        self.findings.push(finding.at(Some(self.document.place(tree.at))));
        false
    }

    fn wrong_kind(&mut self, alternatives: &[&Json], tree: &Tree, here: &Here<'_>) {
        if self.findings.only_count() {
            return;
        }
        let mut expected: Vec<String> = Vec::new();
        for what in alternatives.iter().map(|one| kind_of(one)) {
            if !expected.contains(&what) {
                expected.push(what);
            }
        }
        let wants = |kind: &str| alternatives.iter().any(|one| types_of(one).any(|one| one == kind));
        let is_text = |text: &str| {
            let mut formats = alternatives.iter().filter_map(|one| one.get("format")?.as_str()).filter_map(Format::named);
            wants("string") && formats.all(|format| format.problem(text).is_none())
        };
        let help = match &tree.value {
            Value::Number(_, text) if is_text(text) => Some(format!("put it in quotes: \"{text}\"")),
            Value::Bool(value) if is_text(&value.to_string()) => Some(format!("put it in quotes: \"{value}\"")),
            Value::Text(text) if wants("boolean") && ["yes", "on", "y"].contains(&text.to_ascii_lowercase().as_str()) => {
                Some("write `true`".to_owned())
            }
            Value::Text(text) if wants("boolean") && ["no", "off", "n"].contains(&text.to_ascii_lowercase().as_str()) => {
                Some("write `false`".to_owned())
            }
            Value::Text(text) if wants("integer") && text.parse::<u64>().is_ok() => Some("write it without quotes".to_owned()),
            Value::Text(text) if wants("array") && text.len() < 60 => Some(format!("write a list: [{}]", one_line(text, 60))),
            Value::Table(_) if wants("array") => Some("begin each item with `-`".to_owned()),
            Value::List(_) if !wants("array") && alternatives.iter().any(|one| !choices_of(one).is_empty()) => {
                Some("keep one of them".to_owned())
            }
            _ => alternatives.iter().find_map(|one| advice(one)),
        };
        let found = tree.value.what();
        let summary = format!("{}: expected {}, found {found}", here.called(self.document), expected.join(" or "));
        // Nothing has no place of its own.
        let at = if matches!(tree.value, Value::Null) { here.key } else { tree.at };
        self.findings.push(Diagnostic::error("inventory/type", summary).help(help).at(Some(self.document.place(at))));
    }

    /// Says that a key is unknown, and gives the one that was meant.
    fn unknown<'s>(&mut self, schema: &'s Json, key: &Key, here: &Here<'_>) -> Option<&'s str> {
        if self.findings.only_count() {
            return None;
        }
        let known = schema.get("properties").and_then(Json::as_object);
        let names = || known.into_iter().flat_map(Map::keys).map(String::as_str);
        let elsewhere = self.elsewhere(&key.name).map(|part| format!("`{}` belongs to {part}", one_line(&key.name, 60)));
        let near = nearest(&key.name, names());
        let help = elsewhere.or_else(|| near.map(|near| format!("did you mean `{near}`?")));
        let help = help.unwrap_or_else(|| {
            let usual = known.into_iter().flatten().filter(|(_, property)| property.get("x-spelling-of").is_none());
            format!("known here: {}", usual.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "))
        });
        let place = match here.name {
            "" => String::new(),
            name => format!(" in `{name}`"),
        };
        let finding = Diagnostic::error("inventory/unknown-key", format!("unknown key `{}`{place}", one_line(&key.name, 60)));
        self.findings.push(finding.help(Some(help)).at(Some(self.document.place(key.at))));
        near
    }

    /// The part of this file in which a key would be right.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let properties = self.root.get("properties")?.as_object()?;
        let has =
            |schema: &'a Json| self.alternatives(schema).iter().any(|one| one.get("properties").is_some_and(|all| all.get(name).is_some()));
        if properties.contains_key(name) {
            return Some("the top of the file".to_owned());
        }
        properties.iter().find(|(_, schema)| has(schema)).map(|(part, _)| format!("`{part}`"))
    }

    fn two_spellings(&mut self, first: &Key, second: &Key) {
        let summary = format!("`{}` and `{}` are two spellings of one key", first.name, second.name);
        let finding = Diagnostic::error("inventory/two-spellings", summary)
            .detail(format!("`{}` is at {}:{}:{}", first.name, self.document.file, first.at.line, first.at.column))
            .help(Some(format!("remove `{}`", second.name)));
        self.findings.push(finding.at(Some(self.document.place(second.at))));
    }

    fn missing(&mut self, schema: &Json, name: &str, here: &Here<'_>) {
        let example = schema.get("properties").and_then(|all| all.get(name)).and_then(example);
        let (place, at) = (here.called(self.document), if here.name.is_empty() { START } else { here.key });
        let help = example.map_or_else(|| format!("add `{name}:`"), |text| format!("add for example `{name}: {text}`"));
        let finding = Diagnostic::error("inventory/missing", format!("{place} has no `{name}`")).help(Some(help));
        self.findings.push(finding.at(Some(self.document.place(at))));
    }
}

fn accepts(schema: &Json, value: &Value) -> bool {
    let mut types = types_of(schema).peekable();
    if types.peek().is_none() {
        return true;
    }
    types.any(|kind| match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number, _) => kind == "number" || (kind == "integer" && !number.is_f64()),
        Value::Text(_) => kind == "string",
        Value::List(_) => kind == "array",
        Value::Table(_) => kind == "object",
    })
}

/// Whether a property may be empty: all may that may be absent, and those that may not are told so in better words.
fn accepts_null(property: &Json) -> bool {
    types_of(property).next().is_some() || property.get("anyOf").is_some() || property.get("$ref").is_some()
}
