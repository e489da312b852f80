//! One step of a machine: what was waited for, what is there, and what comes next.

use emhost_sdk::provisioner::FirstBoot;
use emhost_sdk::{Failure, Step};

use crate::api::{Api, Progress, is_busy, task_failure};
use crate::find::{Owner, Seen, find};
use crate::machine::Wanted;
use crate::memory::Memory;
use crate::{change, create};

/// Everything one step works with.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Proxmox.
    pub api: &'a Api,
    /// What is wanted.
    pub wanted: &'a Wanted,
    /// Whose machine it is.
    pub owner: Owner<'a>,
}

/// What became of the task that was waited for.
pub enum Settled {
    /// It still runs.
    Waits(Step),
    /// It is over, or there was none.
    Free(Option<Memory>),
}

/// Looks at the task that was waited for.
///
/// # Errors
/// It failed. The memory in the failure does not wait for it any more.
pub fn settle(api: &Api, memory: Option<Memory>) -> Result<Settled, Failure> {
    let Some(mut memory) = memory else { return Ok(Settled::Free(None)) };
    let Some(task) = memory.task.clone() else { return Ok(Settled::Free(Some(memory))) };
    let looked = api.progress(&task.upid).map_err(|trouble| trouble.failure(&format!("see whether the task to {} ended", task.what)));
    match looked {
        Err(failure) => Err(memory.keep(failure)),
        Ok(Progress::Running) => memory.wait(format!("waits for Proxmox to {}", task.what)).map(Settled::Waits),
        Ok(Progress::Ended) => {
            (memory.task, memory.looks) = (None, 0);
            Ok(Settled::Free(Some(memory)))
        }
        Ok(Progress::Failed(exit)) => {
            (memory.task, memory.looks) = (None, 0);
            // Somebody else was faster: what is there now says more than the error.
            if exit.contains("already running") || exit.contains("refusing to override existing file") {
                return Ok(Settled::Free(Some(memory)));
            }
            if exit.contains("already exists") || exit.contains("File exists") {
                memory.refused.push(memory.vmid);
                return memory.next("the number is taken", Vec::new()).map(Settled::Waits);
            }
            let tail = if is_busy(&exit) { Vec::new() } else { api.tail(&task.upid) };
            Err(memory.keep(task_failure(&task.what, &task.upid, &exit, &tail)))
        }
    }
}

/// One step towards a machine that is as wanted.
///
/// # Errors
/// Why it cannot be taken.
pub fn present(work: Work<'_>, first_boot: Option<&FirstBoot>, memory: Option<Memory>) -> Result<Step, Failure> {
    let memory = match settle(work.api, memory)? {
        Settled::Waits(step) => return Ok(step),
        Settled::Free(memory) => memory,
    };
    let (seen, all) = find(work.api, work.owner, memory.as_ref()).map_err(|failure| kept(memory.as_ref(), failure))?;
    match seen {
        Seen::Nothing { taken } => create::begin(work, first_boot, memory, &all, taken.as_deref()),
        Seen::Unfinished { host, lock } => match memory {
            Some(memory) => create::unfinished(work.api, memory, &host, &lock),
            None => Err(Failure::internal("proxmox/unfinished", "a machine that nobody remembers cannot be unfinished")),
        },
        Seen::Ours(found) => {
            let same = memory.filter(|memory| memory.identity == found.claim.identity);
            // One that nobody remembers was made by an earlier run.
            let mut memory = same.unwrap_or_else(|| {
                let fresh = Memory::new(found.vmid, found.claim.identity.clone(), found.host.clone());
                Memory { made: true, ..fresh }
            });
            (memory.vmid, memory.host) = (found.vmid, found.host.clone());
            if memory.made { change::step(work, first_boot, memory, &found) } else { create::finish(work, first_boot, memory, &found) }
        }
    }
}

/// A failure that loses nothing of what is remembered.
pub fn kept(memory: Option<&Memory>, failure: Failure) -> Failure {
    match memory {
        Some(memory) => memory.clone().keep(failure),
        None => failure,
    }
}
