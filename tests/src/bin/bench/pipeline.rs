//! Plan, apply and destroy of clusters of three sizes with the real binary on the fixture world, and what a step costs.
//!
//! In the world nothing takes time and plugins pause for none, so what is measured is emhost: calls, requests, journal, terminal.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use emhost::state::{Entry, Holder, Options, Store, journal};
use emhost_tests::site::Site;
use serde_json::Value;

use crate::{Pair, Result, median};

/// Machines of the clusters, one of them a control plane: 10, 100 and 1,000 units.
const SIZES: [usize; 3] = [2, 32, 332];
const TINY: usize = 0;
const SMALL: usize = 1;
const LARGE: usize = 2;
/// How often the large cluster is built and taken down. The others come twice as often, because they are soon done.
const ROUNDS: usize = 5;
/// Ten times the units may take this many times as long.
const BOUND: f64 = 11.0;
/// How many threads write the records of a run without the run.
const WRITERS: usize = 8;
/// How often starting up is measured.
const STARTS: usize = 25;

/// What is run, one after the other.
const COMMANDS: [(&str, &[&str]); 4] = [
    ("plan, nothing there", &["plan"]),
    ("apply", &["apply", "--yes"]),
    ("plan, nothing to do", &["plan"]),
    ("destroy", &["destroy", "--yes"]),
];
const APPLY: usize = 1;

/// How one command went.
struct Ran {
    wall: Duration,
    /// The most memory it had, in KiB.
    peak: u64,
    out: String,
}

/// One cluster from nothing to nothing.
struct Round {
    ran: Vec<Ran>,
    /// What the apply wrote down.
    records: Vec<Entry>,
}

/// What was measured of one size.
#[derive(Default)]
struct Size {
    units: usize,
    walls: [Vec<Duration>; 4],
    peaks: [Vec<u64>; 4],
}

/// What was measured.
pub struct Report {
    sizes: [Size; 3],
    records: usize,
    steps: usize,
    /// The records of the large apply, without the rest of it.
    journal: Duration,
    /// One call of a plugin.
    call: Duration,
    starts: Pair<'static>,
}

/// Measures everything; `call` is what one call of a plugin takes.
pub fn measure(call: Duration) -> Result<Report> {
    let cache = tempfile::tempdir()?;
    let cache = cache.path();
    released(cache)?;
    let mut sizes: [Size; 3] = Default::default();
    let mut records = Vec::new();
    for (size, machines) in sizes.iter_mut().zip(SIZES) {
        eprintln!("1 + {} machines", machines - 1);
        // Warms the caches up, and says how much there is to do.
        let round = round(machines, cache, true)?;
        size.units = units(&round.ran[APPLY].out)?;
        records = round.records;
    }
    let mut journals = Vec::new();
    for number in 1..=ROUNDS {
        eprintln!("round {number} of {ROUNDS}");
        for which in [TINY, SMALL, LARGE, TINY, SMALL] {
            let round = round(SIZES[which], cache, false)?;
            for (at, ran) in round.ran.iter().enumerate() {
                sizes[which].walls[at].push(ran.wall);
                sizes[which].peaks[at].push(ran.peak);
            }
        }
        journals.push(write_alone(&records)?);
    }
    let steps = records.iter().filter(|entry| matches!(entry, Entry::Call { .. })).count();
    Ok(Report { sizes, records: records.len(), steps, journal: median(journals), call, starts: starting(cache)? })
}

/// A binary in which tests can break things is not the one that people run.
fn released(cache: &Path) -> Result {
    let site = Site::new(1, 0);
    let said = command(&site, &["state", "list"], cache).env("EMHOST_FAULTS", "nonsense").output()?;
    if String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).contains("nonsense") {
        return Err("this emhost was built with the feature `faults`: run `cargo xtask bench`".into());
    }
    Ok(())
}

fn command(site: &Site, arguments: &[&str], cache: &Path) -> Command {
    let mut command = site.command(arguments, "");
    command.env("XDG_CACHE_HOME", cache).env_remove("EMHOST_FAULTS");
    command
}

fn cluster(machines: usize) -> Site {
    let site = Site::new(1, machines - 1);
    site.world.dial(|dials| (dials.ticks, dials.boot_ticks, dials.config_ticks, dials.restart_ticks) = (0, 0, 0, 0));
    site.add("site.yaml", "settings: {fixture-provisioner: {pause_ms: 0}, fixture-distro: {pause_ms: 0}}\n");
    site
}

fn round(machines: usize, cache: &Path, json: bool) -> Result<Round> {
    let site = cluster(machines);
    let (mut ran, mut records) = (Vec::new(), Vec::new());
    for (at, (_, arguments)) in COMMANDS.iter().enumerate() {
        let more: &[&str] = if json { &["--json"] } else { &[] };
        let arguments = [*arguments, more].concat();
        ran.push(run(command(&site, &arguments, cache))?);
        if at == APPLY {
            records = written(&site)?;
        }
    }
    let wrong = [site.world.twice(), site.world.violations()].concat();
    if !wrong.is_empty() || !site.world.machines().is_empty() {
        return Err(format!("{} machines are left, and: {}", site.world.machines().len(), wrong.join(", ")).into());
    }
    Ok(Round { ran, records })
}

