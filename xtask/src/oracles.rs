//! Real programs that tests run against: built by the scripts in `tests/oracles/`, kept in the user's cache.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Result, root};

/// Cheap ones first, so that much can be tested where the time does not suffice for all.
const ORDER: [&str; 11] =
    ["packages", "proxmoxer", "sops", "talos-oracle", "charts", "helm", "terraform", "oraclenode", "kubectl", "talosctl", "kubernetes"];

/// Builds the named ones, or all. What cannot be built is said, and is an error after the others were tried.
/// With `--minutes N`, none is begun after that time.
pub fn build(arguments: &[String]) -> Result {
    let started = Instant::now();
    let mut names = Vec::new();
    let mut limit = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--minutes" {
            let number = words.next().and_then(|number| number.parse().ok()).ok_or("--minutes needs a number")?;
            limit = Some(Duration::from_mins(number));
        } else {
            names.push(word.clone());
        }
    }
    let scripts = scripts()?;
    if let Some(unknown) = names.iter().find(|name| !scripts.iter().any(|(known, _)| known == *name)) {
        let known: Vec<&str> = scripts.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("there is no oracle `{unknown}`, only {}", known.join(", ")).into());
    }
    let mut failed = Vec::new();
    for (name, script) in scripts.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        if limit.is_some_and(|limit| started.elapsed() > limit) {
            println!("NOT BUILT: oracle {name} (no time left); its tests will be skipped unless it is there already");
            failed.push(name.as_str());
            continue;
        }
        println!("xtask: oracle {name} (after {} s)", started.elapsed().as_secs());
        let status = Command::new("bash").arg(script).current_dir(root()).status();
        let wrong = match status {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(error) => format!("bash: {error}"),
        };
        println!("NOT BUILT: oracle {name} ({wrong}); its tests will be skipped");
        failed.push(name.as_str());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("not built: {}", failed.join(", ")).into()) }
}

/// Every script, by the name of what it builds.
fn scripts() -> Result<Vec<(String, PathBuf)>> {
    let mut scripts = Vec::new();
    for entry in fs::read_dir(root().join("tests/oracles"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sh")
            && let Some(name) = path.file_stem()
        {
            scripts.push((name.to_string_lossy().into_owned(), path));
        }
    }
    scripts.sort_by_key(|(name, _)| (ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()), name.clone()));
    Ok(scripts)
}
