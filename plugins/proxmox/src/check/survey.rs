//! What there is at the site, as far as the inventory needs it.

use std::collections::{BTreeMap, BTreeSet};

use emhost_sdk::Failure;

use super::machines::Planned;
use super::rights::needs;
use crate::api::answers::Listed;
use crate::api::site::{Host, Storage, Version};
use crate::api::{Answer, Api, Meaning};
use crate::identity::{cluster_tag, tags};

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The release.
    pub version: Version,
    /// Every host.
    pub hosts: Vec<Host>,
    /// The storages of each host that matters and answers.
    pub storages: BTreeMap<String, Vec<Storage>>,
    /// Its bridges.
    pub bridges: BTreeMap<String, Vec<String>>,
    /// Whether each pool is there; `None` where that may not be known.
    pub pools: BTreeMap<String, Option<bool>>,
    /// Every machine that the credential may see.
    pub machines: Vec<Listed>,
    /// What the credential may do, by path.
    pub rights: BTreeMap<String, BTreeSet<String>>,
}

impl Survey {
    /// A storage as a host has it.
    pub fn storage(&self, host: &str, name: &str) -> Option<&Storage> {
        self.storages.get(host)?.iter().find(|storage| storage.storage == name)
    }

    /// Whether the credential has a privilege on a path.
    pub fn may(&self, path: &str, privilege: &str) -> bool {
        self.rights.get(path).is_some_and(|all| all.contains(privilege))
    }
}

/// Looks. Machines that are there already are marked as such.
///
/// # Errors
/// Proxmox does not answer, or does not take the credential.
pub fn look(api: &Api, planned: &mut [Planned]) -> Result<Survey, Failure> {
    let version = api.version().map_err(|trouble| trouble.failure("ask Proxmox for its version"))?;
    let machines = api.machines().map_err(|trouble| trouble.failure("list the machines"))?;
    for one in planned.iter_mut() {
        let ours = cluster_tag(&one.wanted.cluster);
        let mine = |listed: &Listed| {
            listed.name.as_deref() == Some(one.wanted.node.as_str())
                && listed.tags.as_deref().is_some_and(|text| tags(text).contains(&ours))
        };
        one.made = machines.iter().any(mine);
    }
    let hosts = api.hosts().map_err(|trouble| trouble.failure("list the hosts"))?;
    let mut survey = Survey { version, hosts, machines, ..Survey::default() };
    let wanted: BTreeSet<String> = planned.iter().map(|one| one.wanted.host.clone()).collect();
    for host in wanted {
        // One that is not there, or down, is a finding of its own.
        if survey.hosts.iter().any(|known| known.node == host && known.status == "online") {
            if let Some(storages) = allowed(api.storages(&host), &format!("list the storages of {host}"))? {
                survey.storages.insert(host.clone(), storages);
            }
            if let Some(bridges) = allowed(api.bridges(&host), &format!("list the bridges of {host}"))? {
                survey.bridges.insert(host, bridges);
            }
        }
    }
    let pools: BTreeSet<String> = planned.iter().filter_map(|one| one.wanted.pool.clone()).collect();
    for pool in pools {
        let there = api.has_pool(&pool).map_err(|trouble| trouble.failure(&format!("look at pool {pool}")))?;
        survey.pools.insert(pool, there);
    }
    let paths: BTreeSet<String> = needs(planned, &survey).into_iter().flat_map(|need| need.asked).collect();
    for path in paths {
        let what = format!("ask what the credential may do on {path}");
        let privileges = api.privileges(&path).map_err(|trouble| trouble.failure(&what))?;
        survey.rights.insert(path, privileges);
    }
    Ok(survey)
}

/// An answer, or nothing where the credential may not have one: missing rights are a finding of their own.
fn allowed<T>(answer: Answer<T>, what: &str) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(trouble) if trouble.meaning() == Some(Meaning::Denied) => Ok(None),
        Err(trouble) => Err(trouble.failure(what)),
    }
}
