//! What a plugin says of itself, in a custom section of its component, readable without running it.
//!
//! The section is named [`SECTION`]. Components built with the SDK carry it in their core module,
//! other toolchains put it on the component, so it is looked for at any depth. Everything in it was
//! written by the plugin's author: it is checked before it is kept, and cleaned before it is printed.

use std::collections::{HashMap, HashSet};

use jsonschema::{Draft, PatternOptions, Validator};
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wasmparser::{Parser, Payload};

use crate::redact::{self, deceives};

/// Name of the custom section.
pub const SECTION: &str = "emhost:manifest";

/// The longest section that is read.
pub const MAX_SECTION: usize = 64 * 1024;

/// The most grants one plugin may ask for: a person has to read them.
pub const MAX_ASKS: usize = 64;

const MAX_LINE: usize = 200;

/// Steps through a settings schema that checking one value may take, references followed.
const MAX_SCHEMA_COST: u64 = 10_000;

/// How deep these steps may nest.
const MAX_SCHEMA_DEPTH: u32 = 100;

/// The most problems one check of settings reports.
const MAX_PROBLEMS: usize = 100;

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Short name: lower-case letters, digits and dashes.
    pub name: String,
    /// The plugin's own version, not that of the contract.
    pub version: Version,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the plugin's settings. None: it takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
    /// What it would like to be granted.
    pub asks: Vec<Ask>,
}

/// One grant a plugin would like to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The grant as it is written in the site, for example `http:pve`.
    pub grant: String,
    /// What for, in words a person accepts.
    pub why: String,
}

/// One way in which settings do not fit a plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SettingsProblem {
    /// JSON pointer into the settings.
    pub pointer: String,
    /// What is wrong there. Never repeats the value.
    pub message: String,
}

/// Why a component has no manifest that can be used. Reads on from the name of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// No section of that name anywhere.
    #[error(
        "carries no manifest: add `emhost_sdk::manifest!(\"emhost-plugin.json\")` to the plugin's \
         lib.rs, or put the JSON into a custom section named `{SECTION}`"
    )]
    Missing,
    /// More text than anybody would write.
    #[error("carries a manifest of {size} bytes, more than the {MAX_SECTION} that are read")]
    TooLarge {
        /// Length of the section.
        size: usize,
    },
    /// More than one, and they differ.
    #[error(
        "carries two manifests that differ: only the plugin itself may have one, not a library it \
         is built from"
    )]
    Several,
    /// Not an object, or an array of objects, of JSON.
    #[error("carries a manifest that is not a JSON object: {0}")]
    Json(String),
    /// A field is unknown, missing or of the wrong type.
    #[error("carries a manifest with a wrong field: {0}")]
    Fields(String),
    /// A field has a value that is not accepted.
    #[error("carries a manifest whose `{field}` {problem}")]
    Value {
        /// The field, for example `asks[2].why`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The settings schema is not one, or not one that can be used.
    #[error("carries a settings schema that cannot be used, at `{pointer}`: {problem}")]
    Schema {
        /// JSON pointer into the schema.
        pointer: String,
        /// What is wrong there.
        problem: String,
    },
    /// The bytes around it are damaged.
    #[error("is not a WebAssembly component ({0})")]
    Unreadable(String),
}

impl Manifest {
    /// Finds and checks the manifest of a component.
    ///
    /// # Errors
    /// When there is none, when there are two, or when it is not as it should be.
    pub fn read(component: &[u8]) -> Result<Self, ManifestError> {
        let mut found: Option<Map<String, Value>> = None;
        for payload in Parser::new(0).parse_all(component) {
            let payload = payload.map_err(|e| ManifestError::Unreadable(clean(e.message())))?;
            let Payload::CustomSection(section) = payload else {
                continue;
            };
            if section.name() != SECTION {
                continue;
            }
            for document in documents(section.data())? {
                match &found {
                    Some(first) if *first != document => return Err(ManifestError::Several),
                    _ => found = Some(document),
                }
            }
        }
        Self::from_object(found.ok_or(ManifestError::Missing)?)
    }

    /// Checks the text of a manifest, as an author writes it.
    ///
    /// # Errors
    /// When it is not as it should be.
    pub fn parse(text: &[u8]) -> Result<Self, ManifestError> {
        let mut documents = documents(text)?.into_iter();
        let first = documents.next().ok_or(ManifestError::Missing)?;
        if documents.any(|other| other != first) {
            return Err(ManifestError::Several);
        }
        Self::from_object(first)
    }

