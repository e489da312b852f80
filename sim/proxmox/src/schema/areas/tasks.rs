//! `/nodes/{node}/tasks`: what takes long.

use super::super::endpoint::{Permission, delete, get, vmid};
use super::super::field::{choice, flag, int, list, text};
use super::super::{Endpoint, formats};

/// Every endpoint of the area.
pub(super) fn endpoints() -> Vec<Endpoint> {
    let paged = || [("limit", int().min(0)), ("start", int().min(0))];
    vec![
        get("/nodes/{node}/tasks", Permission::Handler)
            .takes(paged())
            .takes([
                ("errors", flag()),
                ("since", int()),
                ("source", choice(&["archive", "active", "all"][..])),
                ("statusfilter", list(formats::task_status)),
                ("typefilter", text()),
                ("until", int()),
                ("userfilter", text()),
                ("vmid", vmid()),
            ])
            .proxied(),
        get("/nodes/{node}/tasks/{upid}", Permission::User),
        delete("/nodes/{node}/tasks/{upid}", Permission::Handler).proxied(),
        get("/nodes/{node}/tasks/{upid}/log", Permission::Handler).takes(paged()).takes([("download", flag())]).proxied(),
        get("/nodes/{node}/tasks/{upid}/status", Permission::Handler).proxied(),
    ]
}
