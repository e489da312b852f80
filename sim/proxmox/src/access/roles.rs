//! Privileges and the roles that every installation has.

use std::collections::BTreeSet;

use super::Access;
use crate::Release;

/// How much a privilege gives; a built-in role has its own level and those below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Audit,
    User,
    Admin,
    Root,
}
use Level::{Admin, Audit, Root, User};

/// Which releases have a privilege.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Both,
    Only(Release),
}
use In::{Both, Only};

/// Area, privilege, level, release. An area names the roles `PVE<area>Admin` and `PVE<area>User`.
const PRIVILEGES: &[(&str, &str, Level, In)] = &[
    ("VM", "VM.Allocate", Admin, Both),
    ("VM", "VM.Clone", Admin, Both),
    ("VM", "VM.Config.CPU", Admin, Both),
    ("VM", "VM.Config.Disk", Admin, Both),
    ("VM", "VM.Config.HWType", Admin, Both),
    ("VM", "VM.Config.Memory", Admin, Both),
    ("VM", "VM.Config.Network", Admin, Both),
    ("VM", "VM.Config.Options", Admin, Both),
    ("VM", "VM.GuestAgent.Unrestricted", Admin, Only(Release::V9)),
    ("VM", "VM.Migrate", Admin, Both),
    ("VM", "VM.Monitor", Admin, Only(Release::V8)),
    ("VM", "VM.Replicate", Admin, Only(Release::V9)),
    ("VM", "VM.Snapshot", Admin, Both),
    ("VM", "VM.Snapshot.Rollback", Admin, Both),
    ("VM", "VM.Backup", User, Both),
    ("VM", "VM.Config.CDROM", User, Both),
    ("VM", "VM.Config.Cloudinit", User, Both),
    ("VM", "VM.Console", User, Both),
    ("VM", "VM.GuestAgent.FileRead", User, Only(Release::V9)),
    ("VM", "VM.GuestAgent.FileSystemMgmt", User, Only(Release::V9)),
    ("VM", "VM.GuestAgent.FileWrite", User, Only(Release::V9)),
    ("VM", "VM.PowerMgmt", User, Both),
    ("VM", "VM.Audit", Audit, Both),
    ("VM", "VM.GuestAgent.Audit", Audit, Only(Release::V9)),
    ("Sys", "Sys.AccessNetwork", Root, Both),
    ("Sys", "Sys.Incoming", Root, Both),
    ("Sys", "Sys.Modify", Root, Both),
    ("Sys", "Sys.PowerMgmt", Root, Both),
    ("Sys", "Sys.Console", Admin, Both),
    ("Sys", "Sys.Syslog", Admin, Both),
    ("Sys", "Sys.Audit", Audit, Both),
    ("Datastore", "Datastore.Allocate", Admin, Both),
    ("Datastore", "Datastore.AllocateTemplate", Admin, Both),
    ("Datastore", "Datastore.AllocateSpace", User, Both),
    ("Datastore", "Datastore.Audit", Audit, Both),
    ("SDN", "SDN.Allocate", Admin, Both),
    ("SDN", "SDN.Use", User, Both),
    ("SDN", "SDN.Audit", Audit, Both),
    ("User", "Realm.Allocate", Root, Both),
    ("User", "Group.Allocate", Admin, Both),
    ("User", "Realm.AllocateUser", Admin, Both),
    ("User", "User.Modify", Admin, Both),
    ("Pool", "Pool.Allocate", Admin, Both),
    ("Pool", "Pool.Audit", Audit, Both),
    ("Mapping", "Mapping.Modify", Admin, Both),
    ("Mapping", "Mapping.Use", User, Both),
    ("Mapping", "Mapping.Audit", Audit, Both),
    ("Permissions", "Permissions.Modify", Root, Both),
];

/// Areas with a role `PVE<area>Admin`, and whether there is a `PVE<area>User`.
const AREAS: &[(&str, bool)] =
    &[("VM", true), ("Sys", false), ("Datastore", true), ("SDN", true), ("User", false), ("Pool", true), ("Mapping", true)];

/// What everybody who may look has, and nobody may change.
const BEYOND_AREAS: &[&str] = &["Administrator", "NoAccess", "PVEAdmin", "PVEAuditor", "PVETemplateUser"];

type Entry = (&'static str, &'static str, Level, In);

fn there(release: Release) -> impl Iterator<Item = &'static Entry> {
    PRIVILEGES.iter().filter(move |(.., of)| *of == Both || *of == Only(release))
}

/// Every privilege of a release.
pub(crate) fn privileges(release: Release) -> BTreeSet<String> {
    there(release).map(|(_, name, ..)| (*name).to_owned()).collect()
}

/// Whether a built-in role has a privilege; none where there is no such role.
fn gives(role: &str, (area, name, level, _): &Entry) -> Option<bool> {
    match role {
        "Administrator" => return Some(true),
        "NoAccess" => return Some(false),
        // Mapping.Modify gives hardware away, so the general administrator lacks it.
        "PVEAdmin" => return Some(*level < Root && *name != "Mapping.Modify"),
        "PVEAuditor" => return Some(*level == Audit),
        "PVETemplateUser" => return Some(["VM.Audit", "VM.Clone"].contains(name)),
        _ => {}
    }
    let rest = role.strip_prefix("PVE")?;
    AREAS.iter().find_map(|(of, users)| {
        let highest = match rest.strip_prefix(of)? {
            "Admin" => Admin,
            "User" if *users => User,
            _ => return None,
        };
        Some(of == area && *level <= highest)
    })
}

/// The privileges of a built-in role.
pub(crate) fn builtin(release: Release, role: &str) -> Option<BTreeSet<String>> {
    gives(role, PRIVILEGES.first()?)?;
    Some(there(release).filter(|entry| gives(role, entry) == Some(true)).map(|(_, name, ..)| (*name).to_owned()).collect())
}

/// The names of all built-in roles.
pub(crate) fn builtin_names() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = BEYOND_AREAS.iter().map(|name| (*name).to_owned()).collect();
    for (area, users) in AREAS {
        names.insert(format!("PVE{area}Admin"));
        names.extend(users.then(|| format!("PVE{area}User")));
    }
    names
}

impl Access {
    /// Whether a role has a privilege.
    pub fn role_has(&self, role: &str, privilege: &str) -> bool {
        let Some(entry) = there(self.release).find(|(_, name, ..)| *name == privilege) else { return false };
        gives(role, entry).unwrap_or_else(|| self.custom_roles.get(role).is_some_and(|role| role.contains(privilege)))
    }

    /// The privileges of a role.
    pub fn role(&self, name: &str) -> Option<BTreeSet<String>> {
        builtin(self.release, name).or_else(|| self.custom_roles.get(name).cloned())
    }
}
