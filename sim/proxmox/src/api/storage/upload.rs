//! Files that clients bring.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::{NewFile, new_file};
use crate::call::{Answer, Call, Outcome};
use crate::pve::Pve;
use crate::storage::{Checksum, Kind, die, virtual_size};
use crate::tasks::TaskLog;

/// POST of a file.
pub(super) fn upload(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node().to_owned(), &call.params);
        let (storage, content) = (params.text("storage").unwrap_or_default(), params.text("content").unwrap_or_default());
        let name = call.upload.as_ref().map(|upload| upload.name.clone()).or_else(|| params.text("filename").map(ToOwned::to_owned));
        let file = {
            let state = call.pve.state();
            let spec = state.storages.enabled(storage, &host)?;
            if !spec.has_path() {
                return Err(die(format_args!("can't upload to storage type '{}'", spec.kind)));
            }
            let file = new_file(call.pve.release(), spec, &host, content, &name.unwrap_or_default())?;
            if !state.storages.takes(storage, content) {
                return Err(die(format_args!("storage '{storage}' does not support '{content}' content")));
            }
            file
        };
        let bytes = call.upload.as_ref().map(|upload| upload.path.clone());
        let checksum = checksum(&call);
        let what = format!("volume {} uploaded", file.volid());
        let pve = Arc::clone(&call.pve);
        let upid = call.pve.prepared_task(&call.who, &host, "imgcopy", "", move |log: TaskLog| async move {
            let path = bytes.ok_or("missing temporary file name")?;
            let kept = match log.begin() {
                Ok(()) => keep(&pve, &file, &path, checksum.as_ref(), &log).await,
                Err(text) => Err(text),
            };
            // Whoever took the file cleans up; it may be gone already.
            let _ = std::fs::remove_file(&path);
            kept
        })?;
        Ok(Answer::changed(upid, what))
    })
}

/// The checksum a request asks for.
pub(super) fn checksum(call: &Call) -> Option<Checksum> {
    let text = |key: &str| call.params.text(key).map(ToOwned::to_owned);
    Some(Checksum { expected: text("checksum")?, algorithm: text("checksum-algorithm")? })
}

async fn keep(pve: &Pve, file: &NewFile, path: &Path, checksum: Option<&Checksum>, log: &TaskLog) -> Result<(), String> {
    log.line(format!("starting file import from: /var/tmp/{}", path.file_name().unwrap_or_default().to_string_lossy()));
    let bytes = tokio::fs::read(path).await.map_err(|_| format!("temporary file '{}' does not exist", path.display()))?;
    if let Some(checksum) = checksum {
        if let Some(got) = checksum.differs(&bytes) {
            log.line("calculating checksum...");
            return Err(format!("checksum mismatch: got '{got}' != expect '{}'", checksum.expected));
        }
        log.line("calculating checksum...OK, checksum verified");
    }
    let size = virtual_size(&bytes, &file.format, &file.path)?;
    log.line(format!("target node: {}", file.host));
    log.line(format!("target file: {}", file.path));
    log.line(format!("file size is: {}", bytes.len()));
    pve.parts.dials.wait("upload", Duration::from_secs(1)).await;
    if log.breaks_half_way() {
        return Err("import failed: input/output error".to_owned());
    }
    pve.keep_file(&file.host, &file.volid(), &file.content, &file.format, size, &bytes).map_err(|text| format!("import failed: {text}"))?;
    log.line("finished file import successfully");
    Ok(())
}
