//! Files that a host fetches itself.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, json};

use super::upload::checksum;
use super::{NewFile, new_file};
use crate::call::{Answer, Call, Outcome};
use crate::pve::Pve;
use crate::storage::{Checksum, Kind, Storages, die, fetch, unpack, virtual_size};
use crate::tasks::TaskLog;

/// What is to be fetched.
struct Wanted {
    file: NewFile,
    url: String,
    verify: bool,
    checksum: Option<Checksum>,
    compression: Option<String>,
}

/// POST download-url.
pub(super) fn download(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, params) = (call.params.node().to_owned(), &call.params);
        let (storage, content) = (params.text("storage").unwrap_or_default(), params.text("content").unwrap_or_default());
        let file = {
            let state = call.pve.state();
            let spec = state.storages.enabled(storage, &host)?;
            if !spec.has_path() {
                return Err(die(format_args!("can't upload to storage type '{}', not a file based storage!", spec.kind)));
            }
            if !state.storages.takes(storage, content) {
                return Err(die(format_args!("storage '{storage}' is not configured for content-type '{content}'")));
            }
            new_file(call.pve.release(), spec, &host, content, params.text("filename").unwrap_or_default())?
        };
        let wanted = Wanted {
            url: params.text("url").unwrap_or_default().to_owned(),
            verify: params.flag("verify-certificates").unwrap_or(true),
            checksum: checksum(&call),
            compression: params.text("compression").filter(|text| !text.is_empty()).map(ToOwned::to_owned),
            file,
        };
        let (id, what) = (wanted.file.name.clone(), format!("volume {} downloaded", wanted.file.volid()));
        let pve = Arc::clone(&call.pve);
        let upid = call.pve.task(&call.who, &host, "download", &id, move |log: TaskLog| async move { get(&pve, &wanted, &log).await })?;
        Ok(Answer::changed(upid, what))
    })
}

async fn get(pve: &Pve, wanted: &Wanted, log: &TaskLog) -> Result<(), String> {
    let (file, url) = (&wanted.file, &wanted.url);
    if let Some(compression) = &wanted.compression {
        if file.content != "iso" {
            return Err(format!("decompression not supported for {}", file.content));
        }
        if !matches!(compression.as_str(), "gz" | "lzo" | "zst" | "bz2") {
            return Err("no decompression method found".to_owned());
        }
    }
    let path = &file.path;
    log.line(format!("downloading {url} to {path}"));
    let place = {
        let state = pve.state();
        let there = state.storages.volume(&file.host, &file.volid()).is_some();
        there.then(|| state.storages.place(&file.host, &file.volid()))
    };
    if let Some(place) = place {
        let Some(checksum) = &wanted.checksum else { return Err(format!("refusing to override existing file '{path}'")) };
        let bytes = Storages::read_file(&pve.parts.store, &place).map_err(|error| error.to_string())?;
        return match checksum.differs(&bytes) {
            None => {
                log.line("calculating checksum of existing file...OK, got correct file already, no need to download");
                Ok(())
            }
            Some(got) => Err(format!("checksum mismatch: got '{got}' != expect '{}', aborting", checksum.expected)),
        };
    }
    pve.parts.dials.wait("download", Duration::from_secs(12)).await;
    let fetched = fetch(&pve.spec, url, wanted.verify, false).await.map_err(|why| format!("download failed: {}", why.wget()))?;
    let mut bytes = fetched.bytes;
    if let Some(checksum) = &wanted.checksum {
        if let Some(got) = checksum.differs(&bytes) {
            log.line("calculating checksum...");
            return Err(format!("checksum mismatch: got '{got}' != expect '{}'", checksum.expected));
        }
        log.line("calculating checksum...OK, checksum verified");
    }
    if let Some(compression) = &wanted.compression {
        log.line(format!("decompressing {path}.tmp_dwnl to {path}.tmp_dcom"));
        bytes = unpack(&bytes, compression)?;
    }
    let size = virtual_size(&bytes, &file.format, path).map_err(|text| format!("failed to verify file: {text}"))?;
    if log.breaks_half_way() {
        return Err("unable to rename temporary file: Input/output error".to_owned());
    }
    pve.keep_file(&file.host, &file.volid(), &file.content, &file.format, size, &bytes)
        .map_err(|text| format!("download failed: {text}"))?;
    log.line(format!("download of '{url}' to '{path}' finished"));
    Ok(())
}

/// GET query-url-metadata.
pub(super) fn metadata(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let url = call.params.text("url").unwrap_or_default();
        let verify = call.params.flag("verify-certificates").unwrap_or(true);
        let found = fetch(&call.pve.spec, url, verify, true).await;
        let found = found.map_err(|why| die(format_args!("invalid server response: '{}'", why.lwp())))?;
        let mut answer = Map::new();
        let named = found.disposition.as_deref().and_then(|text| text.split("filename=").nth(1)).map(|rest| {
            let rest = rest.split(';').next().unwrap_or(rest);
            rest.trim_matches('"').to_owned()
        });
        let last = || url.split('?').next().and_then(|path| path.rsplit('/').next()).map(ToOwned::to_owned);
        if let Some(name) = named.or_else(last).filter(|name| !name.is_empty()) {
            answer.insert("filename".to_owned(), json!(name));
        }
        if let Some(size) = found.length {
            answer.insert("size".to_owned(), json!(size));
        }
        if let Some(kind) = &found.kind {
            answer.insert("mimetype".to_owned(), json!(kind.split(';').next().unwrap_or(kind)));
        }
        Ok(Answer::data(serde_json::Value::Object(answer)))
    })
}