    /// Everything in which `settings` do not fit this plugin; empty when they do.
    #[must_use]
    pub fn check_settings(&self, settings: &Value) -> Vec<SettingsProblem> {
        let problem = |pointer: &str, message: &str| SettingsProblem { pointer: pointer.to_owned(), message: clean(message) };
        let Some(schema) = &self.settings else {
            return match settings.as_object() {
                Some(settings) => {
                    settings.keys().take(MAX_PROBLEMS).map(|key| problem(&pointer_to("", key), "this plugin takes no settings")).collect()
                }
                None => vec![problem("", "settings are a map of names to values")],
            };
        };
        let validator = match compile(schema) {
            Ok(validator) => validator,
            Err(error) => return vec![problem("", &error.to_string())],
        };
        let mut problems: Vec<_> = validator
            .iter_errors(settings)
            .take(MAX_PROBLEMS)
            .map(|error| {
                let message = error.masked_with("the value").to_string();
                problem(error.instance_path().as_str(), &message)
            })
            .collect();
        problems.sort();
        problems
    }

    fn from_object(object: Map<String, Value>) -> Result<Self, ManifestError> {
        let written: Written = serde_json::from_value(Value::Object(object)).map_err(|e| ManifestError::Fields(clean(&e.to_string())))?;

        if !is_name(&written.name) {
            return Err(wrong(
                "name",
                &format!("is `{}`: use 1 to 63 lower-case letters, digits and dashes, a letter first", clean(&written.name)),
            ));
        }
        let version =
            Some(&written.version).filter(|text| text.len() <= MAX_LINE).and_then(|text| Version::parse(text).ok()).ok_or_else(|| {
                let text = clean(&written.version);
                wrong("version", &format!("is `{text}`, not like `1.2.3`"))
            })?;
        if let Some(description) = &written.description {
            one_line("description", description)?;
        }
        if let Some(schema) = &written.settings {
            check_schema(schema)?;
        }
        check_asks(&written.asks)?;

        Ok(Self { name: written.name, version, description: written.description, settings: written.settings, asks: written.asks })
    }
}

/// The manifest as its author writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    version: String,
    description: Option<String>,
    settings: Option<Value>,
    #[serde(default)]
    asks: Vec<Ask>,
}

/// The manifests in one section. wasm-ld joins sections of one name without a separator, so a
/// plugin that links a crate twice has its manifest twice.
fn documents(section: &[u8]) -> Result<Vec<Map<String, Value>>, ManifestError> {
    if section.len() > MAX_SECTION {
        return Err(ManifestError::TooLarge { size: section.len() });
    }
    let documents: Vec<_> = serde_json::Deserializer::from_slice(section)
        .into_iter()
        .map(|document| {
            let document = document.map_err(|e| ManifestError::Json(clean(&e.to_string())))?;
            merged(document)
        })
        .collect::<Result<_, _>>()?;
    if documents.is_empty() {
        return Err(ManifestError::Json("it is empty".to_owned()));
    }
    Ok(documents)
}

/// One object of an object, or of an array of them of which the later ones win.
fn merged(document: Value) -> Result<Map<String, Value>, ManifestError> {
    let parts = match document {
        Value::Array(parts) if !parts.is_empty() => parts,
        other => vec![other],
    };
    let mut whole = Map::new();
    for part in parts {
        let Value::Object(part) = part else {
            let problem = "use one object, or an array of objects that are merged in order";
            return Err(ManifestError::Json(problem.to_owned()));
        };
        whole.extend(part);
    }
    Ok(whole)
}

