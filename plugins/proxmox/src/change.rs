//! Changes of a machine that exists, one request in each step.

use emhost_sdk::provisioner::FirstBoot;
use emhost_sdk::{Failure, Step};

use crate::api::{Form, Meaning, Trouble};
use crate::find::Found;
use crate::machine::differences::{Differences, Extent, compare};
use crate::machine::drives;
use crate::mappings;
use crate::media;
use crate::memory::Memory;
use crate::work::Work;

/// An empty CD drive.
const EMPTY: &str = "none,media=cdrom";
/// How often the effect of a power button is looked for: a highly available machine obeys only later.
const LOOKS: u32 = 19;

/// The next step of a machine that was made. Without a first boot it has joined, and what it booted from is to go.
///
/// # Errors
/// Why it cannot be taken.
pub fn step(work: Work<'_>, first_boot: Option<&FirstBoot>, mut memory: Memory, found: &Found) -> Result<Step, Failure> {
    if let Some(lock) = found.config.lock() {
        let reason = format!("waits for VM {} on {}, which is locked ({lock})", found.vmid, found.host);
        return memory.wait(reason);
    }
    if first_boot.is_none() {
        if let Some(step) = take_media_away(work, &memory, found)? {
            return Ok(step);
        }
        memory.iso = None;
    }
    if let Some(step) = mappings::ensure(work, &memory)? {
        return Ok(step);
    }
    let differences = compare(work.wanted, &found.claim, &found.config, Extent::Declared { given: memory.devices })
        .map_err(|failure| memory.clone().keep(failure))?;
    if let Some(step) = adjust(work, &memory, found, &differences)? {
        return Ok(step);
    }
    match work.api.runs(&found.host, found.vmid) {
        Err(trouble) => Err(memory.keep(trouble.failure(&format!("see whether VM {} on {} runs", found.vmid, found.host)))),
        Ok(false) => power(work, memory, found, "start", "is being started"),
        Ok(true) if differences.restart => power(work, memory, found, "reboot", "is being restarted, so that its changes count"),
        Ok(true) => {
            // What it runs with now is what it was given, so what it had before is free.
            let left = if mappings::matter(work, Some(&memory)) { mappings::tidy(work, &memory)? } else { None };
            left.map_or_else(|| done(work, memory), Ok)
        }
    }
}

/// It is as wanted.
///
/// # Errors
/// None in practice.
pub fn done(work: Work<'_>, mut memory: Memory) -> Result<Step, Failure> {
    memory.devices = u32::try_from(work.wanted.devices.len()).unwrap_or_default();
    memory.done()
}

