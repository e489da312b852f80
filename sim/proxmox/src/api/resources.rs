//! `/cluster/resources`: everything there is, in one list, filtered by what the caller may see.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use emhost_sim_kit::Profile;
use serde_json::{Value, json};

use super::nodes;
use crate::Release;
use crate::StorageSpec;
use crate::call::{Answer, Call, Route, always};
use crate::pve::{Pve, State};
use crate::vm::Vm;

pub(super) const ROUTES: &[Route] = &[("GET", "/cluster/resources", always!(list))];

/// What the status of a machine says that the list of resources says too, and the name it has there.
const TAKEN: [(&str, &str); 11] = [
    ("uptime", "uptime"),
    ("name", "name"),
    ("status", "status"),
    ("cpus", "maxcpu"),
    ("cpu", "cpu"),
    ("maxmem", "maxmem"),
    ("mem", "mem"),
    ("maxdisk", "maxdisk"),
    ("disk", "disk"),
    ("netin", "netin"),
    ("netout", "netout"),
];

/// How often a real host tells the others how its machines are.
const EVERY: Duration = Duration::from_secs(10);

/// What was last told of machines, where things take time. In the fast profile everything is told at once.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    told: Mutex<Option<BTreeMap<u32, Value>>>,
}

impl Statistics {
    fn told(&self) -> MutexGuard<'_, Option<BTreeMap<u32, Value>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pve {
    /// Tells how machines are every now and then, as pvestatd does (facts §3). Never ends where things take time.
    pub(crate) async fn tell_statistics(&self) {
        while self.parts.dials.profile() == Profile::Home {
            let now: BTreeMap<u32, Value> = self.state().vms.iter().map(|(id, vm)| (*id, current(self, vm))).collect();
            *self.statistics.told() = Some(now);
            tokio::time::sleep(self.parts.dials.limit(EVERY)).await;
        }
    }
}

/// One machine as it was last told; one that was made since then is `unknown`, without a name.
pub(super) fn machine(pve: &Pve, vm: &Vm) -> Value {
    let told = pve.statistics.told();
    let known = told.as_ref().map(|told| told.get(&vm.id).filter(|told| told["node"] == vm.host));
    match known {
        None => current(pve, vm),
        Some(Some(told)) if pve.hosts.is_up(&vm.host) => told.clone(),
        Some(_) => unknown(vm),
    }
}

fn unknown(vm: &Vm) -> Value {
    json!({ "id": format!("qemu/{}", vm.id), "vmid": vm.id, "node": vm.host, "type": "qemu", "status": "unknown" })
}

/// One machine. That of a host that is off is `unknown`, with what was last known.
fn current(pve: &Pve, vm: &Vm) -> Value {
    let cores = pve.spec.hosts.iter().find(|host| host.name == vm.host).map_or(1, |host| host.cores);
    let status = vm.status(cores);
    let mut entry = json!({ "id": format!("qemu/{}", vm.id), "vmid": vm.id, "node": vm.host, "type": "qemu" });
    for (from, to) in TAKEN {
        entry[to] = status[from].clone();
    }
    entry["diskread"] = status["diskread"].clone();
    entry["diskwrite"] = status["diskwrite"].clone();
    entry["template"] = json!(u8::from(vm.is_template()));
    if pve.release() == Release::V9 {
        entry["memhost"] = status["mem"].clone();
    }
    if !pve.hosts.is_up(&vm.host) {
        return unknown(vm);
    }
    entry
}

/// One storage on one host.
pub(super) fn storage(pve: &Pve, state: &State, storage: &StorageSpec, host: &str) -> Value {
    let mut entry = json!({
        "id": format!("storage/{host}/{}", storage.id),
        "storage": storage.id,
        "node": host,
        "type": "storage",
        "plugintype": storage.kind,
        "status": "unknown",
        "shared": u8::from(storage.shared),
        "content": storage.content.join(","),
    });
    if pve.hosts.is_up(host) {
        let space = state.storages.space(host, storage);
        entry["maxdisk"] = json!(space.total);
        entry["disk"] = json!(space.used);
        entry["status"] = json!("available");
    }
    entry
}

fn list(call: &Call) -> Answer {
    let kind = call.params.text("type");
    let wanted = |name: &str| kind.is_none_or(|kind| kind == name);
    let pve = &call.pve;
    let state = pve.state();
    let access = &state.access;
    let mut found: Vec<Value> = Vec::new();
    if kind.is_none() {
        let pools = access.pools.keys().filter(|name| access.allows(&call.who, &format!("/pool/{name}"), &["Pool.Audit"]));
        found.extend(pools.map(|name| json!({ "id": format!("/pool/{name}"), "pool": name, "type": "pool" })));
    }
    if wanted("vm") {
        for vm in state.vms.values().filter(|vm| access.allows(&call.who, &format!("/vms/{}", vm.id), &["VM.Audit"])) {
            let mut entry = machine(pve, vm);
            for key in ["lock", "tags"] {
                if let Some(value) = vm.config.get(key) {
                    entry[key] = json!(value);
                }
            }
            if let Some(pool) = access.pool_of(vm.id).filter(|pool| access.allows(&call.who, &format!("/pool/{pool}"), &["Pool.Audit"])) {
                entry["pool"] = json!(pool);
            }
            if let Some(ha) = state.settings.ha_resources.get(&format!("vm:{}", vm.id)) {
                entry["hastate"] = json!(ha.get("state").map_or("started", String::as_str));
            }
            found.push(entry);
        }
    }
    if wanted("node") {
        for host in &pve.spec.hosts {
            let audit = access.allows(&call.who, &format!("/nodes/{}", host.name), &["Sys.Audit"]);
            let mut entry = nodes::entry(pve, &state, host, audit);
            entry["cgroup-mode"] = json!(2);
            if pve.release() == Release::V9 {
                entry["host-arch"] = json!("x86_64");
            }
            found.push(entry);
        }
    }
    if wanted("storage") {
        for spec in state.storages.specs().filter(|spec| access.allows(&call.who, &format!("/storage/{}", spec.id), &["Datastore.Audit"])) {
            let hosts = pve.spec.hosts.iter().filter(|host| state.storages.enabled(&spec.id, &host.name).is_ok());
            found.extend(hosts.map(|host| storage(pve, &state, spec, &host.name)));
        }
    }
    if access.allows(&call.who, "/sdn/zones/localnetwork", &["SDN.Audit"]) {
        for host in &pve.spec.hosts {
            let node = &host.name;
            match pve.release() {
                Release::V8 if wanted("sdn") => found.push(json!({
                    "id": format!("sdn/{node}/localnetwork"), "sdn": "localnetwork", "node": node, "type": "sdn", "status": "ok",
                })),
                Release::V9 if kind.is_none() => found.push(json!({
                    "id": format!("network/{node}/zone/localnetwork"), "type": "network", "network-type": "zone",
                    "network": "localnetwork", "node": node, "status": "ok",
                })),
                _ => {}
            }
        }
    }
    Answer::data(found)
}
