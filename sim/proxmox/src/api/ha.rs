//! High availability: what is managed, groups (8) and rules (9). Nothing is moved by itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Release;
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/cluster/ha", always!(index)),
    ("GET", "/cluster/ha/status", always!(status_index)),
    ("GET", "/cluster/ha/status/current", always!(status)),
    ("GET", "/cluster/ha/status/manager_status", always!(manager)),
    ("GET", "/cluster/ha/resources", always!(list)),
    ("POST", "/cluster/ha/resources", at_once!(create)),
    ("GET", "/cluster/ha/resources/{sid}", at_once!(read)),
    ("PUT", "/cluster/ha/resources/{sid}", at_once!(update)),
    ("DELETE", "/cluster/ha/resources/{sid}", at_once!(delete)),
    ("GET", "/cluster/ha/groups", at_once!(groups)),
    ("POST", "/cluster/ha/groups", at_once!(create_group)),
    ("GET", "/cluster/ha/groups/{group}", at_once!(read_group)),
    ("PUT", "/cluster/ha/groups/{group}", at_once!(update_group)),
    ("DELETE", "/cluster/ha/groups/{group}", at_once!(delete_group)),
    ("GET", "/cluster/ha/rules", always!(rules)),
    ("POST", "/cluster/ha/rules", at_once!(create_rule)),
    ("GET", "/cluster/ha/rules/{rule}", at_once!(read_rule)),
    ("PUT", "/cluster/ha/rules/{rule}", at_once!(update_rule)),
    ("DELETE", "/cluster/ha/rules/{rule}", at_once!(delete_rule)),
];

type Section = BTreeMap<String, String>;
type Sections = BTreeMap<String, Section>;

/// Numbers in answers; everything else is text.
const NUMBERS: [&str; 7] = ["max_restart", "max_relocate", "failback", "restricted", "nofailback", "disable", "strict"];

fn index(call: &Call) -> Answer {
    let last = if call.pve.release() == Release::V8 { "groups" } else { "rules" };
    Answer::data([last, "resources", "status"].map(|name| json!({ "id": name })).to_vec())
}

fn status_index(_: &Call) -> Answer {
    Answer::data(["current", "manager_status"].map(|name| json!({ "name": name })).to_vec())
}

fn status(call: &Call) -> Answer {
    let state = call.pve.state();
    let quorum = json!({ "id": "quorum", "type": "quorum", "node": call.asked, "status": "OK", "quorate": 1 });
    let services = state.settings.ha_resources.iter().map(|(sid, section)| {
        let node = vmid(sid).and_then(|id| state.vms.get(&id)).map_or("", |vm| vm.host.as_str());
        let wanted = section.get("state").map_or("started", String::as_str);
        json!({
            "id": format!("service:{sid}"), "type": "service", "sid": sid, "node": node, "state": wanted, "request_state": wanted,
            "crm_state": wanted, "status": format!("{sid} ({node}, {wanted})"),
        })
    });
    Answer::data(std::iter::once(quorum).chain(services).collect::<Vec<_>>())
}

fn manager(call: &Call) -> Answer {
    let hosts = &call.pve.spec.hosts;
    let nodes: serde_json::Map<String, Value> =
        hosts.iter().map(|host| (host.name.clone(), json!(if call.pve.hosts.is_up(&host.name) { "online" } else { "unknown" }))).collect();
    Answer::data(json!({ "manager_status": { "node_status": nodes }, "quorum": { "node": call.asked, "quorate": "1" } }))
}

/// A whole name, where the short form is only a number.
fn sid(call: &Call) -> String {
    let given = call.params.text("sid").unwrap_or_default();
    if given.contains(':') { given.to_owned() } else { format!("vm:{given}") }
}

fn vmid(sid: &str) -> Option<u32> {
    sid.split_once(':').and_then(|(_, id)| id.parse().ok())
}

fn entry(name: (&str, &str), section: &Section, digest: &str) -> Value {
    let mut entry = json!({ "digest": digest });
    entry[name.0] = json!(name.1);
    for (key, text) in section {
        let number = NUMBERS.contains(&key.as_str()).then(|| text.parse::<i64>().ok()).flatten();
        entry[key] = number.map_or_else(|| json!(text), |number| json!(number));
    }
    entry
}

