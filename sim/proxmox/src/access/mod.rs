//! Who may do what: users, tokens, tickets, roles and access control lists.
//!
//! Everything here is what `user.cfg` and the files beside it hold on a real
//! host, pools included. Handlers ask [`Access::check`] and its neighbours.

mod credentials;
mod expression;
mod rights;
mod roles;
mod tickets;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use emhost_sim_kit::Store;
use serde::{Deserialize, Serialize};

use crate::call::Fail;
use crate::{Release, Spec};

pub(crate) use credentials::{Secret, random_secret};
pub(crate) use roles::{builtin as builtin_role, builtin_names, privileges};

/// Where it is kept.
const KEY: &str = "pve/access";
/// The one who may do everything, when logged in by password.
pub(crate) const ROOT: &str = "root@pam";

/// Everything about access that is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Access {
    #[serde(skip)]
    release: Release,
    /// By `NAME@REALM`.
    pub users: BTreeMap<String, User>,
    pub groups: BTreeMap<String, Group>,
    /// Roles beyond the built-in ones.
    pub custom_roles: BTreeMap<String, BTreeSet<String>>,
    /// By normalised path.
    pub acl: BTreeMap<String, Grants>,
    pub pools: BTreeMap<String, Pool>,
    /// What tickets are signed with.
    key: String,
}

/// A user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct User {
    pub enable: bool,
    /// Seconds since 1970; 0 for never.
    pub expire: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    /// First name, last name, e-mail, comment, keys: whatever was given.
    pub details: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tokens: BTreeMap<String, Token>,
}

/// A token of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    /// Whether it has only the rights it was given itself.
    pub privsep: bool,
    /// Seconds since 1970; 0 for never.
    pub expire: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    pub secret: Secret,
}

/// A group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    pub users: BTreeSet<String>,
}

/// A pool: members inherit the rights on `/pool/NAME`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pool {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    pub vms: BTreeSet<u32>,
    pub storage: BTreeSet<String>,
}

/// Role to propagation.
pub(crate) type Roles = BTreeMap<String, bool>;

/// What is granted on one path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Grants {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, Roles>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Roles>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tokens: BTreeMap<String, Roles>,
}

impl Grants {
    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.tokens.is_empty()
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// `USER@REALM`, or `USER@REALM!TOKEN` for a token, as in task identifiers.
    pub id: String,
}

impl Caller {
    /// `root@pam`, logged in by password; a token of it is not.
    pub fn root() -> Self {
        Self { id: ROOT.to_owned() }
    }

    /// Whether this is `root@pam` itself.
    pub fn is_root(&self) -> bool {
        self.id == ROOT
    }
}

impl Access {
    /// Reads what is kept; at first there are root and the tokens of the specification.
    pub fn open(store: &Store, spec: &Spec) -> io::Result<Self> {
        let mut access = store.get::<Self>(KEY)?.unwrap_or_else(|| Self::first(spec));
        access.release = spec.release;
        store.put(KEY, &access)?;
        Ok(access)
    }

    fn first(spec: &Spec) -> Self {
        let mut access = Self { key: random_secret(), ..Self::default() };
        let root = access.users.entry(ROOT.to_owned()).or_default();
        root.enable = true;
        root.password = Some(Secret::new(&spec.root_password));
        for (id, secret) in &spec.tokens {
            let Some((user, name)) = id.split_once('!') else { continue };
            let entry = access.users.entry(user.to_owned()).or_insert_with(|| User { enable: true, ..User::default() });
            entry.tokens.insert(name.to_owned(), Token { privsep: false, expire: 0, comment: None, secret: Secret::new(secret) });
            let grants = access.acl.entry("/".to_owned()).or_default();
            grants.users.entry(user.to_owned()).or_default().insert("Administrator".to_owned(), true);
        }
        access
    }

    /// Keeps it. To be called while the state is held, so that the order of changes is the order on disk.
    pub fn keep(&self, store: &Store) -> Result<(), Fail> {
        Ok(store.put(KEY, self)?)
    }

    /// The pool a machine is in.
    pub fn pool_of(&self, vmid: u32) -> Option<&str> {
        self.pools.iter().find(|(_, pool)| pool.vms.contains(&vmid)).map(|(name, _)| name.as_str())
    }

    /// Puts a machine into a pool, out of any other. A pool that is gone is passed over, as in Proxmox.
    pub fn add_to_pool(&mut self, vmid: u32, pool: &str) {
        if self.pools.contains_key(pool) {
            self.pools.values_mut().for_each(|pool| {
                pool.vms.remove(&vmid);
            });
            self.pools.entry(pool.to_owned()).or_default().vms.insert(vmid);
        }
    }

    /// Forgets a machine: its place in a pool, and what was granted on it.
    pub fn forget_vm(&mut self, vmid: u32) {
        for pool in self.pools.values_mut() {
            pool.vms.remove(&vmid);
        }
        self.acl.remove(&format!("/vms/{vmid}"));
    }

    /// Forgets a token or user in every list of grants.
    pub fn forget_subject(&mut self, id: &str) {
        let tokens = format!("{id}!");
        for grants in self.acl.values_mut() {
            grants.users.remove(id);
            grants.tokens.retain(|token, _| token != id && !token.starts_with(&tokens));
        }
        self.forget_empty_grants();
    }

    /// Forgets a group in every list of grants.
    pub fn forget_group(&mut self, name: &str) {
        for grants in self.acl.values_mut() {
            grants.groups.remove(name);
        }
        self.forget_empty_grants();
    }

    /// Forgets paths on which nothing is granted any more.
    pub fn forget_empty_grants(&mut self) {
        self.acl.retain(|_, grants| !grants.is_empty());
    }
}
