//! Sizes of disks.

/// Bytes of a size with an optional unit, such as `10GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let end = text.find(|character: char| !character.is_ascii_digit() && !matches!(character, '.' | ',')).unwrap_or(text.len());
    let digits = text[..end].replace(',', "");
    let number: f64 = digits.parse().map_err(|_| format!("strconv.ParseFloat: parsing {digits:?}: invalid syntax"))?;
    let unit = text[end..].trim().to_lowercase();
    let factor = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "p" | "pb" => 1e15,
        "e" | "eb" => 1e18,
        "ki" | "kib" => 1024.0,
        "mi" | "mib" => f64::from(1 << 20),
        "gi" | "gib" => f64::from(1 << 30),
        "ti" | "tib" => 1024_f64.powi(4),
        "pi" | "pib" => 1024_f64.powi(5),
        "ei" | "eib" => 1024_f64.powi(6),
        _ => return Err(format!("unhandled size name: {unit}")),
    };
    let size = number * factor;
    if size >= 18_446_744_073_709_551_615.0 {
        return Err(format!("too large: {text}"));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked against the range")]
    Ok(size as u64)
}

/// A share such as `50%`.
pub(crate) fn percent(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('%').ok_or("percentage must end with '%'")?;
    let number = number.strip_prefix('-').unwrap_or(number);
    let value: f64 =
        number.parse().map_err(|_| format!("invalid percentage value: strconv.ParseFloat: parsing {number:?}: invalid syntax"))?;
    if !(0.0..=100.0).contains(&value) {
        return Err(format!("percentage must be between 0 and 100, got {value}"));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    Ok(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_both_families() {
        assert_eq!(bytes("10GiB"), Ok(10 << 30));
        assert_eq!(bytes("1TB"), Ok(1_000_000_000_000));
        assert_eq!(bytes("1,000 kb"), Ok(1_000_000));
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("5 parsecs"), Err("unhandled size name: parsecs".to_owned()));
        assert!(bytes("").is_err() && bytes("GiB").is_err() && bytes("100EB").is_err());
        assert_eq!(percent("12.5%"), Ok(12));
        assert!(percent("50").is_err() && percent("101%").is_err());
    }
}
