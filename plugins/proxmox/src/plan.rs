//! What a step would do, for people to approve.

use emhost_sdk::provisioner::FirstBoot;
use emhost_sdk::types::BootBase;
use emhost_sdk::{Action, Change, Disruption, Failure, FieldChange, Intent, Proposal};
use serde_json::{Value, json};

use crate::change::media_of;
use crate::create::{self, check_fixed, nothing_to_boot};
use crate::find::{Found, Seen, find};
use crate::machine::differences::{Extent, compare};
use crate::machine::{Wanted, drives};
use crate::mappings;
use crate::media;
use crate::memory::Memory;
use crate::work::Work;

fn act(change: Change, subject: String, disruption: Disruption, reason: &str, fields: Vec<FieldChange>) -> Action {
    Action { change, subject, disruption, reason: reason.to_owned(), fields, attributes: Vec::new() }
}

fn field(pointer: &str, before: Option<Value>, after: Option<Value>) -> FieldChange {
    let text = |value: Value| value.to_string();
    FieldChange { pointer: pointer.to_owned(), before: before.map(text), after: after.map(text), sensitive: false }
}

/// Looks, and says what would be done.
///
/// # Errors
/// Why nothing can be.
pub fn plan(work: Work<'_>, first_boot: Option<&FirstBoot>, intent: Intent, memory: Option<&Memory>) -> Result<Proposal, Failure> {
    let (seen, all) = find(work.api, work.owner, memory)?;
    let mut proposal = Proposal::nothing();
    match (intent, seen) {
        (Intent::Absent, Seen::Ours(found)) => {
            let mut removal = removal(&found);
            removal.fields.extend(mappings::look(work)?.iter().map(|change| field("/mapping", Some(json!(change.id())), None)));
            proposal.actions.push(removal);
        }
        (Intent::Absent, Seen::Unfinished { host, .. }) => {
            let subject = format!("virtual machine on {host} that is being made for {}", work.owner.node);
            proposal.actions.push(act(Change::Destroy, subject, Disruption::DataLoss, "its node is to go", Vec::new()));
        }
        (Intent::Absent, Seen::Nothing { .. }) => {
            if let Some(memory) = memory {
                let left = media_of(work, &memory.host, &memory.identity)?;
                for volume in left {
                    let subject = format!("first-boot medium {volume} of {}", work.owner.node);
                    proposal.actions.push(act(Change::Destroy, subject, Disruption::None, "its machine is gone", Vec::new()));
                }
                for change in mappings::look(work)? {
                    let subject = format!("mapping {} of {}", change.id(), work.owner.node);
                    proposal.actions.push(act(Change::Destroy, subject, Disruption::None, "its machine is gone", Vec::new()));
                }
            }
        }
        (Intent::Present, Seen::Ours(found))
            if first_boot.is_none() || memory.is_none_or(|memory| memory.made || memory.identity != found.claim.identity) =>
        {
            proposal.actions.extend(update(work, first_boot, &found, memory)?);
        }
        // One that is not finished is planned like one that is not there, so that a run which was cut short goes on with what was
        // approved.
        (Intent::Present, seen) => {
            let first_boot = first_boot.ok_or_else(|| nothing_to_boot(&work.wanted.node))?;
            if matches!(seen, Seen::Nothing { .. }) {
                check_fixed(work.wanted, &all, &[])?;
            }
            proposal.holds = create::holds(work.wanted, first_boot);
            proposal.actions.push(creation(work.wanted, first_boot));
        }
    }
    Ok(proposal)
}

fn removal(found: &Found) -> Action {
    let subject = format!("virtual machine {} ({}) on {}", found.vmid, found.claim.node, found.host);
    let fields = vec![field("/identity", Some(json!(found.claim.identity)), None)];
    act(Change::Destroy, subject, Disruption::DataLoss, "its node is to go", fields)
}

