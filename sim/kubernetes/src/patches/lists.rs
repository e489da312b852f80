//! Which lists are maps or sets: the API's types say so per field, custom
//! resources in their schema.

use serde_json::Value;

use crate::kinds::Resource;

/// How the items of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// The list is one value.
    Atomic,
    /// Each item is its own key.
    Set,
    /// Items are maps with these keys.
    Map(Vec<String>),
}

/// How a field is looked at: where its kind comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// A kind of Kubernetes itself; the path names the fields above.
    Builtin(&'a str),
    /// The schema of a custom resource at this place.
    Schema(&'a Value),
}

impl<'a> Shape<'a> {
    pub(crate) fn of(resource: &'a Resource) -> Self {
        resource.custom.as_ref().map_or(Shape::Builtin(&resource.kind), |custom| Shape::Schema(&custom.schema))
    }

    /// Of a field below this one.
    pub(crate) fn field(self, name: &'a str) -> Self {
        match self {
            // metadata is that of every kind, and no schema speaks of it.
            Shape::Schema(_) | Shape::Builtin(_) if name == "metadata" => Shape::Builtin("metadata"),
            Shape::Builtin(_) => Shape::Builtin(name),
            Shape::Schema(schema) => {
                let properties = schema.get("properties").and_then(|properties| properties.get(name));
                Shape::Schema(properties.or_else(|| schema.get("additionalProperties")).unwrap_or(&Value::Null))
            }
        }
    }

    /// Of an item of this list.
    pub(crate) fn item(self) -> Self {
        match self {
            Shape::Builtin(name) => Shape::Builtin(name),
            Shape::Schema(schema) => Shape::Schema(schema.get("items").unwrap_or(&Value::Null)),
        }
    }

    /// Whether a map here is one value.
    pub(crate) fn is_atomic_map(self) -> bool {
        match self {
            Shape::Builtin(name) => matches!(
                name,
                "selector"
                    | "nodeSelector"
                    | "secretRef"
                    | "configMapKeyRef"
                    | "secretKeyRef"
                    | "fieldRef"
                    | "resourceFieldRef"
                    | "roleRef"
                    | "labelSelector"
                    | "namespaceSelector"
                    | "podSelector"
                    | "claimRef"
                    | "nodeSelectorTerms"
                    | "scaleTargetRef"
                    | "involvedObject"
            ),
            Shape::Schema(schema) => schema.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic"),
        }
    }

    /// How the items of this list are told apart.
    pub(crate) fn list(self, items: &[Value]) -> ListKind {
        let keys = |names: &[&str]| ListKind::Map(names.iter().map(|name| (*name).to_owned()).collect());
        let name = match self {
            Shape::Schema(schema) => {
                return match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                    Some("set") => ListKind::Set,
                    Some("map") => {
                        let keys = crate::document::list(schema, "/x-kubernetes-list-map-keys");
                        ListKind::Map(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                    }
                    _ => ListKind::Atomic,
                };
            }
            Shape::Builtin(name) => name,
        };
        let has = |key: &str| items.iter().any(|item| item.get(key).is_some());
        match name {
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "env"
            | "volumes"
            | "imagePullSecrets"
            | "secrets"
            | "webhooks"
            | "resourceClaims"
            | "validations"
            | "matchConditions" => keys(&["name"]),
            "ports" if has("containerPort") => keys(&["containerPort", "protocol"]),
            "ports" if has("port") && !has("endpoints") => keys(&["port", "protocol"]),
            "volumeMounts" => keys(&["mountPath"]),
            "volumeDevices" => keys(&["devicePath"]),
            "hostAliases" | "podIPs" | "hostIPs" => keys(&["ip"]),
            "conditions" | "addresses" if has("type") => keys(&["type"]),
            "topologySpreadConstraints" => keys(&["topologyKey", "whenUnsatisfiable"]),
            "ownerReferences" => keys(&["uid"]),
            "finalizers" | "accessModes" => ListKind::Set,
            _ => ListKind::Atomic,
        }
    }

    /// The one key by which strategic merge patches tell items apart.
    pub(crate) fn merge_key(self, items: &[Value]) -> ListKind {
        if matches!(self, Shape::Builtin("taints")) {
            return ListKind::Map(vec!["key".to_owned()]);
        }
        match self.list(items) {
            ListKind::Map(mut keys) => {
                keys.truncate(1);
                ListKind::Map(keys)
            }
            // Access modes are a set for owners of fields and one value for patches.
            ListKind::Set if matches!(self, Shape::Builtin("accessModes")) => ListKind::Atomic,
            other => other,
        }
    }
}

/// Whether two items are the same one.
pub(crate) fn same(keys: &[String], one: &Value, other: &Value) -> bool {
    keys.iter().all(|key| key_of(one, key) == key_of(other, key))
}

/// A key with its default: ports speak TCP unless they say otherwise.
pub(crate) fn key_of(item: &Value, key: &str) -> Value {
    match item.get(key) {
        None if key == "protocol" => "TCP".into(),
        found => found.cloned().unwrap_or(Value::Null),
    }
}
