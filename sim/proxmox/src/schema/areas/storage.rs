//! `/nodes/{node}/storage`: what is on the storages of a host.

use super::super::endpoint::{Permission, all, any, delete, get, post, put, vmid};
use super::super::field::{Field, choice, flag, int, list, one, properties, text};
use super::super::{Endpoint, formats};
use super::nodes::network_access;
use crate::Release;

const STORAGE: &str = "/storage/{storage}";

fn see() -> Permission {
    any(STORAGE, &["Datastore.Audit", "Datastore.AllocateSpace"])
}

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    [storages(), content(), files(release), backups(release)].into_iter().flatten().collect()
}

fn storages() -> Vec<Endpoint> {
    let timeframe = || ("timeframe", choice(super::TIMEFRAMES));
    let function = || [("cf", choice(&["AVERAGE", "MAX"][..]))];
    vec![
        get("/nodes/{node}/storage", Permission::Handler)
            .takes([
                ("content", list(formats::storage_content)),
                ("enabled", flag()),
                ("format", flag()),
                ("storage", one(formats::storage_id)),
                ("target", one(formats::node)),
            ])
            .proxied(),
        get("/nodes/{node}/storage/{storage}", see()),
        get("/nodes/{node}/storage/{storage}/status", see()).proxied(),
        get("/nodes/{node}/storage/{storage}/rrd", see())
            .needs([("ds", list(formats::config_id)), timeframe()])
            .takes(function())
            .proxied(),
        get("/nodes/{node}/storage/{storage}/rrddata", see()).needs([timeframe()]).takes(function()).proxied(),
    ]
}

fn content() -> Vec<Endpoint> {
    // The name of a volume can have its storage in it, so the other one need not be there.
    let storage = || [("storage", one(formats::storage_id))];
    vec![
        get("/nodes/{node}/storage/{storage}/content", see())
            .takes([("content", one(formats::storage_content)), ("vmid", vmid())])
            .proxied(),
        post("/nodes/{node}/storage/{storage}/content", all(STORAGE, &["Datastore.AllocateSpace"]))
            .needs([("filename", text()), ("size", text().pattern(r"\d+[MG]?")), ("vmid", vmid())])
            .takes([("format", choice(&["raw", "qcow2", "subvol", "vmdk"][..]).requires("size"))])
            .proxied(),
        get("/nodes/{node}/storage/{storage}/content/{volume}", Permission::Handler).takes(storage()).proxied(),
        post("/nodes/{node}/storage/{storage}/content/{volume}", Permission::Root)
            .takes(storage())
            .needs([("target", text())])
            .takes([("target_node", one(formats::node))])
            .task(),
        put("/nodes/{node}/storage/{storage}/content/{volume}", Permission::Handler)
            .takes(storage())
            .takes([("notes", text()), ("protected", flag())])
            .proxied(),
        delete("/nodes/{node}/storage/{storage}/content/{volume}", Permission::Handler)
            .takes(storage())
            .takes([("delay", int().min(1).max(30))])
            .task(),
    ]
}

fn checksum() -> [(&'static str, Field); 2] {
    let algorithms: &[&str] = &["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
    [("checksum", text().requires("checksum-algorithm")), ("checksum-algorithm", choice(algorithms).requires("checksum"))]
}

fn file() -> [(&'static str, Field); 2] {
    let kinds: &[&str] = &["iso", "vztmpl", "import"];
    [("content", one(formats::storage_content).choices(kinds)), ("filename", text().longest(255))]
}

fn files(release: Release) -> Vec<Endpoint> {
    let template = || all(STORAGE, &["Datastore.AllocateTemplate"]);
    let upload = post("/nodes/{node}/storage/{storage}/upload", template())
        .needs(file())
        .takes(checksum())
        .takes([("tmpfilename", text().pattern("/var/tmp/pveupload-[0-9a-f]+"))]);
    let volume = || [("volume", text())];
    let mut all = vec![
        // The host that is asked takes the file and passes it on itself.
        Endpoint { upload: true, returns_upid: true, ..upload },
        post("/nodes/{node}/storage/{storage}/download-url", Permission::And(vec![template(), network_access()]))
            .needs(file())
            .needs([("url", text().pattern("https?://.*"))])
            .takes(checksum())
            // Any text passes: the enumeration is undefined in what Proxmox ships.
            .takes([("compression", text()), ("verify-certificates", flag())])
            .task(),
        get("/nodes/{node}/storage/{storage}/import-metadata", Permission::Handler).needs(volume()).proxied(),
        get("/nodes/{node}/storage/{storage}/file-restore/list", Permission::Handler)
            .needs(volume())
            .needs([("filepath", text())])
            .proxied(),
        get("/nodes/{node}/storage/{storage}/file-restore/download", Permission::Handler)
            .needs(volume())
            .needs([("filepath", text())])
            .takes([("tar", flag())])
            .proxied(),
    ];
    if release == Release::V9 {
        let reference = concat!(
            r"^(?:(?:[a-zA-Z\d]|[a-zA-Z\d][a-zA-Z\d-]*[a-zA-Z\d])",
            r"(?:\.(?:[a-zA-Z\d]|[a-zA-Z\d][a-zA-Z\d-]*[a-zA-Z\d]))*(?::\d+)?/)?",
            r"[a-z\d]+(?:(?:[._]|__|[-]*)[a-z\d]+)*(?:/[a-z\d]+(?:(?:[._]|__|[-]*)[a-z\d]+)*)*:\w[\w.-]{0,127}$",
        );
        let network = self::all("/nodes/{node}", &["Sys.AccessNetwork"]);
        all.push(
            post("/nodes/{node}/storage/{storage}/oci-registry-pull", Permission::And(vec![template(), network]))
                .needs([("reference", text().pattern(reference))])
                .takes([("filename", text().shortest(1).longest(255))])
                .task(),
        );
    }
    all
}

fn backups(release: Release) -> Vec<Endpoint> {
    let which = || [("prune-backups", properties(&super::prune(release))), ("type", choice(&["qemu", "lxc"][..])), ("vmid", vmid())];
    vec![
        get("/nodes/{node}/storage/{storage}/prunebackups", see()).takes(which()).proxied(),
        delete("/nodes/{node}/storage/{storage}/prunebackups", Permission::Handler).takes(which()).task(),
    ]
}
