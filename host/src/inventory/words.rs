//! Words for what a schema asks for.

use serde_json::Value as Json;

use super::formats::Format;

/// The types a schema names; none is any.
pub fn types_of(schema: &Json) -> impl Iterator<Item = &str> {
    let kind = schema.get("type");
    let one = kind.and_then(Json::as_str);
    let several = kind.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    one.into_iter().chain(several)
}

pub fn choices_of(schema: &Json) -> Vec<&str> {
    let several = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
    several.chain(schema.get("const")).filter_map(Json::as_str).collect()
}

/// What a schema asks for, in words.
pub fn kind_of(schema: &Json) -> String {
    if let Some(format) = schema.get("format").and_then(Json::as_str).and_then(Format::named) {
        return format.what.to_owned();
    }
    let choices = choices_of(schema);
    if !choices.is_empty() {
        return or_list(&choices);
    }
    let word = match types_of(schema).find(|kind| *kind != "null") {
        Some("boolean") => "`true` or `false`",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("string") => "text",
        Some("array") => "a list",
        Some("object") => "a mapping",
        _ => "a value",
    };
    word.to_owned()
}

/// What to write, as an order.
pub fn advice(schema: &Json) -> Option<String> {
    if let Some(text) = example(schema) {
        return Some(format!("write for example `{text}`"));
    }
    if let Some(name) = schema.get("required").and_then(|all| all.get(0)?.as_str()) {
        return Some(format!("write keys and values, such as `{name}: …`"));
    }
    numbers(schema)
}

/// The numbers that a schema takes, as an order.
pub fn numbers(schema: &Json) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => Some(format!("write a number from {least} to {most}")),
        (Some(least), None) => Some(format!("write a number from {least}")),
        (None, Some(most)) => Some(format!("write a number up to {most}")),
        (None, None) => None,
    }
}

pub fn or_list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
}

/// A value that would be right.
pub fn example(schema: &Json) -> Option<String> {
    schema.get("examples")?.get(0)?.as_str().map(str::to_owned)
}

/// The known word that a person most likely meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 40 {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    let allowed = match word.chars().count() {
        0..=3 => 1,
        4..=5 => 2,
        length => length / 3,
    };
    let known: Vec<&str> = known.collect();
    let distances = known.iter().map(|name| (strsim::damerau_levenshtein(&word, &plain(name)), *name));
    let similar = distances.filter(|(distance, name)| *distance <= allowed && *distance < name.len()).min_by_key(|found| found.0);
    // Else one that says the same with a word more: `memory` for `memory_mb`.
    let longer = |name: &&&str| {
        let name = plain(name);
        word.len() > 2 && (name.starts_with(&format!("{word}_")) || name.ends_with(&format!("_{word}")))
    };
    similar.map(|(_, name)| name).or_else(|| known.iter().find(longer).copied())
}
