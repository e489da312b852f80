//! Moving a machine to another host.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::update::LOCK;
use super::{only_root, subject, task_text};
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::{Pve, State};
use crate::schema::list;
use crate::storage::{NewDisk, Source, die};
use crate::tasks::TaskLog;
use crate::vm::{Vm, drives};

/// Which storages of the target take the volumes of which storages.
#[derive(Debug, Clone, Default)]
struct Targets {
    default: Option<String>,
    each: BTreeMap<String, String>,
}

impl Targets {
    fn parse(text: &str) -> Self {
        let mut targets = Self::default();
        for part in list::split(text).into_iter().filter(|part| part != "1") {
            match part.split_once(':') {
                Some((from, to)) => {
                    targets.each.insert(from.to_owned(), to.to_owned());
                }
                None => targets.default = Some(part),
            }
        }
        targets
    }

    fn of(&self, storage: &str) -> String {
        self.each.get(storage).or(self.default.as_ref()).cloned().unwrap_or_else(|| storage.to_owned())
    }

    fn named(&self) -> impl Iterator<Item = &String> {
        self.each.values().chain(&self.default)
    }
}

/// Devices of the host that keep a machine where it is; those with a mapping only while it runs.
fn local_devices(vm: &Vm) -> (Vec<String>, Map<String, Value>) {
    let (mut local, mut mapped) = (Vec::new(), Map::new());
    for (key, value) in &vm.config {
        let numbered = |names: &[&str]| names.iter().any(|name| drives::index(key, name).is_some());
        if key == "ivshmem" || numbered(&["parallel", "virtiofs"]) || numbered(&["serial"]) && value != "socket" {
            local.push(key.clone());
        }
        if numbered(&["usb", "hostpci"]) && !value.to_lowercase().contains("spice") {
            let mapping = value.split(',').find_map(|part| part.strip_prefix("mapping="));
            if let Some(mapping) = mapping {
                mapped.insert(key.clone(), json!({ "name": mapping }));
            }
            if mapping.is_none() || vm.is_running() {
                local.push(key.clone());
            }
        }
    }
    (local, mapped)
}

/// Drives on storage that only this host sees.
fn local_volumes<'v>(state: &State, vm: &'v Vm) -> Vec<(&'v str, drives::Drive)> {
    let shared = |volid: &str| {
        let id = volid.split(':').next().unwrap_or_default();
        state.storages.spec(id).is_ok_and(|spec| spec.shared)
    };
    let local = |drive: &drives::Drive| drive.file.contains(':') && !shared(&drive.file) && drive.get("shared") != Some("1");
    drives::every(&vm.config).filter(|(_, drive)| local(drive)).collect()
}

/// GET: where it could go.
pub(super) fn precondition(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let state = call.pve.state();
        let vm = state.vm(&host, vmid)?;
        vm.unlocked()?;
        let (local, mapped) = local_devices(vm);
        let volumes = local_volumes(&state, vm);
        let (mut allowed, mut refused) = (Vec::new(), Map::new());
        for node in call.pve.spec.hosts.iter().map(|spec| &spec.name).filter(|node| **node != host) {
            let storages = drives::every(&vm.config).filter_map(|(_, drive)| drive.file.split_once(':').map(|(id, _)| id.to_owned()));
            let mut missing: Vec<String> = storages.filter(|id| state.storages.enabled(id, node).is_err()).collect();
            missing.sort();
            missing.dedup();
            let unmapped = mapped.iter().filter(|(_, item)| {
                let name = item["name"].as_str().unwrap_or_default();
                let on = [&state.settings.pci, &state.settings.usb]
                    .into_iter()
                    .filter_map(|all| all.get(name))
                    .any(|mapping| !mapping.on(node).is_empty());
                !on
            });
            let unmapped: Vec<&String> = unmapped.map(|(key, _)| key).collect();
            let mut why = Map::new();
            if !missing.is_empty() {
                why.insert("unavailable_storages".to_owned(), json!(missing));
            }
            if !unmapped.is_empty() {
                why.insert("unavailable-resources".to_owned(), json!(unmapped));
            }
            if why.is_empty() {
                allowed.push(node.clone());
            } else {
                refused.insert(node.clone(), Value::Object(why));
            }
        }
        let disks: Vec<Value> = volumes
            .iter()
            .map(|(key, drive)| {
                let unused = u8::from(drives::index(key, "unused").is_some());
                let cdrom = u8::from(drives::is_cdrom(drive));
                json!({ "volid": drive.file, "drivename": key, "size": drive.size().unwrap_or(0), "cdrom": cdrom, "is_unused": unused })
            })
            .collect();
        let answer = json!({
            "running": u8::from(vm.is_running()),
            "allowed_nodes": allowed,
            "not_allowed_nodes": refused,
            "local_disks": disks,
            "local_resources": local,
            "mapped-resources": mapped.keys().collect::<Vec<_>>(),
            "mapped-resource-info": mapped,
        });
        Ok(Answer::data(answer))
    })
}

