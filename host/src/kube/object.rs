//! Objects of Kubernetes as the host names, marks and orders them. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The label with the random id of the cluster that an object belongs to.
pub const CLUSTER: &str = "emhost.dev/cluster";
/// The label with the addon that an object belongs to.
pub const ADDON: &str = "emhost.dev/addon";
/// The annotation of an object that was there before: it is kept in shape, and never deleted.
pub const ADOPTED: &str = "emhost.dev/adopted";

/// Which object: what does not change as long as it is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Id {
    /// Group and version, for example `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty where it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Id {
    /// Reads what an object says of itself. None of what is no object with a name.
    pub fn of(value: &Value) -> Option<Self> {
        let word = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|word| !word.is_empty());
        let id = Self {
            api_version: word("/apiVersion")?.to_owned(),
            kind: word("/kind")?.to_owned(),
            namespace: word("/metadata/namespace").unwrap_or_default().to_owned(),
            name: word("/metadata/name")?.to_owned(),
        };
        Some(id).filter(Self::is_sound)
    }

    /// Whether every part of it can be a part of a path, and leads nowhere else.
    pub fn is_sound(&self) -> bool {
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        let climbs = |part: &str| part.split('/').any(|part| matches!(part, "." | ".."));
        let version = match self.api_version.split_once('/') {
            Some((group, version)) => plain(group) && plain(version),
            None => plain(&self.api_version),
        };
        let name = !self.name.is_empty() && !self.name.contains(['/', '%']) && !self.name.chars().any(char::is_control);
        let namespace = self.namespace.is_empty() || plain(&self.namespace);
        let still = !climbs(&self.api_version) && !climbs(&self.namespace) && !climbs(&self.name);
        version && namespace && name && still && plain(&self.kind)
    }

    /// The group of its kind; empty for the core.
    pub fn group(&self) -> &str {
        group(&self.api_version)
    }

    /// Whether both are the same object, in whatever version.
    pub fn is(&self, other: &Self) -> bool {
        self.is_but_for_namespace(other) && self.namespace == other.namespace
    }

    /// The same where one of the two does not know whether its kind has namespaces.
    pub fn is_but_for_namespace(&self, other: &Self) -> bool {
        self.group() == other.group() && self.kind == other.kind && self.name == other.name
    }

    /// How people call it.
    pub fn title(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{} {}", self.kind, self.name),
            namespace => format!("{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// The group of an `apiVersion`.
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Text at a place; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A list at a place.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What proves an object: another one of its name has another one.
pub fn uid(live: &Value) -> &str {
    text(live, "/metadata/uid")
}

/// Whether it was told to go.
pub fn is_leaving(live: &Value) -> bool {
    !text(live, "/metadata/deletionTimestamp").is_empty()
}

/// Whether it was there before emhost.
pub fn is_adopted(live: &Value) -> bool {
    live.pointer("/metadata/annotations").is_some_and(|all| all.get(ADOPTED).is_some())
}

/// What the objects of one addon carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The cluster's random id.
    pub cluster: &'a str,
    /// The addon.
    pub addon: &'a str,
}

/// To whom an object belongs by its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// It carries no mark.
    Nobody,
    /// This addon.
    Ours,
    /// Another addon of this cluster.
    Addon(String),
    /// Another cluster.
    Cluster(String),
}

impl Mark<'_> {
    /// To whom an object belongs.
    pub fn whose(&self, live: &Value) -> Whose {
        let label = |key: &str| live.pointer("/metadata/labels").and_then(|all| all.get(key)).and_then(Value::as_str);
        match (label(CLUSTER), label(ADDON)) {
            (None, _) => Whose::Nobody,
            (Some(cluster), _) if cluster != self.cluster => Whose::Cluster(cluster.to_owned()),
            (Some(_), Some(addon)) if addon == self.addon => Whose::Ours,
            (Some(_), addon) => Whose::Addon(addon.unwrap_or_default().to_owned()),
        }
    }

    /// Puts the mark on an object that is about to be applied.
    pub fn put(&self, value: &mut Value, adopted: bool) {
        entry(value, "labels", CLUSTER, self.cluster);
        entry(value, "labels", ADDON, self.addon);
        if adopted {
            entry(value, "annotations", ADOPTED, "true");
        }
    }
}

