//! The permission expressions of the schema, evaluated.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, Caller};
use crate::call::Fail;
use crate::pve::Pve;
use crate::schema::{self, Endpoint, Given, GroupsParam, Permission, UserParam, list};

/// The parameters before they were checked: permissions come first.
type Parameters = BTreeMap<String, Given>;

impl Pve {
    /// Refuses who may not call an endpoint with these parameters.
    pub(crate) fn permitted(&self, endpoint: &Endpoint, who: Option<&Caller>, given: &Parameters) -> Result<(), Fail> {
        let refused = |why: &str| Fail::new(403, format!("Permission check failed ({why})\n"));
        let Some(who) = who else {
            return if endpoint.permission == Permission::World { Ok(()) } else { Err(refused("user != null")) };
        };
        if who.is_root() {
            return Ok(());
        }
        match &endpoint.permission {
            Permission::User | Permission::Handler => Ok(()),
            Permission::Root => Err(refused("user != root@pam")),
            // Only for those who are not logged in.
            Permission::World => Err(Fail::forbidden()),
            permission => self.state().access.satisfies(permission, who, given),
        }
    }
}

impl Access {
    fn satisfies(&self, permission: &Permission, who: &Caller, given: &Parameters) -> Result<(), Fail> {
        match permission {
            Permission::World | Permission::User | Permission::Handler => Ok(()),
            Permission::Root => Err(Fail::forbidden()),
            Permission::And(all) => all.iter().try_for_each(|permission| self.satisfies(permission, who, given)),
            Permission::Or(any) => {
                let found = any.iter().any(|permission| self.satisfies(permission, who, given).is_ok());
                if found { Ok(()) } else { Err(Fail::forbidden()) }
            }
            Permission::Check { path, privileges, any, require_param } => {
                if require_param.is_some_and(|name| text(given, name).is_none()) {
                    return Err(Fail::forbidden());
                }
                let path = schema::access::normalise(&filled(path, given)).unwrap_or_default();
                if *any { self.check_any(who, &path, privileges) } else { self.check(who, &path, privileges) }
            }
            Permission::ModifyAcl(path) => match schema::access::normalise(&filled(path, given)) {
                Some(path) => self.check_grants(who, &path),
                None => Err(Fail::forbidden()),
            },
            Permission::UserParam(UserParam::Own) => {
                let user = text(given, "userid").unwrap_or_default();
                self.exists(user)?;
                if who.id == user { Ok(()) } else { Err(Fail::forbidden()) }
            }
            Permission::UserParam(UserParam::AllocateUser) => {
                let user = text(given, "userid").unwrap_or_default();
                let realm = user.rsplit_once('@').map_or("", |(_, realm)| realm);
                self.check(who, &format!("/access/realm/{realm}"), &["Realm.AllocateUser"])
            }
            Permission::UserGroups { privileges, groups } => self.through_groups(who, privileges, *groups, given),
        }
    }

    fn exists(&self, user: &str) -> Result<(), Fail> {
        if self.users.contains_key(user) { Ok(()) } else { Err(Fail::die(format!("no such user ('{user}')\n"))) }
    }

    /// Whether the groups of a user, or those it is put into, are ones the caller has rights on.
    fn through_groups(&self, who: &Caller, privileges: &[&str], groups: GroupsParam, given: &Parameters) -> Result<(), Fail> {
        let user = text(given, "userid").unwrap_or_default();
        let existing = groups != GroupsParam::Create;
        if existing {
            self.exists(user)?;
        }
        if self.allows_any(who, "/access/groups", privileges) {
            return Ok(());
        }
        let rights = |group: &String| self.allows_any(who, &format!("/access/groups/{group}"), privileges);
        let mine: BTreeSet<&String> = self.groups.keys().filter(|group| rights(group)).collect();
        if groups != GroupsParam::Ignored {
            let wanted = list::split(text(given, "groups").unwrap_or_default());
            if wanted.is_empty() {
                return Err(Fail::denied("/access/groups", privileges));
            }
            if let Some(group) = wanted.iter().find(|group| !mine.contains(group)) {
                return Err(Fail::denied(&format!("/access/groups/{group}"), privileges));
            }
        }
        let member = mine.iter().filter_map(|group| self.groups.get(*group)).any(|group| group.users.contains(user));
        if existing && !member { Err(Fail::forbidden()) } else { Ok(()) }
    }
}

fn text<'a>(given: &'a Parameters, name: &str) -> Option<&'a str> {
    match given.get(name)? {
        Given::Text(text) | Given::Number(text) => Some(text),
        Given::Bool(flag) => Some(if *flag { "1" } else { "0" }),
        Given::List(_) | Given::Null | Given::Object => None,
    }
}

/// Puts parameters into a path such as `/vms/{vmid}`.
fn filled(path: &str, given: &Parameters) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(text(given, name).unwrap_or_default());
        rest = after;
    }
    out + rest
}
