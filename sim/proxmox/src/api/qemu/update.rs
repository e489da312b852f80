//! Changing a configuration: PUT at once, POST as a task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use super::disks::{self, Asked, Maker};
use super::options;
use super::removals::{removals, with_imports};
use super::rights::Rights;
use crate::Release;
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::{Pve, State};
use crate::schema::{Params, list};
use crate::storage::die;
use crate::tasks::TaskLog;
use crate::vm::drives;
use crate::vm::{Config, Vm, hotplug};

/// How long Proxmox waits for the lock of a configuration.
pub(super) const LOCK: Duration = Duration::from_secs(10);

/// What a request wants to change, checked as far as that goes without looking at the machine.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    host: String,
    vmid: u32,
    who: Caller,
    set: Config,
    drives: BTreeMap<String, Asked>,
    delete: Vec<String>,
    revert: Vec<String>,
    force: bool,
    digest: Option<String>,
    skip_lock: bool,
    skip_cloudinit: bool,
    log: String,
}

/// PUT config.
pub(super) fn put(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let pve = Arc::clone(&call.pve);
        let wanted = wanted(&pve, &call.who, &call.params)?;
        if pve.release() == Release::V9 {
            begin(&pve, &mut wanted.clone())?;
        }
        let what = format!("vm {} changed: {}", wanted.vmid, wanted.log);
        let _held = pve.locks.vm(&pve.parts.dials, &wanted.host, wanted.vmid, LOCK).await.map_err(die)?;
        update(&pve, wanted, None).await?;
        Ok(Answer::changed(Value::Null, what))
    })
}

/// PUT unlink: the old way to take drives out.
pub(super) fn unlink(mut call: Call) -> BoxFuture<'static, Outcome> {
    let ids = call.params.text("idlist").unwrap_or_default().to_owned();
    call.params.remove("idlist");
    call.params.set("delete", ids);
    put(call)
}

/// POST config.
pub(super) fn post(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let pve = Arc::clone(&call.pve);
        let wanted = wanted(&pve, &call.who, &call.params)?;
        let delay = call.params.int("background_delay").and_then(|seconds| u64::try_from(seconds).ok());
        let what = format!("vm {} changed: {}", wanted.vmid, wanted.log);
        let (host, vmid) = (wanted.host.clone(), wanted.vmid);
        // 8 takes the lock before it answers, 9 in the task.
        let held = match pve.release() {
            Release::V8 => Some(pve.locks.vm(&pve.parts.dials, &host, vmid, LOCK).await.map_err(die)?),
            Release::V9 => None,
        };
        begin(&pve, &mut wanted.clone())?;
        let worker = Arc::clone(&pve);
        let upid = pve.task(&call.who, &host, "qmconfig", &vmid.to_string(), move |log: TaskLog| async move {
            let _held = match held {
                Some(held) => held,
                None => worker.locks.vm(&worker.parts.dials, &wanted.host, wanted.vmid, LOCK).await?,
            };
            update(&worker, wanted, Some(&log)).await.map_err(|fail| super::task_text(&fail))
        })?;
        if let Some(seconds) = delay {
            let limit = pve.parts.dials.limit(Duration::from_secs(seconds));
            if let Some(status) = pve.tasks.wait(&upid, limit).await {
                if status == "OK" || status.starts_with("WARNINGS: ") {
                    return Ok(Answer::changed(Value::Null, what));
                }
                return Err(die(format_args!("failed to update VM {vmid}: {status}")));
            }
        }
        Ok(Answer::changed(upid, what))
    })
}

