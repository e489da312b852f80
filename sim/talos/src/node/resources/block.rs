//! Disks, what is on them, and the volumes the node uses.

use emhost_sim_kit::DriveKind;
use emhost_talos_api::definitions::{block, enums};
use prost::Message;

use super::yaml::Fields;
use crate::node::disks::{self, Device};
use crate::node::{Node, hex};

const RUNTIME: &str = "runtime";
const MIB: u64 = 1024 * 1024;

/// A partition of the system disk.
pub(crate) struct Partition {
    pub label: &'static str,
    pub index: u32,
    filesystem: &'static str,
}

/// How a disk of this size is divided.
pub(crate) fn layout(size: u64) -> Vec<(Partition, u64)> {
    let fixed: [(&str, &str, u64); 5] = [
        ("EFI", "vfat", 100 * MIB),
        ("BIOS", "", MIB),
        ("BOOT", "xfs", 1000 * MIB),
        ("META", "talosmeta", MIB),
        ("STATE", "xfs", 100 * MIB),
    ];
    let taken: u64 = fixed.iter().map(|(.., size)| size).sum::<u64>() + 2 * MIB;
    let parts = fixed.into_iter().chain([("EPHEMERAL", "xfs", size.saturating_sub(taken))]);
    parts.zip(1..).map(|((label, filesystem, size), index)| (Partition { label, index, filesystem }, size)).collect()
}

/// As people write sizes.
fn pretty(size: u64) -> String {
    let units: [(&str, u64); 3] = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000)];
    match units.into_iter().find(|(_, unit)| size >= *unit) {
        Some((name, unit)) => {
            let tenths = size * 10 / unit;
            if tenths >= 100 { format!("{} {name}", (tenths + 5) / 10) } else { format!("{}.{} {name}", tenths / 10, tenths % 10) }
        }
        None => format!("{size} B"),
    }
}

