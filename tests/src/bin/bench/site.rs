//! A hundred machines on one simulated site of the real binary: memory, the time until all are up, and how fast the API answers.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emhost_oracles::Process;
use emhost_sim::{Access, Administrator, Network};
use futures::StreamExt as _;
use futures::stream;

use crate::{Result, median};

const MACHINES: u8 = 100;
/// How many machines are made at once.
const AT_ONCE: usize = 8;
/// How often the list of everything is asked for.
const LOOKS: usize = 1000;
/// The most memory the site may have with all machines up.
const BOUND: u64 = 500;

/// What was measured.
pub struct Report {
    made: Duration,
    up: Duration,
    before: u64,
    after: u64,
    median: Duration,
    p99: Duration,
}

/// The simulated site, run by the real binary.
pub struct Site {
    process: Process,
    pub api: Administrator,
}

pub async fn measure() -> Result<Report> {
    let folder = tempfile::tempdir()?;
    let site = Site::start(folder.path(), MACHINES, "")?;
    let before = site.memory()?;
    let started = Instant::now();
    let image = site.image().await?;
    let form = [("content", "import"), ("filename", "talos.qcow2"), ("url", image.as_str())];
    site.api.run("/nodes/pve1/storage/local/download-url", &form).await?;
    let all: Vec<Result> = stream::iter(1..=MACHINES).map(|number| site.machine(number)).buffer_unordered(AT_ONCE).collect().await;
    all.into_iter().collect::<Result>()?;
    let made = started.elapsed();
    for number in 1..=MACHINES {
        let address = Network::new(site.api.access().network).dial(Ipv4Addr::new(10, 0, 10, number));
        while tokio::net::TcpStream::connect((address, 50000)).await.is_err() {
            if started.elapsed() > Duration::from_mins(5) {
                return Err(format!("{address} does not come up").into());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    let up = started.elapsed();
    let mut times = Vec::new();
    for _ in 0..LOOKS {
        let asked = Instant::now();
        let listed = site.api.get("/cluster/resources").await?;
        times.push(asked.elapsed());
        let machines = listed.as_array().into_iter().flatten().filter(|one| one["type"] == "qemu").count();
        if machines != usize::from(MACHINES) {
            return Err(format!("{machines} machines are listed").into());
        }
    }
    let after = site.memory()?;
    times.sort_unstable();
    Ok(Report { made, up, before, after, p99: times[LOOKS * 99 / 100], median: median(times) })
}

impl Site {
    /// Runs the site of an inventory with so many machines, which it writes there.
    pub fn start(folder: &Path, machines: u8, simulated: &str) -> Result<Self> {
        Self::with(folder, 1, machines - 1, simulated)
    }

    /// The same with so many of both kinds.
    pub fn with(folder: &Path, control_planes: u8, workers: u8, simulated: &str) -> Result<Self> {
        let node = |number: u8| format!("  - {{name: m-{number}, ip: 10.0.10.{number}, mac: \"{}\"}}\n", mac(number));
        let all = |numbers: std::ops::RangeInclusive<u8>| numbers.map(node).collect::<String>();
        let nodes = format!("controlplane:\n{}workers:\n{}", all(1..=control_planes), all(control_planes + 1..=control_planes + workers));
        let cluster = "cluster_name: bench\ntalos_version: v1.11.5\nkubernetes_version: v1.34.1\nnetwork: {gateway: 10.0.0.1, prefix: 16}\nproxmox: {node: pve1}\n";
        let site = format!("slots: {{pve: {{url: \"sim:\"}}}}\n{simulated}");
        for (name, text) in [("cluster.yaml", cluster), ("nodes.yaml", &nodes), ("site.yaml", &site)] {
            std::fs::write(folder.join(name), text)?;
        }
        let mut process = Command::new(emhost_tests::site::binary())
            .args(["-C", ".", "sim", "run", "--json"])
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .stdout(Stdio::piped())
            .spawn()
            .map(Process)?;
        let mut first = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut first)?;
        let running = Access::find(&folder.join(".emhost/sim/default"))?;
        let api = Administrator::new(running.ok_or_else(|| format!("`emhost sim run` said `{first}` and does not run"))?)?;
        Ok(Self { process, api })
    }

    /// Where the image of the inventory's machines is.
    pub async fn image(&self) -> Result<String> {
        let schematic = self.api.schematic("customization: {}\n").await?;
        Ok(format!("{}/image/{schematic}/v1.11.5/nocloud-amd64.qcow2", self.api.access().factory))
    }

    /// MiB that are in memory.
    fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
    }

    async fn machine(&self, number: u8) -> Result {
        let vmid = (100 + u32::from(number)).to_string();
        let net = format!("virtio={},bridge=vmbr0", mac(number));
        let form = [
            ("vmid", vmid.as_str()),
            ("memory", "2048"),
            ("cpu", "host"),
            ("scsi0", "local-lvm:0,import-from=local:import/talos.qcow2"),
            ("net0", &net),
            ("boot", "order=scsi0"),
        ];
        self.api.run("/nodes/pve1/qemu", &form).await?;
        Ok(self.api.run(&format!("/nodes/pve1/qemu/{vmid}/status/start"), &[]).await?)
    }
}

fn mac(number: u8) -> String {
    format!("02:00:00:00:00:{number:02x}")
}

impl Report {
    pub fn text(&self) -> String {
        let Self { made, up, before, after, median, p99 } = self;
        let each = 1024 * after.saturating_sub(*before) / u64::from(MACHINES);
        format!(
            "## Simulated site\n\n`emhost sim run` with {MACHINES} machines, each made out of an image, started, and waiting for its configuration.\n\n\
            | what | |\n|---|---|\n\
            | all machines made, {AT_ONCE} at once | {made:.1?} |\n\
            | all of them up | {up:.1?} |\n\
            | memory without machines | {before} MiB |\n\
            | memory with all machines | {after} MiB ({each} KiB each, at most {BOUND} MiB in all) |\n\
            | `GET /cluster/resources`, median of {LOOKS} | {median:.1?} |\n\
            | `GET /cluster/resources`, 99 of 100 | {p99:.1?} |\n"
        )
    }

    pub fn broken(&self) -> Vec<String> {
        if self.after < BOUND { Vec::new() } else { vec![format!("the site needs {} MiB, and {BOUND} are the bound", self.after)] }
    }
}
