//! The machine phase beside terraform with bpg's provider: the same machines on the same simulated site, turn by turn.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::site::Site;
use crate::{Pair, Result, median};

/// How many machines, and how often each of the two makes them.
const SIZES: [(u8, usize); 2] = [(5, 3), (50, 1)];
/// How often it looks at them in each round.
const LOOKS: usize = 3;
/// How many machines terraform makes at once: the most with which no round fails count. It knows no second try, so a lock that
/// Proxmox does not give within its ten seconds ends the run.
const AT_ONCE: [&str; 4] = ["10", "5", "2", "1"];
/// Believable times, but sooner over.
const SPEED: u32 = 5;

/// What both have to agree on.
const SAME: [&str; 11] = ["machine", "bios", "cores", "cpu", "memory", "scsihw", "ostype", "onboot", "serial0", "ipconfig0", "boot"];

/// One of the two, working on the machines of a folder.
trait Peer {
    fn apply(&self) -> Result<Duration>;
    fn plan(&self) -> Result<Duration>;
    fn destroy(&self) -> Result;
}

struct Emhost<'b> {
    folder: &'b Path,
}

struct Terraform {
    program: emhost_oracles::Terraform,
    variables: Vec<(&'static str, String)>,
    at_once: &'static str,
}

/// Runs it to its end, and says how long that took.
fn timed(command: &mut Command) -> Result<Duration> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let taken = begun.elapsed();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(taken) } else { Err(format!("{}{}", text(&output.stdout), text(&output.stderr)).into()) }
}

impl Emhost<'_> {
    fn run(&self, arguments: &[&str]) -> Result<Duration> {
        let mut command = Command::new(emhost_tests::site::binary());
        timed(command.args(arguments).current_dir(self.folder).env("XDG_STATE_HOME", self.folder.join("state")))
    }
}

impl Peer for Emhost<'_> {
    fn apply(&self) -> Result<Duration> {
        self.run(&["apply", "--yes", "--until", "machines"])
    }

    /// A second apply plans, finds the machines as they should be, and ends.
    fn plan(&self) -> Result<Duration> {
        self.apply()
    }

    fn destroy(&self) -> Result {
        self.run(&["destroy", "--yes", "--delete-images"]).map(drop)
    }
}

impl Terraform {
    fn run(&self, arguments: &[&str]) -> Result<Duration> {
        let variables: Vec<(&str, &str)> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        timed(self.program.command(900, arguments, &variables).arg(format!("-parallelism={}", self.at_once)))
    }
}

impl Peer for Terraform {
    fn apply(&self) -> Result<Duration> {
        self.run(&["apply", "-auto-approve"])
    }

    fn plan(&self) -> Result<Duration> {
        self.run(&["plan", "-detailed-exitcode"])
    }

    fn destroy(&self) -> Result {
        self.run(&["destroy", "-auto-approve"]).map(drop)
    }
}

/// What the machines of the site are like, by name.
async fn machines(site: &Site) -> Result<BTreeMap<String, Vec<String>>> {
    let listed = site.api.get("/nodes/pve1/qemu").await?;
    let mut all = BTreeMap::new();
    for machine in listed.as_array().into_iter().flatten() {
        let config = site.api.get(&format!("/nodes/pve1/qemu/{}/config", machine["vmid"])).await?;
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut facts: Vec<String> =
            SAME.iter().map(|key| format!("{key}={}", text(&config[*key]).trim_start_matches("cputype="))).collect();
        let large = |slot: &str| text(&config[slot]).split(',').find(|part| part.starts_with("size=")).unwrap_or_default().to_owned();
        facts.extend(["scsi0", "efidisk0"].map(|slot| format!("{slot} {}", large(slot))));
        facts.push(format!(
            "{} {}",
            machine["status"],
            text(&config["net0"]).split(',').take(2).collect::<Vec<_>>().join(" ").to_lowercase()
        ));
        all.insert(text(&machine["name"]).trim_start_matches("bench-").to_owned(), facts);
    }
    Ok(all)
}

/// The figures of one peer.
#[derive(Default)]
struct Times {
    apply: Vec<Duration>,
    plan: Vec<Duration>,
}

/// From nothing to all machines, a few looks, and back. Says what the machines were like.
async fn round(peer: &impl Peer, site: &Site, times: &mut Times) -> Result<BTreeMap<String, Vec<String>>> {
    times.apply.push(peer.apply()?);
    let made = machines(site).await?;
    for _ in 0..LOOKS {
        times.plan.push(peer.plan()?);
    }
    peer.destroy()?;
    let left = machines(site).await?;
    if left.is_empty() { Ok(made) } else { Err(format!("{} machines are left", left.len()).into()) }
}

/// Turn by turn; nothing when terraform fails at one of them.
async fn rounds(count: usize, emhost: &Emhost<'_>, terraform: &Terraform, site: &Site) -> Result<Option<(Times, Times)>> {
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    for _ in 0..count {
        let other = match round(terraform, site, &mut theirs).await {
            Ok(made) => made,
            Err(error) => {
                let text = error.to_string();
                println!("terraform, {} at once: {}", terraform.at_once, text.lines().find(|line| line.contains("Error")).unwrap_or(&text));
                return Ok(None);
            }
        };
        let own = round(emhost, site, &mut ours).await?;
        if own != other {
            return Err(format!("the machines are not the same:\n{own:#?}\n{other:#?}").into());
        }
        println!("terraform, {} at once: {:.1?}; emhost: {:.1?}", terraform.at_once, theirs.apply.last(), ours.apply.last());
    }
    Ok(Some((ours, theirs)))
}

/// The section of the page; none without terraform.
pub async fn measure() -> Result<Option<String>> {
    let mut text = format!(
        "## Machines, beside terraform\n\n`emhost apply --until machines` and terraform with bpg's provider v0.80.0 make the same machines out of an image on the same simulated site, whose operations take what they take at home, {SPEED} times as fast. Turn by turn, from nothing to all machines and back; medians where there are several rounds.\n\n| what | | | ratio |\n|---|---|---|---|\n"
    );
    for (machines, count) in SIZES {
        let (folder, beside) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let site = Site::start(folder.path(), machines, &format!("sim: {{profile: home, speed: {SPEED}}}\n"))?;
        let Some(terraform) = emhost_oracles::Terraform::new(beside.path(), include_str!("machines.tf"))? else { return Ok(None) };
        let access = site.api.access();
        let variables = vec![
            ("endpoint", format!("{}/", access.pve)),
            ("token", access.token.clone()),
            ("image_url", site.image().await?),
            ("machines", machines.to_string()),
        ];
        let emhost = Emhost { folder: folder.path() };
        let mut terraform = Terraform { program: terraform, variables, at_once: AT_ONCE[0] };
        let mut measured = None;
        for at_once in AT_ONCE {
            terraform.at_once = at_once;
            if let Some((ours, theirs)) = rounds(count, &emhost, &terraform, &site).await? {
                measured = Some((at_once, ours, theirs));
                break;
            }
            terraform.at_once = "1";
            terraform.destroy()?;
        }
        let (best, ours, theirs) = measured.ok_or("terraform makes the machines at no speed")?;
        for (what, first, second) in [("apply", theirs.apply, ours.apply), ("plan, nothing to do", theirs.plan, ours.plan)] {
            let what = format!("{what}, {machines} machines (terraform {best} at once, {count} rounds)");
            let pair = Pair { what: &what, first: ("terraform", median(first)), second: ("emhost", median(second)) };
            write!(text, "{}", pair.row())?;
        }
    }
    Ok(Some(text))
}
