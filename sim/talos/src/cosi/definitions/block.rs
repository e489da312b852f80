//! Disks, volumes and mounts.

use super::{Definition, row};

pub(super) const TABLE: &[Definition] = &[
    row("BlockDevices.block.talos.dev", "BlockDevice", "runtime").columns(&[
        ("Type", "{.type}"),
        ("PartitionName", "{.partitionName}"),
        ("Generation", "{.generation}"),
    ]),
    row("BlockSymlinks.block.talos.dev", "BlockSymlink", "runtime").since(10),
    row("DiscoveredVolumes.block.talos.dev", "DiscoveredVolume", "runtime").columns(&[
        ("Type", "{.type}"),
        ("Size", "{.pretty_size}"),
        ("Discovered", "{.name}"),
        ("Label", "{.label}"),
        ("PartitionLabel", "{.partition_label}"),
    ]),
    row("DiscoveryRefreshRequests.block.talos.dev", "DiscoveryRefreshRequest", "runtime").columns(&[("Request", "{.request}")]),
    row("DiscoveryRefreshStatuses.block.talos.dev", "DiscoveryRefreshStatus", "runtime").columns(&[("Request", "{.request}")]),
    row("Disks.block.talos.dev", "Disk", "runtime").columns(&[
        ("Size", "{.pretty_size}"),
        ("Read Only", "{.readonly}"),
        ("Transport", "{.transport}"),
        ("Rotational", "{.rotational}"),
        ("WWID", "{.wwid}"),
        ("Model", "{.model}"),
        ("Serial", "{.serial}"),
    ]),
    row("MountRequests.block.talos.dev", "MountRequest", "runtime")
        .columns(&[("Volume", "{.volumeID}"), ("Parent", "{.parentID}"), ("Requesters", "{.requesters}")])
        .since(10),
    row("MountStatuses.block.talos.dev", "MountStatus", "runtime")
        .columns(&[("Source", "{.source}"), ("Target", "{.target}"), ("Filesystem", "{.filesystem}"), ("Volume", "{.spec.volumeID}")])
        .since(10),
    row("SwapStatuses.block.talos.dev", "SwapStatus", "runtime")
        .aliases(&["swap", "swaps"])
        .columns(&[("Device", "{.device}"), ("Size", "{.sizeHuman}"), ("Used", "{.usedHuman}"), ("Priority", "{.priority}")])
        .since(11),
    row("SystemDisks.block.talos.dev", "SystemDisk", "runtime").columns(&[("Disk", "{.diskID}")]),
    row("UserDiskConfigStatuses.block.talos.dev", "UserDiskConfigStatus", "runtime").columns(&[("Ready", "{.ready}")]),
    row("VolumeConfigs.block.talos.dev", "VolumeConfig", "runtime").sensitive(),
    row("VolumeLifecycles.block.talos.dev", "VolumeLifecycle", "runtime"),
    row("VolumeMountRequests.block.talos.dev", "VolumeMountRequest", "runtime")
        .columns(&[("Volume ID", "{.volumeID}"), ("Requester", "{.requester}")])
        .since(10),
    row("VolumeMountStatuses.block.talos.dev", "VolumeMountStatus", "runtime")
        .columns(&[("Volume ID", "{.volumeID}"), ("Requester", "{.requester}"), ("Target", "{.target}")])
        .since(10),
    row("VolumeStatuses.block.talos.dev", "VolumeStatus", "runtime").columns(&[
        ("Type", "{.type}"),
        ("Phase", "{.phase}"),
        ("Location", "{.location}"),
        ("Size", "{.prettySize}"),
    ]),
    row("ZswapStatuses.block.talos.dev", "ZswapStatus", "runtime")
        .columns(&[
            ("Total Size", "{.totalSizeHuman}"),
            ("Stored Pages", "{.storedPages}"),
            ("Written Back", "{.writtenBackPages}"),
            ("Pool Limit Hit", "{.poolLimitHit}"),
        ])
        .since(11),
];
