//! What access control needs of the schema: the privileges there are, and paths of access control lists.

use super::perl;
use crate::Release;

const COMMON: &[&str] = &[
    "Datastore.Allocate",
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "Group.Allocate",
    "Mapping.Audit",
    "Mapping.Modify",
    "Mapping.Use",
    "Permissions.Modify",
    "Pool.Allocate",
    "Pool.Audit",
    "Realm.Allocate",
    "Realm.AllocateUser",
    "SDN.Allocate",
    "SDN.Audit",
    "SDN.Use",
    "Sys.AccessNetwork",
    "Sys.Audit",
    "Sys.Console",
    "Sys.Incoming",
    "Sys.Modify",
    "Sys.PowerMgmt",
    "Sys.Syslog",
    "User.Modify",
    "VM.Allocate",
    "VM.Audit",
    "VM.Backup",
    "VM.Clone",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.Console",
    "VM.Migrate",
    "VM.PowerMgmt",
    "VM.Snapshot",
    "VM.Snapshot.Rollback",
];

const ONLY_8: &[&str] = &["VM.Monitor"];

const ONLY_9: &[&str] = &[
    "VM.GuestAgent.Audit",
    "VM.GuestAgent.FileRead",
    "VM.GuestAgent.FileSystemMgmt",
    "VM.GuestAgent.FileWrite",
    "VM.GuestAgent.Unrestricted",
    "VM.Replicate",
];

/// Every privilege of a release.
pub fn privileges(release: Release) -> impl Iterator<Item = &'static str> {
    let own = match release {
        Release::V8 => ONLY_8,
        Release::V9 => ONLY_9,
    };
    COMMON.iter().chain(own).copied()
}

/// Brings a path into its normal form: one slash between parts, none at the end. None where it has letters no path may have.
pub fn normalise(path: &str) -> Option<String> {
    if !perl::truthy(path) {
        return None;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let path = format!("/{}", parts.join("/"));
    perl::matches("[[:alnum:]._/-]+", &path).then_some(path)
}

/// Whether there are access control lists for a path in its normal form.
pub fn is_path(release: Release, path: &str) -> bool {
    let id = "[[:alnum:]._-]+";
    let pool = "[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+){0,2}";
    let zone = format!("zones/{id}|zones/{id}/{id}|zones/{id}/{id}/[1-9][0-9]{{0,3}}");
    let sdn = match release {
        Release::V8 => "controllers|dns|ipams|zones",
        Release::V9 => "controllers|dns|fabrics|ipams|prefix-lists|route-maps|zones",
    };
    let short = match release {
        Release::V8 => "(?:dns|ipams)",
        Release::V9 => "(?:dns|fabrics|ipams|prefix-lists|route-maps)",
    };
    let pattern = [
        "/".to_owned(),
        format!("/access(?:/(?:groups|realm)(?:/{id})?)?"),
        format!("/nodes(?:/{id})?"),
        format!("/pool(?:/{pool})?"),
        format!("/sdn(?:/(?:{sdn}|controllers/[[:alnum:]_-]+|{short}/[[:alnum:]]+|{zone}))?"),
        format!("/storage(?:/{id})?"),
        "/vms(?:/[1-9][0-9]{2,})?".to_owned(),
        format!("/mapping(?:/{id}(?:/{id})?)?"),
    ];
    perl::matches(&format!("(?:{})", pattern.join("|")), path)
}

/// The normal form of a path that may have an access control list.
pub fn acl_path(release: Release, path: &str) -> Option<String> {
    normalise(path).filter(|path| is_path(release, path))
}
