//! The rights that every call of a plan needs, and which of them are missing.

use std::collections::BTreeMap;

use emhost_sdk::Diagnostic;

use super::machines::{Base, Planned};
use super::roles::Role;
use super::survey::Survey;
use crate::create::named;

/// Rights that are needed, and where it is enough to have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The paths to ask about; having a privilege on one of them is enough.
    pub asked: Vec<String>,
    /// Where to give the role.
    pub given: String,
    /// The role that has the privileges.
    pub role: Role,
    /// The privileges.
    pub privileges: Vec<&'static str>,
    /// What they are for.
    pub why: String,
    /// Whether things work without them, only not as well.
    pub optional: bool,
}

/// What machines always need.
const MACHINE: [&str; 10] = [
    "VM.Allocate",
    "VM.Audit",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.PowerMgmt",
];

/// Everything that the machines need. The survey tells the templates' numbers and the release.
pub fn needs(planned: &[Planned], survey: &Survey) -> Vec<Need> {
    let mut all: Vec<Need> = Vec::new();
    for one in planned {
        let wanted = &one.wanted;
        let number = wanted.number.unwrap_or(wanted.numbers.0);
        let (given, mut asked) = match &wanted.pool {
            // A machine that is made in a pool has the pool's rights from then on.
            Some(pool) => (format!("/pool/{pool}"), vec![format!("/pool/{pool}")]),
            None => ("/vms".to_owned(), Vec::new()),
        };
        asked.push(format!("/vms/{number}"));
        let mut privileges = MACHINE.to_vec();
        // Whether Proxmox hands over the address: on static sites, with images and templates.
        if wanted.cards.iter().any(|card| card.gateway.is_some()) && !matches!(one.base, Base::Installer) {
            privileges.push("VM.Config.Cloudinit");
        }
        let machine = |privileges: Vec<&'static str>, why: &str, optional: bool| Need {
            asked: asked.clone(),
            given: given.clone(),
            role: Role::Machines,
            privileges,
            why: why.to_owned(),
            optional,
        };
        all.push(machine(privileges, "making, changing, starting and removing machines", false));
        if wanted.agent {
            let agent = if survey.version.release() < (9, 0) { "VM.Monitor" } else { "VM.GuestAgent.Audit" };
            all.push(machine(vec![agent], "reading addresses from the guest agent", true));
        }
        for disk in &wanted.disks {
            let path = format!("/storage/{}", disk.storage);
            all.push(on(path, Role::Disks, &["Datastore.AllocateSpace"], format!("disks on storage {}", disk.storage)));
        }
        let images = format!("/storage/{}", wanted.images);
        match &one.base {
            Base::Image | Base::Installer => {
                let why = format!("downloading images to storage {}", wanted.images);
                all.push(on(images.clone(), Role::Images, &["Datastore.AllocateTemplate", "Datastore.Audit"], why));
                let path = format!("/nodes/{}", wanted.host);
                all.push(on(path, Role::Hosts, &["Sys.AccessNetwork"], format!("letting {} download images", wanted.host)));
            }
            Base::Template(name) => {
                if let Ok(template) = named(&survey.machines, name, &wanted.host, &wanted.node) {
                    let path = format!("/vms/{}", template.vmid);
                    all.push(on(path, Role::Machines, &["VM.Audit", "VM.Clone"], format!("cloning template {name}")));
                }
            }
            Base::Unknown => {}
        }
        if one.base == Base::Installer {
            let why = format!("deleting media with secrets from storage {}", wanted.images);
            all.push(on(images, Role::Images, &["Datastore.Allocate"], why));
        }
        for card in &wanted.cards {
            let zone = "/sdn/zones/localnetwork";
            let path = card.vlan.map_or_else(|| format!("{zone}/{}", card.bridge), |vlan| format!("{zone}/{}/{vlan}", card.bridge));
            all.push(Need { given: zone.to_owned(), ..on(path, Role::Network, &["SDN.Use"], format!("bridge {}", card.bridge)) });
        }
        let path = format!("/nodes/{}", wanted.host);
        let audit = on(path, Role::Hosts, &["Sys.Audit"], format!("seeing how much memory {} has left", wanted.host));
        all.push(Need { optional: true, ..audit });
    }
    let mut once: Vec<Need> = Vec::new();
    for need in all {
        if !once.contains(&need) {
            once.push(need);
        }
    }
    once
}

fn on(path: String, role: Role, privileges: &[&'static str], why: String) -> Need {
    Need { asked: vec![path.clone()], given: path, role, privileges: privileges.to_vec(), why, optional: false }
}

/// Whether it can do without, the path, and the role that gives what is missing there.
type Place = (bool, String, Role);
/// Privileges, and what each is for.
type Lacking = (Vec<&'static str>, Vec<String>);

/// Which rights are missing, each place and role once, with the lines that give them.
pub fn judge(planned: &[Planned], survey: &Survey) -> Vec<Diagnostic> {
    let mut missing: BTreeMap<Place, Lacking> = BTreeMap::new();
    for need in needs(planned, survey) {
        let lacks = |privilege: &&&str| !need.asked.iter().any(|path| survey.may(path, privilege));
        let lacking: Vec<&'static str> = need.privileges.iter().filter(lacks).copied().collect();
        if lacking.is_empty() {
            continue;
        }
        let (privileges, whys) = missing.entry((need.optional, need.given, need.role)).or_default();
        for privilege in lacking {
            if !privileges.contains(&privilege) {
                privileges.push(privilege);
            }
        }
        if !whys.contains(&need.why) {
            whys.push(need.why);
        }
    }
    let told = missing.into_iter().map(|((optional, path, role), (privileges, whys))| {
        let word = if privileges.len() == 1 { "the right" } else { "the rights" };
        let summary = format!("the credential of slot `pve` lacks {word} {} on {path}", privileges.join(", "));
        let has = |privilege: &&str| role.privileges().contains(privilege);
        let make = if privileges.iter().all(has) {
            format!("{}     # `role modify` if it is there", role.made_by())
        } else {
            let all: Vec<&str> = role.privileges().iter().chain(&privileges).copied().collect();
            format!("pveum role modify {} --privs \"{}\"", role.name(), all.join(" "))
        };
        let help = format!("give it to the user and to the token, on a Proxmox host:\n{make}\n{}", role.given_by(&path));
        let found = if optional { Diagnostic::warning("proxmox/right", summary) } else { Diagnostic::error("proxmox/right", summary) };
        found.detail(format!("needed for {}", whys.join("; "))).help(help)
    });
    let mut told: Vec<Diagnostic> = told.collect();
    if told.is_empty() {
        told.push(Diagnostic::note("proxmox/right", "the credential of slot `pve` has every right that a plan needs"));
    }
    told
}
