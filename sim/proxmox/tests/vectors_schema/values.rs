//! Values that are right or wrong by the published schema.

use emhost_sim_proxmox::Release;
use serde_json::Value as Json;

use crate::dump::{Dump, Keys};

pub const MISSING: &str = "property is missing and it is not optional";
pub const UNDEFINED: &str = "property is not defined in schema and the schema does not allow additional properties";

/// Something that every check lets through, for parameters that must be there.
pub fn sample(dump: &Dump, release: Release, name: &str, parameter: &Json) -> String {
    if let Some(choice) = parameter["enum"].as_array().and_then(|choices| choices[0].as_str()) {
        return choice.to_owned();
    }
    let keys = dump.keys(release, if parameter["type"] == "array" { &parameter["items"] } else { parameter });
    if let Some(keys) = keys {
        let needed = keys.iter().filter(|(_, key)| key["optional"] != true && key.get("alias").is_none());
        let parts: Vec<_> = needed.map(|(name, key)| format!("{name}={}", sample(dump, release, name, key))).collect();
        return parts.join(",");
    }
    let by_name = match name {
        "upid" => "UPID:pve1:00001234:00ABCDEF:6735E0A0:qmclone:9000:root@pam:",
        "volume" => "local:iso/x.iso",
        "url" => "https://example.org/x",
        "reference" if parameter["pattern"].as_str().is_some_and(|pattern| pattern.contains("{0,127}")) => "a/b:c",
        "reference" => "a/b",
        "pci-id-or-mapping" | "path" if parameter["pattern"].is_string() => "0000:01:00.0",
        "path" => "/x",
        "id" if parameter["pattern"].is_string() => "10de:2204",
        "size" | "cpus" => "1",
        "password" => "long enough",
        "tokenid" => "t1",
        _ => "",
    };
    if !by_name.is_empty() {
        return by_name.to_owned();
    }
    let by_format = match parameter["format"].as_str().unwrap_or_default() {
        "pve-vmid" => "100",
        "pve-node" | "pve-node-list" | "pve-ha-node-list" | "pve-ha-group-node-list" => "pve1",
        "pve-storage-id" | "pve-storage-id-list" => "local",
        "pve-userid" => "somebody@pve",
        "pve-realm" => "pve",
        "pve-iface" => "vmbr0",
        "pve-ha-resource-or-vm-id" | "pve-ha-resource-id-list" => "vm:100",
        "pve-volume-id" | "pve-volume-id-or-qm-path" => "local:100/vm-100-disk-0.raw",
        "pve-acme-domain" => "host.example.org",
        "mac-addr" => "BC:24:11:00:00:01",
        _ => "",
    };
    match (by_format, parameter["type"].as_str()) {
        ("", Some("integer" | "number")) => parameter["minimum"].as_u64().unwrap_or(1).to_string(),
        ("", Some("boolean")) => "1".to_owned(),
        ("", _) => "ab".to_owned(),
        (sample, _) => sample.to_owned(),
    }
}

/// Values that are wrong, and what is said of each.
pub fn refusals(dump: &Dump, parameter: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let kind = parameter["type"].as_str().unwrap_or_default();
    if matches!(kind, "integer" | "number" | "boolean") {
        found.push(("x1".to_owned(), format!("type check ('{kind}') failed - got 'x1'")));
    }
    if kind == "boolean" || kind == "array" {
        return found;
    }
    let complaint = dump.complaint(parameter, "/!").filter(|_| kind == "string");
    let formless = parameter["format"].is_null() && parameter["pattern"].is_null();
    if let Some(choices) = parameter["enum"].as_array() {
        let choices: Vec<_> = choices.iter().filter_map(Json::as_str).collect();
        let wrong = if kind == "string" { "ww" } else { "77" };
        if formless && !choices.is_empty() {
            let message = format!("value '{wrong}' does not have a value in the enumeration '{}'", choices.join(", "));
            found.push((wrong.to_owned(), message));
        }
    }
    if let Some(message) = complaint {
        found.push(("/!".to_owned(), message));
    }
    if let Some(min) = parameter["minimum"].as_i64().filter(|_| formless) {
        found.push(((min - 1).to_string(), format!("value must have a minimum value of {min}")));
    }
    if let Some(max) = parameter["maximum"].as_i64().filter(|_| formless) {
        found.push(((max + 1).to_string(), format!("value must have a maximum value of {max}")));
    }
    if let Some(longest) = parameter["maxLength"].as_u64().filter(|_| formless) {
        let long = "a".repeat(usize::try_from(longest).unwrap() + 1);
        found.push((long, format!("value may only be {longest} characters long")));
    }
    if let Some(shortest) = parameter["minLength"].as_u64().filter(|shortest| formless && *shortest > 0) {
        let short = "a".repeat(usize::try_from(shortest).unwrap() - 1);
        found.push((short, format!("value must be at least {shortest} characters long")));
    }
    if parameter["pattern"].is_string() && parameter["format"].is_null() {
        found.push(("\u{1}\u{1} ;".to_owned(), "value does not match the regex pattern".to_owned()));
    }
    found
}

/// Values that are just about right.
pub fn acceptable(parameter: &Json) -> Vec<String> {
    let choices = parameter["enum"].as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned);
    let mut found: Vec<String> = choices.collect();
    let formless = parameter["format"].is_null() && parameter["pattern"].is_null() && parameter["enum"].is_null();
    if formless {
        let limits = ["minimum", "maximum"].into_iter().filter_map(|name| parameter[name].as_i64());
        found.extend(limits.map(|limit| limit.to_string()));
        let lengths = ["minLength", "maxLength"].into_iter().filter_map(|name| parameter[name].as_u64());
        found.extend(lengths.map(|letters| "a".repeat(usize::try_from(letters).unwrap())));
        if parameter["type"] == "boolean" {
            found.extend(["0".to_owned(), "1".to_owned()]);
        }
    }
    found
}

/// What is wrong inside a property string, with the parts that must be there.
pub fn inner_refusals(dump: &Dump, release: Release, name: &str, keys: &Keys) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let needed = |but: &str| -> Vec<String> {
        keys.iter()
            .filter(|(key, value)| value["optional"] != true && value.get("alias").is_none() && *key != but)
            .map(|(key, value)| format!("{key}={}", sample(dump, release, key, value)))
            .collect()
    };
    let wrong = |path: &str, message: &str| format!("invalid format - format error\n{name}.{path}: {message}\n");
    let with = |part: String, but: &str| {
        let mut parts = needed(but);
        parts.push(part);
        parts.join(",")
    };
    found.push((with("no-such-key=1".to_owned(), ""), wrong("no-such-key", UNDEFINED)));
    for (key, value) in keys {
        let required = value["optional"] != true && value.get("alias").is_none();
        if required {
            found.push((needed(key).join(","), wrong(key, MISSING)));
        }
        for (text, message) in refusals(dump, value) {
            if !text.is_empty() && !text.contains(['=', ',', ' ', '\u{1}']) {
                let also = value["requires"].as_str().map(|name| format!(",{name}={}", sample(dump, release, name, &keys[name])));
                let part = format!("{key}={text}{}", also.unwrap_or_default());
                found.push((with(part, key), wrong(key, &message)));
            }
        }
    }
    found
}
