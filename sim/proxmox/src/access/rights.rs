//! Which privileges somebody has on a path, and the checks that handlers ask for.
//!
//! Grants nearer to the path replace those above it; a token with privilege
//! separation has what both it and its user have (facts §2, §10).

use std::collections::BTreeMap;

use super::{Access, Caller, ROOT, Roles};
use crate::call::Fail;

/// Privilege to propagation: whether it counts below the path as well.
pub(crate) type Privileges = BTreeMap<String, bool>;

const NO_ACCESS: &str = "NoAccess";

/// The roles somebody has on a path.
#[derive(Debug, Default)]
struct Standing {
    roles: Roles,
    /// Of a token with rights of its own: the roles of its user, which have to give the same.
    owner: Option<Roles>,
}

impl Access {
    /// What somebody may do on a path.
    pub fn privileges(&self, id: &str, path: &str) -> Privileges {
        if id == ROOT {
            return self.role("Administrator").into_iter().flatten().map(|name| (name, true)).collect();
        }
        let standing = self.standing(id, path);
        let mut privileges = self.privileges_of(&standing.roles);
        if let Some(roles) = &standing.owner {
            let owner = self.privileges_of(roles);
            privileges = privileges.into_iter().filter_map(|(name, below)| owner.get(&name).map(|own| (name, *own && below))).collect();
        }
        privileges
    }

    fn privileges_of(&self, roles: &Roles) -> Privileges {
        let mut privileges = Privileges::new();
        for (role, below) in roles {
            for name in self.role(role).into_iter().flatten() {
                *privileges.entry(name).or_default() |= below;
            }
        }
        privileges
    }

    /// The roles of a user or token on a path.
    fn standing(&self, id: &str, path: &str) -> Standing {
        let Some((user, name)) = id.split_once('!') else { return Standing { roles: self.compiled(id, path), owner: None } };
        match self.users.get(user).and_then(|user| user.tokens.get(name)) {
            None => Standing::default(),
            Some(token) if !token.privsep => Standing { roles: self.owner_roles(user, path), owner: None },
            Some(_) => Standing { roles: self.compiled(id, path), owner: Some(self.owner_roles(user, path)) },
        }
    }

    /// What a user brings to its tokens. root brings everything, and its tokens still are not root.
    fn owner_roles(&self, user: &str, path: &str) -> Roles {
        if user == ROOT { [("Administrator".to_owned(), true)].into() } else { self.compiled(user, path) }
    }

    fn has(&self, standing: &Standing, privilege: &str) -> bool {
        let gives = |roles: &Roles| roles.keys().any(|role| self.role_has(role, privilege));
        gives(&standing.roles) && standing.owner.as_ref().is_none_or(gives)
    }

    /// The roles on a path, those through pools included.
    fn compiled(&self, id: &str, path: &str) -> Roles {
        let mut roles = self.roles_on(id, path);
        let through_pool = self.roles_through_pools(id, path);
        if !roles.contains_key(NO_ACCESS) {
            if through_pool.contains_key(NO_ACCESS) {
                roles = [(NO_ACCESS.to_owned(), false)].into();
            } else {
                for role in through_pool.into_keys() {
                    roles.entry(role).or_insert(false);
                }
            }
        }
        roles
    }

    fn roles_through_pools(&self, id: &str, path: &str) -> Roles {
        let vmid = path.strip_prefix("/vms/").and_then(|id| id.parse::<u32>().ok());
        let storage = path.strip_prefix("/storage/");
        let member =
            |pool: &super::Pool| vmid.is_some_and(|id| pool.vms.contains(&id)) || storage.is_some_and(|id| pool.storage.contains(id));
        let pools = self.pools.iter().filter(|(_, pool)| member(pool));
        pools.flat_map(|(name, _)| self.roles_on(id, &format!("/pool/{name}"))).collect()
    }

