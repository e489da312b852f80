//! Sizes of disks: `528K`, `40G`.

use super::perl;

const UNITS: [char; 4] = ['K', 'M', 'G', 'T'];

/// Reads a size such as `1.5G`, `10GiB` or a number of bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "Proxmox multiplies as doubles and cuts off the fraction"
)]
pub fn parse(text: &str) -> Option<u64> {
    let groups = perl::captures(r"(\d+(\.\d+)?)([KMGT](?:iB)?)?", text)?;
    let digits = groups.get(1)?.as_str();
    let power = groups
        .get(3)
        .and_then(|unit| UNITS.iter().position(|letter| unit.as_str().starts_with(*letter)))
        .map_or(0, |position| position + 1);
    let factor = 1024_u64.pow(u32::try_from(power).ok()?);
    match digits.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => Some((digits.parse::<f64>().ok()? * factor as f64) as u64),
    }
}

/// Prints a number of bytes with the largest unit that is exact.
pub fn print(bytes: u64) -> String {
    let mut size = bytes;
    let mut unit = None;
    for letter in UNITS {
        if !size.is_multiple_of(1024) {
            break;
        }
        size /= 1024;
        unit = Some(letter);
    }
    match unit {
        Some(unit) => format!("{size}{unit}"),
        None => size.to_string(),
    }
}

/// The number at the beginning of a text, as Perl reads it.
pub(super) fn leading(text: &str) -> u64 {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().unwrap_or_default()
}
