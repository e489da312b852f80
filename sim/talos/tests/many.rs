//! A hundred nodes on one site are cheap.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::panic, clippy::expect_used)]

mod site;

use std::time::{Duration, Instant};

use site::Site;
use site::talosctl::Talosctl;

/// What this process holds in memory, in MiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn a_hundred_nodes_stay_small() {
    let Some(talosctl) = Talosctl::new("v1.11.5") else { return };
    talosctl.generate("https://10.0.10.11:6443", "v1.11.5", &[]);
    let (plane, worker) = ["controlplane.yaml", "worker.yaml"].map(|name| std::fs::read(talosctl.path(name)).unwrap()).into();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let site = runtime.block_on(async { Site::open() });
    let (begin, before) = (Instant::now(), resident());
    runtime.block_on(async {
        for id in 11..111 {
            let config: &Vec<u8> = if id < 14 { &plane } else { &worker };
            site.earth.user_data.lock().unwrap().insert(id, config.clone());
            site.add_image(id, &format!("n{id}"), "v1.11.5");
        }
    });
    let first = site.dialled("10.0.10.11");
    assert!(talosctl.raw(&["config", "endpoint", &first]).ok);
    talosctl.until(&first, &["bootstrap"], |_| true);
    site.wait("ready everywhere", |nodes| nodes.len() == 100 && nodes.iter().all(|node| node.ready));
    let grown = resident() - before;
    eprintln!("100 nodes: ready after {:?}, {grown} MiB", begin.elapsed());
    assert!(grown < 250, "{grown} MiB");
    assert!(begin.elapsed() < Duration::from_mins(1));
    site.close();
}
