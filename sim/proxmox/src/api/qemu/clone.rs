//! Cloning a machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::disks::{self, Maker};
use super::rights::Rights;
use super::{options, subject, task_text};
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::schema::{machine, property, size};
use crate::storage::{Feature, Kind, Source, die};
use crate::tasks::TaskLog;
use crate::vm::drives::{self, Drive};
use crate::vm::{Config, Vm};

/// What is to be cloned.
#[derive(Debug, Clone)]
struct Wanted {
    who: Caller,
    host: String,
    vmid: u32,
    newid: u32,
    name: Option<String>,
    description: Option<String>,
    pool: Option<String>,
    snapshot: Option<String>,
    storage: Option<String>,
    format: Option<String>,
    target: Option<String>,
    full: Option<bool>,
    running: bool,
}

/// What a clone will be made of.
struct Plan {
    /// Options that are copied.
    config: Config,
    /// Drives with data, and whether they are copied in full.
    drives: BTreeMap<String, (Drive, bool)>,
    /// The name of the source.
    name: String,
    pending: Vec<String>,
}

/// Clones a machine, in a task.
pub(super) fn clone(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let pve = Arc::clone(&call.pve);
        let (host, vmid) = subject(&call);
        let text = |key: &str| call.params.text(key).map(ToOwned::to_owned);
        let running = pve.state().vm(&host, vmid).is_ok_and(Vm::is_running);
        let wanted = Wanted {
            who: call.who.clone(),
            newid: call.params.int("newid").and_then(|id| u32::try_from(id).ok()).unwrap_or_default(),
            name: text("name"),
            description: text("description").filter(|text| !text.is_empty()),
            pool: text("pool"),
            snapshot: text("snapname"),
            storage: text("storage"),
            format: text("format"),
            target: text("target").filter(|target| *target != host && target != "localhost"),
            full: call.params.flag("full"),
            host: host.clone(),
            vmid,
            running,
        };
        check(&pve, &wanted)?;
        let what = format!("vm {} cloned to {}", wanted.vmid, wanted.newid);
        let worker = Arc::clone(&pve);
        let upid = pve.task(&call.who, &host, "qmclone", &vmid.to_string(), move |log: TaskLog| async move {
            let (dials, second) = (&worker.parts.dials, Duration::from_secs(1));
            let _source = if wanted.running {
                worker.locks.vm(dials, &wanted.host, wanted.vmid, second).await?
            } else {
                worker.locks.vm_shared(dials, &wanted.host, wanted.vmid, second).await?
            };
            let _target = worker.locks.vm(dials, &wanted.host, wanted.newid, second).await?;
            make(&worker, &wanted, &log).await.map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, what))
    })
}

