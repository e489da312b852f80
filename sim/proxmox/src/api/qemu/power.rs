//! Switching machines on and off.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::update::LOCK;
use super::{only_root, subject, task_text};
use crate::access::Caller;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::storage::die;
use crate::tasks::{TaskLog, now};
use crate::vm::{Config, Power, Vm, choose, drives, nics};

/// How long Proxmox waits for a guest to end, where nobody says.
const PATIENCE: u64 = 60;

fn managed(pve: &Pve, vmid: u32) -> bool {
    pve.state().settings.ha_resources.contains_key(&format!("vm:{vmid}"))
}

/// Asks for a state of a highly available machine: the manager of the cluster sees to it later.
fn request(pve: &Arc<Pve>, who: &Caller, host: &str, vmid: u32, start: bool, timeout: u64) -> Result<String, Fail> {
    let (kind, word) = if start { ("hastart", "start") } else { ("hastop", "stop") };
    let (worker, on) = (Arc::clone(pve), host.to_owned());
    pve.task(who, host, kind, &vmid.to_string(), move |log: TaskLog| async move {
        log.line(format!("Requesting HA {word} for VM {vmid}"));
        let state = if start { "started" } else { "stopped" };
        let wanted = worker.change_settings(|settings| {
            if let Some(resource) = settings.ha_resources.get_mut(&format!("vm:{vmid}")) {
                resource.insert("state".to_owned(), state.to_owned());
            }
            Ok(())
        });
        wanted.map_err(|fail| task_text(&fail))?;
        tokio::spawn(async move {
            worker.parts.dials.wait("ha", Duration::from_secs(8)).await;
            let (pve, host) = (Arc::clone(&worker), on.clone());
            let kind = if start { "qmstart" } else { "qmshutdown" };
            // The manager tries again later, which here means: nobody hears of it.
            let _ = worker.task(&Caller::root(), &on, kind, &vmid.to_string(), move |log: TaskLog| async move {
                if start {
                    power_on(&pve, &host, vmid, &log, false).await
                } else {
                    power_off(&pve, &host, vmid, &log, Off::Ask { timeout, force: true }).await
                }
            });
        });
        Ok(())
    })
}

/// POST start.
pub(super) fn start(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let names =
            ["stateuri", "skiplock", "migratedfrom", "migration_type", "migration_network", "targetstorage", "force-cpu", "nets-host-mtu"];
        only_root(&call, &names)?;
        let (host, vmid) = subject(&call);
        let what = format!("vm {vmid} start");
        if managed(&call.pve, vmid) {
            return Ok(Answer::changed(request(&call.pve, &call.who, &host, vmid, true, PATIENCE)?, what));
        }
        let skip = call.params.flag("skiplock").unwrap_or(false);
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmstart", &vmid.to_string(), move |log: TaskLog| async move {
            power_on(&pve, &on, vmid, &log, skip).await
        })?;
        Ok(Answer::changed(upid, what))
    })
}

/// Starts a machine, under its lock.
pub(super) async fn power_on(pve: &Arc<Pve>, host: &str, vmid: u32, log: &TaskLog, skip_lock: bool) -> Result<(), String> {
    let _held = pve.locks.vm(&pve.parts.dials, host, vmid, LOCK).await?;
    let outcome = begin(pve, host, vmid, skip_lock).await;
    outcome.map_err(|fail| task_text(&fail))?;
    pve.parts.dials.wait("start", Duration::from_secs(2)).await;
    let machine = {
        let mut state = pve.state();
        let vm = state.vm(host, vmid).map_err(|fail| task_text(&fail))?.clone();
        let spec = pve.spec.hosts.iter().find(|spec| spec.name == host).ok_or("no such host")?;
        for slot in nics(&vm.config) {
            if let Some(bridge) = slot.bridge.filter(|bridge| !spec.bridges.contains(bridge)) {
                log.line(format!("bridge '{bridge}' does not exist"));
                log.line("kvm: -netdev type=tap: network script /usr/libexec/qemu-server/pve-bridge failed with status 512");
                return Err("start failed: QEMU exited with code 1".to_owned());
            }
        }
        check(&state, spec, &vm, log)?;
        let others = state.vms.values().filter(|other| other.host == host && other.id != vmid);
        let devices = choose(&vm.config, spec, &state.settings, others).map_err(|refused| {
            if let Some(line) = refused.log {
                log.line(line);
            }
            refused.error
        })?;
        if vm.config.get("bios").is_some_and(|bios| bios == "ovmf") && !vm.config.contains_key("efidisk0") {
            log.warn("no efidisk configured! Using temporary efivars disk.");
        }
        let pci = devices.iter().map(|device| device.bdf.clone()).collect();
        let mut vm = vm;
        let pid = 10_000 + u32::from(rand::random::<u16>());
        vm.power = Some(Power { pid, since: now(), config: vm.config.clone(), pci, ..Power::default() });
        let (machine, volumes) = Pve::machine(&state, &vm, devices);
        if let Some(power) = &mut vm.power {
            power.volumes = volumes;
        }
        pve.keep_vm(&mut state, vm).map_err(|fail| task_text(&fail))?;
        machine
    };
    pve.guests().power_on(machine);
    Ok(())
}

