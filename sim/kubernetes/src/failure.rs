//! Refusals in the words and shapes of a real API server.

use serde_json::{Value, json};

use crate::kinds::Resource;

/// One thing that is wrong with an object.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    /// Such as `FieldValueRequired`.
    pub(crate) reason: &'static str,
    /// Such as `Required value`.
    pub(crate) message: String,
    /// Such as `spec.selector`.
    pub(crate) field: String,
}

impl Cause {
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self { reason: "FieldValueInvalid", message: format!("Invalid value: {value}: {why}"), field: field.into() }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list = supported.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ");
        Self {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {value}: supported values: {list}"),
            field: field.into(),
        }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueDuplicate", message: format!("Duplicate value: {value}"), field: field.into() }
    }

    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.into() }
    }

    pub(crate) fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueNotFound", message: format!("Not found: {value}"), field: field.into() }
    }
}

/// An answer that is a `Status` of failure.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
}

pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        let mut details = json!({"kind": resource.plural});
        if !name.is_empty() {
            details["name"] = name.into();
        }
        if !resource.group.is_empty() {
            details["group"] = resource.group.as_str().into();
        }
        self.details = Some(details);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// A path that is none.
    pub(crate) fn no_such_path() -> Self {
        let mut failure = Self::new(404, "NotFound", "the server could not find the requested resource");
        failure.details = Some(json!({}));
        failure
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified())).about(resource, name)
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified())).about(resource, name)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified()))
            .about(resource, name)
    }

    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(resource, name, "the object has been modified; please apply your changes to the latest version and try again")
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let subject = if name.is_empty() { resource.qualified() } else { format!("{} \"{name}\"", resource.qualified()) };
        Self::new(403, "Forbidden", format!("{subject} is forbidden: {why}")).about(resource, name)
    }

    pub(crate) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        let texts: Vec<_> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let list = if let [one] = texts.as_slice() { one.clone() } else { format!("[{}]", texts.join(", ")) };
        let kind = if resource.group.is_empty() { resource.kind.clone() } else { format!("{}.{}", resource.kind, resource.group) };
        let mut failure = Self::new(422, "Invalid", format!("{kind} \"{name}\" is invalid: {list}")).about(resource, name);
        if let Some(details) = &mut failure.details {
            details["kind"] = resource.kind.as_str().into();
            details["causes"] =
                causes.iter().map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field})).collect();
        }
        failure
    }

    pub(crate) fn method_not_allowed() -> Self {
        let mut failure = Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
        failure.details = Some(json!({}));
        failure
    }

    pub(crate) fn not_supported(resource: &Resource, verb: &str) -> Self {
        Self::new(405, "MethodNotAllowed", format!("{verb} is not supported on resources of kind \"{}\"", resource.qualified()))
            .about(resource, "")
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        let mut failure = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        failure.details = Some(json!({"causes": [{"message": message.to_string()}]}));
        failure
    }

    /// The answer's body.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if self.reason.is_empty() {
            crate::document::remove(&mut body, "/reason");
        }
        if let Some(details) = &self.details {
            body["details"] = details.clone();
        }
        body
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error)
    }
}
