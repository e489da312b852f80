//! What can be read about machines.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{disks, subject};
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::{Pve, State};
use crate::storage::{Feature, die};
use crate::vm::drives;

fn answer(call: Call, read: impl FnOnce(&Call) -> Result<Value, Fail> + Send + 'static) -> BoxFuture<'static, Outcome> {
    Box::pin(async move { read(&call).map(Answer::data) })
}

/// The processors of a host.
pub(super) fn cores(pve: &Pve, host: &str) -> u32 {
    pve.spec.hosts.iter().find(|spec| spec.name == host).map_or(1, |spec| spec.cores)
}

/// Whether a machine is highly available, as its status shows it.
pub(super) fn ha(state: &State, vmid: u32) -> Value {
    match state.settings.ha_resources.get(&format!("vm:{vmid}")) {
        None => json!({ "managed": 0 }),
        Some(resource) => json!({ "managed": 1, "state": resource.get("state").map_or("started", String::as_str) }),
    }
}

/// Every machine of a host.
pub(super) fn list(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |call| {
        let host = call.params.node();
        let state = call.pve.state();
        let cores = cores(&call.pve, host);
        let visible = state.vms.values().filter(|vm| vm.host == host);
        let visible = visible.filter(|vm| state.access.allows(&call.who, &format!("/vms/{}", vm.id), &["VM.Audit"]));
        let full = call.params.flag("full").unwrap_or(false);
        let shown = |vm: &crate::vm::Vm| {
            let mut status = vm.status(cores);
            if full {
                status["qmpstatus"] = status["status"].clone();
            }
            status
        };
        Ok(Value::Array(visible.map(shown).collect()))
    })
}

/// What there is about one machine.
pub(super) fn index(call: Call) -> BoxFuture<'static, Outcome> {
    let names = [
        "config",
        "pending",
        "status",
        "unlink",
        "vncproxy",
        "termproxy",
        "migrate",
        "resize",
        "move",
        "rrd",
        "rrddata",
        "monitor",
        "agent",
        "snapshot",
        "spiceproxy",
        "sendkey",
        "firewall",
        "mtunnel",
        "remote_migrate",
        "cloudinit",
        "feature",
        "clone",
        "template",
    ];
    answer(call, move |_| Ok(names.iter().map(|name| json!({ "subdir": name })).collect()))
}

/// What can be done to its power.
pub(super) fn status_index(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, move |_| {
        Ok(["current", "start", "stop", "reset", "shutdown", "suspend", "reboot"].iter().map(|name| json!({ "subdir": name })).collect())
    })
}

/// The configuration.
pub(super) fn config(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |call| {
        let (host, vmid) = subject(call);
        let current = call.params.flag("current").unwrap_or(false);
        let snapshot = call.params.text("snapshot");
        if current && snapshot.is_some() {
            let text = "cannot use 'snapshot' parameter with 'current'".to_owned();
            return Err(Fail::params([("snapshot".to_owned(), text.clone()), ("current".to_owned(), text)].into()));
        }
        let state = call.pve.state();
        let vm = state.vm(&host, vmid)?;
        snapshot.map_or_else(|| Ok(vm.shown(current)), |name| vm.shown_snapshot(name))
    })
}

/// The configuration with what waits for the next start.
pub(super) fn pending(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |call| {
        let (host, vmid) = subject(call);
        Ok(call.pve.state().vm(&host, vmid)?.shown_pending())
    })
}

/// How it is.
pub(super) fn current(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |call| {
        let (host, vmid) = subject(call);
        let state = call.pve.state();
        let vm = state.vm(&host, vmid)?;
        Ok(vm.full_status(call.pve.release(), cores(&call.pve, &host), ha(&state, vmid)))
    })
}

/// Whether it can be cloned, copied or snapshotted, and where.
pub(super) fn feature(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |call| {
        let (host, vmid) = subject(call);
        let state = call.pve.state();
        let vm = state.vm(&host, vmid)?;
        let config = match call.params.text("snapname") {
            None => &vm.config,
            Some(name) => vm.snapshots.get(name).ok_or_else(|| die(format_args!("snapshot '{name}' does not exist")))?,
        };
        let feature = match call.params.text("feature") {
            Some("clone") => Feature::Clone,
            Some("snapshot") => Feature::Snapshot,
            _ => Feature::Copy,
        };
        let disks: Vec<_> = drives::attached(config).filter(|(_, drive)| !drives::is_cdrom(drive)).collect();
        let has = disks.iter().all(|(_, drive)| disks::has_feature(&state.storages, feature, &drive.file));
        let reaches = |node: &str| {
            let mut volumes = drives::attached(config).filter(|(_, drive)| drive.file.contains(':'));
            volumes.all(|(_, drive)| {
                let id = drive.file.split(':').next().unwrap_or_default();
                state.storages.enabled(id, node).is_ok_and(|spec| spec.shared || node == host)
            })
        };
        let nodes: Vec<&str> = call.pve.spec.hosts.iter().map(|spec| spec.name.as_str()).filter(|node| reaches(node)).collect();
        Ok(json!({ "hasFeature": u8::from(has), "nodes": nodes }))
    })
}

/// GET of how it was over time, of which nothing is recorded.
pub(super) fn history(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |call| {
        let (host, vmid) = subject(call);
        call.pve.vm(&host, vmid)?;
        Ok(json!([]))
    })
}
