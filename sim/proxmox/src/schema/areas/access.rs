//! `/access`: users, tokens, groups, roles, access control lists and realms.

use super::super::endpoint::{GroupsParam, Permission, UserParam, all, any, delete, get, post, put};
use super::super::field::{Field, choice, flag, int, list, maybe, one, text};
use super::super::{Endpoint, formats};
use crate::Release;

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    [entrance(), users(), tokens(release), groups(), roles(), lists(), realms()].into_iter().flatten().collect()
}

fn groups_of_user(privileges: &'static [&'static str], groups: GroupsParam) -> Permission {
    Permission::UserGroups { privileges, groups }
}

fn own_or_modify() -> Permission {
    let modify = groups_of_user(&["User.Modify"], GroupsParam::Ignored);
    Permission::Or(vec![Permission::UserParam(UserParam::Own), modify])
}

fn allocate_and(groups: GroupsParam) -> Permission {
    let allocate = Permission::UserParam(UserParam::AllocateUser);
    Permission::And(vec![allocate, groups_of_user(&["User.Modify"], groups)])
}

fn entrance() -> Vec<Endpoint> {
    let password = Permission::Or(vec![Permission::UserParam(UserParam::Own), allocate_and(GroupsParam::Ignored)]);
    vec![
        get("/access", Permission::User),
        get("/access/ticket", Permission::World),
        post("/access/ticket", Permission::World)
            .needs([("username", text().longest(64)), ("password", text())])
            .takes([
                ("new-format", flag()),
                ("otp", text()),
                ("path", text().longest(64).requires("privs")),
                ("privs", list(formats::privilege).longest(64).requires("path")),
                ("realm", one(formats::realm).longest(32)),
                ("tfa-challenge", text()),
            ])
            .without_token(),
        put("/access/password", password)
            .needs([("userid", one(formats::user_id).longest(64)), ("password", text().shortest(8).longest(64))])
            .takes([("confirmation-password", text().shortest(5).longest(64))])
            .without_token(),
        get("/access/permissions", Permission::Handler).takes([
            ("path", text()),
            ("userid", text().pattern(r"(?:^(?:[^\s:/]+)@(?:[A-Za-z][A-Za-z0-9._-]+)(?:!(?:[A-Za-z][A-Za-z0-9._-]+))?$)")),
        ]),
    ]
}

