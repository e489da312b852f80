//! What a YAML scalar means to `sops`, which is what Go's YAML library makes of it. The MAC is made over the meaning,
//! so `0755` in the clear has to be the number 493 here too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use zeroize::Zeroizing;

/// A value without its encryption.
pub(super) enum Plain {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// In the one form that Go writes.
    Time(String),
    /// Text, or any bytes: `sops` shows those that are not text as `!!binary`.
    Text(Zeroizing<Vec<u8>>),
}

impl Plain {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(Zeroizing::new(text.as_bytes().to_vec()))
    }

    /// What a plain scalar without a tag means; nothing for numbers that `sops` refuses too.
    pub(super) fn resolve(text: &str) -> Option<Self> {
        Some(match text {
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "true" | "True" | "TRUE" => Self::Bool(true),
            "false" | "False" | "FALSE" => Self::Bool(false),
            ".nan" | ".NaN" | ".NAN" => Self::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Self::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Self::Float(f64::NEG_INFINITY),
            _ => match text.as_bytes().first() {
                Some(b'.') => float(text).map_or_else(|| Self::text(text), Self::Float),
                Some(b'+' | b'-' | b'0'..=b'9') => return number(text),
                _ => Self::text(text),
            },
        })
    }

    /// The content of a `!!binary` scalar.
    pub(super) fn binary(text: &str) -> Option<Self> {
        let compact: Zeroizing<String> = Zeroizing::new(text.chars().filter(|character| !character.is_ascii_whitespace()).collect());
        Some(Self::Text(Zeroizing::new(STANDARD.decode(compact.as_bytes()).ok()?)))
    }

    /// What was decrypted, by the type it was encrypted with.
    pub(super) fn decrypted(bytes: Zeroizing<Vec<u8>>, kind: &str) -> Option<Self> {
        let text = || std::str::from_utf8(&bytes).ok();
        Some(match kind {
            "str" | "bytes" => Self::Text(bytes),
            "int" => Self::Int(text()?.parse().ok()?),
            "float" => Self::Float(match text()? {
                "+Inf" => f64::INFINITY,
                "-Inf" => f64::NEG_INFINITY,
                number => number.parse().ok()?,
            }),
            "bool" => Self::Bool(match text()? {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => true,
                "0" | "f" | "F" | "FALSE" | "false" | "False" => false,
                _ => return None,
            }),
            "time" => Self::Time(text()?.to_owned()),
            _ => return None,
        })
    }

    /// What goes into the MAC.
    pub(super) fn mac_bytes(&self) -> Zeroizing<Vec<u8>> {
        match self {
            Self::Bool(true) => Zeroizing::new(b"True".to_vec()),
            Self::Bool(false) => Zeroizing::new(b"False".to_vec()),
            other => other.bytes(),
        }
    }

    /// What a reader of the secret gets.
    pub(super) fn bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match self {
            Self::Null => Vec::new(),
            Self::Bool(value) => value.to_string().into_bytes(),
            Self::Int(value) => value.to_string().into_bytes(),
            Self::Float(value) if value.is_infinite() => (if *value > 0.0 { "+Inf" } else { "-Inf" }).into(),
            Self::Float(value) => value.to_string().into_bytes(),
            Self::Time(value) => value.clone().into_bytes(),
            Self::Text(bytes) => return bytes.clone(),
        })
    }

    /// The value as JSON, with everything as text if so wanted; bytes that are no text as base64.
    pub(super) fn json(&self, as_text: bool, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(_) | Self::Int(_) if !as_text => out.extend_from_slice(&self.bytes()),
            Self::Float(value) if !as_text && value.is_finite() => {
                // The dot keeps it a float.
                let text = value.to_string();
                let dot = if text.contains('.') { "" } else { ".0" };
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(dot.as_bytes());
            }
            _ => {
                let bytes = self.bytes();
                match std::str::from_utf8(&bytes) {
                    Ok(text) => json_text(text, out),
                    Err(_) => json_text(&Zeroizing::new(STANDARD.encode(&*bytes)), out),
                }
            }
        }
    }
}

/// Text as a JSON string.
pub(super) fn json_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

fn float(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A time, a whole number in any of Go's bases, a float, or none of them and so text.
fn number(text: &str) -> Option<Plain> {
    if let Some(time) = time(text) {
        return Some(Plain::Time(time));
    }
    let plain: String = text.chars().filter(|character| *character != '_').collect();
    let (sign, digits) = match plain.as_bytes().first() {
        Some(b'-') => ("-", &plain[1..]),
        Some(b'+') => ("", &plain[1..]),
        _ => ("", plain.as_str()),
    };
    let (base, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.starts_with(['+', '-']) {
        let signed = Zeroizing::new(format!("{sign}{digits}"));
        if let Ok(value) = i64::from_str_radix(&signed, base) {
            return Some(Plain::Int(value));
        }
        if sign.is_empty() && !plain.starts_with('+') && u64::from_str_radix(digits, base).is_ok() {
            // `sops` cannot handle it.
            return None;
        }
    }
    let floats = plain.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    Some(floats.then(|| float(&plain)).flatten().map_or_else(|| Plain::text(text), Plain::Float))
}

/// A date or time, as Go's RFC 3339 with as many digits of the second as are needed.
fn time(text: &str) -> Option<String> {
    let (year, rest) = text.split_once('-')?;
    if year.len() != 4 {
        return None;
    }
    let (month, rest) = rest.split_once('-')?;
    let (day, clock) = match rest.find(['T', 't', ' ']) {
        Some(at) => (&rest[..at], Some((rest.as_bytes()[at], &rest[at + 1..]))),
        None => (rest, None),
    };
    let date = Date::new(year.parse().ok()?, i8::try_from(short(month, 12)?).ok()?, i8::try_from(short(day, 31)?).ok()?).ok()?;
    let Some((separator, clock)) = clock else { return Some(format!("{date}T00:00:00Z")) };
    let (clock, zone) = if separator == b' ' {
        (clock, "Z".to_owned())
    } else if let Some(clock) = clock.strip_suffix('Z') {
        (clock, "Z".to_owned())
    } else {
        let at = clock.rfind(['+', '-'])?;
        let (hours, minutes) = clock[at + 1..].split_once(':').filter(|(hours, minutes)| hours.len() == 2 && minutes.len() == 2)?;
        let (hours, minutes) = (short(hours, 24)?, short(minutes, 59)?);
        let zone = if hours == 0 && minutes == 0 { "Z".to_owned() } else { clock[at..].to_owned() };
        (&clock[..at], zone)
    };
    let (hour, rest) = clock.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let (second, fraction) = second.split_once(['.', ',']).unwrap_or((second, "0"));
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hour, minute, second) = (short(hour, 23)?, short(minute, 59)?, short(second, 59)?);
    let fraction = fraction[..fraction.len().min(9)].trim_end_matches('0');
    let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

/// One or two digits.
fn short(digits: &str, most: u8) -> Option<u8> {
    let fits = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| digits.parse().ok()).flatten().filter(|value| *value <= most)
}
