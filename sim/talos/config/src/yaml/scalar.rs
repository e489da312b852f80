//! What a plain word means, by the rules of the YAML library Talos uses.

use super::{Content, Node, Style};

/// The meaning of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolved {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// A date, which only a text field takes.
    Time,
    /// A text.
    Text,
}

impl Resolved {
    /// The short tag that refusals name.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Time => "!!timestamp",
            Self::Text => "!!str",
        }
    }
}

impl Node {
    /// What a scalar means; nothing for lists and maps.
    pub fn resolve(&self) -> Option<Resolved> {
        let Content::Scalar { text, style, tag } = &self.content else { return None };
        match tag.as_deref() {
            None | Some("") if *style == Style::Plain => Some(plain(text)),
            Some("!!null" | "!!bool" | "!!int" | "!!float") => Some(plain(text)),
            _ => Some(Resolved::Text),
        }
    }

    /// The tag that refusals name.
    pub fn tag(&self) -> String {
        match &self.content {
            Content::List(_) => "!!seq".to_owned(),
            Content::Map(_) => "!!map".to_owned(),
            Content::Scalar { tag: Some(tag), .. } if !tag.is_empty() => tag.clone(),
            Content::Scalar { .. } => self.resolve().map_or("!!str", Resolved::tag).to_owned(),
        }
    }
}

/// A Boolean value in the words of YAML 1.1.
pub fn word(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// The meaning of an unquoted word.
pub fn plain(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "true" | "True" | "TRUE" => return Resolved::Bool(true),
        "false" | "False" | "FALSE" => return Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let first = text.bytes().next().unwrap_or(b' ');
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return Resolved::Text;
    }
    if is_time(text) {
        return Resolved::Time;
    }
    let bare: String = text.chars().filter(|character| *character != '_').collect();
    if first != b'.'
        && let Some(value) = integer(&bare)
    {
        return Resolved::Int(value);
    }
    if is_float(&bare)
        && let Ok(value) = bare.parse()
    {
        return Resolved::Float(value);
    }
    Resolved::Text
}

/// Digits with an optional sign and a prefix for the base; a leading zero alone means octal.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let value = if negative { -value } else { value };
    (value >= i128::from(i64::MIN)).then_some(value)
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let sound = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    sound
        && exponent.is_none_or(|part| {
            part.strip_prefix(['-', '+']).unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit())
                && part.len() > usize::from(part.starts_with(['-', '+']))
        })
}

fn is_time(text: &str) -> bool {
    let Some((date, rest)) = text.get(..4).zip(text.get(4..)) else { return false };
    if !date.bytes().all(|byte| byte.is_ascii_digit()) || !rest.starts_with('-') {
        return false;
    }
    let day = rest[1..].split(['T', 't', ' ']).next().unwrap_or_default();
    let mut parts = day.split('-');
    let short = |part: Option<&str>| part.is_some_and(|part| matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit()));
    short(parts.next()) && short(parts.next()) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_the_library_of_talos_takes_them_for() {
        for (text, meaning) in [
            ("", Resolved::Null),
            ("~", Resolved::Null),
            ("true", Resolved::Bool(true)),
            ("yes", Resolved::Text),
            ("0x10", Resolved::Int(16)),
            ("0o17", Resolved::Int(15)),
            ("017", Resolved::Int(15)),
            ("1_000", Resolved::Int(1000)),
            ("-5", Resolved::Int(-5)),
            ("08", Resolved::Float(8.0)),
            ("1.5", Resolved::Float(1.5)),
            (".5", Resolved::Float(0.5)),
            ("1e3", Resolved::Float(1000.0)),
            ("1.2.3", Resolved::Text),
            ("10.0.0.1", Resolved::Text),
            ("2001-01-01", Resolved::Time),
            ("18446744073709551615", Resolved::Int(i128::from(u64::MAX))),
            ("v1alpha1", Resolved::Text),
            ("-", Resolved::Text),
            ("1e", Resolved::Text),
        ] {
            assert_eq!(plain(text), meaning, "{text:?}");
        }
    }
}
