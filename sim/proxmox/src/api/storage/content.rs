//! What is on a storage.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::volume_id;
use crate::api::qemu::rights;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::storage::{Kind, NewDisk, Volume, die};
use crate::tasks::TaskLog;

fn item(volid: &str, volume: &Volume) -> Value {
    let mut item = json!({
        "volid": volid,
        "content": volume.content,
        "format": volume.format,
        "size": volume.size,
        "ctime": volume.made,
    });
    if volume.content == "images" {
        item["used"] = json!(volume.used);
        item["parent"] = json!(volume.base);
    }
    if let Some(owner) = volume.owner {
        item["vmid"] = json!(owner);
    }
    item
}

/// GET of all volumes the caller may see.
pub(super) fn list(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node(), &call.params);
        let storage = params.text("storage").unwrap_or_default();
        let state = call.pve.state();
        state.storages.enabled(storage, host)?;
        let vmid = params.vmid();
        let mut found: Vec<(&str, &Volume)> = state
            .storages
            .on(host, storage)
            .filter(|(_, volume)| params.text("content").is_none_or(|content| volume.content == content))
            .filter(|(_, volume)| state.storages.takes(storage, &volume.content))
            .filter(|(_, volume)| vmid.is_none() || volume.owner == vmid)
            .filter(|(volid, _)| rights::volume(&state.access, &state.storages, &call.who, None, volid).is_ok())
            .collect();
        found.sort_by_key(|(volid, _)| volid.to_lowercase());
        Ok(Answer::data(found.into_iter().map(|(volid, volume)| item(volid, volume)).collect::<Value>()))
    })
}

/// POST: an empty disk.
pub(super) fn alloc(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node(), &call.params);
        let storage = params.text("storage").unwrap_or_default();
        let (name, text) = (params.text("filename").unwrap_or_default(), params.text("size").unwrap_or_default());
        let (digits, unit) =
            text.strip_suffix('M').map_or_else(|| text.strip_suffix('G').map_or((text, 1), |rest| (rest, 1 << 20)), |rest| (rest, 1 << 10));
        let kib = digits.parse::<u64>().map_err(|_| Fail::param("size", format!("unable to parse size '{text}'")))? * unit;
        let ending = ["raw", "qcow2", "vmdk"].into_iter().find(|end| name.ends_with(&format!(".{end}")));
        if let (Some(ending), Some(format)) = (ending, params.text("format").filter(|format| Some(*format) != ending)) {
            return Err(Fail::param("format", format!("different storage formats ({format} != {ending})")));
        }
        let format = {
            let state = call.pve.state();
            let spec = state.storages.enabled(storage, host)?;
            let owner = params.vmid().unwrap_or_default();
            if !spec.has_path() && !name.starts_with(&format!("vm-{owner}-")) {
                return Err(die(format_args!("illegal name '{name}' - should be 'vm-{owner}-*'")));
            }
            ending.or(params.text("format")).unwrap_or(spec.default_format()).to_owned()
        };
        let owner = params.vmid().unwrap_or_default();
        let new = NewDisk { host, storage, owner, format: &format, name: Some(name.to_owned()), size: kib << 10 };
        let volid = call.pve.alloc(new).await.map_err(die)?;
        Ok(Answer::changed(volid.clone(), format!("volume {volid} made")))
    })
}

/// GET of one volume.
pub(super) fn show(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node(), &call.params);
        let volid = volume_id(params.text("storage").unwrap_or_default(), params.text("volume").unwrap_or_default())?;
        let state = call.pve.state();
        rights::volume(&state.access, &state.storages, &call.who, None, &volid)?;
        let named = state.storages.named(&volid)?;
        let spec = state.storages.spec(&named.storage)?;
        let found = state.storages.volume(host, &volid);
        let volume = found.ok_or_else(|| die(format_args!("volume_size_info on '{volid}' failed - no format")))?;
        let volname = volid.split_once(':').map_or(volid.as_str(), |(_, rest)| rest);
        let format = if volume.content == "iso" { "raw" } else { &volume.format };
        if volume.size == 0 {
            return Err(die(format_args!("volume '{volid}' has size zero")));
        }
        let path = spec.path(volname, &volume.content);
        Ok(Answer::data(json!({ "path": path, "size": volume.size, "used": volume.used, "format": format })))
    })
}

/// PUT of notes, which only backups have.
pub(super) fn note(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let params = &call.params;
        let volid = volume_id(params.text("storage").unwrap_or_default(), params.text("volume").unwrap_or_default())?;
        let state = call.pve.state();
        rights::volume(&state.access, &state.storages, &call.who, None, &volid)?;
        let kind = &state.storages.spec(&state.storages.named(&volid)?.storage)?.kind;
        match ["notes", "protected"].iter().find(|name| params.has(name)) {
            Some(attribute) => {
                Err(die(format_args!("attribute '{attribute}' is not supported for storage type '{kind}' and volume '{volid}'")))
            }
            None => Ok(Answer::data(Value::Null)),
        }
    })
}

/// DELETE of a volume, in a task.
pub(super) fn delete(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node().to_owned(), &call.params);
        let storage = params.text("storage").unwrap_or_default();
        let volid = volume_id(storage, params.text("volume").unwrap_or_default())?;
        let owner = {
            let state = call.pve.state();
            let named = state.storages.named(&volid)?;
            match named.owner.filter(|_| named.content == "backup") {
                Some(owner) => {
                    state.access.check(&call.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
                    state.access.check(&call.who, &format!("/vms/{owner}"), &["VM.Backup"])?;
                }
                None => state.access.check(&call.who, &format!("/storage/{storage}"), &["Datastore.Allocate"])?,
            }
            named.owner
        };
        let id = owner.map_or_else(|| storage.to_owned(), |owner| format!("{owner}@{storage}"));
        let what = format!("volume {volid} removed");
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "imgdel", &id, move |log: TaskLog| async move {
            pve.free(&on, &volid).await?;
            log.line(format!("Removed volume '{volid}'"));
            Ok(())
        })?;
        if let Some(seconds) = params.int("delay").and_then(|seconds| u64::try_from(seconds).ok()) {
            let limit = call.pve.parts.dials.limit(Duration::from_secs(seconds));
            if let Some(status) = call.pve.tasks.wait(&upid, limit).await {
                let fine = status == "OK" || status.starts_with("WARNINGS: ");
                return if fine { Ok(Answer::changed(Value::Null, what)) } else { Err(die(status)) };
            }
        }
        Ok(Answer::changed(upid, what))
    })
}
