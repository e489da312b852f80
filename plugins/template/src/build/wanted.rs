//! The template that is wanted, and what Proxmox is told to get there.

use emhost_sdk::types::BootBase;
use emhost_sdk::{Boot, Failure, Unit};

/// A template that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    /// The host to make it on.
    pub(super) host: String,
    /// The number that it has to have, if one is given.
    pub(super) vmid: Option<u32>,
    /// The storage that images are kept on, and the name of this one there.
    pub(super) images: String,
    pub(super) file: String,
    pub(super) url: String,
    /// `sha256:` and the digest.
    pub(super) digest: Option<String>,
    /// The storage of its disk.
    pub(super) storage: String,
    pub(super) bridge: String,
    pub(super) chipset: String,
    pub(super) bios: String,
    pub(super) cpu: String,
    /// What it holds, which is how it is known again.
    pub(super) description: String,
}

impl Wanted {
    pub(super) fn of(unit: Unit<'_>, boot: &Boot) -> Result<Self, Failure> {
        let (cluster, node) = (unit.cluster.attributes(), unit.node);
        let said = |key: &str| cluster.iter().find(|it| it.key == key).and_then(|it| serde_json::from_str::<String>(&it.value).ok());
        let lacks = |what: &str| Failure::internal("template/node", format!("nothing says {what} template {} is to have", node.name()));
        let BootBase::DiskImage(image) = &boot.base else {
            let summary = format!("template {} is made from a disk image, and {} is none", node.name(), boot.id);
            return Err(Failure::internal("template/image", summary));
        };
        let schematic = boot.attributes.iter().find(|attribute| attribute.key == "schematic").map_or("", |attribute| &attribute.value);
        Ok(Self {
            name: node.name(),
            host: node.placement().ok_or_else(|| lacks("which host"))?,
            vmid: node.machine_number(),
            images: said("proxmox.iso_datastore").unwrap_or_else(|| "local".to_owned()),
            file: image.name.clone(),
            url: image.url.clone(),
            digest: image.digest.clone(),
            storage: node.disks().into_iter().find(|disk| disk.system).map(|disk| disk.storage).ok_or_else(|| lacks("which disk"))?,
            bridge: node.cards().into_iter().next().map(|card| card.bridge).ok_or_else(|| lacks("which bridge"))?,
            chipset: said("proxmox.machine").unwrap_or_else(|| "q35".to_owned()),
            bios: said("proxmox.bios").unwrap_or_else(|| "ovmf".to_owned()),
            cpu: said("proxmox.cpu").unwrap_or_else(|| "host".to_owned()),
            description: format!("emhost template version={} schematic={schematic}", boot.os_version),
        })
    }

    /// Where the image is once it was fetched.
    pub(super) fn volume(&self) -> String {
        format!("{}:import/{}", self.images, self.file)
    }

    pub(super) fn download(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![("content", "import".to_owned()), ("filename", self.file.clone()), ("url", self.url.clone())];
        if let Some(digest) = self.digest.as_deref().and_then(|digest| digest.strip_prefix("sha256:")) {
            form.push(("checksum", digest.to_owned()));
            form.push(("checksum-algorithm", "sha256".to_owned()));
        }
        form
    }

    /// A machine in the shape that Talos likes (facts/talos.md §8). Whoever clones it gives it another.
    pub(super) fn create(&self, vmid: u32) -> Vec<(&'static str, String)> {
        let mut form = vec![
            ("vmid", vmid.to_string()),
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("ostype", "l26".to_owned()),
            ("machine", self.chipset.clone()),
            ("bios", self.bios.clone()),
            ("cpu", self.cpu.clone()),
            ("cores", "2".to_owned()),
            ("memory", "2048".to_owned()),
            ("balloon", "0".to_owned()),
            ("scsihw", "virtio-scsi-pci".to_owned()),
            ("scsi0", format!("{}:0,import-from={}", self.storage, self.volume())),
            ("boot", "order=scsi0".to_owned()),
            ("net0", format!("virtio,bridge={}", self.bridge)),
        ];
        if self.bios == "ovmf" {
            form.push(("efidisk0", format!("{}:1,efitype=4m,pre-enrolled-keys=0", self.storage)));
        }
        form
    }
}
