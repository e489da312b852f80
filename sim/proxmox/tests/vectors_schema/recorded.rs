//! What Proxmox's own code answered, line by line.

use std::collections::BTreeMap;

use emhost_oracles::facts;
use emhost_sim_proxmox::schema::{Given, Params, Value, access, drive, find, list, property, upid, volume};
use emhost_sim_proxmox::{Fail, Release};
use serde_json::{Value as Json, json};

use crate::call;

/// One recorded answer: of 8.4, or of 9, which has lines of its own only where it differs.
struct Line {
    release: Release,
    input: Json,
    expect: Json,
}

fn lines(suite: &str) -> Vec<Line> {
    let mut found = Vec::new();
    for line in facts("pve-vectors.jsonl").unwrap_or_default().lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        if line["suite"] != suite {
            continue;
        }
        let of = |release| Line { release, input: line["input"].clone(), expect: line["expect"].clone() };
        if line["pve"] == "9" {
            found.push(of(Release::V9));
        } else {
            found.push(of(Release::V8));
            if line["same_on_9"] == true {
                found.push(of(Release::V9));
            }
        }
    }
    found
}

/// Collects what differs, so that one run shows everything.
#[derive(Default)]
struct Judge {
    compared: usize,
    wrong: Vec<String>,
}

impl Judge {
    fn same(&mut self, line: &Line, what: &str, ours: &Json, theirs: &Json) {
        self.compared += 1;
        if ours != theirs {
            let Line { release, input, .. } = line;
            self.wrong.push(format!("{release:?} {input} {what}:\n     ours {ours}\n   theirs {theirs}"));
        }
    }

    fn verdict(self, at_least: usize) {
        let Self { compared, wrong } = self;
        assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
        assert!(compared >= at_least || facts("pve-vectors.jsonl").is_none(), "only {compared} comparisons were made");
    }
}

fn given(params: &Json) -> BTreeMap<String, Given> {
    params.as_object().unwrap().iter().map(|(name, value)| (name.clone(), Given::from(value.clone()))).collect()
}

fn shown(outcome: Result<Params, Fail>) -> Json {
    match outcome {
        Ok(params) => {
            let params: BTreeMap<_, _> = params
                .0
                .into_iter()
                .map(|(name, value)| match value {
                    Value::Text(text) => (name, json!(text)),
                    Value::List(items) => (name, json!(items)),
                })
                .collect();
            json!({ "status": 200, "params": params })
        }
        Err(fail) if fail.errors.is_empty() => json!({ "status": fail.status, "message": fail.message }),
        Err(fail) => json!({ "status": fail.status, "message": fail.message, "errors": fail.errors }),
    }
}

#[test]
fn requests_are_checked_as_proxmox_does() {
    let mut judge = Judge::default();
    for line in lines("params") {
        let text = |name: &str| line.input[name].as_str().unwrap();
        let outcome = call(line.release, text("method"), text("path"), given(&line.input["params"]));
        judge.same(&line, "outcome", &shown(outcome), &line.expect);
    }
    judge.verdict(700);
}

/// Where the order of lines is left to chance, their order here.
fn sorted(line: &Line, errors: &Json) -> Json {
    if line.expect["unordered_error_lines"] != true {
        return errors.clone();
    }
    let sort = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        json!(lines)
    };
    errors
        .as_object()
        .map(|errors| errors.iter().map(|(key, text)| (key.clone(), sort(text.as_str().unwrap()))).collect())
        .unwrap_or_default()
}

#[test]
fn property_strings_are_checked_read_and_printed_as_proxmox_does() {
    let mut judge = Judge::default();
    for line in lines("property-string") {
        let (key, text) = (line.input["key"].as_str().unwrap(), line.input["value"].as_str().unwrap());
        let path = "/nodes/pve1/qemu/100/config";
        let outcome = call(line.release, "PUT", path, [(key.to_owned(), text.into())].into());
        let known = find(line.release, "PUT", path).unwrap().endpoint.params.contains_key(key);
        let mut theirs = line.expect["errors"].clone();
        // The recorder looked at keys that do not exist, and by that made them into keys that its schema asked for.
        if let (false, Some(theirs)) = (known, theirs.as_object_mut()) {
            theirs.retain(|name, _| name == key);
        }
        if known || line.expect["schema"] == "error" {
            let ours = outcome.err().map_or(Json::Null, |fail| json!(fail.errors));
            judge.same(&line, "schema", &sorted(&line, &ours), &sorted(&line, &theirs));
        }
        if let Some(format) = property::format_of(line.release, key) {
            parts(&mut judge, &line, format, text);
        }
        if line.expect.get("drive").is_some() {
            drives(&mut judge, &line, key, text);
        }
    }
    judge.verdict(2000);
}

fn parts(judge: &mut Judge, line: &Line, format: &property::Format, text: &str) {
    match property::parse(format, text) {
        Ok(parsed) => {
            judge.same(line, "parsed", &json!(parsed), &line.expect["parsed"]);
            if let Some(printed) = line.expect.get("printed") {
                judge.same(line, "printed", &json!(property::try_print(format, &parsed)), printed);
            }
        }
        Err(wrong) => {
            let mut ours = json!({ "message": wrong.message });
            if !wrong.errors.is_empty() {
                ours["errors"] = json!(wrong.errors);
            }
            judge.same(line, "parse_error", &ours, &line.expect["parse_error"]);
        }
    }
}

