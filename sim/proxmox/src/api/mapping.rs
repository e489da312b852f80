//! Names for hardware, and what they stand for on each host.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::HostSpec;
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};
use crate::settings::{Mapping, Settings};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/cluster/mapping", always!(index)),
    ("GET", "/cluster/mapping/pci", at_once!(list)),
    ("POST", "/cluster/mapping/pci", at_once!(create)),
    ("GET", "/cluster/mapping/pci/{id}", at_once!(read)),
    ("PUT", "/cluster/mapping/pci/{id}", at_once!(update)),
    ("DELETE", "/cluster/mapping/pci/{id}", at_once!(delete)),
    ("GET", "/cluster/mapping/usb", at_once!(list)),
    ("POST", "/cluster/mapping/usb", at_once!(create)),
    ("GET", "/cluster/mapping/usb/{id}", at_once!(read)),
    ("PUT", "/cluster/mapping/usb/{id}", at_once!(update)),
    ("DELETE", "/cluster/mapping/usb/{id}", at_once!(delete)),
    ("GET", "/cluster/mapping/dir", at_once!(list)),
    ("POST", "/cluster/mapping/dir", at_once!(create)),
    ("GET", "/cluster/mapping/dir/{id}", at_once!(read)),
    ("PUT", "/cluster/mapping/dir/{id}", at_once!(update)),
    ("DELETE", "/cluster/mapping/dir/{id}", at_once!(delete)),
];

/// Everything beside the list of hardware.
const DETAILS: [&str; 3] = ["description", "mdev", "live-migration-capable"];

fn index(_: &Call) -> Answer {
    Answer::data(["dir", "pci", "usb"].map(|kind| json!({ "name": kind })).to_vec())
}

/// `pci`, `usb` or `dir`.
fn kind(call: &Call) -> &'static str {
    call.endpoint.path.split('/').nth(3).unwrap_or_default()
}

fn id(call: &Call) -> &str {
    call.params.text("id").unwrap_or_default()
}

fn mappings<'a>(settings: &'a Settings, kind: &str) -> &'a BTreeMap<String, Mapping> {
    match kind {
        "usb" => &settings.usb,
        "dir" => &settings.dir,
        _ => &settings.pci,
    }
}

fn mappings_mut<'a>(settings: &'a mut Settings, kind: &str) -> &'a mut BTreeMap<String, Mapping> {
    match kind {
        "usb" => &mut settings.usb,
        "dir" => &mut settings.dir,
        _ => &mut settings.pci,
    }
}

fn digest(all: &BTreeMap<String, Mapping>) -> String {
    super::digest(&json!(all).to_string())
}

fn entry(kind: &str, mapping: &Mapping, digest: &str) -> Value {
    let mut entry = json!({ "type": kind, "map": mapping.map, "digest": digest });
    for (name, text) in &mapping.details {
        let flag = *name != "description" && ["0", "1"].contains(&text.as_str());
        entry[name] = if flag { json!(u8::from(text == "1")) } else { json!(text) };
    }
    entry
}

fn list(call: &Call) -> Outcome {
    let kind = kind(call);
    let check_node = call.params.text("check-node");
    let host = match check_node.map(|name| if name == "localhost" { call.asked.as_str() } else { name }) {
        Some(name) => {
            call.pve.hosts.reach(name)?;
            call.pve.spec.hosts.iter().find(|host| host.name == name)
        }
        None => None,
    };
    let state = call.pve.state();
    let all = mappings(&state.settings, kind);
    let digest = digest(all);
    let needed = ["Mapping.Modify", "Mapping.Use", "Mapping.Audit"];
    let seen = all.iter().filter(|(id, _)| state.access.allows_any(&call.who, &format!("/mapping/{kind}/{id}"), &needed));
    let entries = seen.map(|(id, mapping)| {
        let mut entry = entry(kind, mapping, &digest);
        entry["id"] = json!(id);
        if let Some(host) = host {
            let checks = checks(kind, id, mapping, host);
            match kind {
                "usb" => entry["errors"] = json!(checks),
                _ => entry["checks"] = json!(checks),
            }
        }
        entry
    });
    Ok(Answer::data(entries.collect::<Vec<_>>()))
}

