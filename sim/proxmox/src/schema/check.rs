//! The check of parameters, as Proxmox's own schema code does it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::field::{Field, Kind, Shape};
use super::params::{Given, Params, Value};
use super::{Endpoint, list, perl, property};
use crate::Release;
use crate::call::Fail;

/// What the values of an object may be, by their names.
pub type Fields = BTreeMap<Cow<'static, str>, Field>;

const MISSING: &str = "property is missing and it is not optional";
const UNDEFINED: &str = "property is not defined in schema and the schema does not allow additional properties";

/// What is wrong with which value.
#[derive(Debug, Default)]
pub(super) struct Errors(pub BTreeMap<String, String>);

impl Errors {
    fn add(&mut self, path: &str, message: impl Into<String>) {
        let message = message.into();
        self.0
            .entry(path.to_owned())
            // The original joins with a backslash and an n, not with a newline.
            .and_modify(|earlier| *earlier = format!("{earlier}\\n{message}"))
            .or_insert(message);
    }
}

/// Puts the parameters of the path under those of query and body.
///
/// # Errors
///
/// 400 where both give the same parameter and differ.
pub fn merge(path: &BTreeMap<String, String>, mut given: BTreeMap<String, Given>) -> Result<BTreeMap<String, Given>, Fail> {
    for (name, value) in path {
        match given.get(name) {
            Some(other) if other.text() != Some(value) => {
                let message = "duplicate parameter (already defined in URI) with conflicting values!";
                return Err(Fail::param(name, message));
            }
            _ => {
                given.insert(name.clone(), Given::Text(value.clone()));
            }
        }
    }
    Ok(given)
}

/// Checks all parameters of a request, those of the path among them, and brings them into the form that handlers read.
///
/// # Errors
///
/// 400 with a text for each parameter that is wrong.
pub fn check(release: Release, endpoint: &Endpoint, given: BTreeMap<String, Given>) -> Result<Params, Fail> {
    let given = normalise(&endpoint.params, given);
    let mut errors = Errors::default();
    object(release, "", &endpoint.params, &given, endpoint.extra_params, &mut errors);
    if !errors.0.is_empty() {
        return Err(Fail::params(errors.0));
    }
    let value = |given: Given| match given {
        Given::List(items) => Some(Value::List(items.iter().filter_map(|item| item.text().map(str::to_owned)).collect())),
        other => other.text().map(|text| Value::Text(text.to_owned())),
    };
    Ok(Params(given.into_iter().filter_map(|(name, given)| Some((name, value(given)?))).collect()))
}

