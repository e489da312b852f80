//! The pieces that stages are made of.

use emhost_sdk::Document;
use emhost_sdk::addon::{Chart, Stage, Wait};
use serde_json::{Map, Value, json};

/// How long a workload may take: images are fetched on the way.
const PATIENCE_MS: u32 = 10 * 60 * 1000;

/// A stage without anything.
pub fn stage(name: &str) -> Stage {
    Stage { name: name.to_owned(), manifests: Vec::new(), sources: Vec::new(), charts: Vec::new(), waits: Vec::new() }
}

/// An object, as the host takes it.
pub fn document(object: &Value) -> Document {
    let word = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_lowercase();
    // Names of roles have colons in them.
    let name = format!("{}-{}.json", word("/kind"), word("/metadata/name").replace(':', "-"));
    Document { name, media_type: "application/json".to_owned(), body: object.to_string(), sensitive: false }
}

/// What pods in a namespace may do, by the words of Kubernetes. Talos enforces `baseline` where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freedom {
    /// What Talos says.
    Usual,
    /// Everything: host paths, host ports and devices.
    Privileged,
    /// As little as possible.
    Restricted,
}

/// A namespace.
pub fn namespace(name: &str, freedom: Freedom) -> Value {
    let level = match freedom {
        Freedom::Usual => return json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        Freedom::Privileged => "privileged",
        Freedom::Restricted => "restricted",
    };
    let labels: Map<String, Value> =
        ["enforce", "audit", "warn"].iter().map(|what| (format!("pod-security.kubernetes.io/{what}"), json!(level))).collect();
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

/// A secret of Kubernetes whose values are secrets of the site, which the host puts in: pairs of key and name.
pub fn secret(namespace: &str, name: &str, values: &[(&str, &str)]) -> Value {
    let data: Map<String, Value> = values.iter().map(|(key, of)| ((*key).to_owned(), json!(format!("emhost-secret:{of}")))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "Opaque",
        "stringData": data,
    })
}

/// A chart that is pinned by the lock file when it is first seen.
pub fn chart(release: &str, namespace: &str, reference: &str, version: &str, values: &Value) -> Chart {
    Chart {
        release: release.to_owned(),
        namespace: namespace.to_owned(),
        reference: reference.to_owned(),
        version: version.to_owned(),
        digest: None,
        values: values.to_string(),
    }
}

/// A workload or another object in a namespace that has to be as its condition says.
pub fn wait(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, condition: &str) -> Wait {
    Wait {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
        condition: condition.to_owned(),
        timeout_ms: PATIENCE_MS,
    }
}

/// A deployment of which enough pods run.
pub fn deployment(namespace: &str, name: &str) -> Wait {
    wait("apps/v1", "Deployment", Some(namespace), name, "Available")
}

/// A daemon set that runs on every node that it is for.
pub fn daemon_set(namespace: &str, name: &str) -> Wait {
    wait("apps/v1", "DaemonSet", Some(namespace), name, "Ready")
}

/// A stateful set of which every pod runs.
pub fn stateful_set(namespace: &str, name: &str) -> Wait {
    wait("apps/v1", "StatefulSet", Some(namespace), name, "Ready")
}
