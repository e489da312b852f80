//! `/nodes/{node}/qemu`: virtual machines.

use std::sync::LazyLock;

use super::super::endpoint::{Permission, all, any, delete, get, post, put, vmid};
use super::super::field::{Field, choice, flag, int, list, one, text};
use super::super::{Endpoint, drive, formats, machine};
use crate::Release;

const VM: &str = "/vms/{vmid}";
const CONFIG: &[&str] = &[
    "VM.Config.Disk",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.HWType",
    "VM.Config.Options",
    "VM.Config.Cloudinit",
];

static DRIVES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let unused = (0..256).map(|index| format!("unused{index}"));
    drive::names().chain(unused).collect()
});

/// The names of drives, and of volumes that are no longer drives.
fn drives(unused: bool) -> Field {
    let wanted = |name: &&str| unused || !name.starts_with("unused");
    choice(DRIVES.iter().map(String::as_str).filter(wanted).collect::<Vec<_>>())
}

fn image_format() -> Field {
    choice(&["raw", "qcow2", "vmdk"][..])
}

fn digest() -> (&'static str, Field) {
    ("digest", text().longest(40))
}

fn skiplock() -> (&'static str, Field) {
    ("skiplock", flag())
}

fn bwlimit() -> (&'static str, Field) {
    ("bwlimit", int().min(0))
}

fn timeout() -> (&'static str, Field) {
    ("timeout", int().min(0))
}

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    [machines(release), config(release), disks(), power(release), snapshots(), moving(release), consoles(release)]
        .into_iter()
        .flatten()
        .collect()
}

fn machines(release: Release) -> Vec<Endpoint> {
    let mut create = post("/nodes/{node}/qemu", Permission::Handler)
        .with(machine::options(release))
        .needs([("vmid", vmid())])
        .takes([
            ("archive", text().longest(255)),
            bwlimit(),
            ("force", flag().requires("archive")),
            ("import-working-storage", one(formats::storage_id)),
            ("live-restore", flag()),
            ("pool", one(formats::pool_id)),
            ("start", flag()),
            ("storage", one(formats::storage_id)),
            ("unique", flag().requires("archive")),
        ])
        .task();
    if release == Release::V9 {
        create = create.takes([("ha-managed", flag())]);
    }
    let clone = Permission::And(vec![
        all(VM, &["VM.Clone"]),
        Permission::Or(vec![
            all("/vms/{newid}", &["VM.Allocate"]),
            Permission::Check { path: "/pool/{pool}", privileges: &["VM.Allocate"], any: false, require_param: Some("pool") },
        ]),
    ]);
    vec![
        get("/nodes/{node}/qemu", Permission::Handler).takes([("full", flag())]).proxied(),
        create,
        get("/nodes/{node}/qemu/{vmid}", Permission::User).proxied(),
        delete("/nodes/{node}/qemu/{vmid}", all(VM, &["VM.Allocate"]))
            .takes([("destroy-unreferenced-disks", flag()), ("purge", flag()), skiplock()])
            .task(),
        post("/nodes/{node}/qemu/{vmid}/clone", clone)
            .needs([("newid", vmid())])
            .takes([
                bwlimit(),
                ("description", text()),
                ("format", image_format()),
                ("full", flag()),
                ("name", one(formats::dns_name)),
                ("pool", one(formats::pool_id)),
                ("snapname", one(formats::config_id).longest(40)),
                ("storage", one(formats::storage_id)),
                ("target", one(formats::node)),
            ])
            .task(),
        post("/nodes/{node}/qemu/{vmid}/template", all(VM, &["VM.Allocate"])).takes([("disk", drives(false))]).task(),
        get("/nodes/{node}/qemu/{vmid}/feature", all(VM, &["VM.Audit"]))
            .needs([("feature", choice(&["snapshot", "clone", "copy"][..]))])
            .takes([("snapname", one(formats::config_id).longest(40))])
            .proxied(),
    ]
}

fn config(release: Release) -> Vec<Endpoint> {
    let change = |endpoint: Endpoint| {
        endpoint
            .with(machine::options(release))
            .takes([
                ("delete", list(formats::config_id)),
                digest(),
                ("force", flag().requires("delete")),
                ("revert", list(formats::config_id)),
                skiplock(),
            ])
            .proxied()
    };
    vec![
        get("/nodes/{node}/qemu/{vmid}/config", all(VM, &["VM.Audit"]))
            .takes([("current", flag()), ("snapshot", one(formats::config_id).longest(40))])
            .proxied(),
        change(put("/nodes/{node}/qemu/{vmid}/config", any(VM, CONFIG))),
        change(post("/nodes/{node}/qemu/{vmid}/config", any(VM, CONFIG)))
            .takes([("background_delay", int().min(1).max(30)), ("import-working-storage", one(formats::storage_id))])
            .task(),
        get("/nodes/{node}/qemu/{vmid}/pending", all(VM, &["VM.Audit"])).proxied(),
        get("/nodes/{node}/qemu/{vmid}/cloudinit", all(VM, &["VM.Audit"])).proxied(),
        put("/nodes/{node}/qemu/{vmid}/cloudinit", all(VM, &["VM.Config.Cloudinit"])).proxied(),
        get("/nodes/{node}/qemu/{vmid}/cloudinit/dump", all(VM, &["VM.Audit"]))
            .needs([("type", choice(&["user", "network", "meta"][..]))])
            .proxied(),
    ]
}

