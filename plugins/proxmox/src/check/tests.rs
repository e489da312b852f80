//! What is found, on sites that lack one thing.

use std::collections::BTreeSet;

use emhost_sdk::types::Severity;

use super::machines::{Base, Planned};
use super::rights::needs;
use super::survey::Survey;
use super::*;
use crate::api::answers::Listed;
use crate::api::site::{Host, Storage, Version};
use crate::machine::Wanted;
use crate::machine::samples::wanted;

const GIB: u64 = 1 << 30;

fn planned() -> Planned {
    Planned { wanted: wanted(), base: Base::Image, made: false }
}

fn storage(name: &str, kind: &str, content: &str) -> Storage {
    Storage {
        storage: name.to_owned(),
        kind: kind.to_owned(),
        content: content.to_owned(),
        active: true,
        enabled: true,
        shared: false,
        avail: Some(500 * GIB),
    }
}

/// A site with everything that these machines need.
fn good(planned: &[Planned]) -> Survey {
    let host = Host { node: "pve1".to_owned(), status: "online".to_owned(), maxcpu: Some(16), maxmem: Some(64 * GIB), mem: Some(4 * GIB) };
    let storages = vec![storage("local", "dir", "iso,import,backup"), storage("local-lvm", "lvmthin", "images,rootdir")];
    let mut survey = Survey { version: Version { version: "9.0.3".to_owned() }, hosts: vec![host], ..Survey::default() };
    survey.storages.insert("pve1".to_owned(), storages);
    survey.bridges.insert("pve1".to_owned(), vec!["vmbr0".to_owned()]);
    for need in needs(planned, &survey) {
        for path in need.asked {
            survey.rights.entry(path).or_default().extend(need.privileges.iter().map(|privilege| (*privilege).to_owned()));
        }
    }
    survey
}

/// Everything but notes, as `severity code: summary`.
fn found(planned: &[Planned], survey: &Survey) -> Vec<String> {
    let told = judge(planned, survey).into_iter().filter(|one| one.severity != Severity::Note);
    told.map(|one| {
        assert!(one.help.is_some(), "{} has no fix", one.summary);
        let word = if one.severity == Severity::Error { "error" } else { "warning" };
        format!("{word} {}: {}", one.code, one.summary)
    })
    .collect()
}

#[track_caller]
fn finds(planned: &[Planned], survey: &Survey, what: &str) {
    let found = found(planned, survey);
    assert_eq!(found, [what], "{found:#?}");
}

#[test]
fn a_good_site_has_only_notes() {
    let planned = [planned()];
    assert_eq!(found(&planned, &good(&planned)), Vec::<String>::new());
    let notes: Vec<String> = judge(&planned, &good(&planned)).into_iter().map(|note| note.summary).collect();
    assert_eq!(
        notes,
        [
            "Proxmox VE 9.0.3",
            "the credential of slot `pve` has every right that a plan needs",
            "storages are ready: local, local-lvm",
            "hosts are online and have room: pve1"
        ]
    );
}

