//! How long ago something was, in the short words of kubectl.

/// Since a time in text.
pub(crate) fn since(time: &str) -> String {
    time.parse::<jiff::Timestamp>()
        .map_or_else(|_| "<unknown>".to_owned(), |then| short(jiff::Timestamp::now().as_second() - then.as_second()))
}

/// A number of seconds in short.
pub(crate) fn short(seconds: i64) -> String {
    let pair = |big: i64, unit: &str, small: i64, lesser: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{lesser}") }
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 120 {
        format!("{}s", seconds.max(0))
    } else if minutes < 10 {
        pair(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if hours < 192 {
        pair(days, "d", hours % 24, "h")
    } else if hours < 24 * 365 * 2 {
        format!("{days}d")
    } else if hours < 24 * 365 * 8 {
        pair(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn durations_are_short() {
        let all: Vec<_> = [0, 119, 125, 600, 10_800, 12_000, 100_000, 200_000, 9_000_000].into_iter().map(short).collect();
        assert_eq!(all, ["0s", "119s", "2m5s", "10m", "3h", "3h20m", "27h", "2d7h", "104d"]);
    }
}
