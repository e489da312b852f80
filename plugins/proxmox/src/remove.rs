//! A machine goes: proved once more in the very step that removes it, stopped, then deleted with its media. Images stay.

use emhost_sdk::{Failure, Step};

use crate::api::answers::Listed;
use crate::find::{Found, Seen, find};
use crate::machine::drives;
use crate::mappings;
use crate::memory::Memory;
use crate::work::{Settled, Work, kept, settle};
use crate::{change, create};

/// One step towards there being no machine. `proof` is the identity of the one that is to go.
///
/// # Errors
/// Why it cannot be taken.
pub fn absent(work: Work<'_>, memory: Option<Memory>, proof: Option<&str>) -> Result<Step, Failure> {
    let memory = match settle(work.api, memory)? {
        Settled::Waits(step) => return Ok(step),
        Settled::Free(memory) => memory,
    };
    let (seen, all) = find(work.api, work.owner, memory.as_ref()).map_err(|failure| kept(memory.as_ref(), failure))?;
    match (seen, memory) {
        (Seen::Unfinished { host, lock }, Some(memory)) => create::unfinished(work.api, memory, &host, &lock),
        (Seen::Nothing { .. }, Some(memory)) => leftovers(work, memory, &all),
        (Seen::Nothing { .. } | Seen::Unfinished { .. }, None) => Ok(Step::finished()),
        (Seen::Ours(found), memory) => {
            let known = memory.as_ref().map(|memory| memory.identity.as_str()).or(proof);
            prove(&found, known).map_err(|failure| kept(memory.as_ref(), failure))?;
            let fresh = || Memory { made: true, ..Memory::new(found.vmid, found.claim.identity.clone(), found.host.clone()) };
            let mut memory = memory.unwrap_or_else(fresh);
            (memory.vmid, memory.host) = (found.vmid, found.host.clone());
            remove(work, memory, &found)
        }
    }
}

/// Whether a machine is the one that is to go.
fn prove(found: &Found, identity: Option<&str>) -> Result<(), Failure> {
    if identity == Some(found.claim.identity.as_str()) {
        return Ok(());
    }
    let summary = match identity {
        Some(_) => {
            format!("VM {} on {} says it is {}, and is not the machine that was made for it", found.vmid, found.host, found.claim.node)
        }
        None => format!("VM {} on {} says it is {}, and nothing here remembers that it was made", found.vmid, found.host, found.claim.node),
    };
    Err(Failure::conflict("proxmox/identity", summary)
        .help(format!("look at it, and run `qm destroy {}` there if it is not needed", found.vmid)))
}

fn remove(work: Work<'_>, memory: Memory, found: &Found) -> Result<Step, Failure> {
    let (vmid, host) = (found.vmid, &found.host);
    if let Some(lock) = found.config.lock() {
        return create::unfinished(work.api, memory, host, lock);
    }
    if found.config.is_protected() {
        let summary = format!("VM {vmid} ({}) on {host} is protected against removal", found.claim.node);
        let help = format!("run `qm set {vmid} --protection 0` on {host} if it is to go, then apply again");
        return Err(memory.keep(Failure::denied("proxmox/protected", summary).help(help)));
    }
    match work.api.runs(host, vmid) {
        Err(trouble) => return Err(memory.keep(trouble.failure(&format!("see whether VM {vmid} on {host} runs")))),
        Ok(true) => return change::power(work, memory, found, "stop", "is being stopped"),
        Ok(false) => {}
    }
    // While the machine is there, nothing that belongs to it can be forgotten.
    let media = change::media_of(work, host, &found.claim.identity).map_err(|failure| memory.clone().keep(failure))?;
    if let Some(volume) = media.first() {
        return change::delete_volume(work, memory, host, volume);
    }
    let mut memory = memory;
    let disks = drives::owned(&found.config, vmid);
    if memory.disks != disks {
        // Proxmox goes on when it cannot delete a disk, and then nobody else would know of it.
        memory.disks = disks;
        return memory.next("its disks were written down", Vec::new());
    }
    let what = format!("remove VM {vmid} ({}) on {host}", found.claim.node);
    memory.ask(&what)?;
    match work.api.remove(host, vmid) {
        Ok(upid) => memory.wait_for(upid, what, "is being removed"),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

/// The machine is gone, and the mappings that were made for its devices go with it. A medium may be left that was brought for one which
/// never came to be; and a disk that Proxmox could not delete, as long as nobody else has the number by now.
fn leftovers(work: Work<'_>, memory: Memory, all: &[Listed]) -> Result<Step, Failure> {
    let host = memory.host.clone();
    let media = change::media_of(work, &host, &memory.identity).map_err(|failure| memory.clone().keep(failure))?;
    if let Some(volume) = media.first() {
        return change::delete_volume(work, memory, &host, volume);
    }
    if let Some(step) = mappings::tidy(work, &memory)? {
        return Ok(step);
    }
    if all.iter().any(|listed| listed.vmid == memory.vmid) {
        return Ok(Step::finished());
    }
    let mut storages: Vec<&str> = memory.disks.iter().filter_map(|volume| volume.split(':').next()).collect();
    storages.dedup();
    for storage in storages {
        let known = match work.api.volumes(&host, storage, "images") {
            Ok(known) => known,
            Err(trouble) => {
                return Err(memory.clone().keep(trouble.failure(&format!("see which disks are left on storage {storage} of {host}"))));
            }
        };
        if let Some(volume) = memory.disks.iter().find(|volume| known.contains(volume)).cloned() {
            return change::delete_volume(work, memory, &host, &volume);
        }
    }
    Ok(Step::finished())
}
