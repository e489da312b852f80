//! Spans of time such as `1h30m`.

/// Nanoseconds of a duration as Go writes it.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_f64;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(rest.len());
        let number = &rest[..end];
        if !number.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: f64 = number.trim_end_matches('.').parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|character: char| character.is_ascii_digit() || character == '.').unwrap_or(rest.len());
        total += number
            * match &rest[..end] {
                "ns" => 1.0,
                "us" | "µs" | "μs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                _ => return None,
            };
        rest = &rest[end..];
    }
    #[allow(clippy::cast_possible_truncation, reason = "checked against the range of a duration")]
    let nanoseconds = (total < 9.2e18).then_some(total as i64)?;
    Some(if negative { -nanoseconds } else { nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in
            [("8760h", 31_536_000.0), ("1m0s", 60.0), ("-1.5s", -1.5), ("0", 0.0), ("1h30m", 5400.0), ("100ms", 0.1), (".5s", 0.5)]
        {
            let read = duration(text).map(|nanoseconds| std::time::Duration::from_nanos(nanoseconds.unsigned_abs()).as_secs_f64());
            assert_eq!(read, Some(f64::abs(seconds)), "{text}");
            assert_eq!(duration(text).is_some_and(|value| value < 0), seconds < 0.0);
        }
        for wrong in ["", "5", "h", "1x", "1h5", "-", "."] {
            assert_eq!(duration(wrong), None, "{wrong:?}");
        }
    }
}