#[test]
fn every_right_that_is_needed_is_missed() {
    let vlan = crate::machine::wanted::Card { vlan: Some(30), ..wanted().cards.remove(0) };
    let pool = Wanted { pool: Some("dev".to_owned()), cards: vec![vlan], agent: true, ..wanted() };
    let cases = [
        planned(),
        Planned { wanted: pool, base: Base::Installer, ..planned() },
        Planned { base: Base::Template("base".to_owned()), ..planned() },
    ];
    let mut seen = 0;
    for case in cases {
        let case = [case];
        let mut whole = good(&case);
        whole.pools.insert("dev".to_owned(), Some(true));
        whole.machines.push(Listed {
            kind: "qemu".to_owned(),
            vmid: 9000,
            node: "pve1".to_owned(),
            name: Some("base".to_owned()),
            template: true,
            ..Listed::default()
        });
        whole.rights = good_rights(&case, &whole);
        assert_eq!(found(&case, &whole), Vec::<String>::new());
        for need in needs(&case, &whole) {
            for privilege in &need.privileges {
                let mut without = whole.clone();
                for path in &need.asked {
                    without.rights.get_mut(path).expect("asked").remove(*privilege);
                }
                let told = judge(&case, &without).into_iter().find(|one| one.code == "proxmox/right" && one.severity != Severity::Note);
                let told = told.unwrap_or_else(|| panic!("{privilege} on {:?} is not missed", need.asked));
                assert!(told.summary.contains(privilege) && told.summary.ends_with(&need.given), "{}", told.summary);
                let help = told.help.unwrap_or_default();
                assert!(help.contains(&format!("pveum acl modify {} --roles {}", need.given, need.role.name())), "{help}");
                assert!(help.contains(privilege), "{help}");
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} rights were tried");
}

fn good_rights(planned: &[Planned], survey: &Survey) -> std::collections::BTreeMap<String, BTreeSet<String>> {
    let mut rights = std::collections::BTreeMap::<String, BTreeSet<String>>::new();
    for need in needs(planned, survey) {
        for path in need.asked {
            rights.entry(path).or_default().extend(need.privileges.iter().map(|privilege| (*privilege).to_owned()));
        }
    }
    rights
}

#[test]
fn what_the_roles_give_is_all_that_is_needed_without_an_agent() {
    let case = Planned { base: Base::Installer, ..planned() };
    for need in needs(&[case, planned()], &Survey::default()) {
        for privilege in need.privileges {
            assert!(need.role.privileges().contains(&privilege), "{} does not have {privilege}", need.role.name());
        }
    }
}

#[test]
fn storages_that_cannot_do_what_they_are_to_do() {
    let planned = [planned()];
    let with = |change: &dyn Fn(&mut Vec<Storage>)| {
        let mut survey = good(&planned);
        change(survey.storages.get_mut("pve1").expect("its storages"));
        survey
    };
    finds(
        &planned,
        &with(&|all| all[0].content = "iso,backup".to_owned()),
        "error proxmox/content: storage `local` on pve1 may not hold images to import (content `import`); it may hold iso,backup",
    );
    let help = judge(&planned, &with(&|all| all[0].content = "iso,backup".to_owned())).into_iter().find_map(|one| one.help);
    assert!(help.is_some_and(|help| help.starts_with("allow it with `pvesm set local --content iso,backup,import`")));
    finds(
        &planned,
        &with(&|all| drop(all.remove(1))),
        "error proxmox/storage: pve1 has no storage `local-lvm`, or the credential may not see it; it has local",
    );
    finds(&planned, &with(&|all| all[1].active = false), "error proxmox/storage: storage `local-lvm` is not active on pve1");
    finds(&planned, &with(&|all| all[1].enabled = false), "error proxmox/storage: storage `local-lvm` is disabled on pve1");
    let scarce = |kind: &'static str| with(&move |all| (all[1].avail, all[1].kind) = (Some(30 * GIB), kind.to_owned()));
    let summary = "proxmox/space: storage `local-lvm` on pve1 has 30 GiB free, and 40 GiB would be allocated";
    finds(&planned, &scarce("lvmthin"), &format!("warning {summary}"));
    finds(&planned, &scarce("lvm"), &format!("error {summary}"));
    // Of machines that are there, nothing more is allocated.
    let made = [Planned { made: true, ..planned[0].clone() }];
    assert_eq!(found(&made, &scarce("lvm")), Vec::<String>::new());
}

#[test]
fn a_storage_that_hosts_share_is_counted_once() {
    let at = |host: &str| Planned { wanted: Wanted { host: host.to_owned(), ..wanted() }, ..planned() };
    let planned = [at("pve1"), at("pve2")];
    let mut survey = good(&planned);
    let mut shared = survey.storages["pve1"].clone();
    (shared[1].shared, shared[1].avail) = (true, Some(60 * GIB));
    survey.storages = [("pve1".to_owned(), shared.clone()), ("pve2".to_owned(), shared)].into();
    survey.bridges.insert("pve2".to_owned(), vec!["vmbr0".to_owned()]);
    survey.hosts.push(Host { node: "pve2".to_owned(), ..survey.hosts[0].clone() });
    finds(&planned, &survey, "warning proxmox/space: storage `local-lvm` has 60 GiB free, and 80 GiB would be allocated");
}

#[test]
fn hosts_without_room() {
    let planned = [planned()];
    let with = |change: &dyn Fn(&mut Survey)| {
        let mut survey = good(&planned);
        change(&mut survey);
        survey
    };
    finds(&planned, &with(&|survey| survey.hosts[0].status = "offline".to_owned()), "error proxmox/host: host pve1 is offline");
    finds(
        &planned,
        &with(&|survey| survey.hosts[0].node = "pve9".to_owned()),
        "error proxmox/host: there is no host `pve1`; there are pve9",
    );
    finds(
        &planned,
        &with(&|survey| survey.hosts[0].maxcpu = Some(2)),
        "error proxmox/cores: dev-cp-1 is to have 4 cores, and pve1 has 2: Proxmox does not start such a machine",
    );
    finds(
        &planned,
        &with(&|survey| survey.hosts[0].mem = Some(60 * GIB)),
        "warning proxmox/memory: pve1 has 4096 MiB of memory left, and 8192 MiB are to be given to new machines",
    );
    finds(
        &planned,
        &with(&|survey| survey.hosts[0].maxmem = Some(4 * GIB)),
        "error proxmox/memory: the machines on pve1 are to have 8192 MiB of memory together, and it has 4096 MiB",
    );
    finds(
        &planned,
        &with(&|survey| drop(survey.bridges.insert("pve1".to_owned(), vec!["vmbr1".to_owned()]))),
        "error proxmox/bridge: pve1 has no bridge `vmbr0`; it has vmbr1",
    );
    // Who may not see what a host has is not told wrong things about it.
    let blind = with(&|survey| (survey.hosts[0].maxcpu, survey.hosts[0].maxmem) = (None, None));
    assert_eq!(found(&planned, &blind), Vec::<String>::new());
}

#[test]
fn numbers_templates_and_pools() {
    let narrow = |turn| Planned { wanted: Wanted { numbers: (300, 301), turn, ..wanted() }, ..planned() };
    let three = [narrow(0), narrow(1), narrow(2)];
    finds(&three, &good(&three), "error proxmox/numbers: of the numbers 300 to 301, 2 are free, and 3 machines are to get one");
    let fixed = [Planned { wanted: Wanted { number: Some(500), ..wanted() }, ..planned() }];
    let mut taken = good(&fixed);
    taken.machines.push(Listed {
        kind: "qemu".to_owned(),
        vmid: 500,
        node: "pve1".to_owned(),
        name: Some("db".to_owned()),
        ..Listed::default()
    });
    finds(&fixed, &taken, "error proxmox/number: dev-cp-1 is to be VM 500, and somebody else has that number: VM 500 (db) on pve1");
    let clone = [Planned { base: Base::Template("talos-v1.11.5-base".to_owned()), ..planned() }];
    finds(&clone, &good(&clone), "error proxmox/template: there is no template `talos-v1.11.5-base` for dev-cp-1");
    let pooled = [Planned { wanted: Wanted { pool: Some("dev".to_owned()), ..wanted() }, ..planned() }];
    let mut poolless = good(&pooled);
    poolless.pools.insert("dev".to_owned(), Some(false));
    finds(&pooled, &poolless, "error proxmox/pool: there is no pool `dev`");
}

#[test]
fn releases() {
    let planned = [planned()];
    let on = |version: &str| Survey { version: Version { version: version.to_owned() }, ..good(&planned) };
    finds(&planned, &on("8.3.1"), "error proxmox/release: Proxmox VE 8.3.1 cannot import disk images: that came with 8.4");
    finds(&planned, &on("10.0.1"), "warning proxmox/release: Proxmox VE 10.0.1 is newer than what emhost knows (8.4 and 9)");
    assert_eq!(found(&planned, &on("8.4.1")), Vec::<String>::new());
}