fn disks() -> Vec<Endpoint> {
    vec![
        put("/nodes/{node}/qemu/{vmid}/resize", all(VM, &["VM.Config.Disk"]))
            .needs([("disk", drives(false)), ("size", text().pattern(r"\+?\d+(\.\d+)?[KMGT]?"))])
            .takes([digest(), skiplock()])
            .task(),
        post("/nodes/{node}/qemu/{vmid}/move_disk", all(VM, &["VM.Config.Disk"]))
            .needs([("disk", drives(true))])
            .takes([
                bwlimit(),
                ("delete", flag()),
                digest(),
                ("format", image_format()),
                ("storage", one(formats::storage_id)),
                ("target-digest", text().longest(40)),
                ("target-disk", drives(true)),
                ("target-vmid", vmid()),
            ])
            .task(),
        put("/nodes/{node}/qemu/{vmid}/unlink", all(VM, &["VM.Config.Disk"]))
            .needs([("idlist", list(formats::config_id))])
            .takes([("force", flag())])
            .proxied(),
    ]
}

fn power(release: Release) -> Vec<Endpoint> {
    let change = |path| post(path, all(VM, &["VM.PowerMgmt"])).task();
    let mut start = change("/nodes/{node}/qemu/{vmid}/status/start").takes([
        ("force-cpu", text()),
        ("machine", machine::machine(release)),
        ("migratedfrom", one(formats::node)),
        ("migration_network", one(formats::cidr)),
        ("migration_type", choice(&["secure", "insecure"][..])),
        ("nets-host-mtu", text().pattern(r"net\d+=\d+(,net\d+=\d+)*")),
        skiplock(),
        ("stateuri", text().longest(128)),
        ("targetstorage", list(formats::storage_pair)),
        timeout(),
    ]);
    if release == Release::V9 {
        start = start.takes([("with-conntrack-state", flag())]);
    }
    vec![
        get("/nodes/{node}/qemu/{vmid}/status", Permission::User).proxied(),
        get("/nodes/{node}/qemu/{vmid}/status/current", all(VM, &["VM.Audit"])).proxied(),
        start,
        change("/nodes/{node}/qemu/{vmid}/status/stop").takes([
            ("keepActive", flag()),
            ("migratedfrom", one(formats::node)),
            ("overrule-shutdown", flag()),
            skiplock(),
            timeout(),
        ]),
        change("/nodes/{node}/qemu/{vmid}/status/shutdown").takes([("forceStop", flag()), ("keepActive", flag()), skiplock(), timeout()]),
        change("/nodes/{node}/qemu/{vmid}/status/reboot").takes([timeout()]),
        change("/nodes/{node}/qemu/{vmid}/status/reset").takes([skiplock()]),
        change("/nodes/{node}/qemu/{vmid}/status/suspend").takes([
            skiplock(),
            ("statestorage", one(formats::storage_id).requires("todisk")),
            ("todisk", flag()),
        ]),
        change("/nodes/{node}/qemu/{vmid}/status/resume").takes([("nocheck", flag()), skiplock()]),
    ]
}

fn snapshots() -> Vec<Endpoint> {
    let take = || all(VM, &["VM.Snapshot"]);
    vec![
        get("/nodes/{node}/qemu/{vmid}/snapshot", all(VM, &["VM.Audit"])).proxied(),
        post("/nodes/{node}/qemu/{vmid}/snapshot", take())
            .needs([("snapname", one(formats::config_id).longest(40))])
            .takes([("description", text()), ("vmstate", flag())])
            .task(),
        get("/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", Permission::User),
        delete("/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", take()).takes([("force", flag())]).task(),
        get("/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", any(VM, &["VM.Snapshot", "VM.Snapshot.Rollback", "VM.Audit"]))
            .proxied(),
        put("/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", take()).takes([("description", text())]).proxied(),
        post("/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback", any(VM, &["VM.Snapshot", "VM.Snapshot.Rollback"]))
            .takes([("start", flag())])
            .task(),
    ]
}

fn moving(release: Release) -> Vec<Endpoint> {
    let mut migrate = post("/nodes/{node}/qemu/{vmid}/migrate", all(VM, &["VM.Migrate"]))
        .needs([("target", one(formats::node))])
        .takes([
            bwlimit(),
            ("force", flag()),
            ("migration_network", one(formats::cidr)),
            ("migration_type", choice(&["secure", "insecure"][..])),
            ("online", flag()),
            ("targetstorage", list(formats::storage_pair)),
            ("with-local-disks", flag()),
        ])
        .task();
    if release == Release::V9 {
        migrate = migrate.takes([("with-conntrack-state", flag())]);
    }
    vec![get("/nodes/{node}/qemu/{vmid}/migrate", all(VM, &["VM.Migrate"])).takes([("target", one(formats::node))]).proxied(), migrate]
}

fn consoles(release: Release) -> Vec<Endpoint> {
    let monitor = match release {
        Release::V8 => all(VM, &["VM.Monitor"]),
        Release::V9 => any(VM, &["Sys.Audit", "Sys.Modify"]),
    };
    let console = |path| Endpoint { returns_upid: true, ..post(path, all(VM, &["VM.Console"])) };
    vec![
        post("/nodes/{node}/qemu/{vmid}/monitor", monitor).needs([("command", text())]).proxied(),
        put("/nodes/{node}/qemu/{vmid}/sendkey", all(VM, &["VM.Console"])).needs([("key", text())]).takes([skiplock()]).proxied(),
        console("/nodes/{node}/qemu/{vmid}/termproxy").takes([("serial", choice(&["serial0", "serial1", "serial2", "serial3"][..]))]),
        console("/nodes/{node}/qemu/{vmid}/vncproxy").takes([("generate-password", flag()), ("websocket", flag())]),
        get("/nodes/{node}/qemu/{vmid}/rrddata", all(VM, &["VM.Audit"]))
            .needs([("timeframe", choice(super::TIMEFRAMES))])
            .takes([("cf", choice(&["AVERAGE", "MAX"][..]))]),
    ]
}
