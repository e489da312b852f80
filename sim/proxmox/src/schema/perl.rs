//! Matching as Perl's `m/^…$/` does, which forgives one newline at the end.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::{Captures, Regex};

static COMPILED: LazyLock<Mutex<HashMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);

fn compiled(pattern: &str) -> Option<Regex> {
    let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known.get(pattern) {
        return regex.clone();
    }
    let regex = Regex::new(&format!("^{pattern}\n?$")).ok();
    known.insert(pattern.to_owned(), regex.clone());
    regex
}

/// Whether the whole text matches. The pattern is not put in a group, so an alternation at its top is half open, as in Perl.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    compiled(pattern).is_some_and(|regex| regex.is_match(text))
}

/// The groups of a match of the whole text.
pub(crate) fn captures<'t>(pattern: &str, text: &'t str) -> Option<Captures<'t>> {
    compiled(pattern)?.captures(text)
}

/// Whether a pattern can be compiled at all.
#[cfg(test)]
pub(crate) fn compiles(pattern: &str) -> bool {
    compiled(pattern).is_some()
}

/// What is false in Perl: nothing, and a lone zero.
pub(crate) fn truthy(text: &str) -> bool {
    !text.is_empty() && text != "0"
}

/// What Proxmox takes for a number.
pub(crate) fn is_number(text: &str) -> bool {
    matches(r"[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?", text)
}

/// What Proxmox takes for an integer.
pub(crate) fn is_integer(text: &str) -> bool {
    matches(r"[+-]?\d+", text)
}

/// The value of a text that [`is_number`].
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim_end_matches('\n').parse().ok()
}

/// A number of JSON as Perl prints it: without a fraction that is zero.
pub(crate) fn printed(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        _ => number.to_string(),
    }
}
