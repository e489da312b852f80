//! Images that machines were made from: they stay when machines go, unless somebody asks for them to go too.
//!
//! A machine's description says which image it was made from, so an image that a person put on the storage is never taken for ours.

use emhost_sdk::provisioner::{Machine, Power};
use emhost_sdk::{Attribute, Failure, Step};

use crate::api::answers::Listed;
use crate::api::{Api, Meaning};
use crate::change;
use crate::find::described;
use crate::identity::{TAG, tags};
use crate::machine::{Config, drives};
use crate::memory::Memory;
use crate::work::{Settled, Work, settle};

const MARK: &str = "emhost image=";

/// The attribute with which the host asks for images among what is owned.
pub const ASKED: &str = "destroy.images";

/// The line of a description that says what a machine was made from.
pub fn line(volume: &str) -> String {
    format!("{MARK}{volume}")
}

/// What a machine was made from.
pub fn source(config: &Config) -> Option<&str> {
    config.get("description")?.lines().find_map(|line| line.trim().strip_prefix(MARK)).filter(|volume| volume.contains(':'))
}

/// An image as the host lists it: two hosts may each have one of the same name.
pub fn listed(volume: &str, host: &str) -> Machine {
    Machine {
        id: format!("{host}/{volume}"),
        identity: format!("{host}/{volume}"),
        node: None,
        host: host.to_owned(),
        power: Power::Off,
        addresses: Vec::new(),
        attributes: vec![Attribute { key: "kind".to_owned(), value: "image".to_owned() }],
    }
}

/// Whether the host means an image.
pub fn is_image(machine: &Machine) -> bool {
    machine.attributes.iter().any(|one| one.key == "kind" && one.value == "image")
}

/// One step towards there being no such image.
///
/// # Errors
/// A machine still needs it, or a refusal.
pub fn discard(work: Work<'_>, image: &Machine, memory: Option<Memory>) -> Result<Step, Failure> {
    let memory = match settle(work.api, memory)? {
        Settled::Waits(step) => return Ok(step),
        Settled::Free(memory) => memory.unwrap_or_else(|| Memory::new(0, image.identity.clone(), image.host.clone())),
    };
    let host = image.host.as_str();
    let volume = image.id.strip_prefix(host).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&image.id);
    let storage = volume.split(':').next().unwrap_or_default();
    let content = volume.split_once(':').and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    let what = format!("see whether image {volume} is on {host}");
    match work.api.volumes(host, storage, content) {
        Ok(known) if known.iter().any(|known| known == volume) => {}
        Ok(_) => return Ok(Step::finished()),
        Err(trouble) => return Err(memory.keep(trouble.failure(&what))),
    }
    if let Some(user) = user(work.api, volume).map_err(|failure| memory.clone().keep(failure))? {
        let summary = format!("image {volume} on {host} stays: it is in a drive of {}", described(&user));
        return Err(
            memory.keep(Failure::conflict("proxmox/image-used", summary).help("take it out of that drive first, or let the image stay"))
        );
    }
    change::delete_volume(work, memory, host, volume)
}

/// A machine of any cluster of ours that has the image in a drive. Disks that were made from it do not need it.
fn user(api: &Api, volume: &str) -> Result<Option<Listed>, Failure> {
    let all = api.machines().map_err(|trouble| trouble.failure("list the machines of Proxmox"))?;
    let ours =
        |listed: &&Listed| listed.kind == "qemu" && listed.tags.as_deref().is_some_and(|text| tags(text).iter().any(|tag| tag == TAG));
    for listed in all.iter().filter(ours) {
        let config = match api.options(&listed.node, listed.vmid) {
            Ok(options) => Config::read(options),
            Err(trouble) if trouble.meaning() == Some(Meaning::Gone) => continue,
            Err(trouble) => return Err(trouble.failure(&format!("look at VM {} on {}", listed.vmid, listed.node))),
        };
        if drives::all(&config).iter().any(|drive| drive.volume == volume) {
            return Ok(Some(listed.clone()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::samples::{claim, made_with};

    #[test]
    fn a_description_says_what_a_machine_was_made_from() {
        let text = format!("{}\n{}\n", claim().line(), line("local:import/talos.qcow2"));
        let config = made_with(&[("description", text.as_str())]);
        assert_eq!((source(&config), config.claim()), (Some("local:import/talos.qcow2"), Some(claim())));
        assert_eq!(source(&made_with(&[])), None);
        assert!(is_image(&listed("local:import/talos.qcow2", "pve1")));
    }
}