fn check(pve: &Pve, wanted: &Wanted) -> Result<Plan, Fail> {
    let state = pve.state();
    let Wanted { who, host, vmid, newid, .. } = wanted;
    if let Some(pool) = wanted.pool.as_ref().filter(|pool| !state.access.pools.contains_key(*pool)) {
        return Err(Fail::new(403, format!("Permission check failed (pool '{pool}' does not exist)\n")));
    }
    if let Some(target) = wanted.target.as_ref().filter(|target| !pve.spec.hosts.iter().any(|spec| spec.name == **target)) {
        return Err(die(format_args!("no such cluster node '{target}'")));
    }
    if let Some(storage) = &wanted.storage {
        let spec = state.storages.enabled(storage, host)?;
        if !state.storages.takes(storage, "images") {
            return Err(Fail::param("storage", format!("storage '{storage}' does not support vm images")));
        }
        if let Some(target) = &wanted.target {
            state.storages.enabled(storage, target)?;
            if !spec.shared {
                return Err(die(format_args!("can't clone to non-shared storage '{storage}'")));
            }
        }
    }
    let vm = state.vm(host, *vmid).map_err(|_| die(format_args!("unable to find configuration file for VM {vmid} on node '{host}'")))?;
    vm.unlocked()?;
    if vm.is_running() != wanted.running {
        return Err(die("unexpected state change"));
    }
    let config = match &wanted.snapshot {
        None => &vm.config,
        Some(name) => vm.snapshots.get(name).ok_or_else(|| die(format_args!("snapshot '{name}' does not exist")))?,
    };
    let full = wanted.full.unwrap_or(!vm.is_template());
    for (given, name) in [(&wanted.storage, "storage"), (&wanted.format, "format")] {
        if given.is_some() && !full {
            return Err(die(format_args!("parameter '{name}' not allowed for linked clones")));
        }
    }
    let shared = disks::cloned(&state.access, &state.storages, who, config, wanted.storage.as_deref())?;
    let rights = Rights { release: pve.release(), access: &state.access, who, vmid: *vmid, pool: None };
    rights.cloned_devices(config)?;
    rights.bridges(config.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
    if let Some(target) = wanted.target.as_ref().filter(|_| !shared) {
        return Err(die(format_args!("can't clone VM to node '{target}' (VM uses local storage)")));
    }
    if state.vms.contains_key(newid) {
        return Err(die(format_args!("unable to create VM {newid}: config file already exists")));
    }
    let (config, drives) = split(&state.storages, config, wanted, full)?;
    let name = vm.config.get("name").cloned().unwrap_or_else(|| vmid.to_string());
    Ok(Plan { config, drives, name, pending: vm.pending.keys().chain(vm.deleted.keys()).cloned().collect() })
}

type Split = (Config, BTreeMap<String, (Drive, bool)>);

/// What is copied as it is, and which drives have data.
fn split(storages: &crate::storage::Storages, config: &Config, wanted: &Wanted, full: bool) -> Result<Split, Fail> {
    let dropped =
        ["parent", "snaptime", "vmstate", "snapstate", "runningcpu", "runningmachine", "running-nets-host-mtu", "template", "lock"];
    let (mut copied, mut with_data) = (Config::new(), BTreeMap::new());
    for (key, value) in config {
        if dropped.contains(&key.as_str()) || drives::index(key, "unused").is_some() {
            continue;
        }
        if full && wanted.running && wanted.snapshot.is_none() && key == "tpmstate0" {
            return Err(die("cannot clone TPM state while VM is running"));
        }
        let Some(drive) = drives::parse(key, value).filter(|drive| !drives::is_plain_cdrom(drive)) else {
            copied.insert(key.clone(), value.clone());
            continue;
        };
        let of = if wanted.snapshot.is_some() {
            "clone feature is not supported for a snapshot of"
        } else {
            "clone feature is not supported for"
        };
        let complete = full || drives::is_cloudinit(&drive) || key == "tpmstate0";
        let (feature, kind) = if complete { (Feature::Copy, "Full") } else { (Feature::Clone, "Linked") };
        // A snapshot is kept with the machine and not on its volumes, so nothing can be made of it there.
        let can = disks::has_feature(storages, feature, &drive.file) && wanted.snapshot.is_none();
        if !can {
            return Err(die(format_args!("{kind} {of} '{}' ({key})", drive.file)));
        }
        with_data.insert(key.clone(), (drive, complete));
    }
    Ok((copied, with_data))
}

async fn make(pve: &Arc<Pve>, wanted: &Wanted, log: &TaskLog) -> Result<(), Fail> {
    let plan = check(pve, wanted)?;
    log.line(format!("creating a clone of VM {} with ID {}", wanted.vmid, wanted.newid));
    let mut config = regenerated(pve, &plan.config)?;
    config.insert("name".to_owned(), wanted.name.clone().unwrap_or_else(|| format!("Copy-of-VM-{}", plan.name)));
    if let Some(description) = &wanted.description {
        config.insert("description".to_owned(), description.clone());
    }
    let temporary: Config = [("lock".to_owned(), "clone".to_owned())].into();
    {
        let mut state = pve.state();
        if state.vms.contains_key(&wanted.newid) {
            return Err(die(format_args!("unable to create VM {}: config file already exists", wanted.newid)));
        }
        let vm = Vm { id: wanted.newid, host: wanted.host.clone(), config: temporary, ..Vm::default() };
        pve.keep_vm(&mut state, vm)?;
    }
    let mut maker =
        Maker { pve, who: &wanted.who, host: &wanted.host, vmid: wanted.newid, default: None, made: Vec::new(), said: Vec::new() };
    let copied = copy(&mut maker, wanted, &plan, config, log).await;
    if let Err(fail) = copied {
        maker.undo().await;
        maker.said.into_iter().for_each(|line| log.line(line));
        pve.forget_vm(wanted.newid)?;
        return Err(die(format_args!("clone failed: {}", task_text(&fail))));
    }
    if !plan.pending.is_empty() {
        log.line(format!("found pending changes for '{}', discarding for clone", plan.pending.join(",")));
    }
    Ok(())
}

/// Addresses and identities a clone must not share with its source.
fn regenerated(pve: &Pve, config: &Config) -> Result<Config, Fail> {
    let mut config = config.clone();
    for (key, value) in config.iter_mut().filter(|(key, _)| drives::index(key, "net").is_some()) {
        let mut card = crate::schema::net::parse(pve.release(), value).ok_or_else(|| die(format_args!("unable to parse '{key}'")))?;
        card.mac = Some(options::mac());
        *value = crate::schema::net::print(&card);
    }
    let format = machine::format_of(pve.release(), "smbios1");
    let smbios = config.get("smbios1").cloned().unwrap_or_default();
    let printed = format.and_then(|format| {
        let mut said = property::parse(format, smbios.trim()).unwrap_or_default();
        said.insert("uuid".to_owned(), options::uuid());
        property::try_print(format, &said)
    });
    config.insert("smbios1".to_owned(), printed.unwrap_or_else(|| format!("uuid={}", options::uuid())));
    if config.get("vmgenid").is_some_and(|value| !value.trim().is_empty()) {
        config.insert("vmgenid".to_owned(), options::uuid());
    }
    Ok(config)
}

async fn copy(maker: &mut Maker<'_>, wanted: &Wanted, plan: &Plan, mut config: Config, log: &TaskLog) -> Result<(), Fail> {
    let pve = maker.pve;
    config.insert("lock".to_owned(), "clone".to_owned());
    for (key, (drive, full)) in &plan.drives {
        let kind = if *full { "full" } else { "linked" };
        log.line(format!("create {kind} clone of drive {key} ({})", drive.file));
        let mut new = drive.clone();
        new.file = if *full { copy_full(maker, wanted, key, drive).await? } else { link(maker, &drive.file).await? };
        let bytes = pve.state().storages.volume(maker.host, &new.file).map(|volume| volume.size);
        new.options.remove("format");
        if let Some(bytes) = bytes.filter(|_| !drives::is_cloudinit(drive) || drive.get("size").is_some()) {
            new.set("size", size::print(bytes));
        }
        config.insert(key.clone(), new.print());
        pve.change_vm(&wanted.host, wanted.newid, |vm| {
            vm.config.clone_from(&config);
            Ok(())
        })?;
        // One that fails cleans up. Only a killed one leaves half of its work: volumes, and a machine with a lock.
        log.may_be_killed().await;
        if log.breaks_half_way() {
            return Err(die("input/output error"));
        }
    }
    config.remove("lock");
    pve.change_vm(&wanted.host, wanted.newid, |vm| {
        vm.config = config;
        if let Some(target) = &wanted.target {
            vm.host.clone_from(target);
        }
        vm.generate_cloudinit();
        Ok(())
    })?;
    match &wanted.pool {
        Some(pool) => pve.change_access(|access| {
            access.add_to_pool(wanted.newid, pool);
            Ok(())
        }),
        None => Ok(()),
    }
}

async fn link(maker: &mut Maker<'_>, volid: &str) -> Result<String, Fail> {
    let made = maker.pve.link(maker.host, volid, maker.vmid).await.map_err(die)?;
    maker.made.push(made.clone());
    Ok(made)
}

async fn copy_full(maker: &mut Maker<'_>, wanted: &Wanted, key: &str, drive: &Drive) -> Result<String, Fail> {
    let (from, format, size, storage, path) = {
        let state = maker.pve.state();
        let named = state.storages.named(&drive.file)?;
        let storage = wanted.storage.clone().unwrap_or(named.storage);
        let target = state.storages.spec(&storage)?;
        let wish = wanted.format.as_deref().unwrap_or(&named.format);
        let format = if target.takes_format(wish) { wish } else { target.default_format() };
        let size = state.storages.volume(maker.host, &drive.file).map(|volume| volume.size);
        let size = size.ok_or_else(|| die(format_args!("volume '{}' does not exist", drive.file)))?;
        (state.storages.place(maker.host, &drive.file), format.to_owned(), size, storage.clone(), target.has_path())
    };
    if drives::is_cloudinit(drive) {
        let name = format!("vm-{}-cloudinit{}", maker.vmid, if path { format!(".{format}") } else { String::new() });
        return maker.alloc(&storage, &format, Some(name), 4 << 20, Source::Empty, "alloc").await;
    }
    let format = if key == "tpmstate0" { "raw".to_owned() } else { format };
    maker.alloc(&storage, &format, None, size, Source::Volume(from), "copy").await
}
