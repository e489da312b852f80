//! How storages are.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::StorageSpec;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::State;
use crate::schema::list;
use crate::storage::Kind;

/// What is said about one storage; nothing where it is not asked for.
pub(super) fn info(state: &State, host: &str, spec: &StorageSpec, content: Option<&str>) -> Option<Value> {
    let enabled = state.storages.enabled(&spec.id, host).is_ok();
    if let Some(content) = content {
        let wanted = list::split(content).iter().any(|kind| spec.content.contains(kind));
        if !wanted || !enabled {
            return None;
        }
    }
    let space = state.storages.space(host, spec);
    let (total, used, free) = if enabled { (space.total, space.used, space.free()) } else { (0, 0, 0) };
    Some(json!({
        "type": spec.kind,
        "content": spec.content.join(","),
        "total": total,
        "used": used,
        "avail": free,
        "shared": u8::from(spec.shared),
        "active": u8::from(enabled),
        "enabled": u8::from(enabled),
    }))
}

/// GET of all storages.
pub(super) fn list(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node(), &call.params);
        let state = call.pve.state();
        let content = params.text("content");
        if let Some(id) = params.text("storage") {
            let known = state.storages.spec(id).ok().and_then(|spec| info(&state, host, spec, content));
            known.ok_or_else(|| Fail::param("storage", "No such storage."))?;
        }
        let target = params.text("target").filter(|target| *target != host && *target != "localhost");
        let mut items = Vec::new();
        for spec in state.storages.specs() {
            let path = format!("/storage/{}", spec.id);
            if !state.access.allows_any(&call.who, &path, &["Datastore.Audit", "Datastore.AllocateSpace"]) {
                continue;
            }
            if params.text("storage").is_some_and(|id| id != spec.id) || params.flag("enabled") == Some(true) && spec.disabled {
                continue;
            }
            let reaches = |node: &str| spec.nodes.is_empty() || spec.nodes.iter().any(|on| on == node);
            if target.is_some_and(|target| !spec.shared || !reaches(host) || !reaches(target)) {
                continue;
            }
            let Some(mut item) = info(&state, host, spec, content) else { continue };
            item["storage"] = json!(spec.id);
            let (total, used) = (item["total"].as_f64().unwrap_or(0.0), item["used"].as_f64().unwrap_or(0.0));
            if total > 0.0 {
                item["used_fraction"] = json!(used / total);
            }
            if params.flag("format") == Some(true) {
                let formats: Vec<&str> = if spec.has_path() { vec!["raw", "qcow2", "vmdk"] } else { vec!["raw"] };
                let set: serde_json::Map<String, Value> = formats.iter().map(|name| ((*name).to_owned(), json!(1))).collect();
                item["format"] = json!([set, spec.default_format()]);
            }
            items.push(item);
        }
        Ok(Answer::data(Value::Array(items)))
    })
}

/// GET of what there is about one storage.
pub(super) fn index(call: Call) -> BoxFuture<'static, Outcome> {
    drop(call);
    let names = ["content", "download-url", "file-restore", "import-metadata", "prunebackups", "rrd", "rrddata", "status", "upload"];
    Box::pin(async move { Ok(Answer::data(names.iter().map(|name| json!({ "subdir": name })).collect::<Value>())) })
}

/// GET of one storage.
pub(super) fn status(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let state = call.pve.state();
        let spec = state.storages.spec(call.params.text("storage").unwrap_or_default()).ok();
        let found = spec.and_then(|spec| info(&state, call.params.node(), spec, None));
        found.map(Answer::data).ok_or_else(|| Fail::param("storage", "No such storage."))
    })
}
