//! `/nodes`: the hosts, how they are, and their PCI devices.

use serde_json::{Value, json};

use super::version;
use crate::HostSpec;
use crate::Release;
use crate::call::{Answer, Call, Fail, Outcome, Route, always, at_once};
use crate::pve::{Pve, State};
use crate::tasks::now;

pub(super) const ROUTES: &[Route] = &[
    ("GET", "/nodes", always!(list)),
    ("GET", "/nodes/{node}", always!(index)),
    ("GET", "/nodes/{node}/status", at_once!(status)),
    ("GET", "/nodes/{node}/time", always!(time)),
    ("GET", "/nodes/{node}/dns", always!(dns)),
    ("GET", "/nodes/{node}/hosts", always!(hosts)),
    ("GET", "/nodes/{node}/lxc", always!(nothing)),
    ("GET", "/nodes/{node}/hardware", always!(hardware)),
    ("GET", "/nodes/{node}/hardware/pci", at_once!(pci)),
    ("GET", "/nodes/{node}/hardware/pci/{pci-id-or-mapping}", always!(pci_device)),
    ("GET", "/nodes/{node}/hardware/pci/{pci-id-or-mapping}/mdev", always!(nothing)),
    ("GET", "/nodes/{node}/hardware/usb", always!(nothing)),
    ("GET", "/nodes/{node}/certificates/info", always!(certificates)),
    ("GET", "/nodes/{node}/disks/list", always!(nothing)),
    ("GET", "/nodes/{node}/rrddata", always!(nothing)),
    ("GET", "/nodes/{node}/services", always!(nothing)),
];

const GIB: u64 = 1 << 30;
/// The file system the host itself is on.
const ROOT_SIZE: u64 = 94 * GIB;
const ROOT_USED: u64 = 7 * GIB;
/// Memory the host itself needs.
const OWN_MEMORY: u64 = 2 * GIB;
const CPU_MODEL: &str = "Intel(R) Core(TM) i9-12900K";

/// What the specification says of the host in the path.
pub(super) fn spec(call: &Call) -> Result<&HostSpec, Fail> {
    let found = call.pve.spec.hosts.iter().find(|host| host.name == call.node());
    found.ok_or_else(|| Fail::die(format!("no such node '{}'\n", call.node())))
}

fn used_memory(state: &State, host: &HostSpec) -> u64 {
    let machines: u64 = state.vms.values().filter(|vm| vm.host == host.name && vm.is_running()).map(crate::vm::Vm::memory).sum();
    (OWN_MEMORY + machines).min(host.memory)
}

fn load(state: &State, host: &HostSpec) -> f64 {
    let running = state.vms.values().filter(|vm| vm.host == host.name && vm.is_running()).count();
    let running = u32::try_from(running).unwrap_or(u32::MAX);
    (0.01 + 0.02 * f64::from(running) / f64::from(host.cores.max(1))).min(1.0)
}

/// A host in a list. What it is doing only those see who may.
pub(super) fn entry(pve: &Pve, state: &State, host: &HostSpec, audit: bool) -> Value {
    let up = pve.hosts.is_up(&host.name);
    let mut entry = json!({
        "id": format!("node/{}", host.name),
        "node": host.name,
        "type": "node",
        "status": if up { "online" } else { "offline" },
        "level": "",
    });
    if audit {
        if up {
            entry["uptime"] = json!(now().saturating_sub(pve.booted));
            entry["cpu"] = json!(load(state, host));
            entry["mem"] = json!(used_memory(state, host));
            entry["disk"] = json!(ROOT_USED);
        }
        entry["maxcpu"] = json!(host.cores);
        entry["maxmem"] = json!(host.memory);
        entry["maxdisk"] = json!(ROOT_SIZE);
    }
    entry
}

fn list(call: &Call) -> Answer {
    let state = call.pve.state();
    let entries = call.pve.spec.hosts.iter().map(|host| {
        let audit = state.access.allows(&call.who, &format!("/nodes/{}", host.name), &["Sys.Audit"]);
        let mut entry = entry(&call.pve, &state, host, audit);
        entry["ssl_fingerprint"] = json!(call.pve.fingerprint(&host.name));
        entry
    });
    Answer::data(entries.collect::<Vec<_>>())
}

fn index(_: &Call) -> Answer {
    let areas = ["dns", "hardware", "hosts", "lxc", "network", "qemu", "status", "storage", "tasks", "time", "version"];
    Answer::data(areas.map(|area| json!({ "name": area })).to_vec())
}