/// POST: moves it.
pub(super) fn migrate(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let pve = Arc::clone(&call.pve);
        let target = call.params.text("target").unwrap_or_default().to_owned();
        if target == host {
            return Err(Fail::param("target", "target is local node."));
        }
        if !pve.spec.hosts.iter().any(|spec| spec.name == target) {
            return Err(die(format_args!("no such cluster node '{target}'")));
        }
        only_root(&call, &["force", "migration_type", "migration_network"])?;
        let targets = Targets::parse(call.params.text("targetstorage").unwrap_or_default());
        {
            let state = pve.state();
            let vm = state.vm(&host, vmid)?;
            vm.unlocked()?;
            if vm.is_running() && !call.params.flag("online").unwrap_or(false) {
                return Err(die("can't migrate running VM without --online"));
            }
            if let Some(text) = call.params.text("targetstorage") {
                if text != "1" {
                    state.access.check_vm(&call.who, vmid, None, &["VM.Config.Disk"], false)?;
                }
                for id in targets.named() {
                    state.storages.enabled(id, &target)?;
                    state.access.check(&call.who, &format!("/storage/{id}"), &["Datastore.AllocateSpace"])?;
                    if !state.storages.takes(id, "images") {
                        return Err(die(format_args!("storage '{id}' does not support vm images")));
                    }
                }
            } else {
                available(&state, vm, &target)?;
            }
        }
        let what = format!("vm {vmid} migrated to {target}");
        let local = call.params.flag("with-local-disks").unwrap_or(false);
        let managed = pve.state().settings.ha_resources.contains_key(&format!("vm:{vmid}"));
        let kind = if managed { "hamigrate" } else { "qmigrate" };
        let (worker, on) = (Arc::clone(&pve), host.clone());
        let upid = pve.task(&call.who, &host, kind, &vmid.to_string(), move |log: TaskLog| async move {
            if managed {
                log.line(format!("Requesting HA migration for VM {vmid} to node {target}"));
                tokio::spawn(async move {
                    worker.parts.dials.wait("ha", Duration::from_secs(8)).await;
                    let (pve, from) = (Arc::clone(&worker), on.clone());
                    // As with every request to the manager, nobody waits for it.
                    let _ =
                        worker.task(&crate::access::Caller::root(), &on, "qmigrate", &vmid.to_string(), move |log: TaskLog| async move {
                            go(&pve, &from, vmid, &target, &targets, true, &log).await
                        });
                });
                return Ok(());
            }
            go(&worker, &on, vmid, &target, &targets, local, &log).await
        })?;
        Ok(Answer::changed(upid, what))
    })
}

/// Every storage in use must be on the target as well.
fn available(state: &State, vm: &Vm, target: &str) -> Result<(), Fail> {
    for (_, drive) in drives::attached(&vm.config) {
        if let Some((id, _)) = drive.file.split_once(':') {
            state.storages.enabled(id, target)?;
        }
    }
    Ok(())
}

async fn go(pve: &Arc<Pve>, host: &str, vmid: u32, target: &str, targets: &Targets, with_local: bool, log: &TaskLog) -> Result<(), String> {
    let _held = pve.locks.vm(&pve.parts.dials, host, vmid, LOCK).await?;
    let text = |fail: Fail| task_text(&fail);
    let vm = pve.vm(host, vmid).map_err(text)?;
    vm.unlocked().map_err(text)?;
    let (local, _) = local_devices(&vm);
    if !local.is_empty() {
        return Err(format!("can't migrate VM which uses local devices: {}", local.join(", ")));
    }
    log.line(format!("starting migration of VM {vmid} to node '{target}'"));
    let volumes: Vec<(String, drives::Drive)> = {
        let state = pve.state();
        local_volumes(&state, &vm).into_iter().map(|(key, drive)| (key.to_owned(), drive)).collect()
    };
    let mut blocked = false;
    for (key, drive) in &volumes {
        let why = refused(pve, host, &vm, key, drive, with_local);
        log.line(format!("found local disk '{}' (attached)", drive.file));
        if let Some(why) = why {
            log.line(format!("can't migrate local disk '{}': {why}", drive.file));
            blocked = true;
        }
    }
    if blocked {
        log.line("ERROR: Problem found while scanning volumes - can't migrate VM - check log");
        log.line("aborting phase 1 - cleanup resources");
        return Err("migration aborted".to_owned());
    }
    lock(pve, host, vmid, true).map_err(text)?;
    let moved = match carry(pve, host, &vm, target, targets, &volumes, log).await {
        Ok(moved) => moved,
        Err(why) => {
            lock(pve, host, vmid, false).map_err(text)?;
            return Err(why);
        }
    };
    settle(pve, host, vmid, target, &moved).map_err(text)?;
    for volid in moved.keys() {
        if let Err(why) = pve.free(host, volid).await {
            log.line(why);
        }
    }
    pve.guests().moved(vmid, target);
    log.line("migration finished successfully");
    Ok(())
}