fn digest(all: &Sections) -> String {
    super::digest(&json!(all).to_string())
}

/// Takes every parameter but those that say what to do.
fn given(call: &Call, section: &mut Section) {
    for name in call.params.list("delete") {
        section.remove(&name);
    }
    let control = ["sid", "group", "rule", "delete", "digest", "purge"];
    // The group of a resource is a setting, the group in a path is a name.
    let group_is_name = call.endpoint.path.starts_with("/cluster/ha/groups");
    for (name, text) in call.params.texts() {
        if !control.contains(&name) || name == "group" && !group_is_name {
            section.insert(name.to_owned(), text.to_owned());
        }
    }
}

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let all = &state.settings.ha_resources;
    let digest = digest(all);
    let wanted = call.params.text("type");
    let fits = all.iter().filter(|(sid, _)| wanted.is_none_or(|kind| sid.starts_with(&format!("{kind}:"))));
    Answer::data(fits.map(|(sid, section)| entry(("sid", sid), section, &digest)).collect::<Vec<_>>())
}

fn create(call: &Call) -> Outcome {
    let sid = sid(call);
    let (kind, _) = sid.split_once(':').unwrap_or_default();
    if call.params.text("type").is_some_and(|given| given != kind) {
        return Err(Fail::die("types does not match\n"));
    }
    if call.pve.release() == Release::V9 && call.params.has("group") {
        return Err(Fail::die("invalid parameter 'group': ha groups have been migrated to rules\n"));
    }
    let there = kind == "vm" && vmid(&sid).is_some_and(|id| call.pve.state().vms.contains_key(&id));
    if !there {
        return Err(Fail::die(format!("resource '{sid}' does not exist in cluster\n")));
    }
    let made = call.pve.change_settings(|settings| {
        if settings.ha_resources.contains_key(&sid) {
            return Err(Fail::die(format!("resource ID '{sid}' already defined\n")));
        }
        if let Some(group) = call.params.text("group").filter(|group| !settings.ha_groups.contains_key(*group)) {
            return Err(Fail::die(format!("HA group '{group}' does not exist\n")));
        }
        let mut section: Section = [("type".to_owned(), kind.to_owned()), ("state".to_owned(), "started".to_owned())].into();
        given(call, &mut section);
        settings.ha_resources.insert(sid.clone(), section);
        Ok(())
    });
    made.map_err(|fail| fail.within("create resource failed"))?;
    Ok(Answer::done(format!("ha resource {sid} created")))
}

fn missing(what: &str, id: &str) -> Fail {
    Fail::die(format!("no such {what} '{id}'\n"))
}

fn read(call: &Call) -> Outcome {
    let state = call.pve.state();
    let sid = sid(call);
    let section = state.settings.ha_resources.get(&sid).ok_or_else(|| missing("resource", &sid))?;
    Ok(Answer::data(entry(("sid", &sid), section, &digest(&state.settings.ha_resources))))
}

fn update(call: &Call) -> Outcome {
    let sid = sid(call);
    change(call, |settings| &mut settings.ha_resources, "resource", &sid)
}

fn delete(call: &Call) -> Outcome {
    let sid = sid(call);
    let done = call.pve.change_settings(|settings| {
        let gone = settings.ha_resources.remove(&sid);
        gone.map(drop).ok_or_else(|| Fail::die(format!("cannot delete service '{sid}', not HA managed!\n")))
    });
    done.map_err(|fail| fail.within("delete resource failed"))?;
    Ok(Answer::done(format!("ha resource {sid} removed")))
}

fn change(call: &Call, of: fn(&mut crate::settings::Settings) -> &mut Sections, what: &str, id: &str) -> Outcome {
    call.pve.change_settings(|settings| {
        let all = of(settings);
        if call.params.text("digest").is_some_and(|given| given != digest(all)) {
            return Err(Fail::die("detected modified configuration - file changed by other user? Try again.\n"));
        }
        given(call, all.get_mut(id).ok_or_else(|| missing(what, id))?);
        Ok(())
    })?;
    Ok(Answer::done(format!("ha {what} {id} changed")))
}

/// Groups are gone on 9.
fn has_groups(call: &Call) -> Result<(), Fail> {
    match call.pve.release() {
        Release::V8 => Ok(()),
        Release::V9 => Err(Fail::die("cannot use ha groups: ha groups have been migrated to rules\n")),
    }
}

