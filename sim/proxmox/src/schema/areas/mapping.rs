//! `/cluster/mapping`: devices and folders of hosts under one name.

use std::sync::Arc;

use super::super::endpoint::{Permission, all, delete, get, post, put};
use super::super::field::{Field, array, flag, int, list, one, properties, text};
use super::super::property::Format;
use super::super::{Endpoint, formats};
use crate::Release;

/// Paths of one kind of mapping: of all, and of one; and where its access control lists are.
struct Kind {
    all: &'static str,
    one: &'static str,
    acl: &'static str,
    acl_one: &'static str,
}

const DIR: Kind = Kind { all: "/cluster/mapping/dir", one: "/cluster/mapping/dir/{id}", acl: "/mapping/dir", acl_one: "/mapping/dir/{id}" };
const PCI: Kind = Kind { all: "/cluster/mapping/pci", one: "/cluster/mapping/pci/{id}", acl: "/mapping/pci", acl_one: "/mapping/pci/{id}" };
const USB: Kind = Kind { all: "/cluster/mapping/usb", one: "/cluster/mapping/usb/{id}", acl: "/mapping/usb", acl_one: "/mapping/usb/{id}" };

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    let pci = [("live-migration-capable", flag()), ("mdev", flag())];
    let mut all = vec![get("/cluster/mapping", Permission::User)];
    all.extend(of(&DIR, &properties(&dir(release)), &[]));
    all.extend(of(&PCI, &properties(&device(release)), &pci));
    all.extend(of(&USB, &properties(&port(release)), &[]));
    all
}

fn of(kind: &Kind, entry: &Field, more: &[(&'static str, Field)]) -> Vec<Endpoint> {
    let modify = |path| all(path, &["Mapping.Modify"]);
    let map = || ("map", array(entry.clone()));
    let description = || ("description", text().longest(4096));
    let read: [&'static [&'static str]; 3] = [&["Mapping.Use"], &["Mapping.Modify"], &["Mapping.Audit"]];
    vec![
        get(kind.all, Permission::Handler).takes([("check-node", one(formats::node))]),
        post(kind.all, modify(kind.acl)).needs([("id", one(formats::config_id)), map()]).takes([description()]).takes(more.iter().cloned()),
        get(kind.one, Permission::Or(read.map(|privileges| all(kind.acl_one, privileges)).into())),
        put(kind.one, modify(kind.acl_one))
            .takes([("delete", list(formats::config_id).longest(4096)), description(), ("digest", text().longest(64)), map()])
            .takes(more.iter().cloned()),
        delete(kind.one, modify(kind.acl)),
    ]
}

fn dir(release: Release) -> Arc<Format> {
    Arc::new(Format::new(release, [("node", one(formats::node)), ("path", one(formats::mapped_path))]))
}

fn device(release: Release) -> Arc<Format> {
    let id = || text().pattern("(?:^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}$)");
    let path = concat!("(?:[a-f0-9]{4,}:[a-f0-9]{2}:[a-f0-9]{2}(?:.[a-f0-9])?;)*", "[a-f0-9]{4,}:[a-f0-9]{2}:[a-f0-9]{2}(?:.[a-f0-9])?",);
    let fields = [
        ("description", text().longest(4096).optional()),
        ("id", id()),
        ("iommugroup", int().optional()),
        ("node", one(formats::node)),
        ("path", text().pattern(path)),
        ("subsystem-id", id().optional()),
    ];
    Arc::new(Format::new(release, fields))
}

fn port(release: Release) -> Arc<Format> {
    let fields = [
        ("description", text().longest(4096).optional()),
        ("id", text().pattern("(?:^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}$)")),
        ("node", one(formats::node)),
        ("path", text().pattern(r"(?:^(\d+)-(\d+(\.\d+)*)$)").optional()),
    ];
    Arc::new(Format::new(release, fields))
}
