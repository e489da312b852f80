//! The parameters of the requests that make a machine.

use emhost_sdk::Failure;

use super::differences::{Extent, compare};
use super::texts::empty_disk;
use super::wanted::Wanted;
use super::{Config, drives};
use crate::api::Form;
use crate::identity::Claim;
use crate::images;

/// What the system disk of a new machine starts as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A copy of this volume.
    Image(String),
    /// Nothing: the machine installs from this volume.
    Installer(String),
}

/// A machine that does not exist yet.
///
/// # Errors
/// Something that no machine can be.
pub fn create(wanted: &Wanted, vmid: u32, claim: &Claim, start: &Start, cloud_init: bool) -> Result<Form, Failure> {
    let options = compare(wanted, claim, &Config::default(), Extent::Whole { cloud_init })?;
    let system = wanted.system().ok_or_else(|| Failure::internal("proxmox/disk", format!("{} has no system disk", wanted.node)))?;
    let mut form: Form = vec![("vmid".to_owned(), vmid.to_string())];
    let taken: Vec<String> = options.set.iter().map(|(key, _)| key.clone()).collect();
    form.extend(options.set);
    let (Start::Image(volume) | Start::Installer(volume)) = start;
    for (_, description) in form.iter_mut().filter(|(key, _)| key == "description") {
        *description = format!("{description}\n{}", images::line(volume));
    }
    form.extend(wanted.pool.iter().map(|pool| ("pool".to_owned(), pool.clone())));
    match start {
        Start::Image(volume) => {
            let disk = format!("{}:0,import-from={volume},discard=on,ssd=1", system.storage);
            form.push(("scsi0".to_owned(), disk));
            form.push(("boot".to_owned(), "order=scsi0".to_owned()));
        }
        Start::Installer(volume) => {
            form.push(("scsi0".to_owned(), empty_disk(&system.storage, system.gib)));
            let slot = drives::free_disc_slot(&Config::default(), &taken).unwrap_or("ide2");
            form.push((slot.to_owned(), format!("{volume},media=cdrom")));
            // An empty disk does not boot, so the first start is from the medium and every other one from the disk.
            form.push(("boot".to_owned(), format!("order=scsi0;{slot}")));
        }
    }
    Ok(form)
}

/// A full copy of a template. A clone cannot set its identity, so its description claims it until it can be set.
pub fn clone(wanted: &Wanted, vmid: u32, claim: &Claim, on: &str) -> Form {
    let mut form: Form = vec![
        ("newid".to_owned(), vmid.to_string()),
        ("name".to_owned(), wanted.node.clone()),
        ("full".to_owned(), "1".to_owned()),
        ("description".to_owned(), claim.line()),
    ];
    form.extend(wanted.system().map(|disk| ("storage".to_owned(), disk.storage.clone())));
    form.extend(wanted.pool.iter().map(|pool| ("pool".to_owned(), pool.clone())));
    if on != wanted.host {
        form.push(("target".to_owned(), wanted.host.clone()));
    }
    form
}

#[cfg(test)]
mod tests {
    use super::super::samples::{IDENTITY, claim, wanted};
    use super::*;

    fn shown(form: &Form) -> Vec<String> {
        let mut lines: Vec<String> = form.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        lines.sort();
        lines
    }

    #[test]
    fn a_machine_of_an_image_has_the_shape_that_talos_likes() {
        let form = create(&wanted(), 300, &claim(), &Start::Image("local:import/talos.qcow2".to_owned()), true).expect("fits");
        let uuid = format!("smbios1: uuid={IDENTITY}");
        let description = format!("description: {}\nemhost image=local:import/talos.qcow2", claim().line());
        let expected = [
            "balloon: 0",
            "bios: ovmf",
            "boot: order=scsi0",
            "citype: nocloud",
            "cores: 4",
            "cpu: host",
            &description,
            "efidisk0: local-lvm:1,efitype=4m,pre-enrolled-keys=0",
            "ide2: local-lvm:cloudinit",
            "ipconfig0: gw=10.0.0.1,ip=10.0.10.11/16",
            "machine: q35",
            "memory: 8192",
            "name: dev-cp-1",
            "nameserver: 1.1.1.1 8.8.8.8",
            "net0: virtio=02:00:00:12:34:56,bridge=vmbr0",
            "onboot: 1",
            "ostype: l26",
            "scsi0: local-lvm:0,import-from=local:import/talos.qcow2,discard=on,ssd=1",
            "scsihw: virtio-scsi-pci",
            "serial0: socket",
            &uuid,
            "tags: emhost;emhost-c0ffee",
            "vmid: 300",
        ];
        assert_eq!(shown(&form), expected);
    }

    #[test]
    fn an_installer_is_tried_after_the_empty_disk() {
        let old = Wanted {
            firmware: super::super::wanted::Firmware::Seabios,
            machine: "pc".to_owned(),
            pool: Some("dev".to_owned()),
            ..wanted()
        };
        let form = create(&old, 300, &claim(), &Start::Installer("local:iso/talos.iso".to_owned()), false).expect("fits");
        let lines = shown(&form);
        for line in ["scsi0: local-lvm:40,discard=on,ssd=1", "ide2: local:iso/talos.iso,media=cdrom", "boot: order=scsi0;ide2", "pool: dev"]
        {
            assert!(lines.iter().any(|known| known == line), "{line}: {lines:#?}");
        }
        assert!(
            !lines.iter().any(|line| line.starts_with("efidisk0") || line.starts_with("bios") || line.starts_with("machine")),
            "{lines:#?}"
        );
    }

    #[test]
    fn a_clone_claims_what_it_cannot_set() {
        let lines = shown(&clone(&wanted(), 300, &claim(), "pve2"));
        assert_eq!(lines[0], format!("description: {}", claim().line()));
        assert_eq!(lines[1..], ["full: 1", "name: dev-cp-1", "newid: 300", "storage: local-lvm", "target: pve1"]);
    }
}
