//! From a machine that exists to one that runs.

use emhost_sdk::provisioner::FirstBoot;
use emhost_sdk::types::{Addressing, BootBase};
use emhost_sdk::{Failure, Step};

use super::{image, unfinished};
use crate::change;
use crate::find::Found;
use crate::machine::differences::{Extent, compare};
use crate::machine::drives;
use crate::mappings;
use crate::media::{self, Volume};
use crate::memory::Memory;
use crate::work::Work;

/// Whether Proxmox hands the machine its address.
pub fn hands_address(first_boot: &FirstBoot) -> bool {
    first_boot.boot.addressing == Addressing::Provisioner
}

/// The next step of a machine that was not finished yet.
///
/// # Errors
/// Why it cannot be taken.
pub fn finish(work: Work<'_>, first_boot: Option<&FirstBoot>, mut memory: Memory, found: &Found) -> Result<Step, Failure> {
    if let Some(lock) = found.config.lock() {
        return unfinished(work.api, memory, &found.host, lock);
    }
    // It has joined although nobody saw it finished: from now on it is like any other.
    let Some(first_boot) = first_boot else {
        memory.made = true;
        return change::step(work, None, memory, found);
    };
    if let Some(step) = mappings::ensure(work, &memory)? {
        return Ok(step);
    }
    if let BootBase::Installer(artifact) = &first_boot.boot.base {
        memory.iso = Some(image::volume(&work.wanted.images, artifact, "iso")?);
    }
    let extent = Extent::Whole { cloud_init: hands_address(first_boot) };
    let differences = compare(work.wanted, &found.claim, &found.config, extent).map_err(|failure| memory.clone().keep(failure))?;
    let media: Vec<Volume> = first_boot
        .media
        .iter()
        .map(|medium| media::build(&work.wanted.node, &memory.identity, medium))
        .collect::<Result<_, _>>()
        .map_err(|failure| memory.clone().keep(failure))?;
    let discs = drives::discs(&found.config);
    let volume_of = |volume: &Volume| media::volume_id(&work.wanted.images, &volume.name);
    let missing: Vec<&Volume> = media.iter().filter(|volume| !discs.iter().any(|drive| drive.volume == volume_of(volume))).collect();
    let unset = !differences.set.is_empty() || !differences.delete.is_empty() || !differences.grow.is_empty();
    let running = match work.api.runs(&found.host, found.vmid) {
        Ok(running) => running,
        Err(trouble) => return Err(memory.keep(trouble.failure(&format!("see whether VM {} runs", found.vmid)))),
    };
    if running && !unset && missing.is_empty() {
        return change::done(work, memory);
    }
    if running {
        // Somebody, or the host's own start, was faster. Nothing is on it yet that could be lost.
        return change::power(work, memory, found, "stop", "is being stopped, because it is not finished");
    }
    if let Some(step) = change::adjust(work, &memory, found, &differences)? {
        return Ok(step);
    }
    if let Some(volume) = missing.first() {
        return bring(work, memory, found, volume, &volume_of(volume));
    }
    change::power(work, memory, found, "start", "is being started")
}

/// Brings a medium to the storage, or attaches it if it is there.
fn bring(work: Work<'_>, mut memory: Memory, found: &Found, volume: &Volume, volid: &str) -> Result<Step, Failure> {
    let (host, storage) = (&found.host, &work.wanted.images);
    let holds = vec![format!("storage:{storage}")];
    if !memory.holds(&holds) {
        return memory.turn(holds);
    }
    let known = match work.api.volumes(host, storage, "iso") {
        Ok(known) => known,
        Err(trouble) => return Err(memory.keep(trouble.failure(&format!("see which media are on storage {storage} of {host}")))),
    };
    if known.iter().any(|known| known == volid) {
        // One with an older configuration gives its drive up.
        let discs = drives::discs(&found.config);
        let label = |name: &str| name.rsplit_once('-').map(|(front, _)| front.to_owned());
        let older = discs.iter().find(|drive| media::is_of(&drive.volume, &memory.identity) && label(&drive.volume) == label(volid));
        let slot = older.map(|drive| drive.slot.clone()).or_else(|| drives::free_disc_slot(&found.config, &[]).map(str::to_owned));
        let Some(slot) = slot else {
            let summary = format!("VM {} on {host} has no room for another CD drive", found.vmid);
            return Err(memory.keep(Failure::conflict("proxmox/slot", summary).help("remove a CD drive that is not needed")));
        };
        let what = format!("attach {} to VM {} on {host}", volume.name, found.vmid);
        return change::set(work, memory, found, &what, vec![(slot, format!("{volid},media=cdrom"))], &[], "medium attached");
    }
    let what = format!("upload {} to storage {storage} on {host}", volume.name);
    memory.ask(&what)?;
    match work.api.upload(host, storage, &volume.name, &volume.bytes) {
        Ok(upid) => memory.wait_for(upid, what, "its medium is being uploaded"),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}
