//! Reaching into JSON documents by pointer, where anything may be missing.

use serde_json::{Map, Value};

/// What is there. Unlike `Value::pointer` it makes no strings, for it is asked all the time.
pub(crate) fn at<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.is_empty() {
        return Some(document);
    }
    let mut here = document;
    for part in pointer.strip_prefix('/')?.split('/') {
        here = match here {
            Value::Object(map) if part.contains('~') => map.get(&part.replace("~1", "/").replace("~0", "~"))?,
            Value::Object(map) => map.get(part)?,
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}

/// The text there, or nothing.
pub(crate) fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    at(document, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number there.
pub(crate) fn number(document: &Value, pointer: &str) -> Option<i64> {
    at(document, pointer).and_then(Value::as_i64)
}

/// Whether it says true there.
pub(crate) fn flag(document: &Value, pointer: &str) -> bool {
    at(document, pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// The list there, or an empty one.
pub(crate) fn list<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    at(document, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The pairs of the map there.
pub(crate) fn pairs<'a>(document: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    at(document, pointer).and_then(Value::as_object).into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The place, made where it is not there. Lists are not grown.
pub(crate) fn place<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Value {
    let mut here = document;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !here.is_object() {
            *here = Value::Object(Map::new());
        }
        here = &mut here[part];
    }
    here
}

/// Puts a value there.
pub(crate) fn put(document: &mut Value, pointer: &str, value: impl Into<Value>) {
    *place(document, pointer) = value.into();
}

/// Puts a value there unless something is there already.
pub(crate) fn default(document: &mut Value, pointer: &str, value: impl Into<Value>) {
    let place = place(document, pointer);
    if place.is_null() {
        *place = value.into();
    }
}

/// Takes a field of a map away.
pub(crate) fn remove(document: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, field) = pointer.rsplit_once('/')?;
    let field = field.replace("~1", "/").replace("~0", "~");
    document.pointer_mut(parent)?.as_object_mut()?.remove(&field)
}

/// A key as part of a pointer.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Now, as Kubernetes writes times.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Now with microseconds, as leases and new events write it.
pub(crate) fn now_precise() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Letters and digits that Kubernetes makes names from: no vowels, nothing that looks alike.
pub(crate) fn suffix(length: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..length).map(|_| char::from(LETTERS[rand::random::<usize>() % LETTERS.len()])).collect()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A new random UID.
pub(crate) fn uid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
