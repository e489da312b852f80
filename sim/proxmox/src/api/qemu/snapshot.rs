//! Snapshots: what a machine and its disks were at some time.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::disks;
use super::update::LOCK;
use super::{subject, task_text};
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::storage::{Feature, Storages, die};
use crate::tasks::{TaskLog, now};
use crate::vm::{Config, Vm, drives};

/// Options that belong to the snapshot itself.
const OWN: &[&str] = &["snaptime", "parent", "snapstate", "vmstate", "description"];

/// GET of all snapshots, with `current` for what is now.
pub(super) fn list(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let vm = call.pve.vm(&host, vmid)?;
        let mut items: Vec<Value> = vm
            .snapshots
            .iter()
            .map(|(name, config)| {
                let time = config.get("snaptime").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
                let description = config.get("description").cloned().unwrap_or_default();
                let mut item = json!({ "name": name, "snaptime": time, "vmstate": 0, "description": description });
                for key in ["parent", "snapstate"] {
                    if let Some(value) = config.get(key) {
                        item[key] = json!(value);
                    }
                }
                item
            })
            .collect();
        let running = u8::from(vm.is_running());
        let mut current = json!({ "name": "current", "digest": vm.digest(), "running": running, "description": "You are here!" });
        if let Some(parent) = vm.config.get("parent") {
            current["parent"] = json!(parent);
        }
        items.push(current);
        Ok(Answer::data(Value::Array(items)))
    })
}

/// GET of what can be done with one.
pub(super) fn index(call: Call) -> BoxFuture<'static, Outcome> {
    drop(call);
    Box::pin(async { Ok(Answer::data(json!([{ "cmd": "rollback" }, { "cmd": "config" }]))) })
}

/// GET of the configuration at that time.
pub(super) fn config(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let vm = call.pve.vm(&host, vmid)?;
        let config = snapshot(&vm, call.params.text("snapname").unwrap_or_default())?;
        let shown = config.iter().map(|(key, value)| (key.clone(), crate::vm::typed(key, value)));
        Ok(Answer::data(Value::Object(shown.collect())))
    })
}

/// PUT of another description.
pub(super) fn describe(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let name = call.params.text("snapname").unwrap_or_default().to_owned();
        let description = call.params.text("description").map(ToOwned::to_owned);
        let _held = call.pve.locks.vm(&call.pve.parts.dials, &host, vmid, LOCK).await.map_err(die)?;
        call.pve.change_vm(&host, vmid, |vm| {
            vm.unlocked()?;
            snapshot(vm, &name)?;
            if let (Some(config), Some(description)) = (vm.snapshots.get_mut(&name), description) {
                config.insert("description".to_owned(), description);
            }
            Ok(())
        })?;
        Ok(Answer::changed(Value::Null, format!("vm {vmid} snapshot {name} described")))
    })
}

fn snapshot<'v>(vm: &'v Vm, name: &str) -> Result<&'v Config, Fail> {
    vm.snapshots.get(name).ok_or_else(|| die(format_args!("snapshot '{name}' does not exist")))
}

/// POST of a new snapshot.
pub(super) fn create(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let name = call.params.text("snapname").unwrap_or_default().to_owned();
        if name == "current" || name.eq_ignore_ascii_case("pending") {
            return Err(die(format_args!("unable to use snapshot name '{name}' (reserved name)")));
        }
        call.pve.vm(&host, vmid)?;
        let description = call.params.text("description").map(ToOwned::to_owned);
        let what = format!("vm {vmid} snapshot {name}");
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmsnapshot", &vmid.to_string(), move |log: TaskLog| async move {
            let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
            take(&pve, &on, vmid, &name, description, &log).await.map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, what))
    })
}

