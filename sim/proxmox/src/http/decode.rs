//! Paths, forms and JSON bodies, read as pveproxy reads them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reply::Format;
use crate::schema::Given;

/// Resolves `%XX`; what is not two hexadecimal digits stays as it is.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// The path with `%XX` resolved.
pub(super) fn path(raw: &str) -> String {
    String::from_utf8_lossy(&unescaped(raw)).into_owned()
}

/// The format and the rest of `/api2/FORMAT/REST`.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/api2")?;
    let trimmed = rest.trim_start_matches('/');
    let end = trimmed.find('/').unwrap_or(trimmed.len());
    let (format, rest_of) = trimmed.split_at(end);
    let mut letters = format.chars();
    let named = letters.next().is_some_and(|c| c.is_ascii_lowercase())
        && format.len() > 1
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    (rest.starts_with('/') && named).then_some((format, if rest_of.is_empty() { "/" } else { rest_of }))
}

/// The formats an API call can be answered in.
pub(super) fn format(name: &str) -> Option<Format> {
    match name {
        "json" => Some(Format::Json),
        "extjs" => Some(Format::Extjs),
        _ => None,
    }
}

/// A form. Pairs are split at `&` and `;`, a key that is repeated becomes a list, and what follows a second `=` is lost.
pub(super) fn form(text: &str) -> BTreeMap<String, Given> {
    let mut given: BTreeMap<String, Given> = BTreeMap::new();
    for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let mut parts = pair.split('=');
        let decoded = |part: &str| String::from_utf8_lossy(&unescaped(&part.replace('+', " "))).into_owned();
        let key = decoded(parts.next().unwrap_or_default());
        let value = match parts.next() {
            None => Given::Null,
            Some(value) => {
                let value = Given::Text(decoded(value));
                match given.remove(&key) {
                    None | Some(Given::Null) => value,
                    Some(Given::List(mut items)) => {
                        items.push(value);
                        Given::List(items)
                    }
                    Some(first) => Given::List(vec![first, value]),
                }
            }
        };
        given.insert(key, value);
    }
    given
}

/// A JSON body: an object, or the text of the error.
pub(super) fn json(bytes: &[u8]) -> Result<BTreeMap<String, Given>, String> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(members)) => Ok(members.into_iter().map(|(name, value)| (name, Given::from(value))).collect()),
        Ok(_) => Err("Not a HASH reference".to_owned()),
        Err(error) => Err(format!(
            "malformed JSON string, neither tag, array, object, number, string or atom, at character offset {}",
            error.column()
        )),
    }
}

/// The media type, and the boundary of a multipart body.
pub(super) fn content_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split([';', ',']).map(str::trim);
    let kind = parts.next().unwrap_or_default().to_owned();
    let boundary = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        (name.trim() == "boundary" && !value.trim().contains(char::is_whitespace)).then(|| value.trim().to_owned())
    });
    (kind, boundary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_perl_reads_it() {
        let given = form("a=1&b=x%20y+z;c=order%3Dscsi0%3Bnet0&a=2&d=e=f&g=&h&%C3%BC=%C3%A4");
        let text = |text: &str| Given::Text(text.to_owned());
        let expected = [
            ("a", Given::List(vec![text("1"), text("2")])),
            ("b", text("x y z")),
            ("c", text("order=scsi0;net0")),
            ("d", text("e")),
            ("g", text("")),
            ("h", Given::Null),
            ("ü", text("ä")),
        ];
        assert_eq!(given, expected.map(|(key, value)| (key.to_owned(), value)).into());
    }

    #[test]
    fn the_format_is_in_the_path() {
        assert_eq!(split("/api2/json/version"), Some(("json", "/version")));
        assert_eq!(split("/api2//json"), Some(("json", "/")));
        assert_eq!(split("/api2/json//nodes/"), Some(("json", "//nodes/")));
        assert_eq!(split("/api2/"), None);
        assert_eq!(split("/api2json/version"), None);
        assert_eq!(split("/api2/JSON/version"), None);
    }

    #[test]
    fn a_boundary_is_found() {
        assert_eq!(content_type("multipart/form-data; boundary=abc"), ("multipart/form-data".to_owned(), Some("abc".to_owned())));
        assert_eq!(content_type("application/json;charset=UTF-8").0, "application/json");
    }
}
