//! Where the real clients are.

use std::path::PathBuf;

use emhost_oracles::file;

/// The Python that has proxmoxer.
pub fn proxmoxer() -> Option<PathBuf> {
    file("proxmoxer-2.3.0/bin/python", "proxmoxer")
}
