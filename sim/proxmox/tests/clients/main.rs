//! Real clients against the example server, where they are installed: proxmoxer, and terraform with bpg's provider.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking and say what they skip")]

mod oracles;
mod served;
#[path = "../site/mod.rs"]
mod site;
mod terraform;

use std::path::Path;
use std::process::{Command, Stdio};

use served::Served;

#[test]
fn proxmoxer_does_what_it_does_with_proxmox() {
    let Some(python) = oracles::proxmoxer() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/proxmoxer.py");
    for release in ["8.4", "9"] {
        let served = Served::start(release, &[]);
        let arguments = [served.text("url"), served.text("token"), served.text("password")];
        let output = Command::new(&python).arg(&script).args(arguments).stdin(Stdio::null()).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains("all good"), "{release}: {text}");
    }
}