/// While a machine moves, nobody else may touch it. A migration that is cut off leaves it so.
fn lock(pve: &Pve, host: &str, vmid: u32, locked: bool) -> Result<(), Fail> {
    pve.change_vm(host, vmid, |vm| {
        if locked {
            vm.config.insert("lock".to_owned(), "migrate".to_owned());
        } else {
            vm.config.remove("lock");
        }
        Ok(())
    })
}

/// Copies the volumes; gives the new name of each.
async fn carry(
    pve: &Arc<Pve>,
    host: &str,
    vm: &Vm,
    target: &str,
    targets: &Targets,
    volumes: &[(String, drives::Drive)],
    log: &TaskLog,
) -> Result<BTreeMap<String, String>, String> {
    if vm.is_running() {
        pve.parts.dials.wait("migrate online", Duration::from_secs(10)).await;
    }
    let mut moved: BTreeMap<String, String> = BTreeMap::new();
    for (_, drive) in volumes.iter().filter(|(_, drive)| !drives::is_plain_cdrom(drive)) {
        match copy(pve, host, vm, target, targets, drive).await {
            Ok(volid) => {
                log.line(format!("volume '{}' is '{volid}' on the target", drive.file));
                moved.insert(drive.file.clone(), volid);
            }
            Err(why) => {
                log.line(format!("ERROR: storage migration for '{}' failed - {why}", drive.file));
                for volid in moved.values() {
                    pve.free(target, volid).await.ok();
                }
                return Err("migration aborted".to_owned());
            }
        }
    }
    Ok(moved)
}

fn refused(pve: &Pve, host: &str, vm: &Vm, key: &str, drive: &drives::Drive, with_local: bool) -> Option<String> {
    if drives::is_plain_cdrom(drive) {
        return Some("local cdrom image".to_owned());
    }
    if let Some(owner) = drives::owner(&drive.file).filter(|owner| *owner != vm.id) {
        return Some(format!("owned by other VM (owner = VM {owner})"));
    }
    if vm.is_running() && !with_local && drives::index(key, "unused").is_none() {
        return Some("can't live migrate attached local disks without with-local-disks option".to_owned());
    }
    let state = pve.state();
    if state.storages.is_used_base(host, &drive.file) {
        return Some("referenced by linked clone(s)".to_owned());
    }
    let base = state.storages.volume(host, &drive.file).and_then(|volume| volume.base.clone());
    if let Some(base) = base.filter(|_| !vm.is_running()) {
        return Some(format!("can't migrate '{}' as it's a clone of '{base}'", drive.file));
    }
    (!vm.snapshots.is_empty()).then(|| "non-migratable snapshot exists".to_owned())
}

async fn copy(pve: &Arc<Pve>, host: &str, vm: &Vm, target: &str, targets: &Targets, drive: &drives::Drive) -> Result<String, String> {
    let (from, format, size, storage, name) = {
        let state = pve.state();
        let named = state.storages.named(&drive.file).map_err(|fail| task_text(&fail))?;
        let volume = state.storages.volume(host, &drive.file).ok_or_else(|| format!("volume '{}' does not exist", drive.file))?;
        let storage = targets.of(&named.storage);
        let spec = state.storages.enabled(&storage, target).map_err(|fail| task_text(&fail))?;
        let format = if crate::storage::Kind::takes_format(spec, &named.format) { named.format } else { "raw".to_owned() };
        let name = drives::is_cloudinit(drive).then(|| {
            let ending = if crate::storage::Kind::has_path(spec) { format!(".{format}") } else { String::new() };
            format!("vm-{}-cloudinit{ending}", vm.id)
        });
        (state.storages.place(host, &drive.file), format, volume.size, storage.clone(), name)
    };
    let new = NewDisk { host: target, storage: &storage, owner: vm.id, format: &format, name, size };
    pve.copy(new, Source::Volume(from), "migrate").await
}

/// The machine is on the other host now, with its volumes there.
fn settle(pve: &Pve, host: &str, vmid: u32, target: &str, moved: &BTreeMap<String, String>) -> Result<(), Fail> {
    pve.change_vm(host, vmid, |vm| {
        target.clone_into(&mut vm.host);
        vm.config.remove("lock");
        for config in [&mut vm.config, &mut vm.pending] {
            for (key, value) in config.iter_mut() {
                let Some(mut drive) = drives::parse(key, value) else { continue };
                if let Some(volid) = moved.get(&drive.file) {
                    drive.file.clone_from(volid);
                    *value = drive.print();
                }
            }
        }
        if let Some(power) = &mut vm.power {
            for volid in power.volumes.values_mut() {
                if let Some(now) = moved.get(volid) {
                    volid.clone_from(now);
                }
            }
        }
        Ok(())
    })
}
