//! What a device needs of the operating system: extensions, modules and settings of Talos, by vendor, device and version.

mod nvidia;

use emhost_factory_client::Version;
use emhost_sdk::Failure;
use emhost_sdk::gpu::Device;

use crate::selector::Vendor;
use crate::settings::Settings;

/// What drives a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Driver {
    /// System extensions.
    pub extensions: Vec<String>,
    /// A patch of the machine configuration.
    pub patch: Option<String>,
    /// How containers come to the device: `runtime-class` or `cdi`.
    pub runtime: Option<&'static str>,
    /// The driver for people.
    pub name: String,
}

fn official(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("siderolabs/{name}")).collect()
}

/// What drives this device.
///
/// # Errors
/// No driver of this version of Talos does.
pub fn of(device: &Device, version: &Version, settings: Settings) -> Result<Driver, Failure> {
    match Vendor::of(device.vendor_id) {
        Some(Vendor::Nvidia) => nvidia::driver(device, version, settings.nvidia),
        Some(Vendor::Amd) => Ok(amd(version)),
        Some(Vendor::Intel) => intel(device, version),
        // A device that somebody names by its address may be anything; what drives it is his to add.
        None => Ok(Driver::default()),
    }
}

/// The driver moved out of the base system with 1.9 (facts/talos.md §6).
fn amd(version: &Version) -> Driver {
    let extension = if version.at_least(9) { "amdgpu" } else { "amdgpu-firmware" };
    Driver { extensions: official(&[extension]), name: "amdgpu".to_owned(), ..Driver::default() }
}

fn intel(device: &Device, version: &Version) -> Result<Driver, Failure> {
    let id = device.device_id;
    // Battlemage knows the new driver only; Alchemist runs with the old one, and needs the management engine's.
    let (battlemage, alchemist) = ((0xe200..=0xe2ff).contains(&id), (0x5690..=0x56cf).contains(&id));
    if battlemage && !version.at_least(12) {
        let summary =
            format!("{} ({}) needs the driver xe, which Talos has from v1.12 on; the cluster runs {version}", device.id, device.model);
        return Err(Failure::invalid("gpu/driver", summary)
            .pointer("/gpu")
            .help("set `talos_version` in cluster.yaml to v1.12 or later, or use another device"));
    }
    let extensions: &[&str] = match (battlemage, version.at_least(9)) {
        (true, _) => &["mei", "xe"],
        (false, true) if alchemist => &["i915", "mei"],
        (false, true) => &["i915"],
        (false, false) => &["i915-ucode"],
    };
    let name = if battlemage { "xe" } else { "i915" };
    Ok(Driver { extensions: official(extensions), name: name.to_owned(), ..Driver::default() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    pub(super) fn device(vendor_id: u16, device_id: u16) -> Device {
        Device {
            id: "pve1/0000:01:00.0".to_owned(),
            host: "pve1".to_owned(),
            address: "0000:01:00.0".to_owned(),
            vendor_id,
            device_id,
            model: "a card".to_owned(),
            iommu_group: Some(14),
            attributes: Vec::new(),
        }
    }

    fn extensions(vendor: u16, id: u16, version: &str) -> Vec<String> {
        let driver = of(&device(vendor, id), &Version::parse(version).unwrap(), Settings::default()).unwrap();
        assert_eq!((driver.patch, driver.runtime), (None, None));
        driver.extensions.into_iter().map(|name| name.trim_start_matches("siderolabs/").to_owned()).collect()
    }

    #[test]
    fn names_follow_the_version() {
        assert_eq!(extensions(0x1002, 0x744c, "v1.8.2"), ["amdgpu-firmware"]);
        assert_eq!(extensions(0x1002, 0x744c, "v1.11.5"), ["amdgpu"]);
        assert_eq!(extensions(0x8086, 0x56a0, "v1.8.2"), ["i915-ucode"]);
        assert_eq!(extensions(0x8086, 0x4680, "v1.11.5"), ["i915"]);
        assert_eq!(extensions(0x8086, 0x56a0, "v1.11.5"), ["i915", "mei"]);
        assert_eq!(extensions(0x8086, 0xe20b, "v1.12.1"), ["mei", "xe"]);
        assert_eq!(extensions(0x1ae0, 0x001f, "v1.12.1"), [] as [&str; 0]);
        let old = of(&device(0x8086, 0xe20b), &Version::parse("v1.11.5").unwrap(), Settings::default()).unwrap_err();
        assert!(old.diagnostics[0].summary.contains("needs the driver xe"), "{old:?}");
    }
}
