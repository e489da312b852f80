//! The least that emhost needs at Proxmox, as roles that a person can make.

/// A role of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// For machines.
    Machines,
    /// For storages of disks.
    Disks,
    /// For the storage of images and media.
    Images,
    /// For hosts.
    Hosts,
    /// For bridges.
    Network,
}

impl Role {
    /// Its name at Proxmox.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machines => "EmhostMachines",
            Self::Disks => "EmhostDisks",
            Self::Images => "EmhostImages",
            Self::Hosts => "EmhostHosts",
            Self::Network => "EmhostNetwork",
        }
    }

    /// What it may do.
    pub fn privileges(self) -> &'static [&'static str] {
        match self {
            Self::Machines => &[
                "VM.Allocate",
                "VM.Audit",
                "VM.Clone",
                "VM.Config.CDROM",
                "VM.Config.CPU",
                "VM.Config.Cloudinit",
                "VM.Config.Disk",
                "VM.Config.HWType",
                "VM.Config.Memory",
                "VM.Config.Network",
                "VM.Config.Options",
                "VM.PowerMgmt",
            ],
            Self::Disks => &["Datastore.AllocateSpace", "Datastore.Audit"],
            // Media with secrets are deleted again, which takes `Datastore.Allocate`.
            Self::Images => &["Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"],
            Self::Hosts => &["Sys.AccessNetwork", "Sys.Audit"],
            Self::Network => &["SDN.Use"],
        }
    }

    /// The line that makes it.
    pub fn made_by(self) -> String {
        format!("pveum role add {} --privs \"{}\"", self.name(), self.privileges().join(" "))
    }

    /// The line that gives it to the user and the token on a path.
    pub fn given_by(self, path: &str) -> String {
        format!("pveum acl modify {path} --roles {} --users {USER} --tokens '{TOKEN}'", self.name())
    }
}

/// The user and the token of the documentation.
const USER: &str = "emhost@pve";
const TOKEN: &str = "emhost@pve!emhost";

/// Everything that a person enters once on a host, for the storages, the host and the bridge that an inventory names where it says nothing.
/// The documentation repeats it, and a test compares the two.
pub const SETUP: &str = r#"pveum user add emhost@pve
pveum role add EmhostMachines --privs "VM.Allocate VM.Audit VM.Clone VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network VM.Config.Options VM.PowerMgmt"
pveum role add EmhostDisks --privs "Datastore.AllocateSpace Datastore.Audit"
pveum role add EmhostImages --privs "Datastore.Allocate Datastore.AllocateTemplate Datastore.Audit"
pveum role add EmhostHosts --privs "Sys.AccessNetwork Sys.Audit"
pveum role add EmhostNetwork --privs "SDN.Use"
pveum user token add emhost@pve emhost --privsep 1
pveum acl modify /vms --roles EmhostMachines --users emhost@pve --tokens 'emhost@pve!emhost'
pveum acl modify /storage/local-lvm --roles EmhostDisks --users emhost@pve --tokens 'emhost@pve!emhost'
pveum acl modify /storage/local --roles EmhostImages --users emhost@pve --tokens 'emhost@pve!emhost'
pveum acl modify /nodes --roles EmhostHosts --users emhost@pve --tokens 'emhost@pve!emhost'
pveum acl modify /sdn/zones/localnetwork --roles EmhostNetwork --users emhost@pve --tokens 'emhost@pve!emhost'
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setup_is_made_of_the_roles() {
        for (role, path) in [
            (Role::Machines, "/vms"),
            (Role::Disks, "/storage/local-lvm"),
            (Role::Images, "/storage/local"),
            (Role::Hosts, "/nodes"),
            (Role::Network, "/sdn/zones/localnetwork"),
        ] {
            for line in [role.made_by(), role.given_by(path)] {
                assert!(SETUP.lines().any(|known| known == line), "{line}");
            }
        }
    }

    #[test]
    fn the_documentation_says_the_same() {
        let page = include_str!("../../../../docs/proxmox.md");
        assert!(page.contains(SETUP), "docs/proxmox.md does not have the lines of `SETUP` as they are:\n{SETUP}");
    }
}