fn entry(value: &mut Value, map: &str, key: &str, text: &str) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let all = metadata.entry(map).or_insert_with(|| json!({}));
    if !all.is_object() {
        *all = Value::Object(Map::new());
    }
    if let Some(all) = all.as_object_mut() {
        all.insert(key.to_owned(), text.into());
    }
}

/// What takes the mark off an object that stays when its addon goes.
pub fn release(live: &Value) -> Value {
    json!({"metadata": {"uid": uid(live), "labels": {CLUSTER: null, ADDON: null}, "annotations": {ADOPTED: null}}})
}

/// Groups that the API server brings itself; every other one was defined by somebody.
const BUILTIN: [&str; 22] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// When an object is applied among those of its stage: what others need comes first.
pub fn rank(id: &Id) -> u8 {
    match (id.group(), id.kind.as_str()) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
        ("apps" | "batch", _) | ("", "Pod" | "ReplicationController") => 3,
        // Before what they guard is served, they would refuse everything.
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => 4,
        (group, _) if !BUILTIN.contains(&group) => 5,
        _ => 2,
    }
}

/// In which round an object goes: what has a controller to clean up after it goes while that is there.
pub fn round(id: &Id) -> u8 {
    match rank(id) {
        5 => 0,
        1 => 2,
        0 => 3,
        _ => 1,
    }
}

/// What else goes with an object for good, in words.
pub fn loses(id: &Id) -> Option<&'static str> {
    match (id.group(), id.kind.as_str()) {
        ("", "PersistentVolumeClaim") => Some("the data on its volume goes with it"),
        ("", "PersistentVolume") => Some("the data on it may go with it"),
        ("", "Namespace") => Some("everything in it goes with it, whoever put it there"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some("every object of this kind goes with it, whoever made it"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(api_version: &str, kind: &str) -> Id {
        Id { api_version: api_version.to_owned(), kind: kind.to_owned(), namespace: String::new(), name: "x".to_owned() }
    }

    #[test]
    fn an_object_is_the_same_in_every_version() {
        let value = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "a"}});
        let one = Id::of(&value).expect("an object");
        let other = Id { api_version: "apps/v1beta1".to_owned(), ..one.clone() };
        assert!(one.is(&other) && one != other);
        assert_eq!((one.title().as_str(), one.group()), ("Deployment a/web", "apps"));
        assert!(!one.is(&Id { namespace: "b".to_owned(), ..one.clone() }));
        assert_eq!(Id::of(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}})), None);
        assert_eq!(Id::of(&json!([1])), None);
        let object = |version: &str, namespace: &str, name: &str| {
            Id::of(&json!({"apiVersion": version, "kind": "Role", "metadata": {"name": name, "namespace": namespace}})).is_some()
        };
        assert!(object("rbac.authorization.k8s.io/v1", "a", "system:a"));
        for (version, namespace, name) in
            [("v1/../x", "a", "b"), ("..", "a", "b"), ("v1", "..", "b"), ("v1", "a/b", "b"), ("v1", "a", ".."), ("v1", "a", "b/c")]
        {
            assert!(!object(version, namespace, name), "{version} {namespace} {name}");
        }
    }

    #[test]
    fn the_mark_says_to_whom_it_belongs() {
        let mark = Mark { cluster: "4711", addon: "web" };
        let mut value = json!({"metadata": {"name": "x", "labels": null}});
        assert_eq!(mark.whose(&value), Whose::Nobody);
        mark.put(&mut value, false);
        assert_eq!((mark.whose(&value), is_adopted(&value)), (Whose::Ours, false));
        assert_eq!(Mark { addon: "other", ..mark }.whose(&value), Whose::Addon("web".to_owned()));
        assert_eq!(Mark { cluster: "1", ..mark }.whose(&value), Whose::Cluster("4711".to_owned()));
        mark.put(&mut value, true);
        assert!(is_adopted(&value));
    }

    #[test]
    fn what_others_need_comes_first_and_goes_last() {
        let all = [
            id("cilium.io/v2", "CiliumNetworkPolicy"),
            id("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            id("apps/v1", "Deployment"),
            id("v1", "ConfigMap"),
            id("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            id("v1", "Namespace"),
            id("gateway.networking.k8s.io/v1", "Gateway"),
        ];
        assert_eq!(all.each_ref().map(rank), [5, 4, 3, 2, 1, 0, 5]);
        assert_eq!(all.each_ref().map(round), [0, 1, 1, 1, 2, 3, 0]);
        assert!(loses(&all[4]).is_some() && loses(&all[3]).is_none());
    }
}