/// Runs a command to its end, and looks at its memory meanwhile.
fn run(mut command: Command) -> Result<Ran> {
    let ended = AtomicBool::new(false);
    let begun = Instant::now();
    let child = command.stdin(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let (output, wall, peak) = std::thread::scope(|scope| {
        let watched = scope.spawn(|| {
            let mut peak = 0;
            while !ended.load(Ordering::Relaxed) {
                peak = high_water(&status).unwrap_or(0).max(peak);
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        let output = child.wait_with_output();
        let wall = begun.elapsed();
        ended.store(true, Ordering::Relaxed);
        (output, wall, watched.join().unwrap_or(0))
    });
    let output = output?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}\n{out}\n{error}", output.status).into());
    }
    Ok(Ran { wall, peak, out })
}

/// The most memory that a process had so far, in KiB.
fn high_water(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.parse().ok()
}

/// What the only journal of a cluster says.
fn written(site: &Site) -> Result<Vec<Entry>> {
    let files: Vec<_> = std::fs::read_dir(site.path().join(".emhost/journal"))?.collect::<std::io::Result<_>>()?;
    let [file] = &files[..] else { return Err(format!("there are {} journals, and one run", files.len()).into()) };
    let recorded = journal::read(&file.file_name().to_string_lossy(), &std::fs::read(file.path())?);
    if recorded.torn || recorded.damage.is_some() { Err("the journal is damaged".into()) } else { Ok(recorded.entries) }
}

/// How many units the event `run` names.
fn units(out: &str) -> Result<usize> {
    let events = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let run = events.into_iter().find(|event| event["event"] == "run").ok_or("there is no event `run`")?;
    Ok(run["units"].as_array().map_or(0, Vec::len))
}

/// Writes the records of a run as durably as the run did, and does nothing else.
fn write_alone(records: &[Entry]) -> Result<Duration> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path(), "dev", Holder::here("bench", "bench"), Options::default())?.store;
    let next = AtomicUsize::new(0);
    let write = || {
        while let Some(entry) = records.get(next.fetch_add(1, Ordering::Relaxed)) {
            store.append(entry.clone())?;
        }
        std::io::Result::Ok(())
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        writers.into_iter().try_for_each(|writer| writer.join().unwrap_or_else(|_| Err(std::io::Error::other("a writer panicked"))))
    })?;
    Ok(begun.elapsed())
}

/// How long it takes until something was done, where there is next to nothing to do.
fn starting(cache: &Path) -> Result<Pair<'static>> {
    let site = cluster(SIZES[TINY]);
    let (mut plans, mut validates) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        plans.push(run(command(&site, &["plan"], cache))?.wall);
        validates.push(run(command(&site, &["validate"], cache))?.wall);
    }
    Ok(Pair {
        what: "start-up: 1 + 1 machines, plugins compiled",
        first: ("`plan`", median(plans)),
        second: ("`validate`", median(validates)),
    })
}

impl Size {
    fn wall(&self, at: usize) -> Duration {
        median(self.walls[at].clone())
    }

    fn peak(&self, at: usize) -> u64 {
        median(self.peaks[at].clone())
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn part(of: u64, parts: usize) -> f64 {
    of as f64 / parts as f64
}

impl Report {
    fn ratio(&self, at: usize) -> f64 {
        self.sizes[LARGE].wall(at).as_secs_f64() / self.sizes[SMALL].wall(at).as_secs_f64()
    }

    /// Promises that do not hold.
    pub fn broken(&self) -> Vec<String> {
        let slow = COMMANDS.iter().enumerate().filter(|(at, _)| self.ratio(*at) > BOUND);
        let say = |(at, (what, _)): (usize, &(&str, _))| {
            format!("{what}: ten times the units take {:.1}× as long, {BOUND:.0}× is promised at most", self.ratio(at))
        };
        slow.map(say).collect()
    }

    /// The tables.
    pub fn text(&self) -> String {
        // Writing to a string cannot fail.
        let mut page = String::from("\n## Plan and apply\n\nThe released binary on the fixture world, in which nothing takes time.\n\n");
        let name = |which: usize| format!("{} units ({} machines)", self.sizes[which].units, SIZES[which]);
        let _ = write!(page, "| time | {} | {} | ratio (at most {BOUND:.0}×) |\n|---|---|---|---|\n", name(SMALL), name(LARGE));
        for (at, (what, _)) in COMMANDS.iter().enumerate() {
            let (small, large) = (self.sizes[SMALL].wall(at), self.sizes[LARGE].wall(at));
            let _ = writeln!(page, "| {what} | {small:.1?} | {large:.1?} | {:.1}× |", self.ratio(at));
        }
        let _ = write!(page, "\n| peak memory | {} | {} | {} | per unit |\n|---|---|---|---|---|\n", name(TINY), name(SMALL), name(LARGE));
        for (at, (what, _)) in COMMANDS.iter().enumerate() {
            let [tiny, small, large] = [TINY, SMALL, LARGE].map(|which| self.sizes[which].peak(at));
            let more = part(large.saturating_sub(tiny), self.sizes[LARGE].units - self.sizes[TINY].units);
            let [tiny, small, large] = [tiny, small, large].map(|peak| part(peak, 1024));
            let _ = writeln!(page, "| {what} | {tiny:.1} MiB | {small:.1} MiB | {large:.1} MiB | {more:.1} KiB |");
        }
        let steps = u32::try_from(self.steps).unwrap_or(u32::MAX);
        let step = self.sizes[LARGE].wall(APPLY) / steps;
        let pairs = [
            Pair { what: "one step, and its records alone", first: ("apply", step), second: ("journal", self.journal / steps) },
            Pair { what: "one step, and one call of a plugin alone", first: ("apply", step), second: ("sandbox", self.call) },
        ];
        let _ = write!(
            page,
            "\n## One step\n\nThe apply of {} takes {} steps and writes {} records, each durable before the next thing is done. \
             For the journal alone, {WRITERS} threads write the same records.\n\n| what | | | ratio |\n|---|---|---|---|\n",
            name(LARGE),
            self.steps,
            self.records
        );
        page.extend(pairs.iter().chain([&self.starts]).map(Pair::row));
        page
    }
}
