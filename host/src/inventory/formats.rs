//! The kinds of text an inventory holds: one table that the schema and the reader share.

use std::net::IpAddr;

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use super::values::{Network, disk_gib, dns_label, mac, memory_mib, number_range, pci_device, qualified, release, split_size, taint};

/// One kind of text.
pub struct Format {
    /// Its name, in the schema's `format`.
    pub name: &'static str,
    /// What it is, for a person: follows "expected".
    pub what: &'static str,
    /// One that is right; empty where any would mislead.
    example: &'static str,
    /// A pattern for editors; never stricter than `check`.
    pattern: Option<&'static str>,
    /// Whether a number is fine too.
    number: bool,
    /// Whether what stands there in its place may be a secret.
    secret: bool,
    /// Says why a text is none of these, or nothing to say but what is expected.
    check: fn(&str) -> Result<(), String>,
}

const PLAIN: Format = Format { name: "", what: "", example: "", pattern: None, number: false, secret: false, check: |_| Ok(()) };

static FORMATS: &[Format] = &[
    Format {
        name: "dns-label",
        what: "a name of lower-case letters, digits and `-`, at most 63",
        example: "dev",
        pattern: Some("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"),
        check: |text| known(dns_label(text)),
        ..PLAIN
    },
    Format {
        name: "release",
        what: "a version such as `v1.11.5`",
        example: "v1.11.5",
        pattern: Some(r"^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$"),
        check: |text| known(release(text).is_some_and(|version| version.build.is_empty())),
        ..PLAIN
    },
    Format {
        name: "ipv4-address",
        what: "an IPv4 address",
        example: "10.0.10.11",
        pattern: Some(r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$"),
        check: |text| match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => Ok(()),
            Ok(IpAddr::V6(_)) => Err("nodes are spoken to over IPv4 only".to_owned()),
            Err(_) if text.contains('/') => Err("the prefix length goes into `network.prefix`".to_owned()),
            Err(_) => known(false),
        },
        ..PLAIN
    },
    Format { name: "ip-address", what: "an IP address", example: "1.1.1.1", check: |text| known(text.parse::<IpAddr>().is_ok()), ..PLAIN },
    Format {
        name: "ipv4-network",
        what: "an IPv4 network such as `10.244.0.0/16`",
        example: "10.244.0.0/16",
        pattern: Some(r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$"),
        check: |text| match Network::parse(text) {
            None => known(false),
            Some(network) if network.to_string() != text => Err(format!("the network is written `{network}`")),
            Some(_) => Ok(()),
        },
        ..PLAIN
    },
    Format {
        name: "mac-address",
        what: "a MAC address such as `02:00:00:12:34:56`",
        example: "02:00:00:12:34:56",
        pattern: Some("^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"),
        check: |text| match mac(text) {
            None => known(false),
            Some(bytes) if bytes[0] & 1 == 1 => {
                Err("this is the address of a group; the first byte of a card's address is even".to_owned())
            }
            Some(_) => Ok(()),
        },
        ..PLAIN
    },
    Format {
        name: "pci-device",
        what: "a PCI address such as `0000:01:00.0`",
        example: "0000:01:00.0",
        pattern: Some(r"^([0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[01][0-9A-Fa-f](\.[0-7])?$"),
        check: |text| known(pci_device(text).is_some()),
        ..PLAIN
    },
    Format {
        name: "memory-size",
        what: "MiB as a number, or a size such as `8GiB`",
        example: "8GiB",
        pattern: Some("^[0-9]+ ?(M|MiB|G|GiB|T|TiB)$"),
        number: true,
        check: |text| size(text, memory_mib(text).is_some()),
        ..PLAIN
    },
    Format {
        name: "disk-size",
        what: "GiB as a number, or a size such as `40G`",
        example: "40G",
        pattern: Some("^[0-9]+ ?(G|GiB|T|TiB)$"),
        number: true,
        check: |text| size(text, disk_gib(text).is_some()),
        ..PLAIN
    },
    Format {
        name: "number-range",
        what: "a range such as `300-399`",
        example: "300-399",
        pattern: Some("^[0-9]+-[0-9]+$"),
        check: |text| match number_range(text) {
            None => known(false),
            Some((first, last)) if first > last => Err("the first number is larger than the last".to_owned()),
            Some((first, _)) if first < 100 => Err("Proxmox VE keeps the numbers below 100 to itself".to_owned()),
            Some((_, last)) if last > 999_999_999 => Err("Proxmox VE takes numbers up to 999999999".to_owned()),
            Some(_) => Ok(()),
        },
        ..PLAIN
    },
    Format {
        name: "api-endpoint",
        what: "a URL such as `https://10.0.0.20:6443`",
        example: "https://10.0.0.20:6443",
        pattern: Some("^https://"),
        check: |text| web(text, &["https://"]),
        ..PLAIN
    },
    Format {
        name: "web-address",
        what: "a URL such as `https://example.com`",
        example: "https://example.com",
        pattern: Some("^https?://"),
        check: |text| web(text, &["https://", "http://"]),
        ..PLAIN
    },
    Format {
        name: "slot-address",
        what: "a URL such as `https://10.0.0.2:8006`, or `sim:`",
        example: "https://10.0.0.2:8006",
        pattern: Some("^(https?://|sim:)"),
        check: |text| match text.strip_prefix("sim:") {
            Some("") => Ok(()),
            Some(name) if crate::capabilities::policy::is_name(name) => Ok(()),
            Some(_) => Err("what follows `sim:` is a name of letters, digits, `-`, `_` and `.`".to_owned()),
            None => web(text, &["https://", "http://"]),
        },
        ..PLAIN
    },
    Format {
        name: "certificate-fingerprint",
        what: "`sha256:` and 64 hexadecimal digits",
        check: |text| {
            let digits = text.strip_prefix("sha256:").unwrap_or(text).replace(':', "");
            let right = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            // Any example would be somebody else's.
            if right { Ok(()) } else { Err("Proxmox VE shows it under Node > System > Certificates".to_owned()) }
        },
        ..PLAIN
    },
    Format {
        name: "secret-name",
        what: "the name of a secret; the secret itself goes into secrets.sops.yaml",
        example: "pve_token",
        pattern: Some("^[0-9A-Za-z][0-9A-Za-z._-]*$"),
        secret: true,
        check: |text| known(crate::capabilities::policy::is_name(text)),
        ..PLAIN
    },
    Format {
        name: "secret-reference",
        what: "`secret:` and the name of a secret; the secret itself goes into secrets.sops.yaml",
        example: "secret:headscale_auth_key",
        pattern: Some("^secret:[0-9A-Za-z][0-9A-Za-z._-]*$"),
        secret: true,
        check: |text| known(text.strip_prefix("secret:").is_some_and(crate::capabilities::policy::is_name)),
        ..PLAIN
    },
    Format {
        name: "plugin-reference",
        what: "a built-in plugin's name, a path such as `./plugin.wasm`, or `oci://…@sha256:…`",
        example: "image-factory",
        check: |text| known(crate::capabilities::policy::is_name(text) || (text.contains('/') && !text.contains('\0'))),
        ..PLAIN
    },
    Format {
        name: "taint",
        what: "a taint such as `dedicated=gpu:NoSchedule`",
        example: "dedicated=gpu:NoSchedule",
        pattern: Some("^[^:=]+(=[^:=]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$"),
        check: |text| known(taint(text)),
        ..PLAIN
    },
    Format {
        name: "label-value",
        what: "a label's value: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit first and last",
        example: "gpu",
        check: |text| known(text.is_empty() || qualified(text)),
        ..PLAIN
    },
    Format {
        name: "word",
        what: "a name without blanks",
        pattern: Some(r"^\S+$"),
        check: |text| known(!text.is_empty() && text.len() <= 256 && !text.chars().any(|c| c.is_whitespace() || c.is_control())),
        ..PLAIN
    },
    Format {
        name: "template",
        what: "the name or number of a template",
        example: "talos-v1.11.5-base",
        pattern: Some(r"^\S+$"),
        number: true,
        check: |text| known(!text.is_empty() && text.len() <= 256 && !text.chars().any(|c| c.is_whitespace() || c.is_control())),
        ..PLAIN
    },
];

/// Nothing to say but what is expected.
fn known(fine: bool) -> Result<(), String> {
    if fine { Ok(()) } else { Err(String::new()) }
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Why a text is not of this format; empty when there is nothing to add to what is expected.
    pub fn problem(&self, text: &str) -> Option<String> {
        (self.check)(text).err()
    }

    /// Whether a wrong text must not be shown: it may be a secret, or carry a password.
    pub fn hides(&self, text: &str) -> bool {
        self.secret || text.contains('@')
    }

    fn schema(&self) -> Value {
        let kind = if self.number { json!(["integer", "string"]) } else { json!("string") };
        let mut schema = json!({ "type": kind, "format": self.name });
        if !self.example.is_empty() {
            schema["examples"] = json!([self.example]);
        }
        if let Some(pattern) = self.pattern {
            schema["pattern"] = json!(pattern);
        }
        if self.number {
            schema["minimum"] = json!(1);
        }
        schema
    }
}

/// The schema of a text of this format.
pub fn of(name: &str) -> Schema {
    let schema = Format::named(name).map_or_else(|| json!({ "type": "string" }), Format::schema);
    Schema::try_from(schema).unwrap_or_default()
}

/// The schema of a list of texts of this format.
pub fn list_of(name: &str) -> Schema {
    json_schema!({ "type": "array", "items": of(name) })
}

fn size(text: &str, fine: bool) -> Result<(), String> {
    match split_size(text) {
        Some((0, _)) if fine => Err("it has to be more than nothing".to_owned()),
        Some((_, "")) => Err("write a plain number without quotes".to_owned()),
        Some((number, unit @ ("KB" | "MB" | "GB" | "TB"))) => {
            let unit = &unit[..1];
            Err(format!("sizes are powers of two: write `{number}{unit}` or `{number}{unit}iB`"))
        }
        _ => known(fine),
    }
}

fn web(text: &str, schemes: &[&str]) -> Result<(), String> {
    let Some(rest) = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)) else { return known(false) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("a URL here carries no user and no password; they go into secrets.sops.yaml".to_owned());
    }
    known(!authority.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_example_is_right_and_fits_its_pattern() {
        for format in FORMATS.iter().filter(|format| !format.example.is_empty()) {
            assert_eq!(format.problem(format.example), None, "{}", format.name);
            let schema = of(format.name).to_value();
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            assert!(validator.is_valid(&json!(format.example)), "{}", format.name);
            assert!(format.problem("\u{1b}[31m not this\n").is_some(), "{}", format.name);
        }
    }
}