fn check_asks(asks: &[Ask]) -> Result<(), ManifestError> {
    if asks.len() > MAX_ASKS {
        let problem = format!("has {} entries, more than {MAX_ASKS}", asks.len());
        return Err(wrong("asks", &problem));
    }
    let mut seen = HashSet::new();
    for (index, ask) in asks.iter().enumerate() {
        one_line(&format!("asks[{index}].grant"), &ask.grant)?;
        one_line(&format!("asks[{index}].why"), &ask.why)?;
        if !seen.insert(&ask.grant) {
            let problem = format!("asks for `{}` a second time", clean(&ask.grant));
            return Err(wrong(&format!("asks[{index}].grant"), &problem));
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A person decides on these lines, so nothing in them may hide or rearrange text.
fn one_line(field: &str, text: &str) -> Result<(), ManifestError> {
    if text.trim().is_empty() {
        return Err(wrong(field, "is empty"));
    }
    if text.chars().count() > MAX_LINE {
        return Err(wrong(field, &format!("is longer than {MAX_LINE} characters")));
    }
    if text.chars().any(deceives) {
        return Err(wrong(field, "has line breaks, control or invisible characters"));
    }
    Ok(())
}

fn wrong(field: &str, problem: &str) -> ManifestError {
    ManifestError::Value { field: field.to_owned(), problem: problem.to_owned() }
}

fn bad_schema(pointer: &str, problem: &str) -> ManifestError {
    ManifestError::Schema { pointer: clean(pointer), problem: clean(problem) }
}

/// Patterns run on an engine of linear time (no look-around), and nothing is ever fetched.
fn compile(schema: &Value) -> Result<Validator, jsonschema::ValidationError<'static>> {
    jsonschema::options().offline().with_pattern_options(PatternOptions::regex().size_limit(1 << 20)).build(schema)
}

fn check_schema(schema: &Value) -> Result<(), ManifestError> {
    if !schema.is_object() {
        return Err(bad_schema("", "a settings schema is an object"));
    }
    // Draft 4 is left out because its `id` cannot be told from data, which `Walk` has to.
    let draft = Draft::default().detect(schema);
    if matches!(draft, Draft::Unknown | Draft::Draft4) {
        let problem = "use the JSON Schema of 2020-12 (or 2019-09, draft 7, draft 6)";
        return Err(bad_schema("/$schema", problem));
    }
    Walk::over(schema)?;
    compile(schema).map(drop).map_err(|e| bad_schema(e.instance_path().as_str(), &e.to_string()))
}

/// Adds up what checking one value against a schema costs when every reference is followed, so that
/// a plugin cannot make emhost compute forever: forty definitions that each refer to the next one
/// twice are a trillion steps, eight that refer to each other are no better. Only references whose
/// target this walk sees are accepted. Recursion that goes down into the settings is fine.
struct Walk<'a> {
    root: &'a Value,
    /// By JSON pointer. None: being added up right now.
    costs: HashMap<String, Option<u64>>,
    /// Schemas for what is inside the value, each a walk of its own.
    later: Vec<(String, &'a Value)>,
}

impl<'a> Walk<'a> {
    fn over(root: &'a Value) -> Result<(), ManifestError> {
        let mut walk = Self { root, costs: HashMap::new(), later: vec![(String::new(), root)] };
        while let Some((at, schema)) = walk.later.pop() {
            walk.cost(at, schema, 0)?;
        }
        Ok(())
    }

    fn cost(&mut self, at: String, schema: &'a Value, depth: u32) -> Result<u64, ManifestError> {
        match self.costs.get(&at) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(bad_schema(&at, "refers to itself for the same value")),
            None if depth > MAX_SCHEMA_DEPTH => return Err(bad_schema(&at, "nests too deeply")),
            None => self.costs.insert(at.clone(), None),
        };
        let mut cost: u64 = 1;
        for (below, key, value) in entries(&at, schema) {
            let more = match (key, value) {
                ("$ref", Value::String(target)) => self.reference(&below, target, depth)?,
                ("$dynamicRef" | "$recursiveRef", _) => {
                    return Err(bad_schema(&below, "use `$ref`"));
                }
                ("$id", Value::String(_)) if !at.is_empty() => {
                    return Err(bad_schema(&below, "only the whole schema has an `$id`"));
                }
                ("not" | "if" | "then" | "else", _) => self.cost(below, value, depth + 1)?,
                ("allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies", _) => {
                    let mut sum: u64 = 0;
                    for (below, schema) in children(&below, value) {
                        sum = sum.saturating_add(self.cost(below, schema, depth + 1)?);
                    }
                    sum
                }
                ("properties" | "patternProperties" | "$defs" | "definitions" | "prefixItems", _) | ("items", Value::Array(_)) => {
                    self.later.extend(children(&below, value));
                    1
                }
                (
                    "items"
                    | "additionalItems"
                    | "additionalProperties"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedItems"
                    | "unevaluatedProperties"
                    | "contentSchema",
                    _,
                ) => {
                    self.later.push((below, value));
                    1
                }
                _ => 0,
            };
            cost = cost.saturating_add(more);
        }
        if cost > MAX_SCHEMA_COST {
            let problem = "its references multiply: checking a value could take forever";
            return Err(bad_schema(&at, problem));
        }
        self.costs.insert(at, Some(cost));
        Ok(cost)
    }

    fn reference(&mut self, at: &str, target: &str, depth: u32) -> Result<u64, ManifestError> {
        // Escapes are left out so that one target has one spelling.
        let pointer = target.strip_prefix('#').filter(|p| (p.is_empty() || p.starts_with('/')) && !p.contains('%'));
        let Some(pointer) = pointer else {
            let problem = "references stay inside the schema, like `#/$defs/name`";
            return Err(bad_schema(at, &format!("refers to `{}`: {problem}", clean(target))));
        };
        let Some(schema) = self.root.pointer(pointer) else {
            let problem = format!("refers to `{}`, which is not there", clean(target));
            return Err(bad_schema(at, &problem));
        };
        self.cost(pointer.to_owned(), schema, depth + 1)
    }
}

fn entries<'a>(at: &str, object: &'a Value) -> impl Iterator<Item = (String, &'a str, &'a Value)> + use<'a> {
    let at = at.to_owned();
    let object = object.as_object().into_iter().flatten();
    object.map(move |(key, value)| (pointer_to(&at, key), key.as_str(), value))
}

