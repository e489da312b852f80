//! `/cluster/ha`: high availability.

use super::super::endpoint::{Permission, all, delete, get, post, put};
use super::super::field::{Field, choice, flag, int, list, one, text};
use super::super::{Endpoint, formats};
use crate::Release;

fn audit() -> Permission {
    all("/", &["Sys.Audit"])
}

fn manage() -> Permission {
    all("/", &["Sys.Console"])
}

fn changes() -> [(&'static str, Field); 2] {
    [("delete", list(formats::config_id).longest(4096)), ("digest", text().longest(64))]
}

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    let mut all = vec![
        get("/cluster/ha", audit()),
        get("/cluster/ha/status", Permission::User),
        get("/cluster/ha/status/current", audit()),
        get("/cluster/ha/status/manager_status", audit()),
    ];
    all.extend(resources(release));
    all.extend(groups());
    if release == Release::V9 {
        all.extend(rules());
    }
    all
}

fn resources(release: Release) -> Vec<Endpoint> {
    let states: &[&str] = &["started", "stopped", "enabled", "disabled", "ignored"];
    let kind = || ("type", choice(&["ct", "vm"][..]));
    let described = |endpoint: Endpoint| {
        let endpoint = endpoint.takes([
            ("comment", text().longest(4096)),
            ("group", one(formats::config_id)),
            ("max_relocate", int().min(0)),
            ("max_restart", int().min(0)),
            ("state", choice(states)),
        ]);
        if release == Release::V9 { endpoint.takes([("failback", flag())]) } else { endpoint }
    };
    let remove = delete("/cluster/ha/resources/{sid}", manage());
    let target = || [("node", one(formats::node))];
    vec![
        get("/cluster/ha/resources", audit()).takes([kind()]),
        described(post("/cluster/ha/resources", manage())).needs([("sid", one(formats::ha_resource))]).takes([kind()]),
        get("/cluster/ha/resources/{sid}", audit()),
        described(put("/cluster/ha/resources/{sid}", manage())).takes(changes()),
        if release == Release::V9 { remove.takes([("purge", flag())]) } else { remove },
        post("/cluster/ha/resources/{sid}/migrate", manage()).needs(target()),
        post("/cluster/ha/resources/{sid}/relocate", manage()).needs(target()),
    ]
}

fn groups() -> Vec<Endpoint> {
    let described = || [("comment", text().longest(4096)), ("nofailback", flag()), ("restricted", flag())];
    vec![
        get("/cluster/ha/groups", audit()),
        post("/cluster/ha/groups", manage())
            .needs([("group", one(formats::config_id)), ("nodes", list(formats::ha_node))])
            .takes(described())
            .takes([("type", choice(&["group"][..]))]),
        get("/cluster/ha/groups/{group}", audit()),
        put("/cluster/ha/groups/{group}", manage()).takes(described()).takes(changes()).takes([("nodes", list(formats::ha_node))]),
        delete("/cluster/ha/groups/{group}", manage()),
    ]
}

fn rules() -> Vec<Endpoint> {
    let kind = || ("type", choice(&["node-affinity", "resource-affinity"][..]));
    let described = || {
        [
            ("affinity", choice(&["positive", "negative"][..])),
            ("comment", text().longest(4096)),
            ("disable", flag()),
            ("nodes", list(formats::ha_node)),
            ("strict", flag()),
        ]
    };
    let resources = || ("resources", list(formats::ha_resource_id));
    vec![
        get("/cluster/ha/rules", audit()).takes([("resource", text()), kind()]),
        post("/cluster/ha/rules", manage()).needs([("rule", one(formats::config_id)), resources(), kind()]).takes(described()),
        get("/cluster/ha/rules/{rule}", audit()),
        put("/cluster/ha/rules/{rule}", manage()).needs([kind()]).takes([resources()]).takes(described()).takes(changes()),
        delete("/cluster/ha/rules/{rule}", manage()),
        post("/cluster/ha/status/arm-ha", manage()),
        post("/cluster/ha/status/disarm-ha", manage()).needs([("resource-mode", choice(&["freeze", "ignore"][..]))]),
    ]
}
