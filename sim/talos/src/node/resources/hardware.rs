//! The machine below the node, and what the image brought.

use emhost_sim_kit::{Firmware, Platform};
use emhost_talos_api::definitions::{enums, extensions, hardware as facts, runtime, time};
use prost::Message;

use super::yaml::Fields;
use super::{block, cmdline};
use crate::node::Node;

const RUNTIME: &str = "runtime";

/// Everything that is known before there is a configuration.
pub(crate) fn hardware(node: &Node) {
    block::disks(node);
    firmware(node);
    platform(node);
    extension_statuses(node);
    meta(node);
    let spec = time::StatusSpec { synced: true, epoch: 1, sync_disabled: false };
    let text = Fields::default().with("synced", true).with("epoch", 1_u32).with("syncDisabled", false).text();
    node.resources.put("TimeStatuses.v1alpha1.talos.dev", RUNTIME, "node", text, spec.encode_to_vec());
}

fn firmware(node: &Node) {
    let machine = &node.boot.machine;
    let system = facts::SystemInformationSpec {
        manufacturer: "QEMU".to_owned(),
        product_name: if machine.chipset == "q35" { "Standard PC (Q35 + ICH9, 2009)" } else { "Standard PC (i440FX + PIIX, 1996)" }
            .to_owned(),
        version: format!("pc-{}-9.2", machine.chipset),
        serial_number: machine.serial.clone().unwrap_or_default(),
        uuid: machine.uuid.to_lowercase(),
        wake_up_type: "Power Switch".to_owned(),
        sku_number: String::new(),
    };
    let text = Fields::default()
        .maybe("manufacturer", system.manufacturer.as_str())
        .maybe("productName", system.product_name.as_str())
        .maybe("version", system.version.as_str())
        .maybe("serialnumber", system.serial_number.as_str())
        .maybe("uuid", system.uuid.as_str())
        .maybe("wakeUpType", system.wake_up_type.as_str())
        .text();
    node.resources.put("SystemInformations.hardware.talos.dev", "hardware", "systeminformation", text, system.encode_to_vec());
    let processor = facts::ProcessorSpec {
        socket: "CPU 0".to_owned(),
        manufacturer: "QEMU".to_owned(),
        product_name: format!("pc-{}-9.2", machine.chipset),
        max_speed: 2000,
        boot_speed: 2000,
        status: 65,
        core_count: machine.cores,
        core_enabled: machine.cores,
        thread_count: machine.cores,
        ..Default::default()
    };
    let text = Fields::default()
        .with("socket", "CPU 0")
        .with("manufacturer", "QEMU")
        .with("productName", processor.product_name.as_str())
        .with("maxSpeedMhz", 2000_u32)
        .with("bootSpeedMhz", 2000_u32)
        .with("status", 65_u32)
        .with("coreCount", machine.cores)
        .with("coreEnabled", machine.cores)
        .with("threadCount", machine.cores)
        .text();
    node.resources.put("Processors.hardware.talos.dev", "hardware", "CPU-0", text, processor.encode_to_vec());
    let size = u32::try_from(machine.memory_mib).unwrap_or(u32::MAX);
    let memory =
        facts::MemoryModuleSpec { size, device_locator: "DIMM 0".to_owned(), manufacturer: "QEMU".to_owned(), ..Default::default() };
    let text = Fields::default().with("sizeMiB", size).with("deviceLocator", "DIMM 0").with("manufacturer", "QEMU").text();
    node.resources.put("MemoryModules.hardware.talos.dev", "hardware", "DIMM-0", text, memory.encode_to_vec());
    for device in &machine.pci {
        let spec = facts::PciDeviceSpec {
            class: "Display controller".to_owned(),
            subclass: "VGA compatible controller".to_owned(),
            class_id: "0x03".to_owned(),
            vendor_id: device.vendor.clone(),
            product_id: device.device.clone(),
            ..Default::default()
        };
        let text = Fields::default()
            .with("class", spec.class.as_str())
            .with("subclass", spec.subclass.as_str())
            .with("class_id", spec.class_id.as_str())
            .with("vendor_id", spec.vendor_id.as_str())
            .with("product_id", spec.product_id.as_str())
            .text();
        node.resources.put("PCIDevices.hardware.talos.dev", "hardware", &device.bdf, text, spec.encode_to_vec());
    }
}

