//! `/storage`: which storages there are.

use super::super::endpoint::{Permission, all, delete, get, post, put};
use super::super::field::{Field, choice, flag, int, list, one, properties, text};
use super::super::{Endpoint, formats};
use crate::Release;

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    let allocate = || all("/storage", &["Datastore.Allocate"]);
    vec![
        get("/storage", Permission::Handler).takes([("type", kind(release))]),
        post("/storage", allocate())
            .needs([("storage", one(formats::storage_id)), ("type", kind(release))])
            .takes(fixed(release))
            .takes(changeable(release)),
        get("/storage/{storage}", all("/storage/{storage}", &["Datastore.Allocate"])),
        put("/storage/{storage}", allocate())
            .takes(changeable(release))
            .takes([("delete", list(formats::config_id).longest(4096)), ("digest", text().longest(64))]),
        delete("/storage/{storage}", allocate()),
    ]
}

fn kind(release: Release) -> Field {
    // GlusterFS went away with 9.
    let gluster = (release == Release::V8).then_some("glusterfs");
    let first = ["btrfs", "cephfs", "cifs", "dir", "esxi"];
    let rest = ["iscsi", "iscsidirect", "lvm", "lvmthin", "nfs", "pbs", "rbd", "zfs", "zfspool"];
    choice(first.into_iter().chain(gluster).chain(rest).collect::<Vec<_>>())
}

/// What cannot be changed later.
fn fixed(release: Release) -> Vec<(&'static str, Field)> {
    let mut fields = vec![
        ("authsupported", text()),
        ("base", one(formats::volume_id)),
        ("datastore", text()),
        ("export", one(formats::storage_path)),
        ("iscsiprovider", text()),
        ("path", one(formats::storage_path)),
        ("portal", one(formats::storage_portal)),
        ("share", text()),
        ("target", text()),
        ("thinpool", one(formats::lvm_name)),
        ("vgname", one(formats::lvm_name)),
    ];
    if release == Release::V8 {
        fields.push(("volume", text()));
    }
    fields
}

fn changeable(release: Release) -> Vec<(&'static str, Field)> {
    let flags = [
        "create-base-path",
        "create-subdirs",
        "disable",
        "fuse",
        "krbd",
        "mkdir",
        "nocow",
        "nowritecache",
        "saferemove",
        "shared",
        "skip-cert-verification",
        "sparse",
        "tagged_only",
    ];
    let texts = [
        "blocksize",
        "comstar_hg",
        "comstar_tg",
        "data-pool",
        "encryption-key",
        "is_mountpoint",
        "keyring",
        "lio_tpg",
        "master-pubkey",
        "namespace",
        "pool",
        "saferemove_throughput",
        "username",
    ];
    let mut fields: Vec<_> = flags.map(|name| (name, flag())).into_iter().chain(texts.map(|name| (name, text()))).collect();
    fields.extend([
        ("bwlimit", super::bwlimit(release)),
        ("content", list(formats::storage_content)),
        ("content-dirs", list(formats::dir_override)),
        ("domain", text().longest(256)),
        ("fingerprint", text().pattern("([A-Fa-f0-9]{2}:){31}[A-Fa-f0-9]{2}")),
        ("format", choice(&["raw", "qcow2", "subvol", "vmdk"][..])),
        ("fs-name", one(formats::config_id)),
        ("max-protected-backups", int().min(-1)),
        ("monhost", list(formats::storage_portal)),
        ("mountpoint", one(formats::storage_path)),
        ("nodes", list(formats::node)),
        ("options", one(formats::storage_options)),
        ("password", text().longest(256)),
        ("port", int().min(1).max(65535)),
        ("preallocation", choice(&["off", "metadata", "falloc", "full"][..])),
        ("prune-backups", properties(&super::prune(release))),
        ("server", one(formats::storage_server)),
        ("smbversion", choice(&["default", "2.0", "2.1", "3", "3.0", "3.11"][..])),
        ("subdir", one(formats::storage_path)),
        ("zfs-base-path", one(formats::storage_path)),
    ]);
    match release {
        Release::V8 => fields.extend([
            ("maxfiles", int().min(0)),
            ("server2", one(formats::storage_server).requires("server")),
            ("transport", choice(&["tcp", "rdma", "unix"][..])),
        ]),
        Release::V9 => fields
            .extend([("saferemove-stepsize", int().choices(&["1", "2", "4", "8", "16", "32"][..])), ("snapshot-as-volume-chain", flag())]),
    }
    fields
}
