//! Addresses, with and without a mask or a port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address with the length of its network's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub address: IpAddr,
    pub length: u8,
}

/// An address; IPv6 may name a zone.
pub(crate) fn address(text: &str) -> Result<IpAddr, String> {
    let fail = |(why, at): Fault| match at {
        "" => format!("ParseAddr({text:?}): {why}"),
        at => format!("ParseAddr({text:?}): {why} (at {at:?})"),
    };
    match text.find(['.', ':', '%']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => four(text).map(IpAddr::from).map_err(fail),
        Some(b':') => six(text).map(IpAddr::from).map_err(fail),
        Some(_) => Err(fail(("missing IPv6 address", ""))),
        None => Err(fail(("unable to parse IP", ""))),
    }
}

/// What is wrong, and the rest of the text from there.
type Fault<'a> = (&'static str, &'a str);

fn four(text: &str) -> Result<Ipv4Addr, Fault<'_>> {
    let mut fields = [0_u8; 4];
    let (mut field, mut value, mut digits) = (0, 0_u16, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if at == 0 || at == text.len() - 1 || text.as_bytes()[at - 1] == b'.' {
                    return Err(("IPv4 field must have at least one digit", &text[at..]));
                }
                if field == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                fields[field] = u8::try_from(value).unwrap_or(u8::MAX);
                field += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", text.get(at..).unwrap_or_default())),
        }
    }
    if field < 3 {
        return Err(("IPv4 address too short", ""));
    }
    fields[3] = u8::try_from(value).unwrap_or(u8::MAX);
    Ok(Ipv4Addr::from(fields))
}

fn six(text: &str) -> Result<Ipv6Addr, Fault<'_>> {
    let bare = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", "")),
        Some((bare, _)) => bare,
        None => text,
    };
    if let Ok(address) = bare.parse() {
        return Ok(address);
    }
    // Only the first fault matters from here on.
    let mut rest = bare;
    let mut gap = false;
    if let Some(after) = rest.strip_prefix("::") {
        gap = true;
        rest = after;
    }
    for _ in 0..8 {
        let end = rest.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(rest.len());
        if end > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        if end == 0 {
            return Err(("each colon-separated field must have at least one digit", rest));
        }
        if rest[end..].starts_with('.') {
            return four(rest).map_or_else(Err, |_| Err(("embedded IPv4 address must replace the final 2 fields of the address", rest)));
        }
        rest = &rest[end..];
        if rest.is_empty() {
            return Err(("address string too short", ""));
        }
        if !rest.starts_with(':') {
            return Err(("unexpected character, want colon", rest));
        }
        if rest.len() == 1 {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = &rest[1..];
        if let Some(after) = rest.strip_prefix(':') {
            if gap {
                return Err(("multiple :: in address", rest));
            }
            gap = true;
            rest = after;
        }
    }
    Err(("trailing garbage after address", rest))
}

/// An address as the older library reads it: no zone.
pub(crate) fn ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// `10.0.0.1/24`.
pub(crate) fn prefix(text: &str) -> Result<Prefix, String> {
    let fail = |why: &str| Err(format!("netip.ParsePrefix({text:?}): {why}"));
    let Some((bare, length)) = text.rsplit_once('/') else { return fail("no '/'") };
    let address = match address(bare) {
        Ok(address) => address,
        Err(why) => return fail(&why),
    };
    if bare.contains('%') {
        return fail("IPv6 zones cannot be present in a prefix");
    }
    let most = if address.is_ipv4() { 32 } else { 128 };
    let plain = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
    if !plain {
        return fail(&format!("bad bits after slash: {length:?}"));
    }
    match length.parse::<u8>() {
        Ok(length) if length <= most => Ok(Prefix { address, length }),
        _ => fail("prefix length out of range"),
    }
}

/// `10.0.0.1/24`, as the older library reads it.
pub(crate) fn cidr(text: &str) -> Result<Prefix, String> {
    let wrong = || format!("invalid CIDR address: {text}");
    let (bare, length) = text.split_once('/').ok_or_else(wrong)?;
    let address = ip(bare).ok_or_else(wrong)?;
    let length: u8 = Some(length)
        .filter(|length| length.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|length| length.parse().ok())
        .ok_or_else(wrong)?;
    if length > if address.is_ipv4() { 32 } else { 128 } { Err(wrong()) } else { Ok(Prefix { address, length }) }
}