fn platform(node: &Node) {
    let (machine, image) = (&node.boot.machine, &node.boot.image);
    let cloud = image.platform == Platform::Nocloud;
    let spec = runtime::PlatformMetadataSpec {
        platform: image.platform.name().to_owned(),
        hostname: node.boot.hostname.clone().unwrap_or_default(),
        instance_id: machine.uuid.to_lowercase(),
        provider_id: if cloud { format!("nocloud://{}", machine.uuid.to_lowercase()) } else { String::new() },
        ..Default::default()
    };
    let text = Fields::default()
        .maybe("platform", spec.platform.as_str())
        .maybe("hostname", spec.hostname.as_str())
        .maybe("instanceId", spec.instance_id.as_str())
        .maybe("providerId", spec.provider_id.as_str())
        .text();
    node.resources.put("PlatformMetadatas.talos.dev", RUNTIME, "platformmetadata", text, spec.encode_to_vec());
    let secure_boot = image.secure_boot && matches!(machine.firmware, Firmware::Uefi { secure_boot: true });
    let uki = node.version.since(1, 10) && matches!(machine.firmware, Firmware::Uefi { .. });
    let spec = runtime::SecurityStateSpec {
        secure_boot,
        se_linux_state: enums::RuntimeSeLinuxState::Permissive as i32,
        booted_with_uki: uki,
        ..Default::default()
    };
    let text = Fields::default().with("secureBoot", secure_boot).with("selinuxState", "permissive").with("bootedWithUKI", uki).text();
    node.resources.put("SecurityStates.talos.dev", RUNTIME, "securitystate", text, spec.encode_to_vec());
    let spec = runtime::KernelCmdlineSpec { cmdline: cmdline(image) };
    let text = Fields::default().with("cmdline", spec.cmdline.as_str()).text();
    node.resources.put("KernelCmdlines.runtime.talos.dev", RUNTIME, "cmdline", text, spec.encode_to_vec());
}

fn extension_statuses(node: &Node) {
    let image = &node.boot.image;
    let extension = |name: &str, author: &str, extra: &str, version: &str| extensions::Layer {
        image: String::new(),
        metadata: Some(extensions::Metadata {
            name: name.to_owned(),
            version: version.to_owned(),
            author: author.to_owned(),
            description: if extra.is_empty() {
                format!("The system extension {name}.")
            } else {
                "Virtual extension which specifies the schematic of the image built with Image Factory.".to_owned()
            },
            compatibility: None,
            extra_info: extra.to_owned(),
        }),
    };
    let own = image.extensions.iter().map(|name| extension(name.rsplit('/').next().unwrap_or(name), "Sidero Labs", "", &image.version));
    let schematic = extension("schematic", "Image Factory", &image.customization, &image.schematic);
    for (at, layer) in own.chain([schematic]).enumerate() {
        let Some(metadata) = &layer.metadata else { continue };
        let text = Fields::default()
            .with("image", layer.image.as_str())
            .with(
                "metadata",
                Fields::default()
                    .with("name", metadata.name.as_str())
                    .with("version", metadata.version.as_str())
                    .with("author", metadata.author.as_str())
                    .with("description", metadata.description.as_str())
                    .with("compatibility", Fields::default().with("talos", Fields::default().with("version", "")))
                    .maybe("extraInfo", metadata.extra_info.as_str()),
            )
            .text();
        node.resources.put("ExtensionStatuses.runtime.talos.dev", RUNTIME, &at.to_string(), text, layer.encode_to_vec());
    }
}

/// The values of META.
pub(crate) fn meta(node: &Node) {
    let values = node.disk().meta;
    let mut ids = Vec::new();
    for (key, value) in values {
        let id = format!("0x{key:02x}");
        let text = Fields::default().with("value", value.as_str()).text();
        node.resources.put("MetaKeys.runtime.talos.dev", RUNTIME, &id, text, runtime::MetaKeySpec { value }.encode_to_vec());
        ids.push(id);
    }
    node.resources.keep_only("MetaKeys.runtime.talos.dev", RUNTIME, &ids);
}
