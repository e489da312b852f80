//! Moving a disk to another storage, or to another machine.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::disks::{self, Maker};
use super::update::{LOCK, in_snapshot};
use super::{subject, task_text};
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::{Pve, State};
use crate::schema::size;
use crate::storage::{Kind, Source, die};
use crate::tasks::TaskLog;
use crate::vm::drives::{self, Drive};

/// What is to be moved where.
#[derive(Debug, Clone)]
struct Wanted {
    who: Caller,
    host: String,
    vmid: u32,
    disk: String,
    storage: String,
    format: Option<String>,
    delete: bool,
    digest: Option<String>,
}

/// POST `move_disk`.
pub(super) fn move_disk(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let text = |key: &str| call.params.text(key).map(ToOwned::to_owned);
        let both = |text: &str| Fail::params([("target-vmid".to_owned(), text.to_owned()), ("storage".to_owned(), text.to_owned())].into());
        let storage = match (text("storage"), text("target-vmid")) {
            (Some(_), Some(_)) => return Err(both("either set 'storage' or 'target-vmid', but not both")),
            (None, None) => return Err(both("both 'storage' and 'target-vmid' missing, either needs to be set")),
            (None, Some(_)) => return reassign(&call, &host, vmid),
            (Some(storage), None) => storage,
        };
        let pve = Arc::clone(&call.pve);
        pve.state().access.check(&call.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
        let wanted = Wanted {
            who: call.who.clone(),
            disk: text("disk").unwrap_or_default(),
            format: text("format"),
            delete: call.params.flag("delete").unwrap_or(false),
            digest: text("digest"),
            host: host.clone(),
            vmid,
            storage,
        };
        check(&pve.state(), &wanted)?;
        let what = format!("vm {vmid} {} moved to {}", wanted.disk, wanted.storage);
        let worker = Arc::clone(&pve);
        let upid = pve.task(&call.who, &host, "qmmove", &vmid.to_string(), move |log: TaskLog| async move {
            let _held = worker.locks.vm(&worker.parts.dials, &wanted.host, wanted.vmid, LOCK).await?;
            copy(&worker, &wanted, &log).await.map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, what))
    })
}

fn check(state: &State, wanted: &Wanted) -> Result<Drive, Fail> {
    let vm = state.vm(&wanted.host, wanted.vmid)?;
    vm.unlocked()?;
    if wanted.digest.as_ref().is_some_and(|digest| *digest != vm.digest()) {
        return Err(die("detected modified configuration - file changed by other user? Try again."));
    }
    let disk = &wanted.disk;
    let text = vm.config.get(disk).ok_or_else(|| die(format_args!("disk '{disk}' does not exist")))?;
    let drive = drives::parse(disk, text).ok_or_else(|| die(format_args!("disk '{disk}' has no associated volume")))?;
    if drives::is_plain_cdrom(&drive) {
        return Err(die("you can't move a cdrom"));
    }
    let named = state.storages.named(&drive.file)?;
    let written = state.storages.spec(&named.storage)?.has_path().then_some(&named.format);
    let same = wanted.format.as_ref().zip(written).is_none_or(|(wanted, have)| wanted == have);
    if named.storage == wanted.storage && same {
        return Err(die("you can't move to the same storage with same format"));
    }
    state.storages.enabled(&wanted.storage, &wanted.host)?;
    if !state.storages.takes(&wanted.storage, "images") {
        return Err(Fail::param("storage", format!("storage '{}' does not support vm images", wanted.storage)));
    }
    if wanted.delete && in_snapshot(vm, &drive.file) {
        return Err(die("you can't move a disk with snapshots and delete the source"));
    }
    Ok(drive)
}

async fn copy(pve: &Arc<Pve>, wanted: &Wanted, log: &TaskLog) -> Result<(), Fail> {
    let drive = check(&pve.state(), wanted)?;
    let old = drive.file.clone();
    let (from, format, size, template) = {
        let state = pve.state();
        let vm = state.vm(&wanted.host, wanted.vmid)?;
        if vm.is_running() && wanted.disk == "tpmstate0" {
            return Err(die("storage migration failed: cannot move TPM state while VM is running"));
        }
        let named = state.storages.named(&old)?;
        let target = state.storages.spec(&wanted.storage)?;
        let wish = wanted.format.clone().unwrap_or(named.format);
        let format = if target.takes_format(&wish) { wish } else { target.default_format().to_owned() };
        let size = state.storages.volume(&wanted.host, &old).map(|volume| volume.size);
        let size = size.ok_or_else(|| die(format_args!("volume '{old}' does not exist")))?;
        (state.storages.place(&wanted.host, &old), format, size, vm.is_template())
    };
    log.line(format!("create full clone of drive {} ({old})", wanted.disk));
    let mut maker =
        Maker { pve, who: &wanted.who, host: &wanted.host, vmid: wanted.vmid, default: None, made: Vec::new(), said: Vec::new() };
    let failed = |fail: Fail| die(format_args!("storage migration failed: {}", task_text(&fail)));
    let source = if drives::is_cloudinit(&drive) { Source::Empty } else { Source::Volume(from) };
    let ending = if pve.state().storages.spec(&wanted.storage)?.has_path() { format!(".{format}") } else { String::new() };
    let name = drives::is_cloudinit(&drive).then(|| format!("vm-{}-cloudinit{ending}", wanted.vmid));
    let mut volid = maker.alloc(&wanted.storage, &format, name, size, source, "copy").await.map_err(failed)?;
    if template && disks::has_feature(&pve.state().storages, crate::storage::Feature::Template, &volid) {
        volid = pve.make_base(&wanted.host, &volid).await.map_err(die)?;
    }
    let mut new = drive;
    new.file.clone_from(&volid);
    new.options.remove("format");
    new.set("size", size::print(size));
    let printed = new.print();
    pve.change_vm(&wanted.host, wanted.vmid, |vm| {
        vm.config.insert(wanted.disk.clone(), printed);
        if !wanted.delete {
            vm.add_unused(&old);
        }
        if let Some(power) = &mut vm.power {
            power.volumes.values_mut().filter(|now| **now == old).for_each(|now| now.clone_from(&volid));
        }
        Ok(())
    })?;
    if wanted.delete
        && let Err(text) = pve.free(&wanted.host, &old).await
    {
        log.line(text);
    }
    Ok(())
}

