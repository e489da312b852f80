//! A large cluster in one go, phase by phase.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::site::Site;

const CONTROL_PLANES: u8 = 5;
const WORKERS: u8 = 40;

/// The section of the page.
pub fn measure() -> Result<String> {
    let folder = tempfile::tempdir()?;
    let _site = Site::with(folder.path(), CONTROL_PLANES, WORKERS, "")?;
    let ran = Command::new(emhost_tests::site::binary())
        .args(["apply", "--yes", "--json"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .output()?;
    let out = String::from_utf8(ran.stdout)?;
    if !ran.status.success() {
        return Err(format!("{out}{}", String::from_utf8_lossy(&ran.stderr)).into());
    }
    let report = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).rfind(|line| line["event"] == "report");
    let report = report
        .map(|line| line["report"].clone())
        .filter(|report| report["phases"].is_array())
        .ok_or_else(|| format!("`apply --json` tells no phases:\n{out}"))?;
    let seconds = |value: &Value| value.as_f64().ok_or_else(|| format!("`{value}` is no time"));
    let mut text = format!(
        "## A large cluster\n\n`emhost apply` makes {CONTROL_PLANES} control planes and {WORKERS} workers on the embedded site, whose own work is part of it and whose operations take no time. Phases overlap: each is told from its first unit to its last.\n\n| phase | |\n|---|---|\n"
    );
    for phase in report["phases"].as_array().into_iter().flatten() {
        writeln!(text, "| {} | {:.1} s |", phase["phase"].as_str().ok_or("a phase without a name")?, seconds(&phase["elapsed"])?)?;
    }
    writeln!(text, "| all | {:.1} s |", seconds(&report["elapsed"])?)?;
    Ok(text)
}
