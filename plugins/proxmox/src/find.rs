//! Which machine belongs to a node, wherever in the Proxmox cluster it is.
//!
//! A number, a name and a tag prove nothing: people reuse and copy them. A machine is ours if its description claims our cluster and
//! node, its SMBIOS UUID is the identity in that claim, and it carries the cluster's tag. A copy that somebody made of it has another
//! UUID. A clone of ours that is not finished has neither UUID nor tag yet; it is ours by the number and the identity that were
//! remembered before it was asked for.

use emhost_sdk::Failure;

use crate::api::answers::Listed;
use crate::api::{Api, Meaning};
use crate::identity::{Claim, cluster_tag, tags};
use crate::machine::Config;
use crate::memory::Memory;

/// Whose machine is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// The cluster's id.
    pub cluster: &'a str,
    /// The node's name.
    pub node: &'a str,
    /// The names of the cluster's other nodes: what is called so is theirs.
    pub others: &'a [String],
}

/// A machine that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub vmid: u32,
    /// The host it is on now.
    pub host: String,
    /// Its options.
    pub config: Config,
    /// Its claim.
    pub claim: Claim,
    /// Whether UUID and tag say the same as the claim.
    pub proved: bool,
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// No machine of ours. `taken`: somebody else has the number that was remembered.
    Nothing {
        /// Who has the number.
        taken: Option<String>,
    },
    /// The number that was remembered has a machine which is still being made, and does not say yet whose it is.
    Unfinished {
        /// The host it is on.
        host: String,
        /// The lock on it.
        lock: String,
    },
    /// Ours.
    Ours(Box<Found>),
}

/// Whether a configuration is that of a machine of ours. `memory`: what is remembered of this very number.
pub fn judge(owner: Owner<'_>, config: &Config, memory: Option<&Memory>) -> Option<(Claim, bool)> {
    let claim = config.claim().filter(|claim| claim.cluster == owner.cluster && claim.node == owner.node)?;
    let tagged = config.tags().contains(&cluster_tag(owner.cluster));
    if tagged && config.uuid().as_deref() == Some(claim.identity.as_str()) {
        return Some((claim, true));
    }
    let remembered = memory.is_some_and(|memory| !memory.made && memory.identity == claim.identity);
    remembered.then_some((claim, false))
}

/// What is looked at, most promising first: the number that was remembered, then what has our name, then what has our tag and not the
/// name of another node.
fn candidates<'a>(owner: Owner<'_>, all: &'a [Listed], memory: Option<&Memory>) -> Vec<&'a Listed> {
    let ours = cluster_tag(owner.cluster);
    let rank = |listed: &Listed| {
        let named = listed.name.as_deref() == Some(owner.node);
        let tagged = listed.tags.as_deref().is_some_and(|text| tags(text).contains(&ours));
        let other = listed.name.as_ref().is_some_and(|name| owner.others.contains(name));
        match memory {
            Some(memory) if memory.vmid == listed.vmid => Some(0),
            _ if tagged && named => Some(1),
            _ if tagged && !other => Some(2),
            _ => None,
        }
    };
    let mut ranked: Vec<(u8, &Listed)> =
        all.iter().filter(|listed| listed.kind == "qemu").filter_map(|listed| Some((rank(listed)?, listed))).collect();
    ranked.sort_by_key(|(rank, listed)| (*rank, listed.vmid));
    ranked.into_iter().map(|(_, listed)| listed).collect()
}

