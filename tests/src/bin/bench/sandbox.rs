//! What the sandbox costs: loading a plugin, calling it, and keeping it from computing for ever.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use emhost::plugins::{Cache, Runtime};
use emhost_testkit::Kit;
use emhost_tests::{guest, plugin};

use crate::{Pair, Result, median};

/// Every pair.
pub async fn measure() -> Result<Vec<Pair<'static>>> {
    let mut pairs = Vec::new();
    for (what, file) in [("load `noop`", plugin("noop")), ("load `bench` (serde_json)", guest("bench"))] {
        pairs.push(loading(what, &file)?);
    }
    pairs.push(call("one call: fresh store, instance and inventory", 1).await?);
    pairs.push(call("one call that computes for a while", 400).await?);
    pairs.push(limits().await?);
    Ok(pairs)
}

/// What a plugin's code costs when it is kept, against compiling it.
pub fn broken(pairs: &[Pair<'_>]) -> Vec<String> {
    let slow = pairs.iter().filter(|pair| pair.first.0 == "compiled" && pair.ratio() < 100.0);
    slow.map(|pair| format!("{}: a cached load is only {:.0}× faster than compiling, 100× is promised", pair.what, pair.ratio())).collect()
}

fn loading(what: &'static str, file: &Path) -> Result<Pair<'static>> {
    let bytes = std::fs::read(file)?;
    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("cache");
    let cold = Runtime::new(None)?;
    let warm = Runtime::new(Some(Cache::open(&folder)?))?;
    warm.load(&bytes)?;
    let (mut compiled, mut cached) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let start = Instant::now();
        black_box(cold.load(&bytes)?);
        compiled.push(start.elapsed());
        for _ in 0..20 {
            let start = Instant::now();
            black_box(warm.load(&bytes)?);
            cached.push(start.elapsed());
        }
    }
    Ok(Pair { what, first: ("compiled", median(compiled)), second: ("cached", median(cached)) })
}

async fn call(what: &'static str, rounds: u32) -> Result<Pair<'static>> {
    let kit = Kit::file(guest("bench")).settings(serde_json::json!({ "rounds": rounds })).build()?;
    let node = kit.node();
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for _ in 0..if rounds == 1 { 300 } else { 15 } {
        let start = Instant::now();
        black_box(kit.plugin.observe_machine(&kit.context, &node, None).await?);
        inside.push(start.elapsed());
        let start = Instant::now();
        black_box(guests::work(black_box(rounds)));
        outside.push(start.elapsed());
    }
    Ok(Pair { what, first: ("sandbox", median(inside)), second: ("native", median(outside)) })
}

async fn limits() -> Result<Pair<'static>> {
    let kit = Kit::file(guest("bench")).settings(serde_json::json!({ "rounds": 400 })).build()?;
    let free = Runtime::without_interruption_for_measuring()?.load(&std::fs::read(guest("bench"))?)?;
    let node = kit.node();
    let (mut limited, mut unlimited) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        let start = Instant::now();
        black_box(kit.plugin.observe_machine(&kit.context, &node, None).await?);
        limited.push(start.elapsed());
        let start = Instant::now();
        black_box(free.observe_machine(&kit.context, &node, None).await?);
        unlimited.push(start.elapsed());
    }
    Ok(Pair {
        what: "computing with and without the limit on it",
        first: ("limited", median(limited)),
        second: ("unlimited", median(unlimited)),
    })
}