fn nothing(_: &Call) -> Answer {
    Answer::data(json!([]))
}

fn status(call: &Call) -> Outcome {
    let pve = &call.pve;
    let state = pve.state();
    let host = spec(call)?;
    let (kernel, build) = version::kernel(pve.release());
    let used = used_memory(&state, host);
    let load = load(&state, host);
    let averages = [1.0, 0.9, 0.8].map(|part| format!("{:.2}", load * part * f64::from(host.cores)));
    let mut status = json!({
        "uptime": now().saturating_sub(pve.booted),
        "idle": 0,
        "cpu": load,
        "wait": 0.0005,
        "loadavg": averages,
        "pveversion": version::manager(pve.release()),
        "kversion": format!("Linux {kernel} {build}"),
        "current-kernel": { "sysname": "Linux", "release": kernel, "version": build, "machine": "x86_64" },
        "boot-info": { "mode": "efi", "secureboot": 0 },
        "cpuinfo": {
            "cpus": host.cores, "cores": (host.cores / 2).max(1), "sockets": 1, "model": CPU_MODEL, "mhz": "3200.000", "hvm": "1",
            "user_hz": 100, "flags": "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat vmx aes avx avx2",
        },
        "memory": { "total": host.memory, "used": used, "free": host.memory - used },
        "swap": { "total": 8 * GIB, "used": 0, "free": 8 * GIB },
        "rootfs": { "total": ROOT_SIZE, "used": ROOT_USED, "free": ROOT_SIZE - ROOT_USED, "avail": ROOT_SIZE - ROOT_USED },
        "ksm": { "shared": 0 },
    });
    if pve.release() == Release::V9 {
        status["memory"]["available"] = json!(host.memory - used);
    }
    Ok(Answer::data(status))
}

fn time(_: &Call) -> Answer {
    Answer::data(json!({ "timezone": "Etc/UTC", "time": now(), "localtime": now() }))
}

fn dns(_: &Call) -> Answer {
    Answer::data(json!({ "search": "sim", "dns1": "127.0.0.1" }))
}

fn hosts(call: &Call) -> Answer {
    let lines: Vec<String> =
        call.pve.spec.hosts.iter().map(|host| format!("{} {}.sim {}\n", host.listen.ip(), host.name, host.name)).collect();
    let text = format!("127.0.0.1 localhost.localdomain localhost\n{}", lines.concat());
    Answer::data(json!({ "digest": super::digest(&text), "data": text }))
}

fn certificates(call: &Call) -> Answer {
    let host = call.pve.hosts.get(call.node());
    let pem = host.map(|host| host.identity.pem());
    Answer::data(json!([
        { "filename": "pve-root-ca.pem", "pem": call.pve.authority() },
        { "filename": "pve-ssl.pem", "pem": pem, "fingerprint": call.pve.fingerprint(call.node()) },
    ]))
}

fn hardware(_: &Call) -> Answer {
    Answer::data(json!([{ "type": "pci" }, { "type": "usb" }]))
}

fn pci(call: &Call) -> Outcome {
    let host = spec(call)?;
    let verbose = call.params.flag("verbose").unwrap_or(true);
    // Memory controllers, bridges and processors, unless somebody asks for them.
    let hidden = match call.params.text("pci-class-blacklist") {
        None => vec!["05".to_owned(), "06".to_owned(), "0b".to_owned()],
        Some(_) => call.params.list("pci-class-blacklist"),
    };
    let seen = host.pci.iter().filter(|device| !hidden.iter().any(|class| device.class.trim_start_matches("0x").starts_with(class)));
    let entries = seen.map(|device| {
        let group = if host.iommu { device.iommu_group } else { -1 };
        let mut entry = json!({ "id": device.bdf });
        if verbose {
            entry["class"] = json!(device.class);
            entry["vendor"] = json!(device.vendor);
            entry["device"] = json!(device.device);
            entry["vendor_name"] = json!(device.vendor_name);
            entry["device_name"] = json!(device.device_name);
            entry["subsystem_vendor"] = json!(device.vendor);
            entry["subsystem_device"] = json!(device.device);
            entry["iommugroup"] = json!(group);
        }
        entry
    });
    Ok(Answer::data(entries.collect::<Vec<_>>()))
}

fn pci_device(_: &Call) -> Answer {
    Answer::data(json!([{ "method": "mdev" }]))
}
