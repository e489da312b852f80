//! What the server fills in and what it refuses.

pub(crate) mod custom;
pub(crate) mod defaults;
pub(crate) mod names;
pub(crate) mod namespaces;
pub(crate) mod pods;
pub(crate) mod security;
pub(crate) mod validation;

use serde_json::Value;

use crate::kinds::Resource;

/// Whether the server counts the changes to what is wanted.
pub(crate) fn has_generation(resource: &Resource) -> bool {
    resource.custom.is_some()
        || matches!(
            resource.group.as_str(),
            "apps"
                | "batch"
                | "policy"
                | "networking.k8s.io"
                | "apiextensions.k8s.io"
                | "admissionregistration.k8s.io"
                | "flowcontrol.apiserver.k8s.io"
        )
}

/// What is wanted: neither status nor metadata.
pub(crate) fn without_status(object: &Value) -> Vec<(&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(key, _)| !matches!(key.as_str(), "status" | "metadata" | "apiVersion" | "kind")).collect()
}
