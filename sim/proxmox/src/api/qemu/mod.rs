//! Machines: one file for each thing that can be done to them.

mod agent;
mod clone;
mod cloudinit;
mod create;
mod destroy;
mod disks;
mod migrate;
mod move_disk;
mod options;
mod power;
mod read;
mod removals;
mod resize;
pub(crate) mod rights;
mod snapshot;
mod template;
mod update;

use crate::call::{Call, Fail, Route};

/// Who answers what.
pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/qemu", read::list),
    ("POST", "/nodes/{node}/qemu", create::create),
    ("GET", "/nodes/{node}/qemu/{vmid}", read::index),
    ("DELETE", "/nodes/{node}/qemu/{vmid}", destroy::destroy),
    ("GET", "/nodes/{node}/qemu/{vmid}/config", read::config),
    ("PUT", "/nodes/{node}/qemu/{vmid}/config", update::put),
    ("POST", "/nodes/{node}/qemu/{vmid}/config", update::post),
    ("GET", "/nodes/{node}/qemu/{vmid}/pending", read::pending),
    ("GET", "/nodes/{node}/qemu/{vmid}/feature", read::feature),
    ("PUT", "/nodes/{node}/qemu/{vmid}/unlink", update::unlink),
    ("POST", "/nodes/{node}/qemu/{vmid}/clone", clone::clone),
    ("PUT", "/nodes/{node}/qemu/{vmid}/resize", resize::resize),
    ("POST", "/nodes/{node}/qemu/{vmid}/move_disk", move_disk::move_disk),
    ("POST", "/nodes/{node}/qemu/{vmid}/template", template::template),
    ("GET", "/nodes/{node}/qemu/{vmid}/migrate", migrate::precondition),
    ("POST", "/nodes/{node}/qemu/{vmid}/migrate", migrate::migrate),
    ("GET", "/nodes/{node}/qemu/{vmid}/status", read::status_index),
    ("GET", "/nodes/{node}/qemu/{vmid}/status/current", read::current),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/start", power::start),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/stop", power::stop),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/shutdown", power::shutdown),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/reboot", power::reboot),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/reset", power::reset),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/suspend", power::suspend),
    ("POST", "/nodes/{node}/qemu/{vmid}/status/resume", power::resume),
    ("GET", "/nodes/{node}/qemu/{vmid}/snapshot", snapshot::list),
    ("POST", "/nodes/{node}/qemu/{vmid}/snapshot", snapshot::create),
    ("GET", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", snapshot::index),
    ("DELETE", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", snapshot::delete),
    ("GET", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", snapshot::config),
    ("PUT", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", snapshot::describe),
    ("POST", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback", snapshot::rollback),
    ("GET", "/nodes/{node}/qemu/{vmid}/cloudinit", cloudinit::pending),
    ("PUT", "/nodes/{node}/qemu/{vmid}/cloudinit", cloudinit::regenerate),
    ("GET", "/nodes/{node}/qemu/{vmid}/cloudinit/dump", cloudinit::dump),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent", agent::index),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/ping", agent::ping),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/info", agent::info),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", agent::interfaces),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-osinfo", agent::osinfo),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-host-name", agent::host_name),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-time", agent::time),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-timezone", agent::timezone),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-fsinfo", agent::nothing),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-users", agent::nothing),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/shutdown", agent::shutdown),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/exec", agent::unsupported),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/exec-status", agent::unsupported),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/file-read", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/file-write", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-freeze", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-status", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-thaw", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/fstrim", agent::unsupported),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-memory-block-info", agent::unsupported),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-memory-blocks", agent::unsupported),
    ("GET", "/nodes/{node}/qemu/{vmid}/agent/get-vcpus", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/set-user-password", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/suspend-disk", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/suspend-hybrid", agent::unsupported),
    ("POST", "/nodes/{node}/qemu/{vmid}/agent/suspend-ram", agent::unsupported),
    ("GET", "/nodes/{node}/qemu/{vmid}/rrddata", read::history),
    ("PUT", "/nodes/{node}/qemu/{vmid}/sendkey", power::send_key),
];

/// Host and number of the machine a request is about.
fn subject(call: &Call) -> (String, u32) {
    (call.params.node().to_owned(), call.params.vmid().unwrap_or_default())
}

/// Options only `root@pam` itself may give.
fn only_root(call: &Call, names: &[&str]) -> Result<(), Fail> {
    let given = |name: &&&str| call.params.text(name).is_some_and(|text| !text.is_empty() && text != "0");
    match names.iter().find(given) {
        Some(name) if !call.who.is_root() => Err(Fail::param(*name, "Only root may use this option.")),
        _ => Ok(()),
    }
}

/// How an error reads as the end of a task.
fn task_text(fail: &Fail) -> String {
    let errors = fail.errors.iter().map(|(key, text)| format!("{key}: {}", text.trim_end()));
    std::iter::once(fail.message.trim_end().to_owned()).chain(errors).collect::<Vec<_>>().join("\n")
}
