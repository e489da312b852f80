//! Whether a namespace takes new objects.

use serde_json::json;

use crate::document::text;
use crate::failure::{Failure, Outcome};
use crate::kinds::Resource;
use crate::world::World;

/// Refuses what would go into a namespace that is not there or on its way out.
pub(crate) fn accepts(world: &World, resource: &Resource, namespace: &str, name: &str) -> Outcome<()> {
    let Some(found) = world.objects.find("namespaces", "", namespace) else {
        let namespaces = world.kinds.by_sort("namespaces");
        return Err(namespaces.map_or_else(Failure::no_such_path, |kind| Failure::not_found(&kind, namespace)));
    };
    if text(found, "/status/phase") == "Terminating" {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut failure = Failure::forbidden(resource, name, &why);
        if let Some(details) = &mut failure.details {
            details["causes"] = json!([{"reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"}]);
        }
        return Err(failure);
    }
    Ok(())
}