fn group(call: &Call) -> &str {
    call.params.text("group").unwrap_or_default()
}

fn groups(call: &Call) -> Outcome {
    has_groups(call)?;
    let state = call.pve.state();
    let digest = digest(&state.settings.ha_groups);
    Ok(Answer::data(state.settings.ha_groups.iter().map(|(id, section)| entry(("group", id), section, &digest)).collect::<Vec<_>>()))
}

fn create_group(call: &Call) -> Outcome {
    has_groups(call)?;
    let made = call.pve.change_settings(|settings| {
        if settings.ha_groups.contains_key(group(call)) {
            return Err(Fail::die(format!("ha group ID '{}' already defined\n", group(call))));
        }
        let mut section: Section = [("type".to_owned(), "group".to_owned())].into();
        given(call, &mut section);
        settings.ha_groups.insert(group(call).to_owned(), section);
        Ok(())
    });
    made.map_err(|fail| fail.within("create ha group failed"))?;
    Ok(Answer::done(format!("ha group {} created", group(call))))
}

fn read_group(call: &Call) -> Outcome {
    has_groups(call)?;
    let state = call.pve.state();
    let section = state.settings.ha_groups.get(group(call)).ok_or_else(|| missing("ha group", group(call)))?;
    Ok(Answer::data(entry(("group", group(call)), section, &digest(&state.settings.ha_groups))))
}

fn update_group(call: &Call) -> Outcome {
    has_groups(call)?;
    change(call, |settings| &mut settings.ha_groups, "ha group", group(call))
}

fn delete_group(call: &Call) -> Outcome {
    has_groups(call)?;
    let done = call.pve.change_settings(|settings| {
        let mut users = settings.ha_resources.values();
        if users.any(|section| section.get("group").is_some_and(|name| name == group(call))) {
            return Err(Fail::die("ha group is used by a service\n"));
        }
        settings.ha_groups.remove(group(call));
        Ok(())
    });
    done.map_err(|fail| fail.within("delete ha group failed"))?;
    Ok(Answer::done(format!("ha group {} removed", group(call))))
}

fn rule(call: &Call) -> &str {
    call.params.text("rule").unwrap_or_default()
}

fn rules(call: &Call) -> Answer {
    let state = call.pve.state();
    let digest = digest(&state.settings.ha_rules);
    let params = &call.params;
    let fits = |section: &Section| {
        let has = |key: &str, name: &str| {
            params.text(key).is_none_or(|wanted| section.get(name).is_some_and(|text| text.split(',').any(|part| part == wanted)))
        };
        has("type", "type") && has("resource", "resources")
    };
    let found = state.settings.ha_rules.iter().filter(|(_, section)| fits(section));
    Answer::data(found.map(|(id, section)| entry(("rule", id), section, &digest)).collect::<Vec<_>>())
}

fn create_rule(call: &Call) -> Outcome {
    let made = call.pve.change_settings(|settings| {
        if settings.ha_rules.contains_key(rule(call)) {
            return Err(Fail::die(format!("HA rule '{}' is already defined\n", rule(call))));
        }
        let mut section = Section::new();
        given(call, &mut section);
        settings.ha_rules.insert(rule(call).to_owned(), section);
        Ok(())
    });
    made.map_err(|fail| fail.within(&format!("failed to create HA rule '{}'", rule(call))))?;
    Ok(Answer::done(format!("ha rule {} created", rule(call))))
}

fn read_rule(call: &Call) -> Outcome {
    let state = call.pve.state();
    let section = state.settings.ha_rules.get(rule(call)).ok_or_else(|| missing("ha rule", rule(call)))?;
    Ok(Answer::data(entry(("rule", rule(call)), section, &digest(&state.settings.ha_rules))))
}

fn update_rule(call: &Call) -> Outcome {
    change(call, |settings| &mut settings.ha_rules, "ha rule", rule(call))
}

fn delete_rule(call: &Call) -> Outcome {
    call.pve.change_settings(|settings| {
        settings.ha_rules.remove(rule(call));
        Ok(())
    })?;
    Ok(Answer::done(format!("ha rule {} removed", rule(call))))
}