    /// The roles that count on a path: the last grants on the way to it, of the token or user itself before those of groups.
    pub fn roles_on(&self, id: &str, path: &str) -> Roles {
        let mut roles = Roles::new();
        let ends = path.char_indices().filter(|(at, c)| *c == '/' && *at > 0).map(|(at, _)| &path[..at]);
        let steps = std::iter::once("/").chain(ends).chain((path != "/").then_some(path));
        for step in steps {
            let Some(grants) = self.acl.get(step) else { continue };
            let counting = |granted: &Roles| -> Roles {
                granted.iter().filter(|(_, below)| **below || step == path).map(|(role, below)| (role.clone(), *below)).collect()
            };
            let own = grants.tokens.get(id).or_else(|| grants.users.get(id)).map(counting).unwrap_or_default();
            let found = if own.is_empty() {
                let mine = grants.groups.iter().filter(|(name, _)| self.groups.get(*name).is_some_and(|group| group.users.contains(id)));
                mine.flat_map(|(_, granted)| counting(granted)).collect()
            } else {
                own
            };
            if !found.is_empty() {
                roles = found;
            }
        }
        match roles.get(NO_ACCESS) {
            Some(below) => [(NO_ACCESS.to_owned(), *below)].into(),
            None => roles,
        }
    }

    /// Whether somebody has all of the privileges on a path.
    pub fn allows(&self, who: &Caller, path: &str, privileges: &[&str]) -> bool {
        self.check(who, path, privileges).is_ok()
    }

    /// Whether somebody has one of the privileges on a path.
    pub fn allows_any(&self, who: &Caller, path: &str, privileges: &[&str]) -> bool {
        self.check_any(who, path, privileges).is_ok()
    }

    /// Refuses who lacks one of the privileges, naming the first.
    pub fn check(&self, who: &Caller, path: &str, privileges: &[&str]) -> Result<(), Fail> {
        if who.is_root() {
            return Ok(());
        }
        let standing = self.standing(&who.id, path);
        match privileges.iter().find(|name| !self.has(&standing, name)) {
            None => Ok(()),
            Some(missing) => Err(Fail::denied(path, &[missing])),
        }
    }

    /// Refuses who has none of the privileges.
    pub fn check_any(&self, who: &Caller, path: &str, privileges: &[&str]) -> Result<(), Fail> {
        if who.is_root() {
            return Ok(());
        }
        let standing = self.standing(&who.id, path);
        if privileges.iter().any(|name| self.has(&standing, name)) { Ok(()) } else { Err(Fail::denied(path, privileges)) }
    }

    /// Privileges on a machine, or on the pool it is to be made in.
    pub fn check_vm(&self, who: &Caller, vmid: u32, pool: Option<&str>, privileges: &[&str], any: bool) -> Result<(), Fail> {
        let check = |path: &str| if any { self.check_any(who, path, privileges) } else { self.check(who, path, privileges) };
        if pool.is_some_and(|pool| check(&format!("/pool/{pool}")).is_ok()) {
            return Ok(());
        }
        check(&format!("/vms/{vmid}"))
    }

    /// Whether somebody may change what is granted on a path.
    pub fn check_grants(&self, who: &Caller, path: &str) -> Result<(), Fail> {
        let mut privileges = vec!["Permissions.Modify"];
        for (area, own) in [("/storage/", "Datastore.Allocate"), ("/vms/", "VM.Allocate"), ("/pool/", "Pool.Allocate")] {
            privileges.extend(path.starts_with(area).then_some(own));
        }
        self.check_any(who, path, &privileges)
    }

