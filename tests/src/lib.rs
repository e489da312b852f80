//! What the tests share: where the guests are, a cluster on the fixture world, and one on a simulated site.

pub mod control_plane;
pub mod example;
pub mod place;
pub mod site;

use std::path::{Path, PathBuf};

/// The component of a guest in `guests/examples/`, as `cargo xtask test` built it.
///
/// # Panics
/// When it was not built.
pub fn guest(name: &str) -> PathBuf {
    let folder = std::env::var_os("EMHOST_GUESTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/wasm32-wasip2/plugin/examples"), PathBuf::from);
    let file = folder.join(format!("{}.wasm", name.replace('-', "_")));
    if !file.exists() {
        let file = folder.join(format!("{name}.wasm"));
        assert!(file.exists(), "{} is not built: run `cargo xtask guests`", file.display());
        return file;
    }
    file
}

/// A component of `plugins/`, as `cargo xtask` built it.
///
/// # Panics
/// When it was not built.
pub fn plugin(name: &str) -> PathBuf {
    let folder = std::env::var_os("EMHOST_BUILTIN_PLUGINS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins"), PathBuf::from);
    let file = folder.join(format!("{name}.wasm"));
    assert!(file.exists(), "{} is not built: run `cargo xtask plugins`", file.display());
    file
}
