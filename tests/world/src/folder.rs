//! A whole cluster folder in one line: inventory, site, components and lock file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use emhost::plugins::inspect::inspect;
use emhost::plugins::lock::{Lock, Pinned, asked};

use crate::World;

/// The fixtures: names of plugins, and of their files.
pub const PLUGINS: [&str; 5] = ["fixture-configurator", "fixture-boot", "fixture-provisioner", "fixture-distro", "fixture-addon"];

/// Where the component of a fixture is, as `cargo xtask guests` built it.
pub fn component(name: &str) -> PathBuf {
    let folder = std::env::var_os("EMHOST_GUESTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/wasm32-wasip2/plugin/examples"), PathBuf::from);
    let made = [name.replace('-', "_"), name.to_owned()].map(|name| folder.join(format!("{name}.wasm")));
    made.into_iter().find(|file| file.exists()).unwrap_or_else(|| panic_missing(&folder, name))
}

#[expect(clippy::panic, reason = "a test kit fails by panicking")]
fn panic_missing(folder: &Path, name: &str) -> PathBuf {
    panic!("{name} is not in {}: run `cargo xtask guests`", folder.display())
}

pub(crate) fn site_yaml(url: &str) -> String {
    format!(
        "slots:
  hypervisor: {{url: \"{url}\"}}
  images: {{url: \"{url}\"}}
  os: {{url: \"{url}\", maintenance: true}}
  kubernetes: {{url: \"{url}/kube\"}}
plugins:
  configurator: ./fixture-configurator.wasm
  boot-source: ./fixture-boot.wasm
  provisioner: ./fixture-provisioner.wasm
  distro: ./fixture-distro.wasm
  addons: [./fixture-addon.wasm]
"
    )
}

const CLUSTER: &str = "\
cluster_name: dev
talos_version: v1.11.5
kubernetes_version: v1.34.1
network: {gateway: 10.0.0.1, prefix: 16}
proxmox: {node: pve1}
";

/// Writes a folder with this world behind it: `cluster.yaml`, `nodes.yaml`, `site.yaml`, the fixtures and an `emhost.lock` that grants
/// what they ask for. Nodes are `dev-cp-1` (10.0.10.11) and so on, and `dev-wk-1` (10.0.10.21) and so on.
pub fn lay(folder: &Path, world: &World, control_planes: usize, workers: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("a file of the folder");
    write("cluster.yaml", CLUSTER.as_bytes());
    write("nodes.yaml", nodes_yaml(control_planes, workers).as_bytes());
    write("site.yaml", world.site_yaml().as_bytes());
    let mut lock = Lock::load(folder).expect("no lock file yet");
    for (name, bytes, pinned) in pinned() {
        write(&format!("{name}.wasm"), bytes);
        lock.plugins.insert((*name).to_owned(), pinned.clone());
    }
    lock.save(folder).expect("a lock file");
}

/// Read and inspected once, since crash tests lay hundreds of folders.
fn pinned() -> &'static [(&'static str, Vec<u8>, Pinned)] {
    static PINNED: OnceLock<Vec<(&str, Vec<u8>, Pinned)>> = OnceLock::new();
    PINNED.get_or_init(|| {
        let pin = |name| {
            let bytes = std::fs::read(component(name)).expect("a component");
            let inspection = inspect(&bytes).expect("a plugin");
            let source = format!("./{name}.wasm").parse().expect("a path");
            let grants = asked(&inspection).expect("grants");
            let pinned = Pinned::new(source, &inspection, inspection.shape.roles.clone(), grants).expect("what it asks for");
            (name, bytes, pinned)
        };
        PLUGINS.map(pin).into()
    })
}

fn nodes_yaml(control_planes: usize, workers: usize) -> String {
    let mut text = String::new();
    let mut list = |title: &str, kind: &str, first: usize, count: usize| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{title}:{}", if count == 0 { " []" } else { "" });
        for number in 1..=count {
            let address = address(first + number);
            let _ = writeln!(text, "  - {{name: dev-{kind}-{number}, ip: {address}, cpu: 2, ram: 4096, disk: 40G}}");
        }
    };
    assert!(control_planes < 10, "addresses are for nine control planes");
    list("controlplane", "cp", 10, control_planes);
    list("workers", "wk", 20, workers);
    text
}

/// 10.0.10.0 and up, without the ends of each /24.
fn address(number: usize) -> String {
    if number < 200 { format!("10.0.10.{number}") } else { format!("10.0.{}.{}", 10 + number / 200, 20 + number % 200) }
}