/// Reads and checks a request.
fn wanted(pve: &Pve, who: &Caller, params: &Params) -> Result<Wanted, Fail> {
    let (release, host, vmid) = (pve.release(), params.node().to_owned(), params.vmid().unwrap_or_default());
    let control = [
        "node",
        "vmid",
        "digest",
        "background_delay",
        "skip_cloud_init",
        "import-working-storage",
        "skiplock",
        "delete",
        "revert",
        "force",
    ];
    let mut set: Config =
        params.texts().filter(|(key, _)| !control.contains(key)).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let shown = |key: &str, value: &str| format!("-{key} {}", if key == "cipassword" { "<hidden>" } else { value });
    let log =
        params.texts().filter(|(key, _)| !control[..6].contains(key)).map(|(key, value)| shown(key, value)).collect::<Vec<_>>().join(" ");
    let skip_lock = params.flag("skiplock").unwrap_or(false);
    if skip_lock && !who.is_root() {
        return Err(Fail::param("skiplock", "Only root may use this option."));
    }
    options::check_ssh_keys(&set)?;
    options::clamp(&mut set);
    let (delete, revert) = (params.text("delete").unwrap_or_default(), params.text("revert").unwrap_or_default());
    if set.is_empty() && delete.is_empty() && revert.is_empty() {
        return Err(die("no options specified"));
    }
    options::resolve_cdrom(&mut set);
    let (delete, revert) = removals(release, &set, delete, revert)?;
    let state = pve.state();
    let drives = disks::check(release, &state.storages, &mut set)?;
    options::normalise(pve, &state, &host, &mut set)?;
    let rights = Rights { release, access: &state.access, who, vmid, pool: None };
    rights.options(delete.iter().map(String::as_str))?;
    rights.options(set.keys().map(String::as_str))?;
    disks::allowed(&rights, &state.storages, &with_imports(&set, &drives), None, params.text("import-working-storage"))?;
    rights.bridges(set.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
    Ok(Wanted {
        who: who.clone(),
        force: params.flag("force").unwrap_or(false),
        digest: params.text("digest").map(ToOwned::to_owned),
        skip_cloudinit: params.flag("skip_cloud_init").unwrap_or(false),
        host,
        vmid,
        set,
        drives,
        delete,
        revert,
        skip_lock,
        log,
    })
}

/// Looks at the machine, and turns what is to be reverted into changes.
fn begin(pve: &Pve, wanted: &mut Wanted) -> Result<(), Fail> {
    let state = pve.state();
    let vm = state.vm(&wanted.host, wanted.vmid)?;
    vm.unchanged(wanted.digest.as_deref())?;
    let rights = Rights { release: pve.release(), access: &state.access, who: &wanted.who, vmid: wanted.vmid, pool: None };
    rights.cpu_model(wanted.set.get("cpu").map(String::as_str), vm.config.get("cpu").map(String::as_str))?;
    if !wanted.skip_lock {
        vm.unlocked()?;
    }
    for key in std::mem::take(&mut wanted.revert) {
        if let Some(value) = vm.config.get(&key) {
            wanted.set.insert(key, value.clone());
        } else if vm.pending.contains_key(&key) {
            wanted.delete.push(key);
        }
    }
    let value = |key: &str| wanted.set.get(key).or_else(|| vm.pending.get(key)).or_else(|| vm.config.get(key));
    if wanted.set.contains_key("memory") || wanted.set.contains_key("balloon") {
        let memory = value("memory").map_or(512, |text| crate::vm::mebibytes(text));
        let balloon = value("balloon").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        if balloon > memory {
            return Err(die("balloon value too large (must be smaller than assigned memory)"));
        }
    }
    Ok(())
}

/// Does it, under the lock of the machine. What was done before something fails stays done.
pub(super) async fn update(pve: &Arc<Pve>, mut wanted: Wanted, log: Option<&TaskLog>) -> Result<(), Fail> {
    begin(pve, &mut wanted)?;
    let say = |text: String| {
        if let Some(log) = log {
            log.line(text);
        }
    };
    say(format!("update VM {}: {}", wanted.vmid, wanted.log));
    let mut asked: BTreeSet<String> = BTreeSet::new();
    let boot = pve.vm(&wanted.host, wanted.vmid)?.config.get("boot").cloned().unwrap_or_default();
    let mut order = drives::boot_order(&boot);
    for key in wanted.delete.clone() {
        if let Some(text) = remove(pve, &wanted, &key, &mut order, &mut asked).await? {
            say(text);
        }
    }
    for (key, value) in wanted.set.clone() {
        set(pve, &wanted, &key, &value, &mut order, &mut asked, &say).await?;
        if log.is_some_and(TaskLog::breaks_half_way) {
            return Err(die("command failed half way - input/output error"));
        }
    }
    settle(pve, &wanted, &asked).await
}

async fn remove(
    pve: &Arc<Pve>,
    wanted: &Wanted,
    key: &str,
    order: &mut Vec<String>,
    asked: &mut BTreeSet<String>,
) -> Result<Option<String>, Fail> {
    let (host, vmid) = (&wanted.host, wanted.vmid);
    let vm = pve.vm(host, vmid)?;
    let Some(value) = vm.config.get(key).or_else(|| vm.pending.get(key)).cloned() else {
        return Ok(Some(format!("cannot delete '{key}' - not set in current configuration!")));
    };
    asked.insert(key.to_owned());
    let in_order = !wanted.delete.iter().any(|key| key == "boot") && order.iter().any(|device| device == key);
    if in_order {
        order.retain(|device| device != key);
        asked.insert("boot".to_owned());
    }
    let new_order = in_order.then(|| drives::print_boot(order));
    {
        let state = pve.state();
        let rights = Rights { release: pve.release(), access: &state.access, who: &wanted.who, vmid, pool: None };
        let numbered = |names: &[&str]| names.iter().any(|name| drives::index(key, name).is_some());
        if numbered(&["unused"]) {
            vm.unprotected(&format!("can't remove unused disk '{value}'"))?;
            rights.disks()?;
        } else if let Some(drive) = drives::parse(key, &value) {
            vm.unprotected(&format!("can't remove drive '{key}'"))?;
            rights.drive(&drive)?;
            if wanted.force && !drives::is_cdrom(&drive) {
                rights.disks()?;
            }
        } else if numbered(&["serial"]) {
            rights.serial(key, Some(&value), None)?;
        } else if numbered(&["usb", "hostpci", "rng", "virtiofs"]) {
            rights.device(key, &value)?;
        } else if key == "tags" {
            options::check_tags(&state, &rights, vm.config.get(key).map(String::as_str), "")?;
        } else if let Some(card) = vm.config.get(key).filter(|_| numbered(&["net"])) {
            rights.bridges([(key, card.as_str())].into_iter())?;
        }
    }
    if drives::index(key, "unused").is_some() {
        return remove_unused(pve, wanted, key, &value).await.map(|()| None);
    }
    pve.change_vm(host, vmid, |vm| {
        if let Some(order) = new_order {
            vm.pending.insert("boot".to_owned(), order);
        }
        if let Some(drive) = vm.pending.get(key).and_then(|text| drives::parse(key, text)) {
            vm.detach(&drive, false);
        }
        if key == "tags" {
            vm.pending.remove(key);
            vm.config.remove(key);
        } else {
            vm.delete_later(key, wanted.force);
        }
        Ok(())
    })?;
    Ok(None)
}

async fn remove_unused(pve: &Arc<Pve>, wanted: &Wanted, key: &str, volid: &str) -> Result<(), Fail> {
    if drives::owner(volid) == Some(wanted.vmid) {
        let storage = volid.split(':').next().unwrap_or_default();
        {
            let state = pve.state();
            state.access.check(&wanted.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
            if in_snapshot(state.vm(&wanted.host, wanted.vmid)?, volid) {
                return Err(die(format_args!("unable to delete '{volid}' - volume is still in use (snapshot?)")));
            }
        }
        pve.free(&wanted.host, volid).await.map_err(die)?;
    }
    pve.change_vm(&wanted.host, wanted.vmid, |vm| {
        vm.config.remove(key);
        Ok(())
    })
}

/// Whether a snapshot still needs a volume.
pub(super) fn in_snapshot(vm: &Vm, volid: &str) -> bool {
    vm.snapshots.values().any(|config| drives::every(config).any(|(_, drive)| drive.file == volid))
}

async fn set(
    pve: &Arc<Pve>,
    wanted: &Wanted,
    key: &str,
    value: &str,
    order: &mut Vec<String>,
    asked: &mut BTreeSet<String>,
    say: &(impl Fn(String) + Sync),
) -> Result<(), Fail> {
    let (host, vmid) = (&wanted.host, wanted.vmid);
    asked.insert(key.to_owned());
    let vm = pve.vm(host, vmid)?;
    if vm.pending.get(key).is_some_and(|pending| pending == value) {
        return Ok(());
    }
    let old = vm.config.get(key).cloned();
    let mut also: Vec<(String, String)> = Vec::new();
    let mut new = value.to_owned();
    {
        let state = pve.state();
        let rights = Rights { release: pve.release(), access: &state.access, who: &wanted.who, vmid, pool: None };
        options::check_change(&state, &rights, key, old.as_deref(), value)?;
    }
    if drives::is_drive(key) {
        let asked_for = wanted.drives.get(key).cloned().or_else(|| disks::asked(pve.release(), key, value));
        let asked_for = asked_for.ok_or_else(|| Fail::param(key, "unable to parse drive options"))?;
        let mut maker = Maker { pve, who: &wanted.who, host, vmid, default: None, made: Vec::new(), said: Vec::new() };
        let made = maker.make(key, &asked_for, &vm.config, &vm.pending).await;
        if made.is_err() {
            maker.undo().await;
        }
        maker.said.into_iter().for_each(say);
        new = made?;
        let disc = drives::is_plain_cdrom(&asked_for.drive) || matches!(asked_for.drive.file.as_str(), "none" | "cdrom");
        if !order.is_empty() && disc && !order.iter().any(|device| device == key) {
            order.push(key.to_owned());
            also.push(("boot".to_owned(), drives::print_boot(order)));
            asked.insert("boot".to_owned());
        }
    } else if key == "boot" {
        new = options::boot(&vm, &wanted.set, &wanted.delete, value)?;
    } else if key == "tags" {
        new = options::unique_tags(value);
    } else if key == "ostype" && !wanted.set.contains_key("machine") && !vm.pending.contains_key("machine") && !asked.contains("machine") {
        also.extend(
            options::pinned(pve.release(), vm.config.get("machine").map(String::as_str), value)
                .map(|machine| ("machine".to_owned(), machine)),
        );
    } else if key == "cipassword" {
        new = options::hashed(vm.config.get("ostype").map(String::as_str), value);
    }
    pve.change_vm(host, vmid, |vm| {
        if let Some(drive) = vm.pending.get(key).and_then(|text| drives::parse(key, text)) {
            vm.detach(&drive, false);
        }
        vm.deleted.remove(key);
        if key == "cipassword" {
            vm.set(key, new);
        } else {
            vm.pending.insert(key.to_owned(), new);
        }
        if key == "boot" && vm.config.contains_key("bootdisk") {
            vm.delete_later("bootdisk", false);
        }
        vm.pending.extend(also);
        Ok(())
    })
}

/// Lets the changes count: all of them in a machine that stands, what can be plugged in one that runs.
async fn settle(pve: &Arc<Pve>, wanted: &Wanted, asked: &BTreeSet<String>) -> Result<(), Fail> {
    let (host, vmid) = (&wanted.host, wanted.vmid);
    let (gone, media, errors) = pve.change_vm(host, vmid, |vm| {
        vm.tidy_pending();
        if vm.pending.is_empty() && vm.deleted.is_empty() {
            return Ok((Vec::new(), Vec::new(), BTreeMap::new()));
        }
        if vm.is_running() {
            let done = hotplug(vm, asked);
            return Ok((done.gone, done.media, done.errors));
        }
        let gone = vm.apply_pending();
        if !wanted.skip_cloudinit && vm.cloudinit.is_none() {
            vm.generate_cloudinit();
        }
        Ok((gone, Vec::new(), BTreeMap::new()))
    })?;
    for slot in media {
        pve.change_disc(host, vmid, &slot);
    }
    for detached in gone.into_iter().filter(|detached| detached.remove) {
        let storage = detached.volid.split(':').next().unwrap_or_default().to_owned();
        let cloudinit = detached.volid.contains("-cloudinit");
        if !cloudinit {
            pve.state().access.check(&wanted.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
        }
        if !in_snapshot(&pve.vm(host, vmid)?, &detached.volid) {
            pve.free(host, &detached.volid).await.map_err(die)?;
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Fail::params(errors)) }
}

impl State {
    /// Tags that only some may set, from the options of the cluster.
    pub(super) fn registered_tags(&self) -> Vec<String> {
        self.settings.options.get("registered-tags").map(|text| list::split(text)).unwrap_or_default()
    }
}
