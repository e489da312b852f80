//! `/nodes/{node}/qemu/{vmid}/agent`: what runs inside the guest.

use super::super::Endpoint;
use super::super::endpoint::{Permission, all, any, get, post};
use super::super::field::{array, choice, flag, int, text};
use crate::Release;

const VM: &str = "/vms/{vmid}";
const AUDIT: &[&str] = &["VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted"];
const FILE_SYSTEMS: &[&str] = &["VM.GuestAgent.FileSystemMgmt", "VM.GuestAgent.Unrestricted"];
const POWER: &[&str] = &["VM.PowerMgmt", "VM.GuestAgent.Unrestricted"];
const EVERYTHING: &[&str] = &["VM.GuestAgent.Unrestricted"];

/// Commands without parameters: their names, whether they change something, and what 9 asks for.
const COMMANDS: [(&str, &str, bool, &[&str]); 20] = [
    ("fsfreeze-freeze", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-freeze", true, FILE_SYSTEMS),
    (
        "fsfreeze-status",
        "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-status",
        true,
        &["VM.GuestAgent.Audit", "VM.GuestAgent.FileSystemMgmt", "VM.GuestAgent.Unrestricted"],
    ),
    ("fsfreeze-thaw", "/nodes/{node}/qemu/{vmid}/agent/fsfreeze-thaw", true, FILE_SYSTEMS),
    ("fstrim", "/nodes/{node}/qemu/{vmid}/agent/fstrim", true, FILE_SYSTEMS),
    ("get-fsinfo", "/nodes/{node}/qemu/{vmid}/agent/get-fsinfo", false, AUDIT),
    ("get-host-name", "/nodes/{node}/qemu/{vmid}/agent/get-host-name", false, AUDIT),
    ("get-memory-block-info", "/nodes/{node}/qemu/{vmid}/agent/get-memory-block-info", false, AUDIT),
    ("get-memory-blocks", "/nodes/{node}/qemu/{vmid}/agent/get-memory-blocks", false, AUDIT),
    ("get-osinfo", "/nodes/{node}/qemu/{vmid}/agent/get-osinfo", false, AUDIT),
    ("get-time", "/nodes/{node}/qemu/{vmid}/agent/get-time", false, AUDIT),
    ("get-timezone", "/nodes/{node}/qemu/{vmid}/agent/get-timezone", false, AUDIT),
    ("get-users", "/nodes/{node}/qemu/{vmid}/agent/get-users", false, AUDIT),
    ("get-vcpus", "/nodes/{node}/qemu/{vmid}/agent/get-vcpus", false, AUDIT),
    ("info", "/nodes/{node}/qemu/{vmid}/agent/info", false, AUDIT),
    ("network-get-interfaces", "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", false, AUDIT),
    ("ping", "/nodes/{node}/qemu/{vmid}/agent/ping", true, AUDIT),
    ("shutdown", "/nodes/{node}/qemu/{vmid}/agent/shutdown", true, POWER),
    ("suspend-disk", "/nodes/{node}/qemu/{vmid}/agent/suspend-disk", true, POWER),
    ("suspend-hybrid", "/nodes/{node}/qemu/{vmid}/agent/suspend-hybrid", true, POWER),
    ("suspend-ram", "/nodes/{node}/qemu/{vmid}/agent/suspend-ram", true, POWER),
];

/// 8.4 has one privilege for everything.
fn permission(release: Release, on_9: &'static [&'static str]) -> Permission {
    match release {
        Release::V8 => all(VM, &["VM.Monitor"]),
        Release::V9 if on_9.len() == 1 => all(VM, on_9),
        Release::V9 => any(VM, on_9),
    }
}

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    let names: Vec<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    let by_name = match release {
        Release::V8 => all(VM, &["VM.Monitor"]),
        Release::V9 => any(VM, &["VM.GuestAgent.Unrestricted", "VM.GuestAgent.Unrestricted"]),
    };
    let mut read =
        get("/nodes/{node}/qemu/{vmid}/agent/file-read", permission(release, &["VM.GuestAgent.FileRead", "VM.GuestAgent.Unrestricted"]))
            .needs([("file", text())])
            .proxied();
    if release == Release::V9 {
        read = read.takes([("count", int().min(1).max(16_777_216)), ("decode", flag()), ("offset", int().min(0))]);
    }
    let index = get("/nodes/{node}/qemu/{vmid}/agent", Permission::User).proxied();
    let mut all = vec![
        Endpoint { extra_params: true, ..index },
        post("/nodes/{node}/qemu/{vmid}/agent", by_name).needs([("command", choice(names))]).proxied(),
        post("/nodes/{node}/qemu/{vmid}/agent/exec", permission(release, EVERYTHING))
            .needs([("command", array(text()))])
            .takes([("input-data", text().longest(65536))])
            .proxied(),
        get("/nodes/{node}/qemu/{vmid}/agent/exec-status", permission(release, EVERYTHING)).needs([("pid", int())]).proxied(),
        read,
        post("/nodes/{node}/qemu/{vmid}/agent/file-write", permission(release, &["VM.GuestAgent.FileWrite", "VM.GuestAgent.Unrestricted"]))
            .needs([("content", text().longest(61440)), ("file", text())])
            .takes([("encode", flag())])
            .proxied(),
        post("/nodes/{node}/qemu/{vmid}/agent/set-user-password", permission(release, EVERYTHING))
            .needs([("password", text().shortest(5).longest(1024)), ("username", text())])
            .takes([("crypted", flag())])
            .proxied(),
    ];
    all.extend(COMMANDS.iter().map(|(_, path, changes, privileges)| {
        let method = if *changes { post } else { get };
        method(path, permission(release, privileges)).proxied()
    }));
    all
}
