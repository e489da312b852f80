//! `/pools`: groups of machines and storages. What the path names in the old form is a parameter in the new one.

use super::super::endpoint::{Permission, all, delete, get, post, put};
use super::super::field::{Field, choice, flag, list, one, text};
use super::super::{Endpoint, formats};

/// Every endpoint of the area.
pub(super) fn endpoints() -> Vec<Endpoint> {
    let allocate = || all("/pool/{poolid}", &["Pool.Allocate"]);
    let pool = || [("poolid", one(formats::pool_id))];
    let kind = || choice(&["qemu", "lxc", "storage"][..]);
    vec![
        get("/pools", Permission::Handler).takes(pool()).takes([("type", kind().requires("poolid"))]),
        post("/pools", allocate()).needs(pool()).takes([("comment", text())]),
        put("/pools", allocate()).needs(pool()).takes(members()),
        delete("/pools", allocate()).needs(pool()),
        get("/pools/{poolid}", all("/pool/{poolid}", &["Pool.Audit"])).takes([("type", kind())]),
        put("/pools/{poolid}", allocate()).takes(members()),
        delete("/pools/{poolid}", allocate()),
    ]
}

fn members() -> [(&'static str, Field); 5] {
    [("allow-move", flag()), ("comment", text()), ("delete", flag()), ("storage", list(formats::storage_id)), ("vms", list(formats::vmid))]
}