/// What does not fit the hardware that is there.
fn checks(kind: &str, id: &str, mapping: &Mapping, host: &HostSpec) -> Vec<Value> {
    let entries = mapping.on(&host.name);
    if entries.is_empty() {
        return vec![json!({ "severity": "warning", "message": format!("No mapping for node {}.", host.name) })];
    }
    let wrong = |text: String| json!({ "severity": "error", "message": format!("Invalid configuration: {text}\n") });
    if kind != "pci" {
        return Vec::new();
    }
    entries.iter().filter_map(|entry| invalid(id, entry, host)).map(wrong).collect()
}

/// What is wrong with one PCI device of a mapping, in the words Proxmox uses.
pub(crate) fn invalid(id: &str, entry: &BTreeMap<String, String>, host: &HostSpec) -> Option<String> {
    let text = |key: &str| entry.get(key).map_or("", String::as_str);
    for path in text("path").split(';') {
        // A path without a function is every function of the device.
        let whole = path.contains('.');
        let device = host.pci.iter().find(|device| if whole { device.bdf == path } else { device.bdf.starts_with(&format!("{path}.")) });
        let Some(device) = device else { return Some(format!("pci device '{path}' not found")) };
        let bare = |number: &str| number.trim_start_matches("0x").to_owned();
        let found = format!("{}:{}", bare(&device.vendor), bare(&device.device));
        if text("id") != found {
            return Some(format!("'id' does not match for '{id}' ({} != {found})", text("id")));
        }
        let group = if host.iommu { device.iommu_group } else { -1 };
        if let Some(given) = entry.get("iommugroup").filter(|given| **given != group.to_string()) {
            return Some(format!("'iommugroup' does not match for '{id}' ({given} != {group})"));
        }
    }
    None
}

fn read(call: &Call) -> Outcome {
    let state = call.pve.state();
    let all = mappings(&state.settings, kind(call));
    let mapping = all.get(id(call)).ok_or_else(|| Fail::die(format!("mapping '{}' not found\n", id(call))))?;
    Ok(Answer::data(entry(kind(call), mapping, &digest(all))))
}

fn given(call: &Call, mapping: &mut Mapping) {
    if call.params.has("map") {
        mapping.map = match call.params.0.get("map") {
            Some(crate::schema::Value::List(items)) => items.clone(),
            _ => call.params.text("map").map(|text| vec![text.to_owned()]).unwrap_or_default(),
        };
    }
    for name in DETAILS {
        if let Some(text) = call.params.text(name) {
            mapping.details.insert(name.to_owned(), text.to_owned());
        }
    }
}

fn create(call: &Call) -> Outcome {
    let (kind, id) = (kind(call), id(call));
    let made = call.pve.change_settings(|settings| {
        let all = mappings_mut(settings, kind);
        if all.contains_key(id) {
            return Err(Fail::die(format!("{kind} ID '{id}' already defined\n")));
        }
        let mut mapping = Mapping::default();
        given(call, &mut mapping);
        all.insert(id.to_owned(), mapping);
        Ok(())
    });
    made.map_err(|fail| fail.within("create hardware mapping failed"))?;
    Ok(Answer::done(format!("{kind} mapping {id} created")))
}

fn update(call: &Call) -> Outcome {
    let (kind, id) = (kind(call), id(call));
    let done = call.pve.change_settings(|settings| {
        let all = mappings_mut(settings, kind);
        if call.params.text("digest").is_some_and(|given| given != digest(all)) {
            return Err(Fail::die("detected modified configuration - file changed by other user? Try again.\n"));
        }
        let mapping = all.get_mut(id).ok_or_else(|| Fail::die(format!("{kind} ID '{id}' does not exist\n")))?;
        for name in call.params.list("delete") {
            mapping.details.remove(&name);
        }
        given(call, mapping);
        Ok(())
    });
    done.map_err(|fail| fail.within("update hardware mapping failed"))?;
    Ok(Answer::done(format!("{kind} mapping {id} changed")))
}

fn delete(call: &Call) -> Outcome {
    let (kind, id) = (kind(call), id(call));
    call.pve.change_settings(|settings| {
        mappings_mut(settings, kind).remove(id);
        Ok(())
    })?;
    Ok(Answer::done(format!("{kind} mapping {id} removed")))
}
