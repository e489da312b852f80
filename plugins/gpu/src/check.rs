//! Whether the hypervisor can hand a device to the machine it is meant for. Pure.
//!
//! Which driver of the host holds a device is not judged: Proxmox's API does not tell it (docs/gpu.md says how to see it).

use std::collections::BTreeSet;

use emhost_sdk::gpu::Device;
use emhost_sdk::{Diagnostic, Severity};

use crate::assign::entry;
use crate::facts::{Claim, Facts, Holder, Way};
use crate::roles;

/// What the credential may do, as far as a device needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// On the mapping that the device comes by.
    pub mapping: BTreeSet<String>,
    /// On all mappings.
    pub mappings: BTreeSet<String>,
    /// On all machines.
    pub machines: BTreeSet<String>,
}

/// Everything that is in the way, and what is fine as a note.
pub fn judge(device: &Device, facts: &Facts, claim: &Claim, rights: &Rights) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    found.extend(iommu(device, facts));
    found.extend(group(device, facts, claim));
    found.extend(facts.holders.iter().filter_map(|holder| held(device, claim, holder)));
    found.extend(way(device, facts, claim, rights));
    let own = |holder: &Holder| holder.running && holder.owner.as_ref() == Some(&claim.owner);
    if facts.holders.iter().any(own) {
        // It works, whatever it looks like: a cluster that runs can always be applied.
        for one in found.iter_mut().filter(|one| one.severity == Severity::Error) {
            one.severity = Severity::Warning;
        }
    }
    if facts.unlisted {
        let summary = format!("whether {} can hand over {} is not known: its PCI devices may not be listed", device.host, device.address);
        found.push(Diagnostic::warning("gpu/unseen", summary).help(roles::give_looking()));
    }
    if !rights.machines.contains("VM.Audit") {
        let summary = format!(
            "whether another machine has {} of {} is only known of machines that the credential may see",
            device.address, device.host
        );
        let help = "give the credential VM.Audit on /vms; without it, Proxmox refuses to start the second machine";
        found.push(Diagnostic::warning("gpu/unseen", summary).help(help));
    }
    if found.is_empty() {
        let by = match &claim.way {
            Way::Mapping(mapping) => format!("by mapping `{mapping}`"),
            Way::Make(_) => "by a mapping that emhost makes".to_owned(),
            Way::Raw => "by its address, as root@pam".to_owned(),
        };
        let group = device.iommu_group.map(|group| format!(", alone in IOMMU group {group}")).unwrap_or_default();
        let summary = format!("{} of {} ({}){group}, is ready for {} {by}", claim.address, device.host, device.model, claim.owner.node);
        found.push(Diagnostic::note("gpu/ready", summary));
    }
    found
}

fn iommu(device: &Device, facts: &Facts) -> Option<Diagnostic> {
    if device.iommu_group.is_some() || facts.unlisted {
        return None;
    }
    let host = &device.host;
    let summary = format!("the IOMMU of {host} is off, so none of its devices can be handed to a machine");
    let help = format!(
        "switch VT-d or AMD-Vi on in the firmware of {host}; with an Intel processor also add `intel_iommu=on` to the kernel's command line (`/etc/default/grub` and `update-grub`, or `/etc/kernel/cmdline` and `proxmox-boot-tool refresh`); then restart {host}. `dmesg | grep -e DMAR -e IOMMU` shows whether it is on"
    );
    Some(Diagnostic::error("gpu/iommu", summary).help(help))
}

fn group(device: &Device, facts: &Facts, claim: &Claim) -> Option<Diagnostic> {
    if facts.shares.is_empty() {
        return None;
    }
    let number = device.iommu_group.map(|group| group.to_string()).unwrap_or_default();
    let (host, address) = (&device.host, &claim.address);
    let summary = format!("{address} of {host} shares IOMMU group {number} with {}", facts.shares.join(", "));
    let detail = "a group goes to one machine as a whole: starting it would take these from the host and from every other machine";
    let help = format!(
        "put the card into another slot, or switch ACS on in the firmware of {host}; `pcie_acs_override=downstream` on the kernel's command line parts groups too, at the price of the isolation between them"
    );
    Some(Diagnostic::error("gpu/group", summary).pointer("/gpu").detail(detail).help(help))
}

