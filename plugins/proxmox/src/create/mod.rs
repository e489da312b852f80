//! A machine comes to be: its identity first, then one change after the other, each answered by looking.

mod finish;
mod image;
mod number;
mod template;

use emhost_sdk::provisioner::FirstBoot;
use emhost_sdk::types::BootBase;
use emhost_sdk::{Failure, Step};

pub use finish::finish;
#[cfg(test)]
pub use image::download;
pub use number::{check_fixed, choose};
pub use template::named;

use crate::api::answers::{Listed, ListedTask};
use crate::api::{Api, Meaning};
use crate::identity::{self, Claim};
use crate::machine::Wanted;
use crate::machine::parameters::{self, Start};
use crate::mappings;
use crate::memory::Memory;
use crate::work::Work;
use image::Image;

/// How often a lock without a task is looked at before it counts as left behind.
const LOOKS: u32 = 6;

/// How many machines are made on one host at once. Proxmox has no queue: what waits for the lock of a storage for more than ten
/// seconds fails, and has to begin anew.
const AT_ONCE: usize = 3;

/// There is no machine, and nothing to make one of.
pub fn nothing_to_boot(node: &str) -> Failure {
    Failure::conflict("proxmox/gone", format!("{node} has no machine, and nothing says what a new one boots from")).help("plan again")
}

/// What the steps that make a machine may not share.
pub fn holds(wanted: &Wanted, first_boot: &FirstBoot) -> Vec<String> {
    let storage = |name: &str| format!("storage:{name}");
    let mut all: Vec<String> = wanted.disks.iter().map(|disk| storage(&disk.storage)).collect();
    match &first_boot.boot.base {
        BootBase::Template(name) => all.push(format!("template:{name}")),
        BootBase::DiskImage(_) | BootBase::Installer(_) => all.push(storage(&wanted.images)),
    }
    all.sort();
    all.dedup();
    all
}

/// The claim of a machine that is being made.
pub fn claim(work: Work<'_>, memory: &Memory) -> Claim {
    Claim { cluster: work.owner.cluster.to_owned(), node: work.owner.node.to_owned(), identity: memory.identity.clone() }
}

/// The steps up to the machine's existence.
///
/// # Errors
/// Why there cannot be one.
pub fn begin(
    work: Work<'_>,
    first_boot: Option<&FirstBoot>,
    memory: Option<Memory>,
    all: &[Listed],
    taken: Option<&str>,
) -> Result<Step, Failure> {
    let wanted = work.wanted;
    let first_boot = first_boot.ok_or_else(|| nothing_to_boot(&wanted.node))?;
    let holds = holds(wanted, first_boot);
    if let Some(ours) = memory.as_ref().filter(|memory| !memory.made && taken.is_none() && memory.refused.contains(&memory.vmid)) {
        // Somebody whom we cannot see has the number. It may be our own machine, which is put into its pool, and into our sight, last.
        let running = hidden(work.api, ours).map_err(|failure| ours.clone().keep(failure))?;
        if running || ours.looks < 2 {
            return ours.clone().wait(format!("waits to see whose VM {} is", ours.vmid));
        }
    }
    let refused = memory.as_ref().filter(|memory| !memory.made).map(|memory| memory.refused.clone()).unwrap_or_default();
    let going_on = memory.filter(|memory| !memory.made && taken.is_none() && !memory.refused.contains(&memory.vmid));
    let Some(memory) = going_on else {
        let vmid = choose(wanted, all, &refused)?;
        // An identity is for one creation; it is written down before anything goes out.
        let mut memory = Memory::new(vmid, identity::new(), wanted.host.clone());
        memory.refused = refused;
        return memory.next(format!("VM {vmid} on {} is to be made", wanted.host), holds);
    };
    if let Some(step) = mappings::ensure(work, &memory)? {
        return Ok(step);
    }
    if let Some(reason) = others(work, &memory, first_boot, all)? {
        return memory.wait(reason);
    }
    if !memory.holds(&holds) {
        return memory.turn(holds);
    }
    let start = match &first_boot.boot.base {
        BootBase::Template(name) => return template::clone(work, memory, name, all),
        BootBase::DiskImage(artifact) => image::ensure(work, memory, artifact, "import")?,
        BootBase::Installer(artifact) => image::ensure(work, memory, artifact, "iso")?,
    };
    match (start, &first_boot.boot.base) {
        (Image::Step(step), _) => Ok(step),
        (Image::There { memory, volume }, BootBase::Installer(_)) => create(work, memory, &Start::Installer(volume), first_boot),
        (Image::There { memory, volume }, _) => create(work, memory, &Start::Image(volume), first_boot),
    }
}

