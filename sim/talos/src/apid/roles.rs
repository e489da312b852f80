//! The roles of Talos: what a client's certificate says in its organizations.

use std::collections::BTreeSet;

/// Everything.
pub(crate) const ADMIN: &str = "os:admin";
/// Reading, and what keeps a node going.
pub(crate) const OPERATOR: &str = "os:operator";
/// Reading.
pub(crate) const READER: &str = "os:reader";
/// Taking snapshots of etcd.
pub(crate) const ETCD_BACKUP: &str = "os:etcd:backup";
/// Acting with the roles that the metadata names; a node has it when it forwards.
pub(crate) const IMPERSONATOR: &str = "os:impersonator";
/// Checking signatures of images, from 1.13.
pub(crate) const IMAGE_VERIFIER: &str = "os:image:verifier";
/// Writing META, from 1.13.
pub(crate) const META_WRITER: &str = "os:meta:writer";

/// A set of roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Roles(BTreeSet<String>);

impl Roles {
    /// These, known or not.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// What anybody may in maintenance.
    pub(crate) fn reader() -> Self {
        Self::of([READER])
    }

    pub(crate) fn has(&self, role: &str) -> bool {
        self.0.contains(role)
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.has(ADMIN)
    }

    pub(crate) fn any(&self, roles: &[&str]) -> bool {
        roles.iter().any(|role| self.has(role))
    }
}

impl std::fmt::Display for Roles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.iter().map(String::as_str).collect::<Vec<_>>().join(","))
    }
}