/// What it means that a machine has the device.
fn held(device: &Device, claim: &Claim, holder: &Holder) -> Option<Diagnostic> {
    let (address, host) = (&claim.address, &device.host);
    let machine = format!("VM {} ({}) on {host}", holder.vmid, holder.name);
    match &holder.owner {
        Some(owner) if *owner == claim.owner => None,
        // A node that goes, or one that is to get another device: in this run or by a look at orphans.
        Some(owner) if owner.cluster == claim.owner.cluster => {
            let summary = format!("{machine} of this cluster's node {} has {address} too", owner.node);
            let help = format!("let it go first: apply removes it if {} is not in the inventory any more", owner.node);
            Some(Diagnostic::warning("gpu/held", summary).pointer("/gpu").help(help))
        }
        Some(owner) => {
            let summary = format!("{address} of {host} belongs to another cluster of emhost: {machine} has it");
            let detail = format!("it is node {} of the cluster with the id {}", owner.node, owner.cluster);
            let help = format!(
                "give {} another device, or take {} out of the other cluster's inventory and apply there",
                claim.owner.node, owner.node
            );
            Some(Diagnostic::error("gpu/held", summary).pointer("/gpu").detail(detail).help(help))
        }
        None if holder.running => {
            let summary = format!("{address} of {host} is in use: {machine} runs with it");
            let help = format!(
                "give {} another device; or shut VM {} down and take the device from it in Proxmox (Hardware)",
                claim.owner.node, holder.vmid
            );
            Some(Diagnostic::error("gpu/held", summary).pointer("/gpu").help(help))
        }
        None => {
            let summary = format!("{machine} is to have {address} too when it is started: only one of them can run");
            Some(
                Diagnostic::warning("gpu/held", summary)
                    .pointer("/gpu")
                    .help(format!("take the device from VM {} if {} is to keep it", holder.vmid, claim.owner.node)),
            )
        }
    }
}