/// Sets what differs. Nothing: it is all set.
///
/// # Errors
/// Why it cannot be.
pub fn adjust(work: Work<'_>, memory: &Memory, found: &Found, differences: &Differences) -> Result<Option<Step>, Failure> {
    let mut memory = memory.clone();
    let (vmid, host) = (found.vmid, &found.host);
    let of = |storages: Vec<String>| {
        let mut names: Vec<String> = storages.iter().map(|storage| format!("storage:{storage}")).collect();
        names.sort();
        names.dedup();
        names
    };
    if !differences.set.is_empty() || !differences.delete.is_empty() {
        let holds = of(differences.allocates.clone());
        if !memory.holds(&holds) {
            return memory.turn(holds).map(Some);
        }
        let keys: Vec<&str> =
            differences.set.iter().map(|(key, _)| key.as_str()).chain(differences.delete.iter().map(String::as_str)).collect();
        let what = format!("set {} of VM {vmid} ({}) on {host}", keys.join(", "), work.wanted.node);
        if holds.is_empty() {
            return set(work, memory, found, &what, differences.set.clone(), &differences.delete, "changed").map(Some);
        }
        memory.ask(&what)?;
        let form = form(found, differences.set.clone(), &differences.delete);
        return match work.api.set_slowly(host, vmid, &form) {
            Ok(Some(upid)) => memory.wait_for(upid, what, "is being changed").map(Some),
            Ok(None) => memory.next("changed", Vec::new()).map(Some),
            Err(trouble) => Err(memory.in_vain(trouble, &what)),
        };
    }
    let Some(growth) = differences.grow.first() else { return Ok(None) };
    let holds = of(vec![growth.storage.clone()]);
    if !memory.holds(&holds) {
        return memory.turn(holds).map(Some);
    }
    let what = format!("grow disk {} of VM {vmid} ({}) on {host} to {}G", growth.slot, work.wanted.node, growth.gib);
    memory.ask(&what)?;
    let mut form: Form = vec![("disk".to_owned(), growth.slot.clone()), ("size".to_owned(), format!("{}G", growth.gib))];
    form.extend(digest(found));
    match work.api.resize(host, vmid, &form) {
        Ok(Some(upid)) => memory.wait_for(upid, what, "its disk grows").map(Some),
        Ok(None) => memory.next("its disk has grown", Vec::new()).map(Some),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

/// Sets options that take no time.
///
/// # Errors
/// A refusal.
pub fn set(
    work: Work<'_>,
    mut memory: Memory,
    found: &Found,
    what: &str,
    values: Form,
    delete: &[String],
    reason: &str,
) -> Result<Step, Failure> {
    memory.ask(what)?;
    match work.api.set(&found.host, found.vmid, &form(found, values, delete)) {
        Ok(()) => memory.next(reason, Vec::new()),
        Err(trouble) => Err(memory.in_vain(trouble, what)),
    }
}

/// Presses a button, and waits until the machine obeyed.
///
/// # Errors
/// A refusal.
pub fn power(work: Work<'_>, mut memory: Memory, found: &Found, button: &str, reason: &str) -> Result<Step, Failure> {
    let what = format!("{button} VM {} ({}) on {}", found.vmid, found.claim.node, found.host);
    if memory.was_answered(&what) && memory.looks < LOOKS {
        return memory.wait(reason);
    }
    memory.ask(&what)?;
    match work.api.power(&found.host, found.vmid, button, &patience(button)) {
        Ok(upid) => memory.wait_for(upid, what, reason),
        Err(trouble) if trouble.meaning() == Some(Meaning::Already) => memory.next(reason, Vec::new()),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

/// A guest that has pods to end gets the time for it.
fn patience(button: &str) -> Form {
    if button == "reboot" { vec![("timeout".to_owned(), "300".to_owned())] } else { Form::new() }
}

/// What the request is made for is what was looked at, or it is refused: so nothing happens twice when an answer is lost.
fn digest(found: &Found) -> Option<(String, String)> {
    found.config.digest().map(|digest| ("digest".to_owned(), digest.to_owned()))
}

fn form(found: &Found, mut values: Form, delete: &[String]) -> Form {
    if !delete.is_empty() {
        values.push(("delete".to_owned(), delete.join(",")));
    }
    values.extend(digest(found));
    values
}

/// The volumes of a machine's media.
///
/// # Errors
/// No answer.
pub fn media_of(work: Work<'_>, host: &str, identity: &str) -> Result<Vec<String>, Failure> {
    let storage = &work.wanted.images;
    let what = format!("see which media of {} are on storage {storage} of {host}", work.owner.node);
    let known = match work.api.volumes(host, storage, "iso") {
        Ok(known) => known,
        // A machine that moved away from its storage of media has none of them where it is.
        Err(Trouble::Refused(refusal)) if refusal.text.contains("is not available on node") => Vec::new(),
        Err(trouble) => return Err(trouble.failure(&what)),
    };
    Ok(known.into_iter().filter(|volume| media::is_of(volume, identity)).collect())
}

/// Deletes a medium, or a disk without a machine.
///
/// # Errors
/// A refusal.
pub fn delete_volume(work: Work<'_>, mut memory: Memory, host: &str, volume: &str) -> Result<Step, Failure> {
    let what = format!("delete volume {volume} on {host}");
    memory.ask(&what)?;
    match work.api.delete_volume(host, volume) {
        Ok(Some(upid)) => memory.wait_for(upid, what, format!("{volume} is being deleted")),
        Ok(None) => memory.next(format!("{volume} was deleted"), Vec::new()),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

fn take_media_away(work: Work<'_>, memory: &Memory, found: &Found) -> Result<Option<Step>, Failure> {
    let discs = drives::discs(&found.config);
    let eject = media::to_eject(&discs, &memory.identity, memory.iso.as_deref());
    if !eject.is_empty() {
        let slots: Vec<&str> = eject.iter().map(|drive| drive.slot.as_str()).collect();
        let what = format!("take the media out of {} of VM {} ({}) on {}", slots.join(", "), found.vmid, found.claim.node, found.host);
        let values = eject.iter().map(|drive| (drive.slot.clone(), EMPTY.to_owned())).collect();
        return set(work, memory.clone(), found, &what, values, &[], "first-boot media taken out").map(Some);
    }
    let left = media_of(work, &found.host, &memory.identity).map_err(|failure| memory.clone().keep(failure))?;
    left.first().map(|volume| delete_volume(work, memory.clone(), &found.host, volume)).transpose()
}