/// Checks that may refuse a start, and lets count what waited for it.
async fn begin(pve: &Arc<Pve>, host: &str, vmid: u32, skip_lock: bool) -> Result<(), Fail> {
    let vm = pve.vm(host, vmid)?;
    if vm.is_template() {
        return Err(die("you can't start a vm if it's a template"));
    }
    let suspended = vm.config.get("lock").is_some_and(|lock| lock == "suspended");
    if !skip_lock && !suspended {
        vm.unlocked()?;
    }
    if vm.is_running() {
        return Err(die(format_args!("VM {vmid} already running")));
    }
    let gone = pve.change_vm(host, vmid, |vm| {
        let gone = vm.apply_pending();
        vm.generate_cloudinit();
        if suspended {
            vm.config.remove("lock");
        }
        Ok(gone)
    })?;
    for detached in gone.into_iter().filter(|detached| detached.remove) {
        pve.free(host, &detached.volid).await.map_err(die)?;
    }
    Ok(())
}

/// What QEMU or the storages would refuse.
fn check(state: &crate::pve::State, host: &crate::HostSpec, vm: &Vm, log: &TaskLog) -> Result<(), String> {
    let number = |key: &str| vm.config.get(key).and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    if number("sockets") * number("cores") > u64::from(host.cores) {
        return Err(format!("MAX {} vcpus allowed per VM on this node", host.cores));
    }
    for (_, drive) in drives::attached(&vm.config).filter(|(_, drive)| drive.file.contains(':')) {
        let id = drive.file.split(':').next().unwrap_or_default();
        state.storages.enabled(id, &host.name).map_err(|fail| task_text(&fail))?;
        if state.storages.volume(&host.name, &drive.file).is_none() {
            return Err(format!("volume '{}' does not exist", drive.file));
        }
    }
    if vm.memory() > host.memory {
        log.line("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory");
        return Err("start failed: QEMU exited with code 1".to_owned());
    }
    Ok(())
}

/// How a machine is switched off.
#[derive(Clone, Copy)]
pub(super) enum Off {
    /// At once.
    Hard,
    /// The guest is asked, and given this many seconds; then it ends anyway or the attempt fails.
    Ask { timeout: u64, force: bool },
}

/// Switches a machine off, under its lock.
pub(super) async fn power_off(pve: &Arc<Pve>, host: &str, vmid: u32, log: &TaskLog, how: Off) -> Result<(), String> {
    let _held = pve.locks.vm(&pve.parts.dials, host, vmid, LOCK).await?;
    end(pve, host, vmid, log, how).await
}

async fn end(pve: &Arc<Pve>, host: &str, vmid: u32, log: &TaskLog, how: Off) -> Result<(), String> {
    let vm = pve.vm(host, vmid).map_err(|fail| task_text(&fail))?;
    if !vm.is_running() {
        return Ok(());
    }
    vm.unlocked().map_err(|fail| task_text(&fail))?;
    if let Off::Ask { timeout, force } = how {
        pve.guests().shutdown(vmid);
        if gone(pve, vmid, pve.parts.dials.limit(Duration::from_secs(timeout))).await {
            return Ok(());
        }
        if !force {
            return Err("VM quit/powerdown failed - got timeout".to_owned());
        }
        log.line("VM still running - terminating now with SIGTERM");
    }
    pve.parts.dials.wait("stop", Duration::from_secs(1)).await;
    pve.guests().power_off(vmid);
    let off = pve.change_vm(host, vmid, |vm| {
        vm.power = None;
        Ok(())
    });
    off.map_err(|fail| task_text(&fail))?;
    pve.locks.power.notify_waiters();
    Ok(())
}

/// Waits until a machine is off.
async fn gone(pve: &Pve, vmid: u32, limit: Duration) -> bool {
    let off = async {
        loop {
            let told = pve.locks.power.notified();
            tokio::pin!(told);
            // From here on nothing is missed, even before it is waited for.
            told.as_mut().enable();
            if !pve.state().vms.get(&vmid).is_some_and(Vm::is_running) {
                return;
            }
            told.await;
        }
    };
    tokio::time::timeout(limit, off).await.is_ok()
}

