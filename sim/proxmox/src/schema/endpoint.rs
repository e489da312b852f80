//! One method of one path: its parameters, and who may call it.

use super::check::Fields;
use super::field::{Field, int, one, text};
use super::formats;

/// One method of one path.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are facts about an endpoint, each on its own")]
pub struct Endpoint {
    /// `GET`, `POST`, `PUT` or `DELETE`.
    pub method: &'static str,
    /// Such as `/nodes/{node}/qemu/{vmid}/config`.
    pub path: &'static str,
    /// The parameters, those of the path among them.
    pub params: Fields,
    /// Who may call it.
    pub permission: Permission,
    /// Whether the call goes to the host that the parameter `node` names.
    pub proxied: bool,
    /// Whether API tokens may call it.
    pub allow_token: bool,
    /// Whether it starts a task and answers with its identifier.
    pub returns_upid: bool,
    /// Whether parameters that are not described are let through.
    pub extra_params: bool,
    /// Whether it takes a file in a multipart body.
    pub upload: bool,
}

/// Who may call an endpoint. `root@pam` with a ticket always may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Everybody, without logging in.
    World,
    /// Everybody who is logged in.
    User,
    /// Everybody who is logged in, and the function that answers decides what they see or may do.
    Handler,
    /// Only `root@pam`.
    Root,
    /// Whoever has privileges on a path of the access control lists.
    Check {
        /// Such as `/vms/{vmid}`.
        path: &'static str,
        /// The privileges.
        privileges: &'static [&'static str],
        /// Whether any one of them will do.
        any: bool,
        /// Refused where this parameter is absent.
        require_param: Option<&'static str>,
    },
    /// Whoever satisfies all of these.
    And(Vec<Permission>),
    /// Whoever satisfies one of these.
    Or(Vec<Permission>),
    /// By the user that the parameter `userid` names.
    UserParam(UserParam),
    /// Whoever has any of these privileges on the groups of the user that `userid` names.
    UserGroups {
        /// The privileges.
        privileges: &'static [&'static str],
        /// Which groups, beside those the user is in.
        groups: GroupsParam,
    },
    /// Whoever may change the access control list of this path.
    ModifyAcl(&'static str),
}

/// How the parameter `userid` lets somebody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserParam {
    /// It names the caller.
    Own,
    /// The caller may make users in its realm (`Realm.AllocateUser`).
    AllocateUser,
}

/// What the parameter `groups` means for a check of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupsParam {
    /// Nothing.
    Ignored,
    /// The groups of a user that is about to be made.
    Create,
    /// The groups that an existing user is about to be put into.
    Update,
}

/// All the privileges on a path.
pub(super) fn all(path: &'static str, privileges: &'static [&'static str]) -> Permission {
    Permission::Check { path, privileges, any: false, require_param: None }
}

/// Any of the privileges on a path.
pub(super) fn any(path: &'static str, privileges: &'static [&'static str]) -> Permission {
    Permission::Check { path, privileges, any: true, require_param: None }
}

/// What a parameter in a path must look like, if nothing else is said.
fn path_field(name: &str) -> Field {
    match name {
        "node" => one(formats::node),
        "vmid" => vmid(),
        "storage" => one(formats::storage_id),
        "snapname" => one(formats::config_id).longest(40),
        "userid" => one(formats::user_id).longest(64),
        "roleid" => one(formats::role_id),
        "groupid" => one(formats::group_id),
        "poolid" => one(formats::pool_id),
        "realm" => one(formats::realm).longest(32),
        "tokenid" => text().pattern("(?:[A-Za-z][A-Za-z0-9._-]+)"),
        "id" | "rule" | "group" => one(formats::config_id),
        "sid" => one(formats::ha_resource),
        "iface" => one(formats::interface).shortest(2).longest(20),
        _ => text(),
    }
}

/// The number of a machine.
pub(super) fn vmid() -> Field {
    int().shape(formats::vmid).min(100).max(999_999_999)
}

fn endpoint(method: &'static str, path: &'static str, permission: Permission) -> Endpoint {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    Endpoint {
        method,
        path,
        params: names.map(|name| (name.into(), path_field(name))).collect(),
        permission,
        proxied: false,
        allow_token: true,
        returns_upid: false,
        extra_params: false,
        upload: false,
    }
}

pub(super) fn get(path: &'static str, permission: Permission) -> Endpoint {
    endpoint("GET", path, permission)
}

pub(super) fn post(path: &'static str, permission: Permission) -> Endpoint {
    endpoint("POST", path, permission)
}

pub(super) fn put(path: &'static str, permission: Permission) -> Endpoint {
    endpoint("PUT", path, permission)
}

pub(super) fn delete(path: &'static str, permission: Permission) -> Endpoint {
    endpoint("DELETE", path, permission)
}

impl Endpoint {
    /// Parameters that must be there.
    pub(super) fn needs(mut self, fields: impl IntoIterator<Item = (&'static str, Field)>) -> Self {
        self.params.extend(fields.into_iter().map(|(name, field)| (name.into(), field)));
        self
    }

    /// Parameters that may be there.
    pub(super) fn takes(mut self, fields: impl IntoIterator<Item = (&'static str, Field)>) -> Self {
        self.params.extend(fields.into_iter().map(|(name, field)| (name.into(), field.optional())));
        self
    }

    /// Parameters that are described somewhere else.
    pub(super) fn with(mut self, fields: &Fields) -> Self {
        self.params.extend(fields.iter().map(|(name, field)| (name.clone(), field.clone())));
        self
    }

    /// Goes to the host that the parameter `node` names.
    pub(super) fn proxied(self) -> Self {
        Self { proxied: true, ..self }
    }

    /// Goes to the host that the parameter `node` names, and answers with the identifier of a task there.
    pub(super) fn task(self) -> Self {
        Self { proxied: true, returns_upid: true, ..self }
    }

    pub(super) fn without_token(self) -> Self {
        Self { allow_token: false, ..self }
    }
}
