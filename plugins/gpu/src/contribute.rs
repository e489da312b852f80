//! What the other phases do for a node with devices. Pure.

use emhost_factory_client::Version;
use emhost_sdk::gpu::Device;
use emhost_sdk::types::Passthrough;
use emhost_sdk::{Attribute, Contribution, Document, Failure, nothing};

use crate::assign::entry;
use crate::drivers;
use crate::facts::{Claim, Facts, Way};
use crate::selector::Vendor;
use crate::settings::Settings;

/// How the inventory wants a device to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// As a PCI Express device.
    pub pcie: bool,
    /// With its ROM.
    pub rombar: bool,
}

fn attribute(key: &str, value: impl Into<String>) -> Attribute {
    Attribute { key: key.to_owned(), value: value.into() }
}

/// Everything that a node with these devices needs; nothing without one.
///
/// # Errors
/// No driver of this version of Talos runs one of them.
pub fn contribution(devices: &[Device], version: &Version, shown: Shown, settings: Settings) -> Result<Contribution, Failure> {
    let mut all = nothing();
    if devices.is_empty() {
        return Ok(all);
    }
    // Memory that a device reads by itself cannot be given back, and drivers look at the real processor.
    all.machine = vec![attribute("balloon", "0"), attribute("cpu", "host")];
    if shown.pcie {
        // PCI Express slots are there on q35 only, and large windows of memory with UEFI only.
        all.machine.extend([attribute("bios", "ovmf"), attribute("machine", "q35")]);
    }
    for device in devices {
        let driver = drivers::of(device, version, settings)?;
        all.devices.push(passthrough(device, shown)?);
        let new = |one: &String| !all.extensions.contains(one);
        let extensions: Vec<String> = driver.extensions.into_iter().filter(new).collect();
        all.extensions.extend(extensions);
        let Some(vendor) = Vendor::of(device.vendor_id) else { continue };
        if let Some(body) = driver.patch {
            let name = format!("gpu-{}.yaml", vendor.word());
            // Lists grow with every patch, so two cards of one vendor have one.
            if !all.patches.iter().any(|known| known.name == name) {
                all.patches.push(Document { name, media_type: "application/yaml".to_owned(), body, sensitive: false });
            }
        }
        keyed(&mut all.labels, "emhost/gpu", vendor.word());
        if vendor == Vendor::Nvidia {
            // What NVIDIA's own charts look for.
            keyed(&mut all.labels, "nvidia.com/gpu.present", "true");
        }
        keyed(&mut all.attributes, "gpu.vendor", vendor.word());
        keyed(&mut all.attributes, "gpu.driver", &driver.name);
        if let Some(runtime) = driver.runtime {
            keyed(&mut all.attributes, "gpu.runtime", runtime);
        }
    }
    Ok(all)
}

/// The first word counts: a node with cards of two vendors is labelled by one.
fn keyed(list: &mut Vec<Attribute>, key: &str, value: &str) {
    if !list.iter().any(|known| known.key == key) {
        list.push(attribute(key, value));
    }
}

fn passthrough(device: &Device, shown: Shown) -> Result<Passthrough, Failure> {
    let claim = Claim::of(device)?;
    let mut attributes = vec![attribute("pcie", shown.pcie.to_string()), attribute("rombar", shown.rombar.to_string())];
    match &claim.way {
        Way::Raw => {}
        Way::Mapping(mapping) => attributes.push(attribute("mapping", mapping)),
        Way::Make(mapping) => {
            attributes.push(attribute("mapping", mapping));
            attributes.push(attribute("mapping.map", entry(device, &Facts::of(device)?, &claim.address)));
        }
    }
    Ok(Passthrough { device: device.id.clone(), host: device.host.clone(), address: claim.address, attributes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::facts::Owner;

    fn device(vendor_id: u16, device_id: u16, way: Way) -> Device {
        let owner = Owner { cluster: "c0ffee".to_owned(), node: "dev-gpu-1".to_owned() };
        let claim = Claim { owner, address: "0000:01:00".to_owned(), way };
        let facts = Facts { subsystem: Some("10de:1467".to_owned()), ..Facts::default() };
        Device {
            id: "pve1/0000:01:00.0".to_owned(),
            host: "pve1".to_owned(),
            address: "0000:01:00.0".to_owned(),
            vendor_id,
            device_id,
            model: String::new(),
            iommu_group: Some(14),
            attributes: vec![facts.attribute(), claim.attribute()],
        }
    }

    const SHOWN: Shown = Shown { pcie: true, rombar: true };

    fn of(devices: &[Device], shown: Shown) -> Contribution {
        contribution(devices, &Version::parse("v1.12.1").unwrap(), shown, Settings::default()).unwrap()
    }

    fn pairs(list: &[Attribute]) -> Vec<String> {
        list.iter().map(|one| format!("{}={}", one.key, one.value)).collect()
    }

    #[test]
    fn a_node_gets_the_shape_the_device_and_its_driver() {
        let made = of(&[device(0x10de, 0x2204, Way::Make("emhost-x".to_owned()))], SHOWN);
        assert_eq!(pairs(&made.machine), ["balloon=0", "cpu=host", "bios=ovmf", "machine=q35"]);
        assert_eq!(
            pairs(&made.devices[0].attributes),
            [
                "pcie=true",
                "rombar=true",
                "mapping=emhost-x",
                "mapping.map=node=pve1,path=0000:01:00,id=10de:2204,iommugroup=14,subsystem-id=10de:1467"
            ]
        );
        assert_eq!((made.devices[0].device.as_str(), made.devices[0].address.as_str()), ("pve1/0000:01:00.0", "0000:01:00"));
        assert_eq!(made.extensions, ["siderolabs/nvidia-container-toolkit-lts", "siderolabs/nvidia-open-gpu-kernel-modules-lts"]);
        assert_eq!(pairs(&made.labels), ["emhost/gpu=nvidia", "nvidia.com/gpu.present=true"]);
        assert_eq!(pairs(&made.attributes), ["gpu.vendor=nvidia", "gpu.driver=nvidia 580 open", "gpu.runtime=runtime-class"]);
        assert_eq!(made.patches.len(), 1);
    }

    #[test]
    fn without_pci_express_the_machine_stays_as_the_cluster_says() {
        let made = of(&[device(0x1002, 0x744c, Way::Mapping("gpu0".to_owned()))], Shown { pcie: false, rombar: false });
        assert_eq!(pairs(&made.machine), ["balloon=0", "cpu=host"]);
        assert_eq!(pairs(&made.devices[0].attributes), ["pcie=false", "rombar=false", "mapping=gpu0"]);
        assert_eq!((made.extensions.len(), made.patches.len()), (1, 0));
    }

    #[test]
    fn two_cards_have_one_patch_and_no_device_has_nothing() {
        let card = || device(0x10de, 0x2204, Way::Raw);
        let made = of(&[card(), card()], SHOWN);
        assert_eq!((made.devices.len(), made.patches.len(), made.extensions.len()), (2, 1, 2));
        let none = of(&[], SHOWN);
        assert!(none.machine.is_empty() && none.extensions.is_empty() && none.labels.is_empty());
        // Something that is no GPU goes over as it is.
        let other = of(&[device(0x1ae0, 0x001f, Way::Raw)], SHOWN);
        assert!(other.extensions.is_empty() && other.labels.is_empty() && other.devices.len() == 1);
    }
}