/// POST stop.
pub(super) fn stop(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock", "keepActive", "migratedfrom"])?;
        let (host, vmid) = subject(&call);
        let what = format!("vm {vmid} stop");
        let overrule = call.params.flag("overrule-shutdown").unwrap_or(false);
        if managed(&call.pve, vmid) {
            if overrule {
                return Err(Fail::param("overrule-shutdown", "Not applicable for HA resources."));
            }
            return Ok(Answer::changed(request(&call.pve, &call.who, &host, vmid, false, 0)?, what));
        }
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmstop", &vmid.to_string(), move |log: TaskLog| async move {
            if overrule {
                let running = pve.tasks.list(Some(&on)).into_iter();
                let mut shutdowns =
                    running.filter(|task| task.kind == "qmshutdown" && task.id == vmid.to_string() && task.endtime.is_none());
                shutdowns.by_ref().for_each(|task| pve.tasks.stop(&task.upid));
            }
            power_off(&pve, &on, vmid, &log, Off::Hard).await
        })?;
        Ok(Answer::changed(upid, what))
    })
}

fn patience(call: &Call, config: &Config) -> u64 {
    let said = call.params.int("timeout").and_then(|seconds| u64::try_from(seconds).ok());
    let down = || config.get("startup")?.split(',').find_map(|part| part.strip_prefix("down="))?.parse().ok();
    said.or_else(down).unwrap_or(PATIENCE)
}

/// POST shutdown.
pub(super) fn shutdown(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock", "keepActive"])?;
        let (host, vmid) = subject(&call);
        let what = format!("vm {vmid} shutdown");
        let vm = call.pve.vm(&host, vmid).ok();
        let force = call.params.flag("forceStop").unwrap_or(false);
        let paused = vm.as_ref().and_then(|vm| vm.power.as_ref()).is_some_and(|power| power.paused);
        if paused && !force {
            return Err(die("VM is paused - cannot shutdown"));
        }
        let timeout = patience(&call, &vm.map(|vm| vm.config).unwrap_or_default());
        if managed(&call.pve, vmid) {
            return Ok(Answer::changed(request(&call.pve, &call.who, &host, vmid, false, timeout)?, what));
        }
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmshutdown", &vmid.to_string(), move |log: TaskLog| async move {
            let how = if paused { Off::Hard } else { Off::Ask { timeout, force } };
            power_off(&pve, &on, vmid, &log, how).await
        })?;
        Ok(Answer::changed(upid, what))
    })
}

/// Refuses what only a running machine can do.
fn running(pve: &Pve, host: &str, vmid: u32) -> Result<Vm, Fail> {
    let vm = pve.vm(host, vmid).ok().filter(Vm::is_running);
    vm.ok_or_else(|| die(format_args!("VM {vmid} not running")))
}

/// POST reboot: off by asking, then on again with what waited for it.
pub(super) fn reboot(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let vm = running(&call.pve, &host, vmid)?;
        if vm.power.is_some_and(|power| power.paused) {
            return Err(die("VM is paused - cannot shutdown"));
        }
        let timeout = patience(&call, &vm.config);
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmreboot", &vmid.to_string(), move |log: TaskLog| async move {
            power_off(&pve, &on, vmid, &log, Off::Ask { timeout, force: false }).await?;
            power_on(&pve, &on, vmid, &log, false).await
        })?;
        Ok(Answer::changed(upid, format!("vm {vmid} reboot")))
    })
}

/// POST reset.
pub(super) fn reset(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock"])?;
        let (host, vmid) = subject(&call);
        running(&call.pve, &host, vmid)?;
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmreset", &vmid.to_string(), move |_| async move {
            let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
            pve.vm(&on, vmid).and_then(|vm| vm.unlocked()).map_err(|fail| task_text(&fail))?;
            pve.guests().reset(vmid);
            Ok(())
        })?;
        Ok(Answer::changed(upid, format!("vm {vmid} reset")))
    })
}

/// POST suspend: the machine stands still.
pub(super) fn suspend(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock"])?;
        let (host, vmid) = subject(&call);
        running(&call.pve, &host, vmid)?;
        if call.params.flag("todisk").unwrap_or(false) {
            return Err(die("suspending to disk is not simulated"));
        }
        pause(&call, &host, vmid, "qmpause", true)
    })
}

/// POST resume.
pub(super) fn resume(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock", "nocheck"])?;
        let (host, vmid) = subject(&call);
        running(&call.pve, &host, vmid)?;
        pause(&call, &host, vmid, "qmresume", false)
    })
}

fn pause(call: &Call, host: &str, vmid: u32, kind: &str, paused: bool) -> Outcome {
    let (pve, on) = (Arc::clone(&call.pve), host.to_owned());
    let upid = call.pve.task(&call.who, host, kind, &vmid.to_string(), move |_| async move {
        let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
        let changed = pve.change_vm(&on, vmid, |vm| {
            vm.unlocked()?;
            if let Some(power) = &mut vm.power {
                power.paused = paused;
            }
            Ok(())
        });
        changed.map_err(|fail| task_text(&fail))
    })?;
    Ok(Answer::changed(upid, format!("vm {vmid} {kind}")))
}

/// PUT sendkey: nobody looks at the screen.
pub(super) fn send_key(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        only_root(&call, &["skiplock"])?;
        let (host, vmid) = subject(&call);
        running(&call.pve, &host, vmid)?;
        Ok(Answer::data(serde_json::Value::Null))
    })
}