/// Whether the way by which the device comes is open.
fn way(device: &Device, facts: &Facts, claim: &Claim, rights: &Rights) -> Option<Diagnostic> {
    let (address, host) = (&claim.address, &device.host);
    let uses = rights.mapping.contains("Mapping.Use");
    let on = "give it to the user and to the token, on a Proxmox host:";
    match &claim.way {
        Way::Raw => None,
        Way::Mapping(mapping) => {
            let wrong = facts.mappings.iter().find(|known| known.id == *mapping).and_then(|known| known.wrong.as_ref());
            if let Some(wrong) = wrong {
                let summary = format!("mapping `{mapping}` does not fit {address} of {host}: it says {wrong}");
                let detail = "Proxmox does not start a machine with a mapping that is not true; it becomes so when cards or firmware settings change";
                let help = format!(
                    "correct it under Datacenter, Resource Mappings, or with this line, which leaves it nothing else:\npvesh set /cluster/mapping/pci/{mapping} --map {}",
                    entry(device, facts, address)
                );
                return Some(Diagnostic::error("gpu/mapping", summary).pointer("/gpu").detail(detail).help(help));
            }
            (!uses).then(|| {
                let summary = format!("the credential of slot `pve` may see mapping `{mapping}` and not use it: it lacks Mapping.Use");
                Diagnostic::error("gpu/denied", summary).help(format!("{on}\n{}", roles::give_using(mapping)))
            })
        }
        Way::Make(name) => {
            let there = facts.mappings.iter().any(|known| known.id == *name && known.wrong.is_none());
            let makes = rights.mappings.contains("Mapping.Modify");
            if uses && (makes || there) {
                return None;
            }
            let summary = format!(
                "no mapping that the credential may use is for {address} of {host} alone, and it may not make one: it lacks Mapping.Modify on /mapping/pci"
            );
            let detail = "Proxmox lets no token hand a device over by its address; a mapping is the way";
            let help = format!(
                "make one and let the credential use it, on a Proxmox host:\n{}\n{}\nor let emhost make it:\n{}\nor bind slot `pve` with the password of root@pam",
                roles::make_mapping("gpu0", &entry(device, facts, address)),
                roles::give_using("gpu0"),
                roles::give_making()
            );
            Some(Diagnostic::error("gpu/denied", summary).pointer("/gpu").detail(detail).help(help))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::facts::{Mapped, Owner};

    fn device(group: Option<u32>) -> Device {
        Device {
            id: "pve1/0000:01:00.0".to_owned(),
            host: "pve1".to_owned(),
            address: "0000:01:00.0".to_owned(),
            vendor_id: 0x10de,
            device_id: 0x2204,
            model: "GA102".to_owned(),
            iommu_group: group,
            attributes: Vec::new(),
        }
    }

    fn owner(cluster: &str, node: &str) -> Owner {
        Owner { cluster: cluster.to_owned(), node: node.to_owned() }
    }

    fn claim(way: Way) -> Claim {
        Claim { owner: owner("c0ffee", "dev-gpu-1"), address: "0000:01:00.0".to_owned(), way }
    }

    fn all() -> Rights {
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        Rights { mapping: set("Mapping.Use"), mappings: set("Mapping.Modify"), machines: set("VM.Audit") }
    }

    fn holder(running: bool, owner: Option<Owner>) -> Facts {
        Facts { holders: vec![Holder { vmid: 105, name: "win".to_owned(), running, owner }], ..Facts::default() }
    }

    /// `severity code: summary`, with a fix for everything but notes.
    fn told(group: Option<u32>, facts: &Facts, way: Way, rights: &Rights) -> Vec<String> {
        let found = judge(&device(group), facts, &claim(way), rights);
        let line = |one: &Diagnostic| {
            assert_eq!(one.help.is_some(), one.severity != Severity::Note, "{}", one.summary);
            let word = ["error", "warning", "note"][one.severity as usize];
            format!("{word} {}: {}", one.code, one.summary)
        };
        found.iter().map(line).collect()
    }

    fn raw(facts: &Facts) -> Vec<String> {
        told(Some(14), facts, Way::Raw, &all())
    }

    #[test]
    fn a_device_that_is_free_is_ready() {
        assert_eq!(
            raw(&Facts::default()),
            ["note gpu/ready: 0000:01:00.0 of pve1 (GA102), alone in IOMMU group 14, is ready for dev-gpu-1 by its address, as root@pam"]
        );
        // Its own machine has it: a second run finds nothing.
        assert!(raw(&holder(true, Some(owner("c0ffee", "dev-gpu-1"))))[0].starts_with("note gpu/ready"));
    }

    #[test]
    fn what_keeps_a_device_with_its_host() {
        let off = told(None, &Facts::default(), Way::Raw, &all());
        assert_eq!(off, ["error gpu/iommu: the IOMMU of pve1 is off, so none of its devices can be handed to a machine"]);
        let shared = Facts { shares: vec!["0000:02:00.0 (Intel I225)".to_owned()], ..Facts::default() };
        assert_eq!(raw(&shared), ["error gpu/group: 0000:01:00.0 of pve1 shares IOMMU group 14 with 0000:02:00.0 (Intel I225)"]);
        // A machine that runs with it proves that it works.
        let runs = Facts { shares: shared.shares, ..holder(true, Some(owner("c0ffee", "dev-gpu-1"))) };
        assert!(raw(&runs)[0].starts_with("warning gpu/group"));
    }

    #[test]
    fn who_has_a_device_is_named() {
        let other = raw(&holder(false, Some(owner("beef", "lab-gpu-1"))));
        assert_eq!(other, ["error gpu/held: 0000:01:00.0 of pve1 belongs to another cluster of emhost: VM 105 (win) on pve1 has it"]);
        assert_eq!(raw(&holder(true, None)), ["error gpu/held: 0000:01:00.0 of pve1 is in use: VM 105 (win) on pve1 runs with it"]);
        assert!(raw(&holder(false, None))[0].starts_with("warning gpu/held: VM 105 (win) on pve1 is to have 0000:01:00.0 too"));
        assert!(
            raw(&holder(true, Some(owner("c0ffee", "old"))))[0]
                .starts_with("warning gpu/held: VM 105 (win) on pve1 of this cluster's node old")
        );
    }

    #[test]
    fn rights_are_those_of_the_way() {
        let nothing = Rights { machines: all().machines, ..Rights::default() };
        let mapping = Way::Mapping("gpu0".to_owned());
        let lacking = judge(&device(Some(14)), &Facts::default(), &claim(mapping.clone()), &nothing);
        assert_eq!(lacking[0].summary, "the credential of slot `pve` may see mapping `gpu0` and not use it: it lacks Mapping.Use");
        assert!(lacking[0].help.as_ref().unwrap().contains("pveum acl modify /mapping/pci/gpu0 --roles EmhostDevices --users"));
        let make = Way::Make("emhost-x".to_owned());
        let lacking = judge(&device(Some(14)), &Facts::default(), &claim(make.clone()), &nothing);
        let help = lacking[0].help.clone().unwrap();
        assert!(help.contains("--map node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=14\n"), "{help}");
        assert!(help.contains("pveum role add EmhostMappings --privs \"Mapping.Modify Mapping.Use\""), "{help}");
        assert_eq!(told(Some(14), &Facts::default(), make.clone(), &all()).len(), 1);
        // One that was made is used without the right to make another.
        let there = Mapped { id: "emhost-x".to_owned(), path: "0000:01:00.0".to_owned(), alone: true, owner: None, wrong: None };
        let known = Facts { mappings: vec![there.clone()], ..Facts::default() };
        let uses = Rights { mapping: all().mapping, ..nothing.clone() };
        assert!(told(Some(14), &known, make, &uses)[0].starts_with("note"));
        let wrong = Mapped { id: "gpu0".to_owned(), wrong: Some("id 10de:1111, and it is 10de:2204".to_owned()), ..there };
        let told_wrong = told(Some(14), &Facts { mappings: vec![wrong], ..Facts::default() }, mapping, &all());
        assert_eq!(
            told_wrong,
            ["error gpu/mapping: mapping `gpu0` does not fit 0000:01:00.0 of pve1: it says id 10de:1111, and it is 10de:2204"]
        );
        // Who sees little is told what that means.
        assert_eq!(told(Some(14), &Facts { unlisted: true, ..Facts::default() }, Way::Raw, &Rights::default()).len(), 2);
    }
}
