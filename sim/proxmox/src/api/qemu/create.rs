//! Making a machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::disks::{self, Asked, Maker};
use super::rights::Rights;
use super::{options, power, task_text};
use crate::Release;
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::storage::die;
use crate::tasks::TaskLog;
use crate::vm::drives;
use crate::vm::{Config, Vm};

/// A machine to be made.
struct New {
    host: String,
    vmid: u32,
    who: Caller,
    set: Config,
    drives: BTreeMap<String, Asked>,
    pool: Option<String>,
    storage: Option<String>,
    start: bool,
    managed: bool,
}

/// Makes a machine, in a task.
pub(super) fn create(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let pve = Arc::clone(&call.pve);
        let new = wanted(&call)?;
        let (host, vmid) = (new.host.clone(), new.vmid);
        reserve(&pve, &new).await?;
        let worker = Arc::clone(&pve);
        let task = pve.prepared_task(&call.who, &host, "qmcreate", &vmid.to_string(), move |log: TaskLog| async move {
            let made = match log.begin() {
                Ok(()) => make(&worker, &new, &log).await,
                Err(text) => Err(die(text)),
            };
            if let Err(fail) = made {
                worker.forget_vm(new.vmid).map_err(|fail| task_text(&fail))?;
                return Err(task_text(&fail));
            }
            if new.start {
                log.line("Execute autostart");
                // What goes wrong here is only a warning: the machine is made.
                if let Err(text) = power::power_on(&worker, &new.host, new.vmid, &log, false).await {
                    log.line(text);
                }
            }
            Ok(())
        });
        if task.is_err() {
            pve.forget_vm(vmid)?;
        }
        Ok(Answer::changed(task?, format!("vm {vmid} created")))
    })
}

