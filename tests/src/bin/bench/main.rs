//! `cargo xtask bench`: what the sandbox and the pipeline cost, as ratios from one run.
//!
//! What is compared is measured turn by turn, so that a busy machine slows both sides. A promise that does not hold fails the run.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people to read")]

mod pipeline;
mod sandbox;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let write = std::env::args().nth(1).as_deref() == Some("--write");
    match measure(write) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the measurement failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn median<T: Ord + Copy + Default>(mut all: Vec<T>) -> T {
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
        let ((first, one), (second, other)) = (self.first, self.second);
        format!("| {} | {first} {one:.1?} | {second} {other:.1?} | {:.1}× |\n", self.what, self.ratio())
    }
}

const HEAD: &str = "\
# Benchmarks

Measured by `cargo xtask bench --write`; do not edit. What a row compares was measured turn by turn in one run: medians, and
the ratio of the two. Times depend on the machine, ratios much less.

";

fn measure(write: bool) -> Result {
    let sandbox = tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(sandbox::measure())?;
    let call = sandbox.iter().find(|pair| pair.first.0 == "sandbox").map_or(Duration::ZERO, |pair| pair.first.1);
    let pipeline = pipeline::measure(call)?;

    let mut page = HEAD.to_owned();
    write!(
        page,
        "{} cores, {}\n\n## Sandbox\n\n| what | | | ratio |\n|---|---|---|---|\n",
        std::thread::available_parallelism()?,
        processor()
    )?;
    page.extend(sandbox.iter().map(Pair::row));
    page.push_str(&pipeline.text());
    println!("{page}");
    if write {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md"), &page)?;
    }
    let broken = [sandbox::broken(&sandbox), pipeline.broken()].concat();
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        text.lines().find_map(|line| line.strip_prefix("model name")).map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