    /// The paths that appear in lists of grants, those above them too.
    pub fn granted_paths(&self) -> std::collections::BTreeSet<String> {
        let mut paths: std::collections::BTreeSet<String> = ["/".to_owned()].into();
        for path in self.acl.keys() {
            paths.extend(path.char_indices().filter(|(at, c)| *c == '/' && *at > 0).map(|(at, _)| path[..at].to_owned()));
            paths.insert(path.clone());
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Group, Pool, Secret, Token, User};
    use super::*;

    /// `who` has `role` on `path`, with or without what is below.
    fn grant(access: &mut Access, path: &str, who: &str, role: &str, below: bool) {
        let grants = access.acl.entry(path.to_owned()).or_default();
        let subjects = match who {
            _ if who.contains('!') => &mut grants.tokens,
            _ if who.contains('@') => &mut grants.users,
            _ => &mut grants.groups,
        };
        subjects.entry(who.to_owned()).or_default().insert(role.to_owned(), below);
    }

    fn access() -> Access {
        let mut access = Access::default();
        let token = |privsep| Token { privsep, expire: 0, comment: None, secret: Secret::new("x") };
        let tokens = [("own".to_owned(), token(true)), ("same".to_owned(), token(false))];
        access.users.insert("a@pve".to_owned(), User { enable: true, tokens: tokens.into(), ..User::default() });
        access.groups.insert("ops".to_owned(), Group { users: ["a@pve".to_owned()].into(), ..Group::default() });
        access
    }

    fn may(access: &Access, who: &str, path: &str, privilege: &str) -> bool {
        access.allows(&Caller { id: who.to_owned() }, path, &[privilege])
    }

    #[test]
    fn what_is_nearer_replaces_what_is_above() {
        let mut access = access();
        grant(&mut access, "/", "a@pve", "PVEVMAdmin", true);
        assert!(may(&access, "a@pve", "/vms/100", "VM.Allocate"));
        grant(&mut access, "/vms/100", "a@pve", "PVEAuditor", true);
        assert!(!may(&access, "a@pve", "/vms/100", "VM.Allocate"));
        assert!(may(&access, "a@pve", "/vms/100", "VM.Audit"));
        assert!(may(&access, "a@pve", "/vms/1000", "VM.Allocate"), "a path is not a prefix of text");
    }

    #[test]
    fn what_does_not_propagate_counts_on_its_path_alone() {
        let mut access = access();
        grant(&mut access, "/vms", "a@pve", "PVEVMAdmin", false);
        assert!(may(&access, "a@pve", "/vms", "VM.Allocate"));
        assert!(!may(&access, "a@pve", "/vms/100", "VM.Allocate"));
    }

    #[test]
    fn a_user_comes_before_groups_and_no_access_before_all() {
        let mut access = access();
        grant(&mut access, "/vms", "ops", "PVEVMAdmin", true);
        assert!(may(&access, "a@pve", "/vms/100", "VM.Allocate"));
        grant(&mut access, "/vms", "a@pve", "PVEAuditor", true);
        assert!(!may(&access, "a@pve", "/vms/100", "VM.Allocate"));
        grant(&mut access, "/vms", "a@pve", "NoAccess", true);
        assert!(!may(&access, "a@pve", "/vms/100", "VM.Audit"));
    }

    #[test]
    fn a_token_has_what_both_have_or_what_its_user_has() {
        let mut access = access();
        grant(&mut access, "/vms", "a@pve", "PVEAuditor", true);
        assert!(may(&access, "a@pve!same", "/vms/100", "VM.Audit"));
        assert!(!may(&access, "a@pve!own", "/vms/100", "VM.Audit"));
        grant(&mut access, "/vms", "a@pve!own", "PVEVMAdmin", true);
        assert!(may(&access, "a@pve!own", "/vms/100", "VM.Audit"));
        assert!(!may(&access, "a@pve!own", "/vms/100", "VM.Allocate"), "the user lacks it");
        assert!(!may(&access, "a@pve!gone", "/vms/100", "VM.Audit"));
    }

    #[test]
    fn members_of_a_pool_inherit_what_is_granted_on_it() {
        let mut access = access();
        access.pools.insert("p".to_owned(), Pool { vms: [100].into(), storage: ["local".to_owned()].into(), ..Pool::default() });
        grant(&mut access, "/pool/p", "a@pve", "Administrator", true);
        assert!(may(&access, "a@pve", "/vms/100", "VM.Allocate"));
        assert!(may(&access, "a@pve", "/storage/local", "Datastore.Audit"));
        assert!(!may(&access, "a@pve", "/vms/101", "VM.Allocate"));
        assert!(!may(&access, "a@pve", "/nodes/pve1", "Sys.Audit"));
        grant(&mut access, "/vms/100", "a@pve", "NoAccess", true);
        assert!(!may(&access, "a@pve", "/vms/100", "VM.Audit"), "no pool gives it back");
    }

    #[test]
    fn a_refusal_names_what_is_missing() {
        let access = access();
        let who = Caller { id: "a@pve".to_owned() };
        let text = |fail: Result<(), Fail>| fail.map_or_else(|fail| fail.message, |()| String::new());
        assert_eq!(text(access.check(&who, "/vms/100", &["VM.Audit", "VM.Clone"])), "Permission check failed (/vms/100, VM.Audit)\n");
        assert_eq!(text(access.check_any(&who, "/", &["Sys.Audit", "Sys.Modify"])), "Permission check failed (/, Sys.Audit|Sys.Modify)\n");
        assert_eq!(text(access.check_grants(&who, "/vms/1")), "Permission check failed (/vms/1, Permissions.Modify|VM.Allocate)\n");
    }
}