fn children<'a>(at: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    match value {
        Value::Object(_) => entries(at, value).map(|(at, _, value)| (at, value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (format!("{at}/{index}"), item)).collect(),
        _ => Vec::new(),
    }
}

fn pointer_to(parent: &str, key: &str) -> String {
    format!("{parent}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Text of a plugin made fit to print: on one line, with nothing hidden, and not endless.
pub(super) fn clean(text: &str) -> String {
    redact::one_line(text, MAX_LINE)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// One section of a component or module.
    pub fn section(id: u8, body: &[u8]) -> Vec<u8> {
        [&[id], length(body).as_slice(), body].concat()
    }

    /// A component or module with a custom section at its end.
    pub fn with_section(before: Vec<u8>, name: &str, data: &[u8]) -> Vec<u8> {
        let body = [&length(name.as_bytes()), name.as_bytes(), data].concat();
        [before, section(0, &body)].concat()
    }

    fn length(bytes: &[u8]) -> Vec<u8> {
        let mut rest = bytes.len();
        let mut length = Vec::new();
        while rest >= 0x80 {
            length.push(rest.to_le_bytes()[0] | 0x80);
            rest >>= 7;
        }
        length.push(rest.to_le_bytes()[0]);
        length
    }

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    fn carrying(data: &str) -> Vec<u8> {
        with_section(COMPONENT.to_vec(), SECTION, data.as_bytes())
    }

    fn sample() -> Value {
        json!({
            "name": "proxmox",
            "version": "1.2.3",
            "description": "Virtual machines of Proxmox VE",
            "settings": {
                "type": "object",
                "properties": { "pool": { "type": "string" }, "tries": { "minimum": 1 } },
                "required": ["pool"],
                "additionalProperties": false,
            },
            "asks": [{ "grant": "http:pve", "why": "creates virtual machines" }],
        })
    }

    /// The message for the sample with one field set to something else.
    fn refusal(field: &str, value: Value) -> String {
        let mut manifest = sample();
        manifest[field] = value;
        let error = Manifest::parse(manifest.to_string().as_bytes()).unwrap_err();
        error.to_string()
    }

    fn schema(schema: &Value) -> Result<Manifest, ManifestError> {
        let manifest = json!({ "name": "x", "version": "1.0.0", "settings": schema });
        Manifest::parse(manifest.to_string().as_bytes())
    }

    #[test]
    fn on_the_component_or_in_its_module() {
        let text = sample().to_string();
        let manifest = Manifest::read(&carrying(&text)).unwrap();
        assert_eq!(manifest.name, "proxmox");
        assert_eq!(manifest.version, Version::new(1, 2, 3));
        assert_eq!(manifest.asks[0].grant, "http:pve");
        assert_eq!(serde_json::to_value(&manifest).unwrap(), sample());

        let module = with_section(b"\0asm\x01\0\0\0".to_vec(), SECTION, text.as_bytes());
        let component = [COMPONENT, &section(1, &module)].concat();
        assert_eq!(Manifest::read(&component).unwrap(), manifest);
    }

    #[test]
    fn none_or_two() {
        let other = with_section(COMPONENT.to_vec(), "producers", b"x");
        assert_eq!(
            Manifest::read(&other).unwrap_err().to_string(),
            "carries no manifest: add `emhost_sdk::manifest!(\"emhost-plugin.json\")` to the \
             plugin's lib.rs, or put the JSON into a custom section named `emhost:manifest`"
        );
        let (one, two) = (r#"{"name":"a","version":"1.0.0"}"#, r#"{"name":"b","version":"1.0.0"}"#);
        let twice = |second: &str| {
            let joined = Manifest::read(&carrying(&format!("{one}{second}")));
            let apart = with_section(carrying(one), SECTION, second.as_bytes());
            assert_eq!(Manifest::read(&apart), joined);
            joined
        };
        assert_eq!(twice(one).unwrap().name, "a");
        assert_eq!(twice(two), Err(ManifestError::Several));
    }

    #[test]
    fn parts_are_merged_in_order() {
        let text = r#"[{"name":"crate-name","version":"0.3.0"},{"name":"proxmox","asks":[]}]"#;
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(manifest.name, "proxmox");
        assert_eq!(manifest.version, Version::new(0, 3, 0));
        assert_eq!(manifest.settings, None);
    }

    #[test]
    fn text_that_is_no_manifest() {
        let message = |text: &str| Manifest::read(&carrying(text)).unwrap_err().to_string();
        assert_eq!(message(""), "carries a manifest that is not a JSON object: it is empty");
        let not_objects = "carries a manifest that is not a JSON object: use one object, or an \
             array of objects that are merged in order";
        for text in ["[]", "7", "[{},7]", "[[{}]]"] {
            assert_eq!(message(text), not_objects, "{text}");
        }
        assert!(message("{").starts_with("carries a manifest that is not a JSON object: EOF"));
        assert!(message(&"[".repeat(60_000)).contains("recursion limit"));
        assert_eq!(message(&" ".repeat(MAX_SECTION + 1)), "carries a manifest of 65537 bytes, more than the 65536 that are read");
        assert_eq!(message(r#"{"name":"x"}"#), "carries a manifest with a wrong field: missing field `version`");
        assert!(message(r#"{"na\u001bme":"x"}"#).contains(r"unknown field `na\u{1b}me`"));
        assert!(Manifest::read(b"\0asm").is_err());
    }

    #[test]
    fn values_that_are_refused() {
        let long = "x".repeat(64);
        for name in ["", "Proxmox", "1password", "-x", "a_b", "a b", "ä", &long] {
            let message = refusal("name", json!(name));
            assert!(message.starts_with("carries a manifest whose `name` is `"), "{message}");
        }
        assert_eq!(refusal("version", json!("1.2")), "carries a manifest whose `version` is `1.2`, not like `1.2.3`");
        assert_eq!(
            refusal("description", json!("two\nlines")),
            "carries a manifest whose `description` has line breaks, control or invisible \
             characters"
        );
        let ask = |grant: &str, why: &str| json!({ "grant": grant, "why": why });
        assert_eq!(
            refusal("asks", json!([ask("http:pve", "x"), ask("http:pve", "y")])),
            "carries a manifest whose `asks[1].grant` asks for `http:pve` a second time"
        );
        assert_eq!(refusal("asks", json!([ask("http:pve", " ")])), "carries a manifest whose `asks[0].why` is empty");
        assert_eq!(
            refusal("asks", json!([ask(&"g".repeat(201), "x")])),
            "carries a manifest whose `asks[0].grant` is longer than 200 characters"
        );
        // A right-to-left override would show a person another sentence.
        assert!(refusal("asks", json!([ask("http:pve", "reads \u{202e}setirw")])).contains("why"));
        assert!(refusal("asks", json!([{ "grant": "http:pve" }])).contains("missing field `why`"));
        let many: Vec<_> = (0..=MAX_ASKS).map(|n| ask(&format!("http:{n}"), "x")).collect();
        assert_eq!(refusal("asks", json!(many)), "carries a manifest whose `asks` has 65 entries, more than 64");
    }

    #[test]
    fn what_is_printed_is_clean() {
        let message = refusal("name", json!(format!("\u{1b}[31m\u{202e}{}", "x".repeat(9000))));
        assert!(message.contains(r"`\u{1b}[31m\u{202e}xxx"), "{message}");
        assert!(message.chars().count() < 400, "{message}");
    }

    #[test]
    fn schemas_that_are_refused() {
        let message = |value: Value| schema(&value).unwrap_err().to_string();
        assert_eq!(message(json!(true)), "carries a settings schema that cannot be used, at ``: a settings schema is an object");
        assert!(message(json!({"properties": {"x": {"type": "strng"}}})).contains("/properties/x/type"));
        for remote in ["https://example.com/x.json", "file:///etc/passwd", "x.json", "#anchor", "#/$defs/a%31"] {
            assert_eq!(
                message(json!({"items": {"$ref": remote}})),
                format!(
                    "carries a settings schema that cannot be used, at `/items/$ref`: refers to \
                     `{remote}`: references stay inside the schema, like `#/$defs/name`"
                )
            );
        }
        assert!(message(json!({"$ref": "#/$defs/none"})).ends_with("which is not there"));
        assert!(message(json!({"$schema": "https://example.com/meta"})).contains("2020-12"));
        assert!(message(json!({"items": {"$id": "x"}})).contains("/items/$id"));
        assert!(message(json!({"$dynamicRef": "#x"})).ends_with("use `$ref`"));
        // Look-around needs an engine that can take forever.
        assert!(message(json!({"properties": {"x": {"pattern": "(?=a)b"}}})).contains("regex"));
    }

    #[test]
    fn schemas_that_never_end() {
        let same = "refers to itself for the same value";
        for value in [
            json!({"$ref": "#"}),
            json!({"items": {"$ref": "#/$defs/a"},
                "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
        ] {
            let message = schema(&value).unwrap_err().to_string();
            assert!(message.ends_with(same), "{message}");
        }
        let chain = |length: usize, times: usize| {
            let mut defs = Map::new();
            for n in 0..length {
                let next = json!({ "$ref": format!("#/$defs/a{}", n + 1) });
                defs.insert(format!("a{n}"), json!({ "allOf": vec![next; times] }));
            }
            defs.insert(format!("a{length}"), json!({}));
            schema(&json!({ "$ref": "#/$defs/a0", "$defs": defs }))
        };
        chain(40, 1).unwrap();
        chain(8, 2).unwrap();
        assert!(chain(40, 2).unwrap_err().to_string().contains("multiply"));
        assert!(chain(900, 1).unwrap_err().to_string().contains("nests too deeply"));
    }

    #[test]
    fn recursion_into_the_settings_is_fine() {
        let manifest = schema(&json!({
            "type": "object",
            "properties": {
                "default": { "$ref": "#" },
                "$ref": { "const": { "$ref": "https://example.com" } },
            },
            "additionalProperties": { "type": "integer" },
        }));
        let problems = manifest.unwrap().check_settings(&json!({"default": {"default": {"x": "y"}}}));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].pointer, "/default/default/x");
    }

    #[test]
    fn all_problems_of_settings_at_once() {
        let manifest = Manifest::parse(sample().to_string().as_bytes()).unwrap();
        assert_eq!(manifest.check_settings(&json!({ "pool": "fast" })), []);
        let problems = manifest.check_settings(&json!({ "tries": 0, "secret": "hunter2" }));
        let texts: Vec<_> = problems.iter().map(|p| (p.pointer.as_str(), p.message.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("", "\"pool\" is a required property"),
                ("", "Additional properties are not allowed ('secret' was unexpected)"),
                ("/tries", "the value is less than the minimum of 1"),
            ]
        );
        assert!(!format!("{problems:?}").contains("hunter2"));
    }

    #[test]
    fn without_a_schema_there_are_no_settings() {
        let manifest = Manifest::parse(br#"{"name":"x","version":"1.0.0"}"#).unwrap();
        assert_eq!(manifest.check_settings(&json!({})), []);
        assert_eq!(manifest.check_settings(&json!({ "a/b": 1, "c": 2 })).len(), 2);
        assert_eq!(manifest.check_settings(&json!({ "a/b": 1 }))[0].pointer, "/a~1b");
        assert_eq!(manifest.check_settings(&json!(null)).len(), 1);
    }
}