fn wanted(call: &Call) -> Result<New, Fail> {
    let (pve, params, who) = (&call.pve, &call.params, &call.who);
    let (release, host, vmid) = (pve.release(), params.node().to_owned(), params.vmid().unwrap_or_default());
    let control = [
        "node",
        "vmid",
        "archive",
        "bwlimit",
        "force",
        "pool",
        "start",
        "storage",
        "unique",
        "live-restore",
        "import-working-storage",
        "ha-managed",
    ];
    let mut set: Config =
        params.texts().filter(|(key, _)| !control.contains(key)).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    options::check_ssh_keys(&set)?;
    options::clamp(&mut set);
    let state = pve.state();
    let (pool, storage) = (params.text("pool"), params.text("storage"));
    if let Some(pool) = pool.filter(|pool| !state.access.pools.contains_key(*pool)) {
        return Err(Fail::new(403, format!("Permission check failed (pool '{pool}' does not exist)\n")));
    }
    if let Some(storage) = storage {
        state.access.check(who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    let start = params.flag("start").unwrap_or(false);
    if start && release == Release::V9 {
        state.access.check_vm(who, vmid, pool, &["VM.PowerMgmt"], false)?;
    }
    let mine = state.access.allows(who, &format!("/vms/{vmid}"), &["VM.Allocate"])
        || pool.is_some_and(|pool| state.access.allows(who, &format!("/pool/{pool}"), &["VM.Allocate"]));
    if !mine {
        return Err(Fail::new(403, "Permission check failed\n"));
    }
    if let Some(archive) = params.text("archive") {
        if let Some(key) = set.keys().find(|key| drives::is_drive(key)) {
            return Err(Fail::param(key, "option conflicts with option 'archive'"));
        }
        super::rights::volume(&state.access, &state.storages, who, Some(vmid), archive)?;
        return Err(die("restoring a backup is not simulated"));
    }
    let rights = Rights { release, access: &state.access, who, vmid, pool };
    options::resolve_cdrom(&mut set);
    disks::allowed(&rights, &state.storages, &set, storage, params.text("import-working-storage"))?;
    rights.options(set.keys().map(String::as_str))?;
    for (key, value) in &set {
        if drives::index(key, "serial").is_some() {
            rights.new_serial(key, value)?;
        }
    }
    for names in [&["usb"][..], &["hostpci"], &["rng"], &["virtiofs"]] {
        for (key, value) in set.iter().filter(|(key, _)| drives::index(key, names[0]).is_some()) {
            rights.device(key, value)?;
        }
    }
    if let Some(tags) = set.get("tags") {
        options::check_tags(&state, &rights, None, tags)?;
    }
    rights.bridges(set.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
    rights.cpu_model(set.get("cpu").map(String::as_str), None)?;
    let drives = disks::check(release, &state.storages, &mut set)?;
    options::normalise(pve, &state, &host, &mut set)?;
    Ok(New {
        who: who.clone(),
        pool: pool.map(ToOwned::to_owned),
        storage: storage.map(ToOwned::to_owned),
        managed: params.flag("ha-managed").unwrap_or(false),
        host,
        vmid,
        set,
        drives,
        start,
    })
}

/// Takes the number, so that nobody else gets it.
async fn reserve(pve: &Arc<Pve>, new: &New) -> Result<(), Fail> {
    let refuse = |text: String| die(format_args!("unable to create VM {} - {text}", new.vmid));
    let _held = pve.locks.vm(&pve.parts.dials, &new.host, new.vmid, Duration::from_secs(5)).await.map_err(refuse)?;
    let mut state = pve.state();
    if let Some(vm) = state.vms.get(&new.vmid) {
        return Err(refuse(format!("VM {} already exists on node '{}'", new.vmid, vm.host)));
    }
    let config = [("lock".to_owned(), "create".to_owned())].into();
    pve.keep_vm(&mut state, Vm { id: new.vmid, host: new.host.clone(), config, ..Vm::default() })
}

async fn make(pve: &Arc<Pve>, new: &New, log: &TaskLog) -> Result<(), Fail> {
    let refuse = |text: &str| die(format_args!("unable to create VM {} - {text}", new.vmid));
    let second = Duration::from_secs(1);
    let _held = pve.locks.vm(&pve.parts.dials, &new.host, new.vmid, second).await.map_err(die)?;
    let mut config = new.set.clone();
    config.insert("meta".to_owned(), options::meta(pve.release()));
    let mut maker =
        Maker { pve, who: &new.who, host: &new.host, vmid: new.vmid, default: new.storage.as_deref(), made: Vec::new(), said: Vec::new() };
    let mut made = Ok(());
    for (key, asked) in &new.drives {
        match maker.make(key, asked, &config, &Config::new()).await {
            Ok(text) => {
                config.insert(key.clone(), text);
            }
            Err(fail) => made = Err(fail),
        }
        maker.said.drain(..).for_each(|line| log.line(line));
        log.may_be_killed().await;
        if made.is_ok() && log.breaks_half_way() {
            made = Err(die("input/output error"));
        }
        if made.is_err() {
            break;
        }
    }
    let written = made.and_then(|()| write(pve, new, config));
    if let Err(fail) = written {
        maker.undo().await;
        return Err(refuse(&task_text(&fail)));
    }
    if let Some(pool) = &new.pool {
        pve.change_access(|access| {
            access.add_to_pool(new.vmid, pool);
            Ok(())
        })?;
    }
    if new.managed {
        let state = if new.start { "started" } else { "stopped" };
        pve.change_settings(|settings| {
            settings.ha_resources.insert(format!("vm:{}", new.vmid), [("state".to_owned(), state.to_owned())].into());
            Ok(())
        })?;
    }
    Ok(())
}

/// Fills in what was left open, and writes the configuration.
fn write(pve: &Arc<Pve>, new: &New, mut config: Config) -> Result<(), Fail> {
    if config.get("boot").is_none_or(String::is_empty) {
        let devices = drives::default_boot(&config);
        config.insert("boot".to_owned(), drives::print_boot(&devices));
    }
    if config.get("smbios1").is_none_or(String::is_empty) {
        config.insert("smbios1".to_owned(), format!("uuid={}", options::uuid()));
    }
    if config.get("vmgenid").is_none_or(|value| value == "1") && config.get("arch").is_none_or(|arch| arch != "aarch64") {
        config.insert("vmgenid".to_owned(), options::uuid());
    }
    if let Some(machine) = config.get("machine") {
        options::check_machine(pve.release(), machine)?;
    }
    let ostype = config.get("ostype").cloned().unwrap_or_default();
    if let Some(machine) = options::pinned(pve.release(), config.get("machine").map(String::as_str), &ostype) {
        config.insert("machine".to_owned(), machine);
    }
    if let Some(tags) = config.get_mut("tags") {
        *tags = options::unique_tags(tags);
    }
    if let Some(password) = config.get_mut("cipassword") {
        *password = options::hashed(Some(&ostype), password);
    }
    config.remove("lock");
    let mut state = pve.state();
    let mut vm = Vm { id: new.vmid, host: new.host.clone(), config, ..Vm::default() };
    vm.generate_cloudinit();
    pve.keep_vm(&mut state, vm)
}
