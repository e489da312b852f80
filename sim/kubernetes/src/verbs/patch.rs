//! Changing a part of an object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Asked, create, update};
use crate::document::{list, text};
use crate::failure::{Failure, Outcome};
use crate::patches::apply::{self, Writer};
use crate::patches::lists::Shape;
use crate::patches::{json as operations, merge, strategic};
use crate::world::World;

/// The ways to say what is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        Some(match content_type {
            "application/json-patch+json" => Self::Json,
            "application/merge-patch+json" => Self::Merge,
            "application/strategic-merge-patch+json" => Self::Strategic,
            "application/apply-patch+yaml" | "application/apply-patch+json" => Self::Apply,
            _ => return None,
        })
    }
}

/// PATCH. The answer says whether the object is new.
pub(crate) fn patch(world: &mut World, asked: &Asked, kind: PatchKind, patch: &Value) -> Outcome<(Arc<Value>, bool)> {
    if kind == PatchKind::Apply {
        return applied(world, asked, patch);
    }
    let Some(live) = world.objects.get(&asked.key()).cloned() else {
        return Err(Failure::not_found(&asked.resource, &asked.name));
    };
    let mut object = (*live).clone();
    // A patch is in the words of the version it is sent to.
    object["apiVersion"] = asked.resource.api_version().into();
    change(asked, kind, patch, &mut object)?;
    create::fitting(asked, &mut object)?;
    if text(&object, "/metadata/resourceVersion") != text(&live, "/metadata/resourceVersion") {
        return Err(Failure::modified(&asked.resource, &asked.name));
    }
    Ok((update::replace(world, asked, &live, object, true)?, false))
}

/// Applies a patch that is none of server-side apply.
pub(crate) fn change(asked: &Asked, kind: PatchKind, patch: &Value, object: &mut Value) -> Outcome<()> {
    match kind {
        PatchKind::Json => operations::apply(object, patch).map_err(|error| {
            let mut failure = Failure::new(422, "Invalid", "the server rejected our request due to an error in our request");
            failure.details = Some(json!({"causes": [{"message": error}]}));
            failure
        }),
        PatchKind::Merge => {
            merge(object, patch);
            Ok(())
        }
        PatchKind::Strategic if asked.resource.custom.is_some() => Err(Failure::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        PatchKind::Strategic | PatchKind::Apply => {
            strategic::apply(object, patch, Shape::of(&asked.resource)).map_err(Failure::bad_request)
        }
    }
}

fn applied(world: &mut World, asked: &Asked, patch: &Value) -> Outcome<(Arc<Value>, bool)> {
    let resource = &asked.resource;
    if asked.option("fieldManager").is_empty() {
        let cause = crate::failure::Cause::required("fieldManager", "is required for apply patch");
        let mut failure =
            Failure::new(422, "Invalid", format!("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: {}", cause.message));
        failure.details = Some(
            json!({"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}]}),
        );
        return Err(failure);
    }
    let mut applied = patch.clone();
    create::fitting(asked, &mut applied)?;
    if !list(&applied, "/metadata/managedFields").is_empty() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let live = world.objects.get(&asked.key()).cloned();
    if let (Some(live), asked_version) = (&live, text(&applied, "/metadata/resourceVersion"))
        && !asked_version.is_empty()
        && asked_version != text(live, "/metadata/resourceVersion")
    {
        return Err(Failure::modified(resource, &asked.name));
    }
    let version = resource.api_version();
    let writer = Writer { manager: asked.option("fieldManager"), version: &version, subresource: &asked.subresource };
    let before = live.as_deref().cloned().unwrap_or(Value::Null);
    let merged = apply::apply(&before, &applied, Shape::of(resource), writer, asked.says("force")).map_err(|conflicts| {
        let mut failure = Failure::new(409, "Conflict", apply::told(&conflicts));
        let cause = |one: &apply::Conflict| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", one.manager), "field": one.field})
        };
        failure.details = Some(json!({"causes": conflicts.iter().map(cause).collect::<Vec<_>>()}));
        failure
    })?;
    match live {
        Some(live) => Ok((update::replace(world, asked, &live, merged, false)?, false)),
        None if !asked.subresource.is_empty() => Err(Failure::not_found(resource, &asked.name)),
        None => {
            let mut merged = merged;
            create::prepare(world, resource, &mut merged)?;
            Ok((create::finish_new(world, asked, merged)?, true))
        }
    }
}