/// A network, or one address as a network of its own.
pub(crate) fn subnet_or_address(text: &str) -> Result<Prefix, String> {
    prefix(text).or_else(|why| match address(text) {
        Ok(address) => Ok(Prefix { address, length: if address.is_ipv4() { 32 } else { 128 } }),
        Err(_) => Err(format!("failed to parse subnet: {why}")),
    })
}

/// `10.0.0.1:51820` or `[fd00::1]:51820`.
pub(crate) fn address_port(text: &str) -> Result<(), String> {
    let Some((host, port)) = text.rsplit_once(':') else { return Err("not an ip:port".to_owned()) };
    if host.is_empty() {
        return Err("no IP".to_owned());
    }
    if port.is_empty() {
        return Err("no port".to_owned());
    }
    if !port.bytes().all(|byte| byte.is_ascii_digit()) || port.parse::<u16>().is_err() {
        return Err(format!("invalid port {port:?} parsing {text:?}"));
    }
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = address(bracketed.unwrap_or(host))?;
    match (address.is_ipv6(), bracketed.is_some()) {
        (true, false) => Err(format!("invalid ip:port {text:?}, square brackets must be used with IPv6")),
        (false, true) => Err(format!("invalid ip:port {text:?}, square brackets can only be used with IPv6")),
        _ => Ok(()),
    }
}

/// The host and the port of `host:port`.
pub(crate) fn host_port(text: &str) -> Result<(&str, &str), String> {
    let fail = |why: &str| Err(if text.is_empty() { why.to_owned() } else { format!("address {text}: {why}") });
    let Some((host, port)) = text.rsplit_once(':') else { return fail("missing port in address") };
    if let Some(inner) = host.strip_prefix('[') {
        return match inner.strip_suffix(']') {
            Some(inner) if !inner.contains(['[', ']']) => Ok((inner, port)),
            _ => fail("missing ']' in address"),
        };
    }
    if host.contains(':') {
        return fail("too many colons in address");
    }
    if host.contains(['[', ']']) { fail("unexpected '[' in address") } else { Ok((host, port)) }
}

/// A hardware address: hexadecimal digits, colons anywhere.
pub(crate) fn hardware(text: &str) -> Result<(), String> {
    let bare: String = text.chars().filter(|character| *character != ':').collect();
    match bare.chars().find(|character| !character.is_ascii_hexdigit()) {
        Some(wrong) => Err(format!("encoding/hex: invalid byte: U+{:04X} '{wrong}'", u32::from(wrong))),
        None if bare.len() % 2 == 1 => Err("encoding/hex: odd length hex string".to_owned()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_strictly() {
        for right in ["10.0.0.1", "fe80::1", "fe80::1%eth0", "::", "::ffff:10.0.0.1"] {
            assert!(address(right).is_ok(), "{right}");
        }
        for (wrong, why) in [
            ("10.0.0.0/8", "unexpected character (at \"/8\")"),
            ("1.2.3", "IPv4 address too short"),
            ("1.2.3.256", "IPv4 field has value >255"),
            ("fd00:", "colon must be followed by more characters (at \":\")"),
            ("[::1]:5", "each colon-separated field must have at least one digit (at \"[::1]:5\")"),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("host", "unable to parse IP"),
        ] {
            assert_eq!(address(wrong), Err(format!("ParseAddr({wrong:?}): {why}")));
        }
        for wrong in ["", "10.0.0", "10.0.0.256", "010.0.0.1", "host", "fe80::1%", "1::2::3", "10.0.0.1%eth0"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        assert!(prefix("10.0.0.1/24").is_ok() && prefix("fd00::/8").is_ok() && prefix("0.0.0.0/0").is_ok());
        for wrong in ["10.0.0.1", "10.0.0.1/33", "10.0.0.1/", "10.0.0.1/08", "10.0.0.1/+8", "fe80::1%e/64"] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
        assert_eq!(cidr("10.0.0.300/24"), Err("invalid CIDR address: 10.0.0.300/24".to_owned()));
        assert!(subnet_or_address("10.0.0.1").is_ok() && subnet_or_address("x").is_err());
        assert!(address_port("10.0.0.1:5").is_ok() && address_port("[fd00::1]:5").is_ok());
        assert!(address_port("fd00::1:5").is_err() && address_port("10.0.0.1:70000").is_err() && address_port("[10.0.0.1]:5").is_err());
        assert_eq!(host_port("sink.example:8000"), Ok(("sink.example", "8000")));
        assert!(host_port("sink.example").is_err() && host_port("a:b:c").is_err());
        assert!(hardware("00:1a:2b").is_ok() && hardware("0").is_err() && hardware("xx").is_err());
    }
}