async fn take(pve: &Arc<Pve>, host: &str, vmid: u32, name: &str, description: Option<String>, log: &TaskLog) -> Result<(), Fail> {
    let volumes = {
        let state = pve.state();
        let vm = state.vm(host, vmid)?;
        if vm.is_template() {
            return Err(die("you can't take a snapshot if it's a template"));
        }
        vm.unlocked()?;
        if vm.snapshots.contains_key(name) {
            return Err(die(format_args!("snapshot name '{name}' already used")));
        }
        let volumes: Vec<String> = disks_of(&vm.config);
        if volumes.iter().any(|volid| !disks::has_feature(&state.storages, Feature::Snapshot, volid)) {
            return Err(die("snapshot feature is not available"));
        }
        volumes
    };
    for volid in &volumes {
        log.line(format!("snapshotting '{volid}'"));
        pve.parts.dials.wait("storage snapshot", Duration::from_secs(1)).await;
        let place = pve.state().storages.place(host, volid);
        let disk = Storages::read_disk(&pve.parts.store, &place);
        pve.parts.store.put(&kept(vmid, name, volid), &disk)?;
    }
    pve.change_vm(host, vmid, |vm| {
        let mut config: Config = vm.config.clone();
        config.remove("description");
        config.insert("snaptime".to_owned(), now().to_string());
        if let Some(description) = description {
            config.insert("description".to_owned(), description);
        }
        vm.snapshots.insert(name.to_owned(), config);
        vm.config.insert("parent".to_owned(), name.to_owned());
        Ok(())
    })
}

fn disks_of(config: &Config) -> Vec<String> {
    let disks = drives::attached(config).filter(|(_, drive)| !drives::is_plain_cdrom(drive) && drive.file.contains(':'));
    disks.map(|(_, drive)| drive.file).collect()
}

fn kept(vmid: u32, name: &str, volid: &str) -> String {
    format!("pve/snapshot/{vmid}/{name}/{volid}")
}

/// Forgets what the disks of a machine held at all its snapshots.
pub(super) fn forget(pve: &Pve, vm: &Vm) -> Result<(), Fail> {
    for (name, config) in &vm.snapshots {
        for volid in disks_of(config) {
            pve.parts.store.remove(&kept(vm.id, name, &volid))?;
        }
    }
    Ok(())
}

/// DELETE of a snapshot.
pub(super) fn delete(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let name = call.params.text("snapname").unwrap_or_default().to_owned();
        let what = format!("vm {vmid} snapshot {name} removed");
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmdelsnapshot", &vmid.to_string(), move |_| async move {
            let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
            drop_snapshot(&pve, &on, vmid, &name).map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, what))
    })
}

fn drop_snapshot(pve: &Pve, host: &str, vmid: u32, name: &str) -> Result<(), Fail> {
    let volumes = pve.change_vm(host, vmid, |vm| {
        vm.unlocked()?;
        let config = snapshot(vm, name)?.clone();
        vm.snapshots.remove(name);
        let parent = config.get("parent").cloned();
        for child in vm.snapshots.values_mut().chain([&mut vm.config]) {
            if child.get("parent").is_some_and(|of| of == name) {
                match &parent {
                    Some(parent) => child.insert("parent".to_owned(), parent.clone()),
                    None => child.remove("parent"),
                };
            }
        }
        Ok(disks_of(&config))
    })?;
    for volid in volumes {
        pve.parts.store.remove(&kept(vmid, name, &volid))?;
    }
    Ok(())
}

/// POST rollback.
pub(super) fn rollback(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let name = call.params.text("snapname").unwrap_or_default().to_owned();
        let start = call.params.flag("start").unwrap_or(false);
        let what = format!("vm {vmid} rolled back to {name}");
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmrollback", &vmid.to_string(), move |log: TaskLog| async move {
            {
                let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
                roll_back(&pve, &on, vmid, &name).map_err(|fail| task_text(&fail))?;
            }
            if start { super::power::power_on(&pve, &on, vmid, &log, false).await } else { Ok(()) }
        })?;
        Ok(Answer::changed(upid, what))
    })
}

fn roll_back(pve: &Pve, host: &str, vmid: u32, name: &str) -> Result<(), Fail> {
    let vm = pve.vm(host, vmid)?;
    if vm.is_template() {
        return Err(die("unable to rollback vm - it's a template"));
    }
    vm.unlocked()?;
    let config = snapshot(&vm, name)?.clone();
    if vm.is_running() {
        pve.guests().power_off(vmid);
    }
    for volid in disks_of(&config) {
        let disk = pve.parts.store.get(&kept(vmid, name, &volid))?.unwrap_or_default();
        let state = pve.state();
        let place = state.storages.place(host, &volid);
        state.storages.write_disk(&pve.parts.store, &place, &disk)?;
    }
    pve.change_vm(host, vmid, |vm| {
        let description = vm.config.get("description").cloned();
        vm.config = config.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str())).collect();
        vm.config.extend(description.map(|text| ("description".to_owned(), text)));
        vm.config.insert("parent".to_owned(), name.to_owned());
        vm.pending.clear();
        vm.deleted.clear();
        vm.power = None;
        Ok(())
    })
}
