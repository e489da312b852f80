//! Which Proxmox this is.

use serde_json::{Value, json};

use crate::Release;
use crate::call::{Answer, Call, Route, always};

pub(super) const ROUTES: &[Route] = &[("GET", "/version", always!(version)), ("GET", "/nodes/{node}/version", always!(version))];

/// Version, release and the commit it was built from.
fn info(release: Release) -> Value {
    match release {
        Release::V8 => json!({ "version": "8.4.1", "release": "8.4", "repoid": "2a5fa54a8503f96d" }),
        Release::V9 => json!({ "version": "9.1.4", "release": "9.1", "repoid": "5ac30304265fbd8e" }),
    }
}

/// As `pveversion` prints it.
pub(super) fn manager(release: Release) -> String {
    let info = info(release);
    let text = |key: &str| info[key].as_str().unwrap_or_default().to_owned();
    format!("pve-manager/{}/{}", text("version"), text("repoid"))
}

/// Release and build of the kernel.
pub(super) fn kernel(release: Release) -> (&'static str, &'static str) {
    match release {
        Release::V8 => ("6.8.12-11-pve", "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-11 (2025-05-22T09:39Z)"),
        Release::V9 => ("6.17.4-1-pve", "#1 SMP PREEMPT_DYNAMIC PMX 6.17.4-1 (2025-12-03T15:42Z)"),
    }
}

fn version(call: &Call) -> Answer {
    let mut data = info(call.pve.release());
    if call.params.node().is_empty()
        && let Some(console) = call.pve.state().settings.options.get("console")
    {
        data["console"] = json!(console);
    }
    Answer::data(data)
}