fn drives(judge: &mut Judge, line: &Line, key: &str, text: &str) {
    let parsed = drive::parse(line.release, key, text);
    let ours = parsed.as_ref().map(|drive| {
        let mut all = drive.properties();
        all.insert("interface".to_owned(), drive.interface.clone());
        all.insert("index".to_owned(), drive.index.to_string());
        all
    });
    judge.same(line, "drive", &json!(ours), &line.expect["drive"]);
    if let Some(parsed) = parsed {
        let printed = drive::try_print(line.release, &parsed);
        judge.same(line, "drive_printed", &json!(printed), &line.expect["drive_printed"]);
        if let Some(printed) = printed {
            judge.same(line, "print", &json!(drive::print(&parsed)), &json!(printed));
        }
    }
}

#[test]
fn task_identifiers_and_lists_are_read_as_proxmox_does() {
    let mut judge = Judge::default();
    for line in lines("upid") {
        let text = |name: &str| line.input[name].as_str().unwrap();
        let ours = match text("op") {
            "decode" => match upid::decode(text("upid")) {
                Ok(task) => json!({
                    "logfile": upid::log_file(text("upid")).unwrap(),
                    "task": {
                        "node": task.node, "pid": task.pid, "pstart": task.pstart, "starttime": task.starttime,
                        "type": task.kind, "id": task.id, "user": task.user,
                    },
                }),
                Err(error) => json!({ "error": error }),
            },
            "encode" => {
                let task = &line.input["task"];
                let word = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
                let number = |name: &str| task[name].as_u64().unwrap();
                let task = upid::Upid {
                    node: word("node"),
                    pid: u32::try_from(number("pid")).unwrap(),
                    pstart: number("pstart"),
                    starttime: number("starttime"),
                    kind: word("type"),
                    id: word("id"),
                    user: word("user"),
                };
                json!({ "upid": task.encode() })
            }
            "status" => {
                let status = text("status");
                json!({ "is_error": upid::is_error(status), "type": upid::status_kind(status) })
            }
            "read_status" => json!({ "exitstatus": upid::read_status(line.release, text("log")) }),
            "api" => {
                // The rest of it is judged where it is answered.
                let ours = json!(upid::read_status(line.release, text("log")));
                judge.same(&line, "exit status", &ours, &line.expect["status"]["data"]["exitstatus"]);
                continue;
            }
            "split_list" => json!({ "list": list::split(text("text")) }),
            // What the API answers about a task is judged where it is answered.
            _ => continue,
        };
        judge.same(&line, "answer", &ours, &line.expect);
    }
    judge.verdict(100);
}

/// The storages of the recorder.
fn kind_of(storage: &str) -> Option<&'static str> {
    match storage {
        "local" | "shared1" | "isos" | "off" | "onpve2" => Some("dir"),
        "local-lvm" => Some("lvmthin"),
        "tank" => Some("zfspool"),
        "ceph1" => Some("rbd"),
        _ => None,
    }
}

fn volname(release: Release, id: &str) -> Result<volume::Volname, String> {
    let (storage, name) = volume::parse_volume_id(id)?;
    let kind = kind_of(storage).ok_or_else(|| format!("storage '{storage}' does not exist\n"))?;
    volume::parse_volname(release, kind, name)
}

#[test]
fn volumes_are_read_as_proxmox_does() {
    let mut judge = Judge::default();
    for line in lines("storage") {
        let text = |name: &str| line.input[name].as_str().unwrap();
        let ours = match text("op") {
            "parse_volname" => match volname(line.release, text("volid")) {
                Ok(found) => json!({
                    "vtype": found.content, "name": found.name, "format": found.format, "isBase": found.is_base,
                    "vmid": found.vmid.map(|vmid| vmid.to_string()), "basename": found.base,
                    "basevmid": found.base_vmid.map(|vmid| vmid.to_string()),
                }),
                Err(error) => json!({ "error": error }),
            },
            "parse_volume_id" => match volume::parse_volume_id(text("volid")) {
                Ok((storage, volume)) => json!({ "storage": storage, "volname": volume }),
                Err(error) => json!({ "error": error }),
            },
            "normalize_content_filename" => json!({ "name": volume::normalize_content_filename(text("name")) }),
            "decompressor" => {
                let command = volume::decompressor(text("format"), text("compression")).unwrap();
                json!({ "cmd": {
                    "format": text("format"), "compression": text("compression"), "decompressor": command,
                } })
            }
            // What the API answers is judged where it is answered.
            _ => continue,
        };
        judge.same(&line, "answer", &ours, &line.expect);
    }
    judge.verdict(130);
}

#[test]
fn paths_of_access_control_lists_are_those_of_proxmox() {
    let mut judge = Judge::default();
    for line in lines("permissions").iter().filter(|line| line.input["op"] == "acl-path") {
        let path = access::normalise(line.input["path"].as_str().unwrap());
        let valid = path.as_ref().map(|path| access::is_path(line.release, path));
        judge.same(line, "path", &json!({ "normalized": path, "valid": valid }), &line.expect);
    }
    judge.verdict(46);
}

#[test]
fn every_recorded_request_has_an_endpoint() {
    let mut judge = Judge::default();
    for line in ["permissions", "root-only", "storage", "upid"].into_iter().flat_map(lines) {
        let (method, Some(path)) = (line.input["method"].as_str().unwrap_or("GET"), line.input["path"].as_str()) else {
            continue;
        };
        if line.input["op"] != "acl-path" {
            let missing = find(line.release, method, path).is_err();
            judge.same(&line, "is missing", &json!(missing), &json!(line.expect["status"] == 501));
        }
    }
    judge.verdict(1700);
}
