//! The disks of a machine.

use std::sync::Arc;

use crate::Release;
use crate::schema::field::{Field, alias, choice, flag, int, number, one, size, text};
use crate::schema::formats;
use crate::schema::property::Format;

type Entries = Vec<(&'static str, Field)>;

/// What a drive is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bus {
    Ide,
    Sata,
    Scsi,
    Virtio,
}

fn file() -> Entries {
    vec![("file", one(formats::drive_file).default_key()), ("volume", alias("file", None))]
}

fn image_format() -> Field {
    choice(&["raw", "qcow", "qed", "qcow2", "vmdk", "cloop"][..])
}

fn import_from() -> Entries {
    vec![("import-from", one(formats::volume_id_or_path).optional())]
}

fn optional(fields: Entries) -> Entries {
    fields.into_iter().map(|(name, field)| (name, field.optional())).collect()
}

/// What every bus has.
fn common(release: Release) -> Entries {
    let mut fields = vec![
        ("aio", choice(&["native", "threads", "io_uring"][..])),
        ("backup", flag()),
        ("cache", choice(&["none", "writethrough", "writeback", "unsafe", "directsync"][..])),
        ("detect_zeroes", flag()),
        ("discard", choice(&["ignore", "on"][..])),
        ("format", image_format()),
        ("media", choice(&["cdrom", "disk"][..])),
        ("replicate", flag()),
        ("rerror", choice(&["ignore", "report", "stop"][..])),
        ("serial", one(formats::url_encoded).longest(60)),
        ("shared", flag()),
        ("size", size()),
        ("snapshot", flag()),
        ("werror", choice(&["enospc", "ignore", "report", "stop"][..])),
    ];
    fields.extend(throughput());
    if release == Release::V8 {
        fields.extend([("cyls", int()), ("heads", int()), ("secs", int()), ("trans", choice(&["none", "lba", "auto"][..]))]);
    }
    let mut all = file();
    all.extend(optional(fields));
    all.extend([
        ("bps_rd_length", alias("bps_rd_max_length", None)),
        ("bps_wr_length", alias("bps_wr_max_length", None)),
        ("iops_rd_length", alias("iops_rd_max_length", None)),
        ("iops_wr_length", alias("iops_wr_max_length", None)),
    ]);
    all
}

fn throughput() -> Entries {
    let bytes = ["bps", "bps_rd", "bps_wr"].map(|name| (name, int()));
    let lengths =
        ["bps_max_length", "bps_rd_max_length", "bps_wr_max_length", "iops_max_length", "iops_rd_max_length", "iops_wr_max_length"];
    let operations = ["iops", "iops_max", "iops_rd", "iops_rd_max", "iops_wr", "iops_wr_max"];
    let megabytes = ["mbps", "mbps_max", "mbps_rd", "mbps_rd_max", "mbps_wr", "mbps_wr_max"];
    bytes
        .into_iter()
        .chain(lengths.map(|name| (name, int().min(1))))
        .chain(operations.map(|name| (name, int())))
        .chain(megabytes.map(|name| (name, number())))
        .collect()
}

fn of(release: Release, bus: Bus) -> Entries {
    let mut own = Vec::new();
    if bus != Bus::Virtio {
        own.extend([("ssd", flag()), ("wwn", text().pattern("(?:^(0x)[0-9a-fA-F]{16})"))]);
    }
    if matches!(bus, Bus::Scsi | Bus::Virtio) {
        own.extend([("iothread", flag()), ("ro", flag())]);
    }
    match bus {
        Bus::Ide => own.push(("model", one(formats::url_encoded).longest(120))),
        Bus::Scsi => own.extend([
            ("product", text().pattern(r"[A-Za-z0-9\-_\s]{0,16}")),
            ("queues", int().min(2)),
            ("scsiblock", flag()),
            ("vendor", text().pattern(r"[A-Za-z0-9\-_\s]{0,8}")),
        ]),
        Bus::Sata | Bus::Virtio => {}
    }
    let mut all = common(release);
    all.extend(optional(own));
    all
}

/// `ideN`, `sataN`, `scsiN`, `virtioN`.
pub(super) fn drive(release: Release, bus: Bus) -> Arc<Format> {
    Arc::new(Format::new(release, of(release, bus).into_iter().chain(import_from())))
}

fn efi_fields() -> Entries {
    let own = vec![
        ("efitype", choice(&["2m", "4m"][..])),
        ("format", image_format()),
        ("ms-cert", choice(&["2011", "2023", "2023w", "2023k"][..])),
        ("pre-enrolled-keys", flag()),
        ("size", size()),
    ];
    file().into_iter().chain(optional(own)).collect()
}

fn tpm_fields(release: Release) -> Entries {
    let mut own = vec![("size", size()), ("version", choice(&["v1.2", "v2.0"][..]))];
    if release == Release::V9 {
        own.push(("format", choice(&["raw", "qcow2", "vmdk"][..])));
    }
    file().into_iter().chain(optional(own)).collect()
}

/// `efidisk0`.
pub(super) fn efi(release: Release) -> Arc<Format> {
    Arc::new(Format::new(release, efi_fields().into_iter().chain(import_from())))
}

/// `tpmstate0`.
pub(super) fn tpm(release: Release) -> Arc<Format> {
    Arc::new(Format::new(release, tpm_fields(release).into_iter().chain(import_from())))
}

/// `unusedN`.
pub(super) fn unused(release: Release) -> Arc<Format> {
    let fields = [("file", one(formats::volume_id).default_key()), ("volume", alias("file", None))];
    Arc::new(Format::new(release, fields))
}

/// Every key that any drive can have, for printing.
pub(super) fn any(release: Release) -> Format {
    let buses = [Bus::Virtio, Bus::Sata, Bus::Ide, Bus::Scsi].into_iter().flat_map(|bus| of(release, bus));
    // Those of the buses come last, for their image formats.
    Format::new(release, tpm_fields(release).into_iter().chain(efi_fields()).chain(buses))
}
