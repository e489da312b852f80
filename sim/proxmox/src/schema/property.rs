//! Property strings: `value,key=value,…`, as in `virtio=BC:24:11:AA:BB:CC,bridge=vmbr0`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::check::{Errors, Fields, object};
use super::field::{Field, Kind};
use super::params::Given;
use super::size;
use crate::Release;

/// The keys of a property string by their names, and the values they had.
pub type Properties = BTreeMap<String, String>;

/// A check of the whole, after the checks of the single keys.
pub(super) type Validator = fn(&Properties) -> Result<(), String>;

/// Which keys a property string may have.
#[derive(Debug, Clone)]
pub struct Format {
    release: Release,
    fields: Fields,
    validator: Option<Validator>,
}

impl Format {
    pub(super) fn new<N: Into<Cow<'static, str>>>(release: Release, fields: impl IntoIterator<Item = (N, Field)>) -> Self {
        let fields = fields.into_iter().map(|(name, field)| (name.into(), field)).collect();
        Self { release, fields, validator: None }
    }

    pub(super) fn validated(self, validator: Validator) -> Self {
        Self { validator: Some(validator), ..self }
    }

    /// The keys.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    fn default_key(&self) -> Option<&str> {
        self.fields.iter().find(|(_, field)| field.default_key).map(|(name, _)| name.as_ref())
    }
}

/// Why a property string was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Wrong {
    /// The text, with its newline.
    pub message: String,
    /// What is wrong with single keys.
    pub errors: BTreeMap<String, String>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        self.errors.iter().try_for_each(|(key, message)| writeln!(formatter, "{key}: {message}"))
    }
}

fn wrong(message: impl fmt::Display) -> Wrong {
    Wrong { message: format!("{message}\n"), errors: BTreeMap::new() }
}

/// What a boolean inside a property string may be written as.
pub fn parse_boolean(text: &str) -> Option<bool> {
    match text.trim_end_matches('\n').to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some(true),
        "0" | "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Reads a property string.
///
/// # Errors
///
/// What Proxmox would say.
pub fn parse(format: &Format, text: &str) -> Result<Properties, Wrong> {
    parse_at(format, text, "", &[])
}

/// As [`parse`], with the name of the parameter before each key in errors, and with keys that are passed over.
pub(super) fn parse_at(format: &Format, text: &str, path: &str, skip: &[&str]) -> Result<Properties, Wrong> {
    let mut found = Properties::new();
    let mut default_seen = false;
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match key_and_value(part) {
            Some((key, _)) if skip.contains(&key) => {}
            Some((key, value)) => set(format, &mut found, key, value)?,
            None if part.contains('=') => return Err(wrong("missing key in comma-separated list property")),
            None => {
                let key = format.default_key();
                let Some(key) = key else {
                    return Err(wrong("value without key, but schema does not define a default key"));
                };
                let taken = found.get(key).is_some_and(|value| super::perl::truthy(value));
                if default_seen || taken {
                    return Err(wrong(format!("duplicate key in comma-separated list property: {key}")));
                }
                default_seen = true;
                // 8.4 takes the default key as it stands, even where it is a boolean.
                let value = if format.release == Release::V8 { part.to_owned() } else { plain(format, key, part) };
                found.insert(key.to_owned(), value);
            }
        }
    }
    examine(format, &found, path, false)?;
    Ok(found)
}

/// Splits at the first equals sign; a newline at the end is dropped and any other one is too much.
fn key_and_value(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let value = value.strip_suffix('\n').unwrap_or(value);
    (!key.is_empty() && !value.is_empty() && !value.contains('\n')).then_some((key, value))
}

fn plain(format: &Format, key: &str, value: &str) -> String {
    match format.fields.get(key) {
        Some(Field { kind: Kind::Flag, .. }) => parse_boolean(value).map_or_else(|| value.to_owned(), |flag| u8::from(flag).to_string()),
        _ => value.to_owned(),
    }
}

fn set(format: &Format, found: &mut Properties, key: &str, value: &str) -> Result<(), Wrong> {
    if found.contains_key(key) {
        return Err(wrong(format!("duplicate key in comma-separated list property: {key}")));
    }
    let mut target = key;
    if let Some(Field { alias: Some(alias), key_alias, .. }) = format.fields.get(key) {
        if let Some(key_alias) = key_alias {
            if found.contains_key(*key_alias) {
                return Err(wrong(format!("key alias '{key_alias}' is already defined")));
            }
            found.insert((*key_alias).to_owned(), key.to_owned());
        }
        target = alias;
        if format.release == Release::V9 && found.contains_key(target) {
            return Err(wrong(format!("key '{target}' is already defined (via alias)")));
        }
    }
    found.insert(target.to_owned(), plain(format, target, value));
    Ok(())
}

fn examine(format: &Format, found: &Properties, path: &str, extra: bool) -> Result<(), Wrong> {
    let mut errors = Errors::default();
    let given = found.iter().map(|(key, value)| (key.clone(), Given::Text(value.clone()))).collect();
    object(format.release, path, &format.fields, &given, extra, &mut errors);
    if !errors.0.is_empty() {
        return Err(Wrong { message: "format error\n".to_owned(), errors: errors.0 });
    }
    format.validator.map_or(Ok(()), |validator| validator(found).map_err(wrong))
}

/// Prints properties that are known to be right: the default key first and bare, then keys that must be there, then the rest.
pub fn print(format: &Format, properties: &Properties) -> String {
    let combined = format
        .fields
        .values()
        .find_map(|field| Some((field.key_alias?, field.alias?)))
        .filter(|(key, value)| properties.contains_key(*key) && properties.contains_key(*value));
    let default_key = format.default_key();
    let required = |key: &&String| format.fields.get(key.as_str()).is_some_and(|field| !field.optional && field.alias.is_none());
    let first = properties.keys().filter(|key| Some(key.as_str()) == default_key);
    let rest = || properties.keys().filter(|key| Some(key.as_str()) != default_key);
    let ordered = first.chain(rest().filter(required)).chain(rest().filter(|key| !required(key)));
    let mut parts = Vec::new();
    for key in ordered {
        let value = printed(format, key, &properties[key]);
        match combined {
            Some((name, alias)) if name == key => {
                parts.push(format!("{value}={}", printed(format, alias, &properties[alias])));
            }
            Some((_, alias)) if alias == key => {}
            _ if Some(key.as_str()) == default_key => parts.push(value),
            _ => parts.push(format!("{key}={value}")),
        }
    }
    parts.join(",")
}

fn printed(format: &Format, key: &str, value: &str) -> String {
    match format.fields.get(key) {
        Some(Field { disk_size: true, .. }) => size::print(size::leading(value)),
        _ => value.to_owned(),
    }
}

/// As [`print()`], but checks first; none for what Proxmox would refuse to print.
pub fn try_print(format: &Format, properties: &Properties) -> Option<String> {
    examine(format, properties, "", true).ok()?;
    let known = properties.keys().all(|key| format.fields.contains_key(key.as_str()));
    (known && !properties.values().any(|value| value.contains(','))).then(|| print(format, properties))
}

/// The format of an option of a machine, such as `scsi0`, where it is a property string.
pub fn format_of(release: Release, key: &str) -> Option<&'static Format> {
    super::machine::format_of(release, key)
}
