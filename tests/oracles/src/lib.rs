//! Where the real programs and the recorded facts are that tests compare with.
//!
//! The scripts beside this crate build the programs, `cargo xtask oracles` runs them. What is not there is none, and a loud word:
//! a test that was skipped must not look like one that passed.

mod process;
mod terraform;

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub use process::Process;
pub use terraform::Terraform;

/// Says what was not tested, and why. Not with `eprintln!`, which the test runner swallows.
pub fn skipped(why: impl Display) {
    // Where nobody listens, nobody needs to know.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Where programs are kept, the same as in the scripts.
pub fn folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").unwrap_or_else(|| variable("HOME").unwrap_or_default().join(".cache"));
    variable("EMHOST_ORACLES").unwrap_or_else(|| cache().join("emhost-oracles"))
}

/// A program by its name in `bin/`, such as `talosctl-v1.11.5`, and the script that builds it.
pub fn program(name: &str, script: &str) -> Option<PathBuf> {
    file(&format!("bin/{name}"), script)
}

/// Any file that a script puts there.
pub fn file(path: &str, script: &str) -> Option<PathBuf> {
    let path = folder().join(path);
    if path.is_file() {
        return Some(path);
    }
    skipped(format_args!("{} is not there; `cargo xtask oracles {script}` builds it", path.display()));
    None
}

/// Runs a program's command on texts, each in a file of its own.
///
/// # Errors
/// What it says when it refuses.
///
/// # Panics
/// When there is no room for the files, or the program cannot be run.
#[expect(clippy::unwrap_used, reason = "what tests share fails by panicking")]
pub fn on_files(program: &Path, command: &str, texts: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let files = texts.iter().enumerate().map(|(index, text)| {
        let file = folder.path().join(index.to_string());
        std::fs::write(&file, text).unwrap();
        file
    });
    let output = std::process::Command::new(program).arg(command).args(files).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The text of a file of recorded facts, which lie beside the checkout and never in it.
pub fn facts(name: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/facts");
    let path = std::env::var_os("EMHOST_FACTS").map_or_else(beside, PathBuf::from).join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        skipped(format_args!("{} is not there, so nothing was compared with it; EMHOST_FACTS says where it is", path.display()));
    }
    text
}
