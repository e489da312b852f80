//! Letting a disk grow.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::update::LOCK;
use super::{only_root, subject, task_text};
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::schema::size;
use crate::storage::die;
use crate::vm::drives;

/// PUT resize. Everything is looked at in the task (facts §7).
pub(super) fn resize(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock"])?;
        let (host, vmid) = subject(&call);
        let text = |key: &str| call.params.text(key).map(ToOwned::to_owned);
        let (disk, wanted, digest) = (text("disk").unwrap_or_default(), text("size").unwrap_or_default(), text("digest"));
        let skip = call.params.flag("skiplock").unwrap_or(false);
        let what = format!("vm {vmid} {disk} resized to {wanted}");
        let (pve, on, who) = (Arc::clone(&call.pve), host.clone(), call.who.clone());
        let upid = call.pve.task(&call.who, &host, "resize", &vmid.to_string(), move |_| async move {
            let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
            let grown = grow(&pve, &who, &on, vmid, &disk, &wanted, digest.as_deref(), skip).await;
            grown.map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, what))
    })
}

#[allow(clippy::too_many_arguments)]
async fn grow(
    pve: &Arc<Pve>,
    who: &Caller,
    host: &str,
    vmid: u32,
    disk: &str,
    wanted: &str,
    digest: Option<&str>,
    skip_lock: bool,
) -> Result<(), Fail> {
    let vm = pve.vm(host, vmid)?;
    vm.unchanged(digest)?;
    if !skip_lock {
        vm.unlocked()?;
    }
    let text = vm.config.get(disk).ok_or_else(|| die(format_args!("disk '{disk}' does not exist")))?;
    let mut drive = drives::parse(disk, text).ok_or_else(|| die(format_args!("disk '{disk}' has no associated volume")))?;
    if drives::is_cdrom(&drive) {
        return Err(die("you can't resize a cdrom"));
    }
    let volid = drive.file.clone();
    let now = {
        let state = pve.state();
        let storage = state.storages.named(&volid)?.storage;
        state.access.check(who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
        state.storages.enabled(&storage, host)?;
        let size = state.storages.volume(host, &volid).map(|volume| volume.size);
        size.ok_or_else(|| die(format_args!("Could not determine current size of volume '{volid}'")))?
    };
    let new = target(now, wanted).ok_or_else(|| die("internal error"))?;
    if new < now {
        return Err(die("shrinking disks is not supported"));
    }
    if new == now {
        return Ok(());
    }
    pve.grow(host, &volid, new).await.map_err(die)?;
    drive.set("size", size::print(new));
    let printed = drive.print();
    pve.change_vm(host, vmid, |vm| {
        vm.config.insert(disk.to_owned(), printed);
        Ok(())
    })
}

/// Bytes of `+10G`, `40G` or plain bytes.
fn target(now: u64, wanted: &str) -> Option<u64> {
    let (more, text) = wanted.strip_prefix('+').map_or((false, wanted), |rest| (true, rest));
    let unit = text.chars().last()?;
    let shift = match unit {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        _ => 0,
    };
    let number: f64 = if shift == 0 { text.parse().ok()? } else { text[..text.len() - 1].parse().ok()? };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let bytes = (number * (1u64 << shift) as f64).max(0.0) as u64;
    Some(if more { now.saturating_add(bytes) } else { bytes })
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn sizes_are_absolute_or_more() {
        assert_eq!(target(1 << 30, "+1G"), Some(2 << 30));
        assert_eq!(target(1 << 30, "40G"), Some(40 << 30));
        assert_eq!(target(1 << 30, "42949672960"), Some(40 << 30));
        assert_eq!(target(0, "1.5M"), Some(1_572_864));
    }
}
