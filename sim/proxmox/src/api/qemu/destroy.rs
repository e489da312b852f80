//! Removing a machine with what belongs to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::update::LOCK;
use super::{only_root, subject, task_text};
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::storage::die;
use crate::tasks::TaskLog;
use crate::vm::Vm;
use crate::vm::drives;

/// DELETE of a machine.
pub(super) fn destroy(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock"])?;
        let (host, vmid) = subject(&call);
        let flag = |key: &str| call.params.flag(key).unwrap_or(false);
        let (purge, unreferenced, skip) = (flag("purge"), flag("destroy-unreferenced-disks"), flag("skiplock"));
        check(&call.pve, &host, vmid, purge)?;
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmdestroy", &vmid.to_string(), move |log: TaskLog| async move {
            let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
            remove(&pve, &on, vmid, purge, unreferenced, skip, &log).await.map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, format!("vm {vmid} destroyed")))
    })
}

/// Says whether it is highly available.
fn check(pve: &Pve, host: &str, vmid: u32, purge: bool) -> Result<bool, Fail> {
    let state = pve.state();
    let vm = state.vm(host, vmid)?;
    vm.unprotected(&format!("can't remove VM {vmid}"))?;
    let managed = state.settings.ha_resources.contains_key(&format!("vm:{vmid}"));
    if managed && !purge {
        return Err(die(format_args!("unable to remove VM {vmid} - used in HA resources and purge parameter not set.")));
    }
    if vm.is_running() {
        return Err(die(format_args!("VM {vmid} is running - destroy failed")));
    }
    Ok(managed)
}

async fn remove(
    pve: &Arc<Pve>,
    host: &str,
    vmid: u32,
    purge: bool,
    unreferenced: bool,
    skip_lock: bool,
    log: &TaskLog,
) -> Result<(), Fail> {
    let managed = check(pve, host, vmid, purge)?;
    let vm = pve.vm(host, vmid)?;
    if !skip_lock && vm.config.get("lock").is_none_or(|lock| lock != "suspended") {
        vm.unlocked()?;
    }
    if vm.is_template() {
        let state = pve.state();
        let mut bases = drives::every(&vm.config).filter(|(_, drive)| !drives::is_cdrom(drive));
        if let Some((_, drive)) = bases.find(|(_, drive)| state.storages.is_used_base(host, &drive.file)) {
            return Err(die(format_args!("base volume '{}' is still in use by linked cloned", drive.file)));
        }
    }
    for volid in owned(&vm) {
        if let Err(text) = pve.free(host, &volid).await {
            log.line(format!("Could not remove disk '{volid}', check manually: {text}"));
        }
        if log.breaks_half_way() {
            return Err(die("input/output error"));
        }
    }
    if unreferenced {
        for volid in left_over(pve, host, vmid) {
            if let Err(text) = pve.free(host, &volid).await {
                log.line(text);
            }
        }
    }
    super::snapshot::forget(pve, &vm)?;
    pve.change_access(|access| {
        access.forget_vm(vmid);
        Ok(())
    })?;
    if purge {
        log.line(format!("purging VM {vmid} from related configurations.."));
        if managed {
            pve.change_settings(|settings| {
                settings.ha_resources.remove(&format!("vm:{vmid}"));
                Ok(())
            })?;
            log.line(format!("NOTE: removed VM {vmid} from HA resource configuration."));
        }
    }
    pve.forget_vm(vmid)
}

/// The volumes a machine owns, pending ones and those of snapshots too.
fn owned(vm: &Vm) -> BTreeSet<String> {
    let configs = [&vm.config, &vm.pending].into_iter().chain(vm.snapshots.values());
    let mine = configs.flat_map(drives::every).filter(|(_, drive)| !drives::is_plain_cdrom(drive));
    mine.map(|(_, drive)| drive.file).filter(|volid| drives::owner(volid) == Some(vm.id)).collect()
}

/// Disks of this number on every storage that is switched on.
fn left_over(pve: &Pve, host: &str, vmid: u32) -> Vec<String> {
    let state = pve.state();
    let on = state.storages.specs().filter(|spec| state.storages.enabled(&spec.id, host).is_ok());
    let disks = on
        .flat_map(|spec| state.storages.on(host, &spec.id))
        .filter(|(_, volume)| volume.content == "images" && volume.owner == Some(vmid));
    disks.map(|(volid, _)| volid.to_owned()).collect()
}