fn details() -> [(&'static str, Field); 8] {
    [
        ("comment", text().longest(2048)),
        ("email", maybe(formats::email).longest(254)),
        ("enable", flag()),
        ("expire", int().min(0)),
        ("firstname", text().longest(1024)),
        ("groups", list(formats::group_id)),
        ("keys", text().pattern("[0-9a-zA-Z!=]{0,4096}")),
        ("lastname", text().longest(1024)),
    ]
}

fn users() -> Vec<Endpoint> {
    vec![
        get("/access/users", Permission::Handler).takes([("enabled", flag()), ("full", flag())]),
        post("/access/users", allocate_and(GroupsParam::Create))
            .needs([("userid", one(formats::user_id).longest(64))])
            .takes(details())
            .takes([("password", text().shortest(8).longest(64))]),
        get("/access/users/{userid}", groups_of_user(&["User.Modify", "Sys.Audit"], GroupsParam::Ignored)),
        put("/access/users/{userid}", groups_of_user(&["User.Modify"], GroupsParam::Update))
            .takes(details())
            .takes([("append", flag().requires("groups"))]),
        delete("/access/users/{userid}", allocate_and(GroupsParam::Ignored)),
    ]
}

fn tokens(release: Release) -> Vec<Endpoint> {
    let described = || [("comment", text()), ("expire", int().min(0)), ("privsep", flag())];
    let mut change = put("/access/users/{userid}/token/{tokenid}", own_or_modify()).takes(described());
    if release == Release::V9 {
        change = change.takes([("delete", list(formats::config_id)), ("regenerate", flag())]);
    }
    vec![
        get("/access/users/{userid}/token", own_or_modify()),
        get("/access/users/{userid}/token/{tokenid}", own_or_modify()),
        post("/access/users/{userid}/token/{tokenid}", own_or_modify()).takes(described()),
        change,
        delete("/access/users/{userid}/token/{tokenid}", own_or_modify()),
    ]
}

fn groups() -> Vec<Endpoint> {
    let allocate = || all("/access/groups", &["Group.Allocate"]);
    vec![
        get("/access/groups", Permission::Handler),
        post("/access/groups", allocate()).needs([("groupid", one(formats::group_id))]).takes([("comment", text())]),
        get("/access/groups/{groupid}", any("/access/groups", &["Sys.Audit", "Group.Allocate"])),
        put("/access/groups/{groupid}", allocate()).takes([("comment", text())]),
        delete("/access/groups/{groupid}", allocate()),
    ]
}

fn roles() -> Vec<Endpoint> {
    let modify = || all("/access", &["Sys.Modify"]);
    vec![
        get("/access/roles", Permission::User),
        post("/access/roles", modify()).needs([("roleid", one(formats::role_id))]).takes([("privs", list(formats::privilege))]),
        get("/access/roles/{roleid}", Permission::User),
        put("/access/roles/{roleid}", modify()).takes([("append", flag().requires("privs")), ("privs", list(formats::privilege))]),
        delete("/access/roles/{roleid}", modify()),
    ]
}

fn lists() -> Vec<Endpoint> {
    vec![
        get("/access/acl", Permission::Handler),
        put("/access/acl", Permission::ModifyAcl("{path}")).needs([("path", text()), ("roles", list(formats::role_id))]).takes([
            ("delete", flag()),
            ("groups", list(formats::group_id)),
            ("propagate", flag()),
            ("tokens", list(formats::token_id)),
            ("users", list(formats::user_id)),
        ]),
    ]
}

fn realms() -> Vec<Endpoint> {
    let allocate = || all("/access/realm", &["Realm.Allocate"]);
    let short = || text().longest(256);
    let flags = [
        "autocreate",
        "case-sensitive",
        "check-connection",
        "default",
        "groups-autocreate",
        "groups-overwrite",
        "query-userinfo",
        "secure",
        "verify",
    ];
    let kinds: &[&str] = &["ad", "ldap", "openid", "pam", "pve"];
    vec![
        get("/access/domains", Permission::World),
        post("/access/domains", allocate())
            .needs([("realm", one(formats::realm).longest(32)), ("type", choice(kinds))])
            .takes(flags.map(|name| (name, flag())))
            .takes([
                ("acr-values", text().pattern(r#"^[^\x00-\x1F\x7F <>#"]*$"#)),
                ("base_dn", short()),
                ("bind_dn", short()),
                ("capath", text()),
                ("cert", text()),
                ("certkey", text()),
                ("client-id", short()),
                ("client-key", short()),
                ("comment", text().longest(4096)),
                ("domain", short().pattern(r"\S+")),
                ("filter", text().longest(2048)),
                ("group_classes", list(formats::ldap_attribute)),
                ("group_dn", short()),
                ("group_filter", text().longest(2048)),
                ("group_name_attr", one(formats::ldap_attribute).longest(256)),
                ("groups-claim", short().pattern("(?:[A-Za-z0-9._-]+)")),
                ("issuer-url", short()),
                ("mode", choice(&["ldap", "ldaps", "ldap+starttls"][..])),
                ("password", text()),
                ("port", int().min(1).max(65535)),
                ("prompt", text().pattern(r"(?:none|login|consent|select_account|\S+)")),
                ("scopes", text()),
                ("server1", one(formats::address).longest(256)),
                ("server2", one(formats::address).longest(256)),
                ("sslversion", choice(&["tlsv1", "tlsv1_1", "tlsv1_2", "tlsv1_3"][..])),
                ("sync-defaults-options", text()),
                ("sync_attributes", text().pattern(r"\w+=[^,]+(,\s*\w+=[^,]+)*")),
                ("tfa", text().longest(128)),
                ("user_attr", short().pattern(r"\S{2,}")),
                ("user_classes", list(formats::ldap_attribute)),
                ("username-claim", text()),
            ]),
        get("/access/domains/{realm}", any("/access/realm", &["Realm.Allocate", "Sys.Audit"])),
        delete("/access/domains/{realm}", allocate()),
    ]
}
