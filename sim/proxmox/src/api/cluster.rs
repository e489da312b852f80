//! `/cluster`: who belongs to it, the next number, options.

use serde_json::{Map, Value, json};

use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/cluster", always!(index)),
    ("GET", "/cluster/status", always!(status)),
    ("GET", "/cluster/nextid", at_once!(next_id)),
    ("GET", "/cluster/options", always!(options)),
    ("PUT", "/cluster/options", at_once!(set_options)),
    ("GET", "/cluster/log", always!(nothing)),
    ("GET", "/cluster/config/nodes", always!(members)),
];

/// Numbers that are given out by themselves.
const NUMBERS: (u32, u32) = (100, 1_000_000);

fn index(_: &Call) -> Answer {
    let areas = [
        "acme",
        "backup",
        "backup-info",
        "ceph",
        "config",
        "firewall",
        "ha",
        "jobs",
        "log",
        "mapping",
        "metrics",
        "nextid",
        "notifications",
        "options",
        "replication",
        "resources",
        "sdn",
        "status",
        "tasks",
    ];
    Answer::data(areas.map(|area| json!({ "name": area })).to_vec())
}

fn nothing(_: &Call) -> Answer {
    Answer::data(json!([]))
}

fn status(call: &Call) -> Answer {
    let pve = &call.pve;
    let hosts = &pve.spec.hosts;
    let up = hosts.iter().filter(|host| pve.hosts.is_up(&host.name)).count();
    let mut found: Vec<Value> = Vec::new();
    if let Some(name) = &pve.spec.cluster {
        found.push(json!({
            "type": "cluster", "id": "cluster", "name": name, "nodes": hosts.len(), "version": hosts.len(),
            "quorate": u8::from(up * 2 > hosts.len()),
        }));
    }
    for (index, host) in hosts.iter().enumerate() {
        found.push(json!({
            "type": "node",
            "id": format!("node/{}", host.name),
            "name": host.name,
            "ip": host.listen.ip().to_string(),
            "local": u8::from(host.name == call.asked),
            "nodeid": if pve.spec.cluster.is_some() { index + 1 } else { 0 },
            "online": u8::from(pve.hosts.is_up(&host.name)),
            "level": "",
        }));
    }
    Answer::data(found)
}

fn members(call: &Call) -> Answer {
    let hosts = call.pve.spec.hosts.iter().enumerate().map(|(index, host)| {
        json!({ "node": host.name, "name": host.name, "nodeid": (index + 1).to_string(), "quorum_votes": "1", "ring0_addr": host.listen.ip().to_string() })
    });
    Answer::data(if call.pve.spec.cluster.is_some() { hosts.collect::<Vec<_>>() } else { Vec::new() })
}

fn next_id(call: &Call) -> Outcome {
    let state = call.pve.state();
    if let Some(id) = call.params.vmid() {
        let taken = state.vms.contains_key(&id);
        return if taken { Err(Fail::param("vmid", format!("VM {id} already exists"))) } else { Ok(Answer::data(id.to_string())) };
    }
    let bound = |name: &str| {
        let range = state.settings.options.get("next-id")?;
        range.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse::<u32>().ok())
    };
    let (lower, upper) = (bound("lower").unwrap_or(NUMBERS.0), bound("upper").unwrap_or(NUMBERS.1));
    match (lower..upper).find(|id| !state.vms.contains_key(id)) {
        // A string, as everything Perl used as one (facts §3).
        Some(id) => Ok(Answer::data(id.to_string())),
        None => Err(Fail::die(format!("unable to get any free VMID in range [{lower}, {upper}]\n"))),
    }
}

/// Options that are shown as objects.
const OBJECTS: [&str; 8] = ["migration", "ha", "crs", "next-id", "tag-style", "notify", "user-tag-access", "webauthn"];

fn options(call: &Call) -> Answer {
    let state = call.pve.state();
    let auditor = state.access.allows(&call.who, "/", &["Sys.Audit"]);
    let seen = state.settings.options.iter().filter(|(name, _)| auditor || ["console", "tag-style"].contains(&name.as_str()));
    let mut data: Map<String, Value> = seen
        .map(|(name, text)| {
            let object = || text.split(',').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key.to_owned(), json!(value)));
            let value = if OBJECTS.contains(&name.as_str()) { Value::Object(object().collect()) } else { json!(text) };
            (name.clone(), value)
        })
        .collect();
    let registered = state.settings.options.get("registered-tags").map(|text| text.split(';').collect::<Vec<_>>()).unwrap_or_default();
    data.insert("allowed-tags".to_owned(), json!(registered));
    Answer::data(data)
}

fn set_options(call: &Call) -> Outcome {
    call.pve.change_settings(|settings| {
        for (name, text) in call.params.texts().filter(|(name, _)| *name != "delete") {
            settings.options.insert(name.to_owned(), text.to_owned());
        }
        for name in call.params.list("delete") {
            settings.options.remove(&name);
        }
        Ok(())
    })?;
    Ok(Answer::done("options of the cluster changed"))
}
