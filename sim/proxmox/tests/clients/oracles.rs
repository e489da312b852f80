//! Where the real clients are.

use std::path::PathBuf;

use emhost_oracles::{file, program};

/// The Python that has proxmoxer.
pub fn proxmoxer() -> Option<PathBuf> {
    file("proxmoxer-2.3.0/bin/python", "proxmoxer")
}

/// The program, `terraform` or `tofu`, and the folder of bpg's provider.
pub fn terraform() -> Option<(PathBuf, PathBuf)> {
    let provider = program("tf-v0.80.0/terraform-provider-proxmox", "terraform")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("terraform")).find(|file| file.is_file());
    let terraform = installed.or_else(|| program("tofu-v1.9.1", "terraform"))?;
    Some((terraform, provider.parent()?.to_owned()))
}