/// The same whatever else there is: it is compared right before the first step, when other machines may have come to be.
fn creation(wanted: &Wanted, first_boot: &FirstBoot) -> Action {
    let mut fields = vec![field("/host", None, Some(json!(wanted.host)))];
    fields.extend(wanted.number.map(|number| field("/vmid", None, Some(json!(number)))));
    fields.push(field("/cores", None, Some(json!(wanted.cores))));
    fields.push(field("/memory-mib", None, Some(json!(wanted.memory_mib))));
    for (index, disk) in wanted.disks.iter().enumerate() {
        fields.push(field(&format!("/disks/{index}/size-gib"), None, Some(json!(disk.gib))));
        fields.push(field(&format!("/disks/{index}/storage"), None, Some(json!(disk.storage))));
    }
    for (index, card) in wanted.cards.iter().enumerate() {
        let tag = card.vlan.map(|vlan| format!(" vlan {vlan}")).unwrap_or_default();
        fields.push(field(&format!("/cards/{index}"), None, Some(json!(format!("{} on {}{tag}", card.mac, card.bridge)))));
    }
    for (index, device) in wanted.devices.iter().enumerate() {
        fields.push(field(&format!("/gpus/{index}"), None, Some(json!(device))));
    }
    // Also where a run that was cut off has made them already: what was approved stays the same.
    fields.extend(wanted.mappings.iter().map(|mapping| field("/mapping", None, Some(json!(format!("{} ({})", mapping.id, mapping.map))))));
    let (key, from) = match &first_boot.boot.base {
        BootBase::Template(name) => ("/template", name),
        BootBase::DiskImage(artifact) => ("/image", &artifact.name),
        BootBase::Installer(artifact) => ("/installer", &artifact.name),
    };
    fields.push(field(key, None, Some(json!(from))));
    if !first_boot.media.is_empty() {
        let labels: Vec<&str> = first_boot.media.iter().map(|medium| medium.label.as_str()).collect();
        fields.push(field("/media", None, Some(json!(labels))));
    }
    let subject = format!("virtual machine {} on {}", wanted.node, wanted.host);
    act(Change::Create, subject, Disruption::None, "it is in the inventory and not at Proxmox", fields)
}

fn update(work: Work<'_>, first_boot: Option<&FirstBoot>, found: &Found, memory: Option<&Memory>) -> Result<Option<Action>, Failure> {
    let differences =
        compare(work.wanted, &found.claim, &found.config, Extent::Declared { given: memory.map_or(0, |memory| memory.devices) })?;
    let mut fields = differences.fields.clone();
    let identity = &found.claim.identity;
    if first_boot.is_none() {
        let discs = drives::discs(&found.config);
        let installer = memory.and_then(|memory| memory.iso.as_deref());
        for drive in media::to_eject(&discs, identity, installer) {
            fields.push(field(&format!("/media/{}", drive.slot), Some(json!(drive.volume)), None));
        }
        for volume in media_of(work, &found.host, identity)? {
            fields.push(field("/media", Some(json!(volume)), None));
        }
    }
    if mappings::matter(work, memory) {
        fields.extend(mappings::look(work)?.iter().map(|change| match change {
            mappings::Change::Make(wish) => field("/mapping", None, Some(json!(wish.id))),
            mappings::Change::Correct(wish) => field("/mapping", Some(json!(wish.id)), Some(json!(format!("{} ({})", wish.id, wish.map)))),
            mappings::Change::Remove(id) => field("/mapping", Some(json!(id)), None),
        }));
    }
    let what = format!("see whether VM {} on {} runs", found.vmid, found.host);
    let running = work.api.runs(&found.host, found.vmid).map_err(|trouble| trouble.failure(&what))?;
    if !running {
        fields.push(field("/power", Some(json!("off")), Some(json!("on"))));
    }
    let reboots = running && differences.restart;
    if fields.is_empty() && !reboots {
        return Ok(None);
    }
    let (disruption, reason) = if reboots {
        (Disruption::Reboot, "it is not as the inventory says; some of it counts only after a restart")
    } else {
        (Disruption::None, "it is not as the inventory says")
    };
    if fields.is_empty() {
        fields.push(field("/restart", None, Some(json!("so that changes which are set already count"))));
    }
    let subject = format!("virtual machine {} ({}) on {}", found.vmid, found.claim.node, found.host);
    Ok(Some(act(Change::Update, subject, disruption, reason, fields)))
}
