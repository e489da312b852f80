//! What a client learns before it asks for anything: groups, kinds, schemas.

pub(crate) mod openapi;

use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::world::World;

/// `/api`.
pub(crate) fn core(address: &str) -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]})
}

/// `/apis`.
pub(crate) fn groups(world: &World) -> Value {
    let groups: Vec<Value> =
        world.kinds.groups().iter().filter(|(group, _)| !group.is_empty()).map(|(group, versions)| group_of(group, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`.
pub(crate) fn group(world: &World, group: &str) -> Option<Value> {
    let (group, versions) = world.kinds.groups().into_iter().find(|(name, _)| name == group && !group.is_empty())?;
    let mut told = group_of(&group, &versions);
    told["kind"] = "APIGroup".into();
    told["apiVersion"] = "v1".into();
    Some(told)
}

fn group_of(group: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let list: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": group, "versions": list, "preferredVersion": list[0]})
}

/// `/api/v1` and `/apis/<group>/<version>`.
pub(crate) fn version(world: &World, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for one in world.kinds.all().filter(|one| one.group == group && one.version == version) {
        let mut entry =
            json!({"name": one.plural, "singularName": one.singular, "namespaced": one.namespaced, "kind": one.kind, "verbs": one.verbs()});
        if !one.short.is_empty() {
            entry["shortNames"] = one.short.clone().into();
        }
        if !one.categories.is_empty() {
            entry["categories"] = one.categories.clone().into();
        }
        if !one.only_create {
            entry["storageVersionHash"] = hash(&one.sort).into();
        }
        resources.push(entry);
        for part in &one.subresources {
            let (group, version, kind, verbs) = subresource(one, part);
            let mut entry = json!({"name": format!("{}/{part}", one.plural), "singularName": "", "namespaced": one.namespaced, "kind": kind, "verbs": verbs});
            if (group, version) != (one.group.as_str(), one.version.as_str()) {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            resources.push(entry);
        }
    }
    if resources.is_empty() {
        return None;
    }
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}))
}

fn hash(sort: &str) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    base64::engine::general_purpose::STANDARD.encode(&sha2::Sha256::digest(sort)[..8])
}

/// Group, version, kind and verbs of a part of an object.
fn subresource<'a>(resource: &'a Resource, part: &str) -> (&'a str, &'a str, &'a str, &'static [&'static str]) {
    let own = (resource.group.as_str(), resource.version.as_str());
    let change = &["get", "patch", "update"][..];
    match part {
        "scale" => ("autoscaling", "v1", "Scale", change),
        "eviction" => ("policy", "v1", "Eviction", &["create"]),
        "token" => ("authentication.k8s.io", "v1", "TokenRequest", &["create"]),
        "binding" => (own.0, own.1, "Binding", &["create"]),
        "log" => (own.0, own.1, "Pod", &["get"]),
        "exec" => (own.0, own.1, "PodExecOptions", &["create", "get"]),
        "attach" => (own.0, own.1, "PodAttachOptions", &["create", "get"]),
        "portforward" => (own.0, own.1, "PodPortForwardOptions", &["create", "get"]),
        "finalize" => (own.0, own.1, &resource.kind, &["update"]),
        _ => (own.0, own.1, &resource.kind, change),
    }
}

/// Everything of `/api` or `/apis` at once, as clients ask for it today.
pub(crate) fn aggregated(world: &World, core: bool) -> Value {
    let mut items = Vec::new();
    for (group, versions) in world.kinds.groups().iter().filter(|(group, _)| group.is_empty() == core) {
        let version = |version: &String| {
            let kinds = world.kinds.all().filter(|one| one.group == *group && one.version == *version);
            let resources: Vec<Value> = kinds.map(|one| aggregated_resource(one)).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        };
        let list: Vec<Value> = versions.iter().map(version).collect();
        let metadata =
            if group.is_empty() { json!({"creationTimestamp": null}) } else { json!({"name": group, "creationTimestamp": null}) };
        items.push(json!({"metadata": metadata, "versions": list}));
    }
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_resource(one: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut entry = json!({
        "resource": one.plural, "responseKind": kind(&one.group, &one.version, &one.kind),
        "scope": if one.namespaced { "Namespaced" } else { "Cluster" }, "singularResource": one.singular, "verbs": one.verbs(),
    });
    if !one.short.is_empty() {
        entry["shortNames"] = one.short.clone().into();
    }
    if !one.categories.is_empty() {
        entry["categories"] = one.categories.clone().into();
    }
    if !one.subresources.is_empty() {
        let part = |part: &String| {
            let (group, version, name, verbs) = subresource(one, part);
            json!({"subresource": part, "responseKind": kind(group, version, name), "verbs": verbs})
        };
        entry["subresources"] = one.subresources.iter().map(part).collect();
    }
    entry
}

/// `/version`.
pub(crate) fn version_info(version: &str) -> Value {
    let plain = version.trim_start_matches('v');
    let mut parts = plain.split('.');
    let (major, minor) = (parts.next().unwrap_or("1"), parts.next().unwrap_or("0"));
    json!({
        "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor, "minCompatibilityMajor": major,
        "minCompatibilityMinor": minor.parse::<u32>().unwrap_or(1).saturating_sub(1).to_string(),
        "gitVersion": version, "gitCommit": "0000000000000000000000000000000000000000", "gitTreeState": "clean",
        "buildDate": "2025-09-09T19:37:49Z", "goVersion": "go1.24.6", "compiler": "gc", "platform": "linux/amd64",
    })
}
