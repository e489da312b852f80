//! Values without parts: when two mean the same, and how they are shown.

use serde_json::Value;

use crate::schema::{NUMBERS, Shape};
use crate::tree::{Meaning, Node, number};

/// Whether two values mean the same.
pub(super) fn same(left: &Node, right: &Node, shape: Option<&Shape>) -> bool {
    let (Node::Scalar(one), Node::Scalar(other)) = (left, right) else { return left.data() == right.data() };
    let equal = match shape {
        Some(Shape::Named("duration")) => duration(&one.text).zip(duration(&other.text)).map(|(one, other)| one == other),
        Some(Shape::Named("block.ByteSize" | "block.Size" | "v1alpha1.DiskSize")) => {
            size(&one.text).zip(size(&other.text)).map(|(one, other)| one == other)
        }
        _ => None,
    };
    equal.unwrap_or_else(|| shown(left, shape) == shown(right, shape))
}

/// A value as data of its type.
pub(super) fn shown(node: &Node, shape: Option<&Shape>) -> Value {
    let (Node::Scalar(scalar), Some(Shape::Named(name))) = (node, shape) else { return node.data() };
    match (*name, scalar.meaning()) {
        ("bool", _) => scalar.truth().map_or_else(|| scalar.data(), Value::Bool),
        (name, Meaning::Int(value)) if NUMBERS.contains(&name) => number(value).unwrap_or_else(|| scalar.data()),
        _ => Value::String(scalar.text.clone()),
    }
}

/// A duration as Go writes them, in nanoseconds.
fn duration(text: &str) -> Option<i128> {
    let (sign, mut rest) = text.strip_prefix('-').map_or((1, text.strip_prefix('+').unwrap_or(text)), |rest| (-1, rest));
    if rest == "0" {
        return Some(0);
    }
    let mut sum = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (digits, after) = rest.split_at(end);
        let end = after.find(|character: char| character.is_ascii_digit() || character == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let parsed = |part: &str| if part.is_empty() { Some(0) } else { part.parse::<i128>().ok() };
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        sum = sum.checked_add(parsed(whole)?.checked_mul(unit)?)?.checked_add(parsed(fraction)?.checked_mul(unit)? / scale)?;
        rest = after;
    }
    Some(sign * sum)
}

/// A size in bytes; nothing for one in per cent.
fn size(text: &str) -> Option<u128> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let letters = unit.strip_suffix('b').unwrap_or(&unit);
    let (base, letter) = letters.strip_suffix('i').map_or((1000_u128, letters), |letter| (1024, letter));
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        "e" => 6,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unit = base.checked_pow(power)?;
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()?.checked_mul(unit)? / scale };
    whole.parse::<u128>().ok()?.checked_mul(unit)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read() {
        assert_eq!(duration("1h0m1.5s"), Some(3_601_500_000_000));
        assert_eq!([duration("0s"), duration("-1ms"), duration("5"), duration("x")], [Some(0), Some(-1_000_000), None, None]);
        assert_eq!(
            [size("10GB"), size("10 GiB"), size("1.5k"), size("7"), size("80%")],
            [Some(10_000_000_000), Some(10_737_418_240), Some(1500), Some(7), None]
        );
    }
}
