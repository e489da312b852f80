//! Whether a string without quotes would be read as something other than a string.

/// What YAML 1.2 or 1.1 reads as nothing, a truth value or a merge.
const NOT_TEXT: [&str; 28] = [
    "", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", "<<", "y", "Y", "yes", "Yes", "YES", "on", "On",
    "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF",
];

/// Whether a plain scalar of this text would be read as a string.
pub(crate) fn stays_text(text: &str) -> bool {
    if NOT_TEXT.contains(&text) {
        return false;
    }
    if matches!(unsigned(text), ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return false;
    }
    // Underscores are for people who read numbers; in front of the point they are not looked at.
    let digits = if text.starts_with('.') { text.to_owned() } else { text.replace('_', "") };
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    !(numeric && (number(&digits) || prefixed(&digits) || sixty(text) || date(text)))
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// The digits that a text begins with, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `12`, `1.5`, `.5`, `1.`, each with an exponent or without.
fn number(text: &str) -> bool {
    let (whole, rest) = digits(unsigned(text));
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    let exponent = rest.strip_prefix(['e', 'E']).map(|exponent| digits(unsigned(exponent)));
    let ends = exponent.map_or(rest.is_empty(), |(digits, rest)| !digits.is_empty() && rest.is_empty());
    ends && !(whole.is_empty() && fraction.is_empty())
}

/// `0x1F`, `0o17`, `0b11` where it fits 64 bits.
fn prefixed(text: &str) -> bool {
    let unsigned = unsigned(text);
    let parts = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)];
    parts.iter().any(|(prefix, base)| {
        let digits = unsigned.strip_prefix(prefix).filter(|digits| !digits.starts_with(['+', '-']));
        let number = digits.and_then(|digits| u64::from_str_radix(digits, *base).ok());
        number.is_some_and(|number| unsigned == text || number <= 1 << 63)
    })
}

/// A number in base sixty, such as `12:30:45`.
fn sixty(text: &str) -> bool {
    let grouped = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let Some((first, rest)) = unsigned(text).split_once(':') else { return false };
    let (places, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let place = |place: &str| match place.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    };
    first.starts_with(|c: char| c.is_ascii_digit()) && grouped(first) && places.split(':').all(place) && grouped(fraction)
}

/// A date, or a date with a time.
fn date(text: &str) -> bool {
    let mut rest = text;
    let (Some(year), Some(month), Some(day)) = (part(&mut rest, "", 4..=4), part(&mut rest, "-", 1..=2), part(&mut rest, "-", 1..=2))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day) && (rest.is_empty() || time(rest))
}

/// The time behind a date: ` 12:30:45`, or `T12:30:45` and its zone.
fn time(text: &str) -> bool {
    let zoned = text.starts_with(['T', 't']);
    let Some(mut rest) = text.strip_prefix(['T', 't', ' ']) else { return false };
    let parts = [(part(&mut rest, "", 1..=2), 24), (part(&mut rest, ":", 1..=2), 60), (part(&mut rest, ":", 1..=2), 60)];
    if !parts.iter().all(|(part, below)| part.is_some_and(|number| number < *below)) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let (found, after) = digits(fraction);
        if found.is_empty() {
            return false;
        }
        rest = after;
    }
    if !zoned || rest == "Z" {
        return rest.is_empty() != zoned;
    }
    let Some(mut rest) = rest.strip_prefix(['-', '+']) else { return false };
    let (hours, minutes) = (part(&mut rest, "", 2..=2), part(&mut rest, ":", 2..=2));
    hours.is_some_and(|hours| hours < 25) && minutes.is_some_and(|minutes| minutes < 61) && rest.is_empty()
}

/// Takes `before` and a number of so many digits from the front.
fn part(rest: &mut &str, before: &str, length: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let (found, after) = digits(rest.strip_prefix(before)?);
    let number = found.parse().ok().filter(|_| length.contains(&found.len()))?;
    *rest = after;
    Some(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use regex::Regex;

    use super::*;

    /// The shapes as the factory's library has them, in its own notation.
    const NUMBER: &str = r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$";
    const SIXTY: &str = r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$";
    const DATE: &str = r"^[0-9]{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])(?:[Tt]([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:[.,][0-9]+)?(?:Z|[-+]([01][0-9]|2[0-4]):([0-5][0-9]|60))| ([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:[.,][0-9]+)?)?$";

    /// Texts that nearly are numbers and dates: pieces of such, put together in every way.
    fn nearly(visit: &mut impl FnMut(&str)) {
        let pieces = ["", "+", "-", ".", "0", "7", "12", "60", "1_0", ":", "e", "E5", ":59", ":5", "-02:30", "T", " ", "Z", ",5"];
        for one in pieces {
            for two in pieces {
                for three in pieces {
                    visit(&[one, two, three].concat());
                    visit(&["2001-12-1", one, two, three].concat());
                    visit(&["2001-1-31T1:2:3", one, two, three].concat());
                    visit(&["12:", one, two, three].concat());
                }
            }
        }
    }

    #[test]
    fn shapes_are_those_of_the_patterns() {
        let (numbers, sixties, dates) = (Regex::new(NUMBER).unwrap(), Regex::new(SIXTY).unwrap(), Regex::new(DATE).unwrap());
        let (mut all, mut found) = (0, 0);
        nearly(&mut |text| {
            let seen = (number(text), sixty(text), date(text));
            assert_eq!(seen, (numbers.is_match(text), sixties.is_match(text), dates.is_match(text)), "{text:?}");
            all += 1;
            found += u32::from(seen != (false, false, false));
        });
        assert!(found > 500 && all - found > 500, "{found} of {all}");
    }

    #[test]
    fn days_end_with_their_month() {
        for (text, is) in [
            ("2000-02-29", true),
            ("1900-02-29", false),
            ("2001-02-28", true),
            ("2001-04-31", false),
            ("2001-13-01", false),
            ("2001-12-01 23:59:60", false),
            ("2001-12-01T23:59:59.5+24:60", true),
            ("2001-12-01T23:59:59", false),
            ("20011-2-1", false),
        ] {
            assert_eq!(date(text), is, "{text}");
        }
    }
}
