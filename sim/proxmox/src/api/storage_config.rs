//! `/storage`: which storages the cluster has.

use serde_json::{Value, json};

use crate::StorageSpec;
use crate::call::{Answer, Call, Outcome, Route, always, at_once};

pub(super) const ROUTES: &[Route] = &[("GET", "/storage", always!(list)), ("GET", "/storage/{storage}", at_once!(read))];

/// A section of `storage.cfg`.
fn entry(storage: &StorageSpec, digest: &str) -> Value {
    let mut entry = json!({ "storage": storage.id, "type": storage.kind, "content": storage.content.join(","), "digest": digest });
    let own: &[(&str, String)] = &match storage.kind.as_str() {
        "dir" if storage.id == "local" => vec![("path", "/var/lib/vz".to_owned())],
        "dir" => vec![("path", format!("/mnt/{}", storage.id))],
        "nfs" => {
            vec![("path", format!("/mnt/pve/{}", storage.id)), ("server", "127.0.0.1".to_owned()), ("export", format!("/{}", storage.id))]
        }
        "lvm" => vec![("vgname", storage.id.clone())],
        "lvmthin" => vec![("vgname", "pve".to_owned()), ("thinpool", "data".to_owned())],
        "zfspool" | "rbd" => vec![("pool", storage.id.clone())],
        _ => Vec::new(),
    };
    for (name, text) in own {
        entry[name] = json!(text);
    }
    if storage.shared {
        entry["shared"] = json!(1);
    }
    if storage.disabled {
        entry["disable"] = json!(1);
    }
    if !storage.nodes.is_empty() {
        entry["nodes"] = json!(storage.nodes.join(","));
    }
    entry
}

fn digest(call: &Call) -> String {
    super::digest(&json!(call.pve.spec.storages).to_string())
}

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let wanted = call.params.text("type");
    let seen = |storage: &&StorageSpec| {
        let path = format!("/storage/{}", storage.id);
        wanted.is_none_or(|kind| storage.kind == kind)
            && state.access.allows_any(&call.who, &path, &["Datastore.Audit", "Datastore.AllocateSpace"])
    };
    let digest = digest(call);
    Answer::data(state.storages.specs().filter(seen).map(|storage| entry(storage, &digest)).collect::<Vec<_>>())
}

fn read(call: &Call) -> Outcome {
    let state = call.pve.state();
    let storage = state.storages.spec(call.params.text("storage").unwrap_or_default())?;
    Ok(Answer::data(entry(storage, &digest(call))))
}
