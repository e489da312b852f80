//! Enough of `OpenAPI` v3 for kubectl to know that the server checks fields
//! itself, and which requests can be tried without effect.

use serde_json::{Map, Value, json};

use crate::kinds::Resource;
use crate::world::World;

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// `/openapi/v3`.
pub(crate) fn index(world: &World) -> Value {
    let mut paths = Map::new();
    for (group, versions) in world.kinds.groups() {
        for version in versions {
            let path = path_of(&group, &version);
            paths.insert(path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={}", world.kinds.all().count())}));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v3/<group and version>`.
pub(crate) fn document(world: &World, path: &str) -> Option<Value> {
    let kinds: Vec<&Resource> =
        world.kinds.all().filter(|one| path_of(&one.group, &one.version) == path && !one.only_create).map(|one| &**one).collect();
    if kinds.is_empty() {
        return None;
    }
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for one in kinds {
        let scope = if one.namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = format!("/{path}{scope}/{}", one.plural);
        paths.insert(format!("{collection}/{{name}}"), json!({"get": operation(one, "get"), "put": operation(one, "put"), "patch": operation(one, "patch"), "delete": operation(one, "delete")}));
        paths.insert(collection, json!({"get": operation(one, "list"), "post": operation(one, "post")}));
        schemas.insert(name_of(one), schema(one));
    }
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": world.settings.version}, "paths": paths,
        "components": {"schemas": schemas},
    }))
}

fn name_of(one: &Resource) -> String {
    let group = if one.group.is_empty() { "core" } else { one.group.as_str() };
    let reversed: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{}.{}", reversed.join("."), one.version, one.kind)
}

fn schema(one: &Resource) -> Value {
    let gvk = json!([{"group": one.group, "version": one.version, "kind": one.kind}]);
    match &one.custom {
        Some(custom) if custom.schema.is_object() => {
            let mut schema = custom.schema.clone();
            schema["x-kubernetes-group-version-kind"] = gvk;
            schema
        }
        _ => json!({
            "type": "object", "x-kubernetes-group-version-kind": gvk, "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}},
        }),
    }
}

fn operation(one: &Resource, verb: &str) -> Value {
    let action = match verb {
        "get" | "list" | "patch" | "delete" => verb,
        "put" => "put",
        _ => "post",
    };
    let parameter = |name: &&str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let parameters: Vec<Value> = match verb {
        "post" | "put" => ["dryRun", "fieldManager", "fieldValidation", "pretty"].iter().map(parameter).collect(),
        "patch" => ["dryRun", "fieldManager", "fieldValidation", "force", "pretty"].iter().map(parameter).collect(),
        "delete" => ["dryRun", "gracePeriodSeconds", "propagationPolicy", "pretty"].iter().map(parameter).collect(),
        _ => vec![parameter(&"pretty")],
    };
    json!({
        "operationId": format!("{verb}{}{}{}", one.group.replace('.', ""), one.version, one.kind),
        "parameters": parameters, "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": one.group, "version": one.version, "kind": one.kind},
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{}", name_of(one))}}}}},
    })
}