/// Gives a disk to another machine of the same host.
fn reassign(call: &Call, host: &str, vmid: u32) -> Outcome {
    let target = call.params.int("target-vmid").and_then(|id| u32::try_from(id).ok()).unwrap_or_default();
    let disk = call.params.text("disk").unwrap_or_default().to_owned();
    let slot = call.params.text("target-disk").unwrap_or(&disk).to_owned();
    let pve = Arc::clone(&call.pve);
    if !call.who.is_root() {
        pve.state().access.check_vm(&call.who, target, None, &["VM.Config.Disk"], false)?;
    }
    if target == vmid {
        return Err(Fail::param("target-vmid", "must be different than source VMID to reassign disk"));
    }
    let volid = reassignable(&pve.state(), host, vmid, target, &disk, &slot)?;
    let storage = volid.split(':').next().unwrap_or_default();
    pve.state().access.check(&call.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let (on, worker) = (host.to_owned(), Arc::clone(&pve));
    let id = format!("{vmid}-{disk}>{target}-{slot}");
    let upid = pve.task(&call.who, host, "qmmove", &id, move |log: TaskLog| async move {
        let _source = worker.locks.vm(&worker.parts.dials, &on, vmid, LOCK).await?;
        let _target = worker.locks.vm(&worker.parts.dials, &on, target, LOCK).await?;
        log.line(format!("moving disk '{disk}' from VM '{vmid}' to '{target}'"));
        hand_over(&worker, &on, vmid, target, &disk, &slot).map_err(|fail| task_text(&fail))
    })?;
    Ok(Answer::changed(upid, format!("disk of vm {vmid} given to vm {target}")))
}

fn reassignable(state: &State, host: &str, vmid: u32, target: u32, disk: &str, slot: &str) -> Result<String, Fail> {
    let source = state.vms.get(&vmid).ok_or_else(|| die(format_args!("could not find VM {vmid}")))?;
    let other = state.vms.get(&target).ok_or_else(|| die(format_args!("could not find target VM {target}")))?;
    if source.host != other.host || source.host != host {
        return Err(die(format_args!("Both VMs need to be on the same node ({} != {})", source.host, other.host)));
    }
    source.unlocked()?;
    other.unlocked()?;
    if source.is_template() || other.is_template() {
        return Err(die("Can't move disks from or to template VMs"));
    }
    let text = source.config.get(disk).ok_or_else(|| die(format_args!("Disk '{disk}' for VM '{vmid}' does not exist")))?;
    if other.config.contains_key(slot) {
        return Err(die(format_args!("Target disk key '{slot}' is already in use for VM '{target}'")));
    }
    let drive = drives::parse(disk, text).ok_or_else(|| die(format_args!("disk '{disk}' has no associated volume")))?;
    if drives::is_plain_cdrom(&drive) {
        return Err(die("CD drive contents can't be moved to another VM"));
    }
    if in_snapshot(source, &drive.file) {
        return Err(die("Can't move disk used by a snapshot to another VM"));
    }
    if source.is_running() && drives::index(disk, "unused").is_none() {
        return Err(die("Cannot move disk to another VM while the source VM is running - detach first"));
    }
    Ok(drive.file)
}

fn hand_over(pve: &Pve, host: &str, vmid: u32, target: u32, disk: &str, slot: &str) -> Result<(), Fail> {
    let volid = reassignable(&pve.state(), host, vmid, target, disk, slot)?;
    let (storage, _) = volid.split_once(':').ok_or_else(|| die("no storage ID specified"))?;
    let renamed = {
        let state = pve.state();
        let spec = state.storages.spec(storage)?;
        let name = state.storages.free_name(host, spec, target, &state.storages.named(&volid)?.format);
        if spec.has_path() { format!("{storage}:{target}/{name}") } else { format!("{storage}:{name}") }
    };
    pve.rename(host, &volid, &renamed, Some(target)).map_err(die)?;
    let mut text = String::new();
    pve.change_vm(host, vmid, |vm| {
        text = vm.config.remove(disk).unwrap_or_default();
        let order = vm.config.get("boot").map(|boot| drives::boot_order(boot)).unwrap_or_default();
        if order.iter().any(|device| device == disk) {
            let left: Vec<String> = order.into_iter().filter(|device| device != disk).collect();
            vm.config.insert("boot".to_owned(), drives::print_boot(&left));
        }
        Ok(())
    })?;
    pve.change_vm(host, target, |vm| {
        let unused = drives::index(slot, "unused").is_some();
        let value = drives::parse(disk, &text).map(|mut drive| {
            drive.file.clone_from(&renamed);
            if unused { renamed.clone() } else { drive.print() }
        });
        vm.config.insert(slot.to_owned(), value.unwrap_or(renamed));
        Ok(())
    })
}
