//! `cargo xtask bench`: what the sandbox, the pipeline and the machines cost, as ratios from one run.
//!
//! What is compared is measured turn by turn, so that a busy machine slows both sides. A promise that does not hold fails the run.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people to read")]

mod charts;
mod cluster;
mod machines;
mod pipeline;
mod sandbox;
mod site;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (flags, parts): (Vec<&str>, Vec<&str>) = arguments.iter().map(String::as_str).partition(|word| word.starts_with("--"));
    match measure(flags.contains(&"--write"), &parts) {
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
struct Pair<'t> {
    what: &'t str,
    first: (&'static str, Duration),
    second: (&'static str, Duration),
}

impl Pair<'_> {
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

const PARTS: [&str; 6] = ["sandbox", "charts", "pipeline", "cluster", "machines", "site"];

/// Measures the named parts, or all. What is not measured keeps its place on the page.
fn measure(write: bool, parts: &[&str]) -> Result {
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(part)) {
        return Err(format!("there is nothing to measure called `{unknown}`, only {}", PARTS.join(", ")).into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut broken = Vec::new();
    let mut sections = Vec::new();
    let mut call = Duration::ZERO;
    if wanted("sandbox") || wanted("pipeline") {
        let sandbox = runtime.block_on(sandbox::measure())?;
        call = sandbox.iter().find(|pair| pair.first.0 == "sandbox").map_or(Duration::ZERO, |pair| pair.first.1);
        broken.extend(sandbox::broken(&sandbox));
        let rows: String = sandbox.iter().map(Pair::row).collect();
        sections.push(format!("## Sandbox\n\n| what | | | ratio |\n|---|---|---|---|\n{rows}\n"));
    }
    if wanted("charts")
        && let Some((text, slow)) = runtime.block_on(charts::measure())?
    {
        broken.extend(slow);
        sections.push(text);
    }
    if wanted("pipeline") {
        let pipeline = pipeline::measure(call)?;
        broken.extend(pipeline.broken());
        sections.push(format!("{}\n", pipeline.text().trim()));
    }
    if wanted("cluster") {
        sections.push(cluster::measure()?);
    }
    if wanted("machines")
        && let Some(machines) = runtime.block_on(machines::measure())?
    {
        sections.push(machines);
    }
    if wanted("site") {
        let site = runtime.block_on(site::measure())?;
        broken.extend(site.broken());
        sections.push(site.text());
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    let page = page(&old, &sections)?;
    println!("{page}");
    if write {
        std::fs::write(file, &page)?;
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
}

/// The sections of a page, each from its heading to the next.
fn split(text: &str) -> Vec<String> {
    let text = format!("\n{text}");
    text.split("\n## ").skip(1).map(|section| format!("## {}\n", section.trim_end())).collect()
}

/// The page with these sections in it, and the old ones where there is no new one.
fn page(old: &str, new: &[String]) -> Result<String> {
    let title = |section: &str| section.lines().next().unwrap_or_default().to_owned();
    let new = split(&new.join("\n"));
    let mut sections: Vec<String> = split(old).into_iter().filter(|old| new.iter().all(|new| title(new) != title(old))).collect();
    sections.extend(new);
    let order = [
        "## Sandbox",
        "## Charts",
        "## Plan and apply",
        "## One step",
        "## A large cluster",
        "## Machines, beside terraform",
        "## Simulated site",
    ];
    sections.sort_by_key(|section| order.iter().position(|known| *known == title(section)).unwrap_or(order.len()));
    let mut page = HEAD.to_owned();
    write!(page, "{} cores, {}\n\n", std::thread::available_parallelism()?, processor())?;
    page.push_str(&sections.join("\n"));
    Ok(page)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        text.lines().find_map(|line| line.strip_prefix("model name")).map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