/// An id that is always the same for the same volume.
fn stable_id(name: &str) -> String {
    use sha2::{Digest, Sha256};
    let hex = hex(&Sha256::digest(name.as_bytes())[..16]);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The disks, and what is found on them.
pub(super) fn disks(node: &Node) {
    let devices = disks::devices(&node.boot.machine);
    let mut found = Vec::new();
    for device in &devices {
        if device.drive.volume.is_none() {
            continue;
        }
        disk(node, device);
        discovered(node, device, &mut found);
    }
    node.resources.keep_only("DiscoveredVolumes.block.talos.dev", RUNTIME, &found);
    let system = node.state().system_disk.clone();
    let own = devices.iter().find(|device| system.is_some() && device.drive.volume == system);
    match own {
        Some(device) => {
            let spec = block::SystemDiskSpec { disk_id: device.name.clone(), dev_path: device.path() };
            let text = Fields::default().with("diskID", spec.disk_id.as_str()).with("devPath", spec.dev_path.as_str()).text();
            node.resources.put("SystemDisks.block.talos.dev", RUNTIME, "system-disk", text, spec.encode_to_vec());
        }
        None => {
            node.resources.remove("SystemDisks.block.talos.dev", RUNTIME, "system-disk");
        }
    }
}

fn disk(node: &Node, device: &Device) {
    let cdrom = device.drive.kind == DriveKind::Cdrom;
    let serial = device.drive.serial.clone().unwrap_or_default();
    let spec = block::DiskSpec {
        size: device.drive.size,
        io_size: 512,
        sector_size: if cdrom { 2048 } else { 512 },
        readonly: cdrom,
        model: device.model().to_owned(),
        serial,
        bus_path: device.bus_path(),
        sub_system: "/sys/class/block".to_owned(),
        transport: device.transport().to_owned(),
        rotational: device.transport() != "virtio",
        cdrom,
        dev_path: device.path(),
        pretty_size: pretty(device.drive.size),
        symlinks: device.symlinks(),
        ..Default::default()
    };
    let text = Fields::default()
        .with("dev_path", spec.dev_path.as_str())
        .with("size", spec.size)
        .with("pretty_size", spec.pretty_size.as_str())
        .with("io_size", spec.io_size)
        .with("sector_size", spec.sector_size)
        .with("readonly", cdrom)
        .with("cdrom", cdrom)
        .maybe("model", spec.model.as_str())
        .maybe("serial", spec.serial.as_str())
        .maybe("bus_path", spec.bus_path.as_str())
        .maybe("sub_system", spec.sub_system.as_str())
        .maybe("transport", spec.transport.as_str())
        .maybe("rotational", spec.rotational)
        .maybe("symlinks", spec.symlinks.clone())
        .text();
    node.resources.put("Disks.block.talos.dev", RUNTIME, &device.name, text, spec.encode_to_vec());
}

fn discovered(node: &Node, device: &Device, found: &mut Vec<String>) {
    let Some(volume) = &device.drive.volume else { return };
    let Some(fleet) = node.fleet() else { return };
    let contents = fleet.parts.ground.read_disk(volume);
    let installed = contents.boot.is_some();
    let mut put = |id: String, spec: block::DiscoveredVolumeSpec| {
        let text = Fields::default()
            .with("dev_path", spec.dev_path.as_str())
            .with("type", spec.r#type.as_str())
            .with("device_path", spec.device_path.as_str())
            .maybe("parent", spec.parent.as_str())
            .maybe("parent_dev_path", spec.parent_dev_path.as_str())
            .with("size", spec.size)
            .with("pretty_size", spec.pretty_size.as_str())
            .with("name", spec.name.as_str())
            .maybe("uuid", spec.uuid.as_str())
            .maybe("label", spec.label.as_str())
            .maybe("partition_uuid", spec.partition_uuid.as_str())
            .maybe("partition_label", spec.partition_label.as_str())
            .maybe("partition_index", spec.partition_index)
            .text();
        node.resources.put("DiscoveredVolumes.block.talos.dev", RUNTIME, &id, text, spec.encode_to_vec());
        found.push(id);
    };
    let kind = match (device.drive.kind, installed) {
        (DriveKind::Cdrom, _) => "iso9660",
        (DriveKind::Disk, true) => "gpt",
        (DriveKind::Disk, false) => "",
    };
    let whole = block::DiscoveredVolumeSpec {
        size: device.drive.size,
        sector_size: 512,
        name: kind.to_owned(),
        r#type: "disk".to_owned(),
        device_path: format!("/devices{}", device.bus_path()),
        dev_path: device.path(),
        pretty_size: pretty(device.drive.size),
        ..Default::default()
    };
    put(device.name.clone(), whole);
    if !installed {
        return;
    }
    for (partition, size) in layout(device.drive.size) {
        let id = format!("{}{}", device.name, partition.index);
        let spec = block::DiscoveredVolumeSpec {
            size,
            sector_size: 512,
            name: partition.filesystem.to_owned(),
            label: if partition.filesystem == "xfs" { partition.label.to_owned() } else { String::new() },
            uuid: stable_id(&format!("{volume}/{}", partition.label)),
            partition_uuid: stable_id(&format!("{volume}#{}", partition.index)),
            partition_label: partition.label.to_owned(),
            partition_index: u64::from(partition.index),
            r#type: "partition".to_owned(),
            device_path: format!("/devices{}/{id}", device.bus_path()),
            parent: device.name.clone(),
            parent_dev_path: device.path(),
            dev_path: format!("/dev/{id}"),
            pretty_size: pretty(size),
            ..Default::default()
        };
        put(id, spec);
    }
}

/// The volumes of the node's own: META, STATE and EPHEMERAL.
pub(crate) fn volumes(node: &Node) {
    disks(node);
    let system = node.state().system_disk.clone();
    let devices = disks::devices(&node.boot.machine);
    let Some(device) = devices.iter().find(|device| system.is_some() && device.drive.volume == system) else { return };
    let volume = device.drive.volume.clone().unwrap_or_default();
    for (partition, size) in layout(device.drive.size).into_iter().filter(|(part, _)| ["META", "STATE", "EPHEMERAL"].contains(&part.label))
    {
        let xfs = partition.filesystem == "xfs";
        let spec = block::VolumeStatusSpec {
            phase: enums::BlockVolumePhase::Ready as i32,
            r#type: enums::BlockVolumeType::Partition as i32,
            location: format!("{}{}", device.path(), partition.index),
            mount_location: format!("{}{}", device.path(), partition.index),
            parent_location: device.path(),
            partition_index: i64::from(partition.index),
            uuid: stable_id(&format!("{volume}/{}", partition.label)),
            partition_uuid: stable_id(&format!("{volume}#{}", partition.index)),
            size,
            pretty_size: pretty(size),
            filesystem: if xfs { enums::BlockFilesystemType::Xfs } else { enums::BlockFilesystemType::None } as i32,
            ..Default::default()
        };
        let text = Fields::default()
            .with("phase", "ready")
            .with("type", "partition")
            .with("location", spec.location.as_str())
            .with("mountLocation", spec.mount_location.as_str())
            .with("partitionIndex", partition.index)
            .with("parentLocation", spec.parent_location.as_str())
            .with("uuid", spec.uuid.as_str())
            .with("partitionUUID", spec.partition_uuid.as_str())
            .with("size", size)
            .with("prettySize", spec.pretty_size.as_str())
            .maybe("filesystem", if xfs { "xfs" } else { "" })
            .text();
        node.resources.put("VolumeStatuses.block.talos.dev", RUNTIME, partition.label, text, spec.encode_to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_ten_gigabytes_is_large_enough_for_a_health_check() {
        let parts = layout(10 << 30);
        assert_eq!(parts.iter().map(|(part, _)| part.label).collect::<Vec<_>>(), ["EFI", "BIOS", "BOOT", "META", "STATE", "EPHEMERAL"]);
        assert!(parts[5].1 > 8 << 30);
        assert_eq!(layout(1)[5].1, 0);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!([pretty(34_359_738_368), pretty(1_048_576), pretty(512), pretty(6_400_000_000)], ["34 GB", "1.0 MB", "512 B", "6.4 GB"]);
    }
}
