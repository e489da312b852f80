//! `cargo xtask bench`: what the sandbox costs, as ratios from one run.
//!
//! Each pair is measured turn by turn in the same process, so that a busy machine slows both.
#![expect(clippy::print_stdout, reason = "a program for people to read")]

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use emhost::plugins::{Cache, Runtime};
use emhost_testkit::Kit;
use emhost_tests::{guest, plugin};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let write = std::env::args().nth(1).as_deref() == Some("--write");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(measure(write))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("the measurement failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// One pair: what is compared, both times, and the ratio.
struct Pair {
    what: &'static str,
    first: (&'static str, Duration),
    second: (&'static str, Duration),
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.first.1.as_secs_f64() / self.second.1.as_secs_f64()
    }

    fn row(&self) -> String {
        format!(
            "| {} | {} {:.1?} | {} {:.1?} | {:.1}× |",
            self.what,
            self.first.0,
            self.first.1,
            self.second.0,
            self.second.1,
            self.ratio()
        )
    }
}

async fn measure(write: bool) -> Result {
    let mut pairs = Vec::new();
    for (what, file) in [("load `noop`", plugin("noop")), ("load `bench` (serde_json)", guest("bench"))] {
        pairs.push(loading(what, &file)?);
    }
    pairs.push(call("one call: fresh store, instance and inventory", 1).await?);
    pairs.push(call("one call that computes for a while", 400).await?);
    pairs.push(limits().await?);

    let mut page = String::from(
        "# Benchmarks\n\nMeasured by `cargo xtask bench --write`; do not edit. Each row is one pair, measured turn by turn in one run: medians, and\nthe ratio of the first to the second. Times depend on the machine, ratios much less.\n\n",
    );
    page = format!("{page}{} cores, {}\n\n| what | | | ratio |\n|---|---|---|---|\n", std::thread::available_parallelism()?, processor());
    for pair in &pairs {
        page.push_str(&pair.row());
        page.push('\n');
    }
    println!("{page}");
    if write {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md"), &page)?;
    }
    match pairs.iter().find(|pair| pair.first.0 == "compiled" && pair.ratio() < 100.0) {
        Some(pair) => {
            Err(format!("{}: a cached load is only {:.0}× faster than compiling, 100× is promised", pair.what, pair.ratio()).into())
        }
        None => Ok(()),
    }
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        text.lines().find_map(|line| line.strip_prefix("model name")).map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn loading(what: &'static str, file: &Path) -> Result<Pair> {
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

async fn call(what: &'static str, rounds: u32) -> Result<Pair> {
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

async fn limits() -> Result<Pair> {
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
