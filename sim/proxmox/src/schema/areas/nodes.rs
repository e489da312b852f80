//! `/nodes`: the hosts.

use std::sync::Arc;

use super::super::endpoint::{Permission, all, any, get, post, put};
use super::super::field::{Field, choice, flag, int, list, one, properties, text};
use super::super::property::Format;
use super::super::{Endpoint, formats};
use crate::Release;

const NODE: &str = "/nodes/{node}";

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    [state(release), settings(release), hardware(), guests(release), capabilities(release)].into_iter().flatten().collect()
}

fn audit() -> Permission {
    all(NODE, &["Sys.Audit"])
}

fn modify() -> Permission {
    all(NODE, &["Sys.Modify"])
}

/// Who may let a host ask for something out there.
pub(super) fn network_access() -> Permission {
    Permission::Or(vec![all("/", &["Sys.Audit", "Sys.Modify"]), all(NODE, &["Sys.AccessNetwork"])])
}

fn state(release: Release) -> Vec<Endpoint> {
    let timeframes = super::TIMEFRAMES.iter().copied().chain((release == Release::V9).then_some("decade"));
    let mut all = vec![
        get("/nodes", Permission::User),
        get("/nodes/{node}", Permission::User),
        get("/nodes/{node}/status", audit()).proxied(),
        post("/nodes/{node}/status", all(NODE, &["Sys.PowerMgmt"])).needs([("command", choice(&["reboot", "shutdown"][..]))]).proxied(),
        get("/nodes/{node}/version", Permission::User).proxied(),
        post("/nodes/{node}/execute", Permission::Root).needs([("commands", text())]).proxied(),
        get("/nodes/{node}/report", audit()).proxied(),
        get("/nodes/{node}/rrddata", audit())
            .needs([("timeframe", choice(timeframes.collect::<Vec<_>>()))])
            .takes([("cf", choice(&["AVERAGE", "MAX"][..]))]),
        get("/nodes/{node}/services", audit()).proxied(),
        get("/nodes/{node}/certificates/info", Permission::User).proxied(),
        get("/nodes/{node}/disks", Permission::User).proxied(),
        get("/nodes/{node}/disks/list", Permission::Or(vec![all("/", &["Sys.Audit"]), audit()]))
            .takes([("include-partitions", flag()), ("skipsmart", flag()), ("type", choice(&["unused", "journal_disks"][..]))])
            .proxied(),
        get("/nodes/{node}/query-url-metadata", network_access())
            .needs([("url", text().pattern("https?://.*"))])
            .takes([("verify-certificates", flag())])
            .proxied(),
        get("/nodes/{node}/aplinfo", Permission::User).proxied(),
        post("/nodes/{node}/aplinfo", all("/storage/{storage}", &["Datastore.AllocateTemplate"]))
            .needs([("storage", one(formats::storage_id)), ("template", text().longest(255))])
            .task(),
    ];
    if release == Release::V9 {
        let reference = concat!(
            r"^(?:(?:[a-zA-Z\d]|[a-zA-Z\d][a-zA-Z\d-]*[a-zA-Z\d])",
            r"(?:\.(?:[a-zA-Z\d]|[a-zA-Z\d][a-zA-Z\d-]*[a-zA-Z\d]))*(?::\d+)?/)?",
            r"[a-z\d]+(?:(?:[._]|__|[-]*)[a-z\d]+)*(?:/[a-z\d]+(?:(?:[._]|__|[-]*)[a-z\d]+)*)*$",
        );
        all.push(
            get("/nodes/{node}/query-oci-repo-tags", self::all(NODE, &["Sys.AccessNetwork"]))
                .needs([("reference", text().pattern(reference))])
                .proxied(),
        );
    }
    all
}

fn settings(release: Release) -> Vec<Endpoint> {
    vec![
        get("/nodes/{node}/time", audit()).proxied(),
        put("/nodes/{node}/time", modify()).needs([("timezone", text())]).proxied(),
        get("/nodes/{node}/dns", audit()).proxied(),
        put("/nodes/{node}/dns", modify())
            .needs([("search", text())])
            .takes(["dns1", "dns2", "dns3"].map(|name| (name, one(formats::ip))))
            .proxied(),
        get("/nodes/{node}/hosts", all("/", &["Sys.Audit"])).proxied(),
        post("/nodes/{node}/hosts", modify()).needs([("data", text())]).takes([("digest", text().longest(64))]).proxied(),
        get("/nodes/{node}/config", all("/", &["Sys.Audit"])).takes([("property", property())]).proxied(),
        put("/nodes/{node}/config", all("/", &["Sys.Modify"]))
            .takes([
                ("acme", acme(release)),
                ("ballooning-target", int().min(0).max(100)),
                ("delete", list(formats::config_id)),
                ("description", text().longest(65536)),
                ("digest", text().longest(40)),
                ("startall-onboot-delay", int().min(0).max(300)),
                ("wakeonlan", wake_on_lan(release)),
            ])
            .takes(DOMAINS.map(|name| (name, domain(release))))
            .proxied(),
    ]
}