/// Why it is not its turn yet: somebody fetches its image, or as many machines are being made on the host as its storages stand.
fn others(work: Work<'_>, memory: &Memory, first_boot: &FirstBoot, all: &[Listed]) -> Result<Option<String>, Failure> {
    let host = match &first_boot.boot.base {
        BootBase::Template(name) => &named(all, name, &memory.host, &work.wanted.node)?.node,
        BootBase::DiskImage(_) | BootBase::Installer(_) => &memory.host,
    };
    let running = match work.api.running(host) {
        Ok(running) => running,
        Err(trouble) => return Err(memory.clone().keep(trouble.failure(&format!("see what runs on {host}")))),
    };
    if let BootBase::DiskImage(artifact) | BootBase::Installer(artifact) = &first_boot.boot.base {
        let file = image::file_name(artifact)?;
        if running.iter().any(|task| task.kind == "download" && task.id.as_deref() == Some(file.as_str())) {
            return Ok(Some(format!("waits for image {file} that is being downloaded")));
        }
    }
    let made = running.iter().filter(|task| matches!(task.kind.as_str(), "qmcreate" | "qmclone")).count();
    Ok((made >= AT_ONCE).then(|| format!("waits for {made} machines that are being made on {host}")))
}

fn create(work: Work<'_>, mut memory: Memory, start: &Start, first_boot: &FirstBoot) -> Result<Step, Failure> {
    let (vmid, host) = (memory.vmid, memory.host.clone());
    let what = format!("create VM {vmid} for {} on {host}", work.wanted.node);
    let form = parameters::create(work.wanted, vmid, &claim(work, &memory), start, finish::hands_address(first_boot))?;
    memory.ask(&what)?;
    match work.api.create(&host, &form) {
        Ok(upid) => memory.wait_for(upid, what, "is being made"),
        Err(trouble) if trouble.meaning() == Some(Meaning::Taken) => taken(memory),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

/// Whether a task may be making a machine. A clone's is named after its source.
fn makes(task: &ListedTask, vmid: u32) -> bool {
    task.kind == "qmclone" || task.kind == "qmcreate" && task.id.as_deref() == Some(vmid.to_string().as_str())
}

/// Whether a task may be making the machine that was asked for.
fn hidden(api: &Api, memory: &Memory) -> Result<bool, Failure> {
    let what = format!("see who makes VM {} on {}", memory.vmid, memory.host);
    let running = api.running(&memory.host).map_err(|trouble| trouble.failure(&what))?;
    Ok(running.iter().any(|task| makes(task, memory.vmid)))
}

/// Somebody has the number. It may be we ourselves, if an answer was lost: the next step looks.
fn taken(mut memory: Memory) -> Result<Step, Failure> {
    memory.refused.push(memory.vmid);
    let reason = format!("number {} is taken", memory.vmid);
    memory.next(reason, Vec::new())
}

/// Waits for a machine that somebody has locked; our own, or one with our number that says not yet whose it is.
///
/// # Errors
/// Nobody works on it any more.
pub fn unfinished(api: &Api, mut memory: Memory, host: &str, lock: &str) -> Result<Step, Failure> {
    let vmid = memory.vmid;
    if !matches!(lock, "create" | "clone") {
        return memory.wait(format!("waits for VM {vmid} on {host}, which is locked ({lock})"));
    }
    let running = match api.running(host) {
        Ok(running) => running,
        Err(trouble) => return Err(memory.keep(trouble.failure(&format!("see who makes VM {vmid} on {host}")))),
    };
    let works = running.iter().any(|task| (task.kind == "qmclone") == (lock == "clone") && makes(task, vmid));
    if works || memory.looks < LOOKS {
        if works {
            memory.looks = memory.looks.min(LOOKS - 1);
        }
        return memory.wait(format!("waits for VM {vmid} to be made (lock {lock})"));
    }
    memory.looks = 0;
    let summary = format!("VM {vmid} on {host} was left locked ({lock}) by a task that does not run any more");
    let help = format!("see that nobody needs it, run `qm unlock {vmid}` and `qm destroy {vmid}` on {host}, then apply again");
    Err(memory.keep(Failure::conflict("proxmox/left-locked", summary).help(help)))
}
