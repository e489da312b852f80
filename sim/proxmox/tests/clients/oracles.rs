//! Where the real clients are.

use std::path::PathBuf;

fn folder() -> PathBuf {
    let cache = || {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")).join("emhost-oracles")
    };
    std::env::var_os("EMHOST_ORACLES").map_or_else(cache, PathBuf::from)
}

/// A file of a client; none, and a loud word, where it was not built.
fn oracle(path: &str, script: &str) -> Option<PathBuf> {
    let path = folder().join(path);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there; `cargo xtask oracles {script}` builds it", path.display());
    None
}

/// The Python that has proxmoxer.
pub fn proxmoxer() -> Option<PathBuf> {
    oracle("proxmoxer-2.3.0/bin/python", "proxmoxer")
}

/// The program, `terraform` or `tofu`, and the folder of bpg's provider.
pub fn terraform() -> Option<(PathBuf, PathBuf)> {
    let provider = oracle("bin/tf-v0.80.0/terraform-provider-proxmox", "terraform")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("terraform")).find(|file| file.is_file());
    let program = installed.or_else(|| oracle("bin/tofu-v1.9.1", "terraform"))?;
    Some((program, provider.parent()?.to_owned()))
}
