//! Whether storages are there, may hold what they are to hold, and have room for it.

use std::collections::BTreeMap;

use emhost_sdk::Diagnostic;

use super::machines::{Base, Planned};
use super::survey::Survey;

const GIB: u64 = 1 << 30;
/// Room for an image and what it becomes.
const IMAGE_GIB: u64 = 3;

/// One thing that a storage of a host is to do.
type Uses<'a> = BTreeMap<(&'a str, &'a str), Vec<&'static str>>;

/// Everything that is wrong with storages.
pub fn judge(planned: &[Planned], survey: &Survey) -> Vec<Diagnostic> {
    let missing: Vec<&Planned> = planned.iter().filter(|one| !one.made).collect();
    let mut uses: Uses<'_> = BTreeMap::new();
    for one in &missing {
        let host = one.wanted.host.as_str();
        for disk in &one.wanted.disks {
            used(&mut uses, host, &disk.storage, "images");
        }
        match one.base {
            Base::Image => used(&mut uses, host, &one.wanted.images, "import"),
            Base::Installer => used(&mut uses, host, &one.wanted.images, "iso"),
            Base::Template(_) | Base::Unknown => {}
        }
    }
    let mut found: Vec<Diagnostic> = Vec::new();
    for ((host, name), contents) in &uses {
        if survey.storages.contains_key(*host) {
            found.extend(one(host, name, contents, survey));
        }
    }
    found.extend(space(&missing, survey));
    if found.is_empty() && !uses.is_empty() {
        let names: std::collections::BTreeSet<&str> = uses.keys().map(|(_, name)| *name).collect();
        found
            .push(Diagnostic::note("proxmox/storage", format!("storages are ready: {}", names.into_iter().collect::<Vec<_>>().join(", "))));
    }
    found
}

fn used<'a>(uses: &mut Uses<'a>, host: &'a str, storage: &'a str, content: &'static str) {
    let contents = uses.entry((host, storage)).or_default();
    if !contents.contains(&content) {
        contents.push(content);
    }
}

fn one(host: &str, name: &str, contents: &[&'static str], survey: &Survey) -> Vec<Diagnostic> {
    let Some(storage) = survey.storage(host, name) else {
        let have: Vec<&str> = survey.storages.get(host).into_iter().flatten().map(|storage| storage.storage.as_str()).collect();
        let have = if have.is_empty() { "none that the credential may see".to_owned() } else { have.join(", ") };
        let summary = format!("{host} has no storage `{name}`, or the credential may not see it; it has {have}");
        let help = "correct `datastore` or `iso_datastore` in the inventory (`pvesm status` lists storages), or give the right Datastore.Audit on it";
        return vec![Diagnostic::error("proxmox/storage", summary).help(help)];
    };
    if !storage.enabled || !storage.active {
        let how = if storage.enabled { "is not active" } else { "is disabled" };
        let help = format!("see why on {host} (`pvesm status`), or name another storage in the inventory");
        return vec![Diagnostic::error("proxmox/storage", format!("storage `{name}` {how} on {host}")).help(help)];
    }
    let lacks = contents.iter().filter(|content| !storage.holds(content));
    lacks.map(|content| content_missing(host, name, &storage.content, content)).collect()
}

fn content_missing(host: &str, name: &str, has: &str, content: &str) -> Diagnostic {
    let what = match content {
        "import" => "images to import",
        "iso" => "ISO images",
        _ => "disks of machines",
    };
    let summary = format!("storage `{name}` on {host} may not hold {what} (content `{content}`); it may hold {has}");
    let mut all: Vec<&str> = has.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    all.push(content);
    let help = format!("allow it with `pvesm set {name} --content {}`, or name another storage in cluster.yaml", all.join(","));
    Diagnostic::error("proxmox/content", summary).help(help)
}

/// Whether what would be allocated fits into what is free. Storages that all hosts share are counted once.
fn space(missing: &[&Planned], survey: &Survey) -> Vec<Diagnostic> {
    let mut wanted: BTreeMap<(String, String), u64> = BTreeMap::new();
    for one in missing {
        let host = &one.wanted.host;
        let mut add = |storage: &str, gib: u64| {
            let shared = survey.storage(host, storage).is_some_and(|storage| storage.shared);
            let at = if shared { String::new() } else { host.clone() };
            *wanted.entry((storage.to_owned(), at)).or_default() += gib;
        };
        for disk in &one.wanted.disks {
            add(&disk.storage, disk.gib.into());
        }
    }
    // An image is there once for all machines of a host.
    let mut images: Vec<(&str, &str)> = missing
        .iter()
        .filter(|one| matches!(one.base, Base::Image | Base::Installer))
        .map(|one| (one.wanted.images.as_str(), one.wanted.host.as_str()))
        .collect();
    images.sort_unstable();
    images.dedup();
    for (storage, host) in images {
        *wanted.entry((storage.to_owned(), host.to_owned())).or_default() += IMAGE_GIB;
    }
    let mut found = Vec::new();
    for ((name, host), gib) in wanted {
        let seen = if host.is_empty() {
            survey.storages.keys().find_map(|host| survey.storage(host, &name))
        } else {
            survey.storage(&host, &name)
        };
        let Some((storage, free)) = seen.and_then(|storage| Some((storage, storage.avail?))) else { continue };
        if free / GIB >= gib {
            continue;
        }
        let at = if host.is_empty() { String::new() } else { format!(" on {host}") };
        let summary = format!("storage `{name}`{at} has {} GiB free, and {gib} GiB would be allocated", free / GIB);
        let help = "make room, make disks smaller, or name another storage in the inventory";
        // A thin disk takes what is written to it, so it fits at first; a storage that is full stops every machine on it.
        found.push(if storage.is_thin() && free / GIB > IMAGE_GIB {
            Diagnostic::warning("proxmox/space", summary)
                .detail("disks here take room as they fill; when there is none left, machines stop")
                .help(help)
        } else {
            Diagnostic::error("proxmox/space", summary).help(help)
        });
    }
    found
}