/// A list given for a list in one text is joined, and a single value for an array wrapped; the latter not if it is empty or zero.
fn normalise(fields: &Fields, given: BTreeMap<String, Given>) -> BTreeMap<String, Given> {
    let one = |name: &str, value: Given| {
        let Some(field) = fields.get(name) else { return value };
        match value {
            Given::List(items) if field.kind == Kind::Text && matches!(field.shape, Some(Shape::List(_))) => {
                let items: Vec<&str> = items.iter().map(|item| item.text().unwrap_or_default()).collect();
                Given::Text(items.join(","))
            }
            Given::Text(text) if field.kind == Kind::List && perl::truthy(&text) => Given::List(vec![Given::Text(text)]),
            Given::Number(text) if field.kind == Kind::List && perl::truthy(&text) => Given::List(vec![Given::Number(text)]),
            other => other,
        }
    };
    given
        .into_iter()
        .map(|(name, value)| {
            let value = one(&name, value);
            (name, value)
        })
        .collect()
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Checks an object: the parameters of a request, or the keys of a property string.
pub(super) fn object(release: Release, path: &str, fields: &Fields, given: &BTreeMap<String, Given>, extra: bool, errors: &mut Errors) {
    for (name, field) in fields {
        single(release, &below(path, name), field, given.get(name.as_ref()), errors);
    }
    for name in given.keys() {
        let here = below(path, name);
        match fields.get(name.as_str()) {
            Some(Field { requires: Some(other), .. }) => {
                if matches!(given.get(*other), None | Some(Given::Null)) {
                    let message = match release {
                        Release::V8 => format!("missing property - '{here}' requires this property"),
                        Release::V9 => format!("missing property required by '{here}'"),
                    };
                    errors.add(&below(path, other), message);
                }
            }
            Some(_) => {}
            None if extra => {}
            None => errors.add(&here, UNDEFINED),
        }
    }
}

fn single(release: Release, path: &str, field: &Field, given: Option<&Given>, errors: &mut Errors) {
    let Some(given) = given.filter(|given| **given != Given::Null) else {
        if !field.optional && field.kind != Kind::Alias {
            errors.add(path, MISSING);
        }
        return;
    };
    if let Err(message) = kind(field.kind, given) {
        errors.add(path, message);
        return;
    }
    match given {
        Given::List(items) => {
            if let Some(field) = &field.items {
                for (index, item) in items.iter().enumerate() {
                    single(release, &format!("{path}[{index}]"), field, Some(item), errors);
                }
            }
        }
        Given::Text(text) | Given::Number(text) => {
            if let Err(message) = scalar(release, path, field, text) {
                errors.add(path, message);
            }
        }
        Given::Bool(_) | Given::Object | Given::Null => {}
    }
}

fn kind(kind: Kind, given: &Given) -> Result<(), String> {
    let name = kind.name();
    match (kind, given) {
        (Kind::Alias, _) | (Kind::List, Given::List(_)) | (Kind::Flag, Given::Bool(_)) => return Ok(()),
        (Kind::List, _) => return Err(format!("type check ('{name}') failed")),
        _ => {}
    }
    if let Some(reference) = given.reference() {
        return Err(format!("type check ('{name}') failed - got {reference}"));
    }
    let text = given.text().unwrap_or_default();
    let right = match kind {
        Kind::Flag => text == "0" || text == "1",
        Kind::Integer => perl::is_integer(text),
        Kind::Number => perl::is_number(text),
        Kind::Text | Kind::List | Kind::Alias => true,
    };
    if right { Ok(()) } else { Err(format!("type check ('{name}') failed - got '{text}'")) }
}

/// Checks the form, the length, the size and the choice of a value, and stops at the first that is wrong.
fn scalar(release: Release, path: &str, field: &Field, text: &str) -> Result<(), String> {
    if let Some(shape) = &field.shape {
        well_formed(release, path, shape, text).map_err(|wrong| format!("invalid format - {wrong}"))?;
    }
    if field.pattern.is_some_and(|pattern| !perl::matches(pattern, text)) {
        return Err("value does not match the regex pattern".to_owned());
    }
    let letters = text.chars().count();
    if let Some(longest) = field.longest.filter(|longest| letters > *longest) {
        return Err(format!("value may only be {longest} characters long"));
    }
    if let Some(shortest) = field.shortest.filter(|shortest| letters < *shortest) {
        return Err(format!("value must be at least {shortest} characters long"));
    }
    if perl::is_number(text) {
        within(field, perl::number(text).unwrap_or_default())?;
    }
    match &field.choices {
        Some(choices) if !choices.contains(&text) => {
            Err(format!("value '{text}' does not have a value in the enumeration '{}'", choices.join(", ")))
        }
        _ => Ok(()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no limit in the tables is beyond what a double holds exactly")]
fn within(field: &Field, number: f64) -> Result<(), String> {
    if let Some(max) = field.max.filter(|max| number > *max as f64) {
        return Err(format!("value must have a maximum value of {max}"));
    }
    if let Some(min) = field.min.filter(|min| number < *min as f64) {
        return Err(format!("value must have a minimum value of {min}"));
    }
    Ok(())
}

fn well_formed(release: Release, path: &str, shape: &Shape, text: &str) -> Result<(), String> {
    let line = |message: String| format!("{message}\n");
    match shape {
        Shape::One(check) => check(release, text).map_err(line),
        Shape::Maybe(check) if perl::truthy(text) => check(release, text).map_err(line),
        Shape::Maybe(_) => Ok(()),
        Shape::List(check) => list::split(text).iter().try_for_each(|item| check(release, item).map_err(line)),
        Shape::Properties(format) => property::parse_at(format, text, path, &[]).map(drop).map_err(|wrong| wrong.to_string()),
    }
}
