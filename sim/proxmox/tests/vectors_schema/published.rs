//! Every parameter of every endpoint that is published, and that what it forbids is refused.

use std::collections::{BTreeMap, BTreeSet};

use emhost_sim_proxmox::Release;
use emhost_sim_proxmox::schema::{Given, GroupsParam, Permission, Shape, UserParam, find};
use serde_json::{Value as Json, json};

use crate::call;
use crate::dump::{Dump, Published};
use crate::values::{MISSING, UNDEFINED, acceptable, inner_refusals, refusals, sample};

/// Parameters that newer code takes than the one whose schema was dumped.
fn newer(release: Release, path: &str, name: &str) -> bool {
    release == Release::V9 && path == "/access/users/{userid}/token/{tokenid}" && name == "regenerate"
}

#[test]
fn every_endpoint_has_the_parameters_that_are_published() {
    let Some(dump) = Dump::read() else { return };
    let mut wrong = Vec::new();
    for Published { release, whose, parameters, endpoint, ours } in dump.common() {
        let names: BTreeSet<&str> = ours.params.keys().map(AsRef::as_ref).filter(|name| !newer(release, ours.path, name)).collect();
        let expected: BTreeSet<&str> = parameters.keys().map(String::as_str).collect();
        if names != expected {
            wrong.push(format!("{whose}: {:?}", names.symmetric_difference(&expected).collect::<Vec<_>>()));
        }
        for (name, parameter) in &parameters {
            let Some(field) = ours.params.get(name.as_str()) else { continue };
            let kind = format!("{:?}", field.kind());
            let expected = match parameter["type"].as_str().unwrap_or("string") {
                "integer" => "Integer",
                "number" => "Number",
                "boolean" => "Flag",
                "array" => "List",
                _ => "Text",
            };
            let is_list = matches!(field.form(), Some(Shape::List(_)));
            let wants_list = parameter["format"].as_str().is_some_and(|format| format.ends_with("-list"));
            let optional = parameter["optional"] == true;
            if kind != expected || field.is_optional() != optional || is_list != wants_list {
                wrong.push(format!("{whose} {name}: {field:?} is not {parameter}"));
            }
        }
        let facts = [
            ("proxied", ours.proxied, endpoint["proxyto"] == "node"),
            ("task", ours.returns_upid, endpoint["returns_upid"] == true),
            ("token", ours.allow_token, endpoint["allowtoken"] == true),
            ("extra", ours.extra_params, endpoint["additionalProperties"] == true),
        ];
        wrong.extend(facts.iter().filter(|(_, ours, theirs)| ours != theirs).map(|fact| format!("{whose}: {fact:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A permission as the dump writes it.
fn written(permission: &Permission) -> Json {
    let all = |word: &str, parts: &[Permission]| Json::Array([json!(word)].into_iter().chain(parts.iter().map(written)).collect());
    match permission {
        Permission::World => json!("world"),
        Permission::User | Permission::Handler => json!("all"),
        Permission::Root => json!("root"),
        Permission::Check { path, privileges, any, require_param } => {
            let mut check = vec![json!("perm"), json!(path), json!(privileges)];
            if *any {
                check.extend([json!("any"), json!(1)]);
            }
            if let Some(name) = require_param {
                check.extend([json!("require_param"), json!(name)]);
            }
            Json::Array(check)
        }
        Permission::And(parts) => all("and", parts),
        Permission::Or(parts) => all("or", parts),
        Permission::UserParam(UserParam::Own) => json!(["userid-param", "self"]),
        Permission::UserParam(UserParam::AllocateUser) => json!(["userid-param", "Realm.AllocateUser"]),
        Permission::UserGroups { privileges, groups: GroupsParam::Ignored } => json!(["userid-group", privileges]),
        Permission::UserGroups { privileges, groups: GroupsParam::Create } => {
            json!(["userid-group", privileges, "groups_param", "create"])
        }
        Permission::UserGroups { privileges, groups: GroupsParam::Update } => {
            json!(["userid-group", privileges, "groups_param", "update"])
        }
        Permission::ModifyAcl(path) => json!(["perm-modify", path]),
    }
}

#[test]
fn every_endpoint_asks_for_the_privileges_that_are_published() {
    let Some(dump) = Dump::read() else { return };
    let mut wrong = Vec::new();
    for Published { whose, endpoint, ours, .. } in dump.common() {
        let theirs = &endpoint["permissions"];
        let expected = match (theirs["user"].as_str(), theirs.get("check")) {
            (Some(user), _) => json!(user),
            (None, Some(check)) => check.clone(),
            (None, None) => json!("root"),
        };
        if written(&ours.permission) != expected {
            wrong.push(format!("{whose}: {:?} is not {theirs}", ours.permission));
        }
        let by_code = theirs["user"] == "all" && theirs["extra_checks_in_code"] == true;
        if (ours.permission == Permission::Handler) != by_code {
            wrong.push(format!("{whose}: {:?}, {theirs}", ours.permission));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_published_schema_forbids_is_refused() {
    let Some(dump) = Dump::read() else { return };
    let mut wrong = Vec::new();
    let mut tried = 0;
    for published in dump.common() {
        let Published { release, whose, parameters, ours, .. } = &published;
        let base: BTreeMap<String, Given> = parameters
            .iter()
            .filter(|(name, parameter)| parameter["optional"] != true || ours.path.contains(&format!("{{{name}}}")))
            .map(|(name, parameter)| (name.clone(), Given::Text(sample(&dump, *release, name, parameter))))
            .collect();
        let text = |name: &str| match &base[name] {
            Given::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        let segments: Vec<String> = ours
            .path
            .split('/')
            .map(|part| match part.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) => text(name),
                None => part.to_owned(),
            })
            .collect();
        let path = segments.join("/");
        assert_eq!(find(*release, ours.method, &path).map(|found| found.endpoint.path), Ok(ours.path));
        if let Err(fail) = call(*release, ours.method, &path, base.clone()) {
            wrong.push(format!("{whose}: a plain call is refused: {fail:?}"));
            continue;
        }
        let mut expect = |change: Option<(&str, Given)>, name: &str, message: &str| {
            tried += 1;
            let mut given = base.clone();
            match change {
                Some((name, value)) => given.insert(name.to_owned(), value),
                None => given.remove(name),
            };
            let outcome = call(*release, ours.method, &path, given.clone());
            let said = outcome.as_ref().err().and_then(|fail| fail.errors.get(name));
            if said.map(String::as_str) != Some(message) {
                wrong.push(format!("{whose} {name}={:?}:\n     ours {said:?}\n   theirs {message:?}", given.get(name)));
            }
        };
        if !ours.extra_params {
            expect(Some(("no-such-thing", "1".into())), "no-such-thing", UNDEFINED);
        }
        for (name, parameter) in parameters {
            if ours.path.contains(&format!("{{{name}}}")) {
                continue;
            }
            if parameter["optional"] != true {
                expect(None, name, MISSING);
                expect(Some((name, Given::Null)), name, MISSING);
            }
            let kind = parameter["type"].as_str().unwrap_or("string");
            let of_object = match kind {
                "array" => "type check ('array') failed".to_owned(),
                _ => format!("type check ('{kind}') failed - got HASH"),
            };
            expect(Some((name, Given::Object)), name, &of_object);
            for (value, message) in refusals(&dump, parameter) {
                expect(Some((name, value.into())), name, &message);
            }
            for value in acceptable(parameter) {
                let mut given = base.clone();
                given.insert(name.clone(), value.into());
                let outcome = call(*release, ours.method, &path, given);
                let said = outcome.err().and_then(|mut fail| fail.errors.remove(name));
                assert_eq!(said, None, "{whose} {name}");
            }
            // All of `scsi0` to `scsi30` are one in our tables.
            let index = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            if let Some(keys) = dump.keys(*release, parameter).filter(|_| index.is_empty() || index == "0") {
                for (value, message) in inner_refusals(&dump, *release, name, &keys) {
                    expect(Some((name, value.into())), name, &message);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 7_500, "only {tried} were tried");
}