/// Looks for a node's machine.
///
/// # Errors
/// No answer; or two machines that both are the node's.
pub fn find(api: &Api, owner: Owner<'_>, memory: Option<&Memory>) -> Result<(Seen, Vec<Listed>), Failure> {
    let what = format!("look for the machine of {}", owner.node);
    let all = api.machines().map_err(|trouble| trouble.failure(&what))?;
    let mut taken = memory.and_then(|memory| all.iter().find(|listed| listed.vmid == memory.vmid)).map(described);
    let mut ours: Vec<Found> = Vec::new();
    for listed in candidates(owner, &all, memory) {
        let config = match api.options(&listed.node, listed.vmid) {
            Ok(options) => Config::read(options),
            // It went, or moved, since the list was made.
            Err(trouble) if trouble.meaning() == Some(Meaning::Gone) => continue,
            Err(trouble) => return Err(trouble.failure(&format!("look at VM {} on {}", listed.vmid, listed.node))),
        };
        let remembered = memory.filter(|memory| memory.vmid == listed.vmid);
        match (judge(owner, &config, remembered), remembered, config.lock()) {
            (Some((claim, proved)), _, _) => {
                let found = Found { vmid: listed.vmid, host: listed.node.clone(), claim, proved, config };
                if remembered.is_some_and(|memory| memory.identity == found.claim.identity) {
                    return Ok((Seen::Ours(Box::new(found)), all));
                }
                ours.push(found);
            }
            (None, Some(memory), Some(lock @ ("create" | "clone"))) if !memory.made && config.claim().is_none() => {
                let seen = Seen::Unfinished { host: listed.node.clone(), lock: lock.to_owned() };
                return Ok((seen, all));
            }
            (None, _, _) => {}
        }
    }
    if let [one, two, ..] = &ours[..] {
        let summary = format!("VM {} on {} and VM {} on {} both are {}'s", one.vmid, one.host, two.vmid, two.host, owner.node);
        return Err(Failure::conflict("proxmox/two", summary).help("see which one is in use, and remove the other one in Proxmox"));
    }
    match ours.pop() {
        Some(found) => Ok((Seen::Ours(Box::new(found)), all)),
        None => Ok((Seen::Nothing { taken: taken.take() }, all)),
    }
}

/// A machine for people.
pub fn described(listed: &Listed) -> String {
    let kind = if listed.kind == "lxc" { "container" } else { "VM" };
    match &listed.name {
        Some(name) => format!("{kind} {} ({name}) on {}", listed.vmid, listed.node),
        None => format!("{kind} {} on {}", listed.vmid, listed.node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::samples::{IDENTITY, made_with};

    const OWNER: Owner<'_> = Owner { cluster: "c0ffee", node: "dev-cp-1", others: &[] };

    fn listed(vmid: u32, name: Option<&str>, tags: &str) -> Listed {
        Listed {
            kind: "qemu".to_owned(),
            vmid,
            node: "pve1".to_owned(),
            name: name.map(str::to_owned),
            tags: Some(tags.to_owned()),
            ..Listed::default()
        }
    }

    #[test]
    fn only_claim_uuid_and_tag_together_prove_it() {
        assert!(matches!(judge(OWNER, &made_with(&[]), None), Some((_, true))));
        for foreign in [
            ("description", "emhost cluster=other node=dev-cp-1 identity=7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f"),
            ("description", "emhost cluster=c0ffee node=dev-cp-2 identity=7d3c3ab0-4d60-4c5e-8a8e-0f0f0f0f0f0f"),
            ("description", "a machine of mine"),
            ("smbios1", "uuid=11111111-1111-4111-8111-111111111111"),
            ("tags", "emhost"),
        ] {
            assert_eq!(judge(OWNER, &made_with(&[foreign]), None), None, "{foreign:?}");
        }
    }

    #[test]
    fn a_clone_that_is_not_finished_is_known_by_what_was_remembered() {
        let fresh = made_with(&[("smbios1", "uuid=11111111-1111-4111-8111-111111111111"), ("tags", "template")]);
        let memory = Memory::new(300, IDENTITY.to_owned(), "pve1".to_owned());
        assert!(matches!(judge(OWNER, &fresh, Some(&memory)), Some((_, false))));
        let other = Memory::new(300, "another".to_owned(), "pve1".to_owned());
        assert_eq!(judge(OWNER, &fresh, Some(&other)), None);
        // Once it was made, something with another UUID is a copy of it.
        assert_eq!(judge(OWNER, &fresh, Some(&Memory { made: true, ..memory })), None);
    }

    #[test]
    fn what_is_remembered_is_looked_at_first_and_other_nodes_not_at_all() {
        let all = [
            listed(100, Some("dev-cp-1"), "emhost;emhost-c0ffee"),
            listed(101, Some("dev-cp-2"), "emhost;emhost-c0ffee"),
            listed(102, None, "emhost-c0ffee"),
            listed(103, Some("dev-cp-1"), "emhost;emhost-other"),
            listed(104, Some("x"), ""),
        ];
        let others = ["dev-cp-2".to_owned()];
        let owner = Owner { others: &others, ..OWNER };
        let numbers = |memory: Option<&Memory>| candidates(owner, &all, memory).iter().map(|listed| listed.vmid).collect::<Vec<_>>();
        assert_eq!(numbers(None), [100, 102]);
        assert_eq!(numbers(Some(&Memory::new(104, String::new(), String::new()))), [104, 100, 102]);
    }
}