const DOMAINS: [&str; 6] = ["acmedomain0", "acmedomain1", "acmedomain2", "acmedomain3", "acmedomain4", "acmedomain5"];

fn property() -> Field {
    let others = ["ballooning-target", "description", "startall-onboot-delay", "wakeonlan"];
    choice(["acme"].into_iter().chain(DOMAINS).chain(others).collect::<Vec<_>>())
}

fn acme(release: Release) -> Field {
    let fields = [("account", one(formats::config_id).optional()), ("domains", list(formats::acme_domain).optional())];
    properties(&Arc::new(Format::new(release, fields)))
}

fn domain(release: Release) -> Field {
    let fields = [
        ("alias", one(formats::acme_alias).optional()),
        ("domain", one(formats::acme_domain).default_key()),
        ("plugin", one(formats::config_id).optional()),
    ];
    properties(&Arc::new(Format::new(release, fields)))
}

fn wake_on_lan(release: Release) -> Field {
    let fields = [
        ("bind-interface", one(formats::interface).optional()),
        ("broadcast-address", one(formats::ipv4).optional()),
        ("mac", one(formats::mac).default_key()),
    ];
    properties(&Arc::new(Format::new(release, fields)))
}

fn hardware() -> Vec<Endpoint> {
    let see = || any("/", &["Sys.Audit", "Sys.Modify"]);
    let device = || {
        let pattern = concat!(r"(?:(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])", "|([a-zA-Z][a-zA-Z0-9_-]+)",);
        [("pci-id-or-mapping", text().pattern(pattern))]
    };
    vec![
        get("/nodes/{node}/hardware", Permission::User),
        get("/nodes/{node}/hardware/pci", see()).takes([("pci-class-blacklist", list(formats::any)), ("verbose", flag())]).proxied(),
        get("/nodes/{node}/hardware/pci/{pci-id-or-mapping}", Permission::User).needs(device()),
        get("/nodes/{node}/hardware/pci/{pci-id-or-mapping}/mdev", see()).needs(device()).proxied(),
        get("/nodes/{node}/hardware/usb", all("/", &["Sys.Modify"])).proxied(),
    ]
}

/// What concerns all guests of a host, and the list of containers.
fn guests(release: Release) -> Vec<Endpoint> {
    let vms = || ("vms", list(formats::vmid));
    let workers = |endpoint: Endpoint| match release {
        Release::V8 => endpoint,
        Release::V9 => endpoint.takes([("max-workers", int().min(1).max(64))]),
    };
    let old_workers = match release {
        Release::V8 => int().min(1),
        Release::V9 => int().min(1).max(64),
    };
    vec![
        get("/nodes/{node}/lxc", Permission::Handler).proxied(),
        workers(post("/nodes/{node}/startall", Permission::Handler).takes([("force", flag()), vms()]).task()),
        workers(
            post("/nodes/{node}/stopall", Permission::Handler)
                .takes([("force-stop", flag()), ("timeout", int().min(0).max(7200)), vms()])
                .task(),
        ),
        workers(post("/nodes/{node}/suspendall", Permission::Handler).takes([vms()]).task()),
        workers(
            post("/nodes/{node}/migrateall", Permission::Handler)
                .needs([("target", one(formats::node))])
                .takes([("maxworkers", old_workers), vms(), ("with-local-disks", flag())])
                .task(),
        ),
    ]
}

fn capabilities(release: Release) -> Vec<Endpoint> {
    let arch = || [("arch", choice(&["x86_64", "aarch64"][..]))];
    let index = |path| match release {
        Release::V8 => get(path, Permission::User),
        Release::V9 => get(path, Permission::User).proxied(),
    };
    let with_arch = |endpoint: Endpoint| match release {
        Release::V8 => endpoint,
        Release::V9 => endpoint.takes(arch()),
    };
    let mut all = vec![
        index("/nodes/{node}/capabilities"),
        index("/nodes/{node}/capabilities/qemu"),
        with_arch(get("/nodes/{node}/capabilities/qemu/cpu", Permission::Handler)),
        with_arch(get("/nodes/{node}/capabilities/qemu/machines", Permission::User).proxied()),
    ];
    if release == Release::V9 {
        all.extend([
            get("/nodes/{node}/capabilities/qemu/cpu-flags", Permission::User).takes(arch()),
            get("/nodes/{node}/capabilities/qemu/migration", audit()).proxied(),
        ]);
    }
    all
}
