//! Mappings that are made for devices which have none: marked as ours, kept true, and removed with their node.
//!
//! A token may hand over mapped devices only. A mapping of somebody else is used as it is and never touched.

use emhost_sdk::{Failure, Step};
use serde::Deserialize;

use crate::api::{Answer, Api, Form};
use crate::machine::texts::same_entries;
use crate::memory::Memory;
use crate::work::Work;

/// A mapping that a machine needs and that is ours to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Its name.
    pub id: String,
    /// What it stands for: `node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=14`.
    pub map: String,
}

/// A mapping that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Mapping {
    /// Its name.
    pub id: String,
    /// What people and programs wrote about it.
    pub description: String,
    /// What it stands for, a line for each device of each host.
    pub map: Vec<String>,
}

impl Mapping {
    fn is_of(&self, cluster: &str, node: &str) -> bool {
        let mark = mark(cluster, node);
        self.description.lines().any(|line| line.trim() == mark || line.trim().starts_with(&format!("{mark} ")))
    }

    fn says(&self, map: &str) -> bool {
        matches!(&self.map[..], [only] if same_entries(only, map))
    }
}

/// What the description of ours says.
fn mark(cluster: &str, node: &str) -> String {
    format!("emhost cluster={cluster} node={node}")
}

impl Api {
    /// Every mapping of PCI devices that the credential may see.
    ///
    /// # Errors
    /// No answer.
    pub fn mappings(&self) -> Answer<Vec<Mapping>> {
        self.get("/cluster/mapping/pci")
    }

    fn make_mapping(&self, form: &Form) -> Answer<()> {
        self.post::<serde_json::Value>("/cluster/mapping/pci", form).map(drop)
    }

    fn set_mapping(&self, id: &str, form: &Form) -> Answer<()> {
        self.put::<serde_json::Value>(&format!("/cluster/mapping/pci/{}", emhost_sdk::http::encode(id)), form).map(drop)
    }

    fn remove_mapping(&self, id: &str) -> Answer<()> {
        self.delete::<serde_json::Value>(&format!("/cluster/mapping/pci/{}", emhost_sdk::http::encode(id))).map(drop)
    }
}

/// What is to be done about one mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is not there.
    Make(Wish),
    /// It is ours, and not true any more: the hardware changed.
    Correct(Wish),
    /// It is ours, and nothing needs it any more.
    Remove(String),
}

impl Change {
    /// Its name.
    pub fn id(&self) -> &str {
        match self {
            Self::Make(wish) | Self::Correct(wish) => &wish.id,
            Self::Remove(id) => id,
        }
    }
}

/// What lies between the mappings that a node's machine needs and those that are there.
///
/// # Errors
/// Somebody else has the name of one of ours.
pub fn changes(cluster: &str, node: &str, wishes: &[Wish], there: &[Mapping]) -> Result<Vec<Change>, Failure> {
    let mut all = Vec::new();
    for wish in wishes {
        match there.iter().find(|known| known.id == wish.id) {
            None => all.push(Change::Make(wish.clone())),
            Some(known) if known.is_of(cluster, node) && known.says(&wish.map) => {}
            Some(known) if known.is_of(cluster, node) => all.push(Change::Correct(wish.clone())),
            Some(_) => {
                let summary = format!("mapping `{}` is to be made for {node}, and there is one of that name which is not ours", wish.id);
                let help = "rename it under Datacenter, Resource Mappings; or write `gpu: {mapping: NAME}` to use it";
                return Err(Failure::conflict("proxmox/mapping", summary).pointer("/gpu").help(help));
            }
        }
    }
    let stale = |known: &&Mapping| known.is_of(cluster, node) && !wishes.iter().any(|wish| wish.id == known.id);
    all.extend(there.iter().filter(stale).map(|known| Change::Remove(known.id.clone())));
    Ok(all)
}

/// Whether the mappings of a machine matter at all: most machines have no devices.
pub fn matter(work: Work<'_>, memory: Option<&Memory>) -> bool {
    !work.wanted.mappings.is_empty() || memory.is_some_and(|memory| memory.devices > 0)
}

/// Looks, and says what is to be done.
///
/// # Errors
/// No answer, or a name that somebody else has.
pub fn look(work: Work<'_>) -> Result<Vec<Change>, Failure> {
    let what = format!("see which mappings {} has", work.owner.node);
    let there = work.api.mappings().map_err(|trouble| trouble.failure(&what))?;
    changes(work.owner.cluster, work.owner.node, &work.wanted.mappings, &there)
}

/// Makes what the machine needs before it starts. Nothing: it is all there.
///
/// # Errors
/// A refusal.
pub fn ensure(work: Work<'_>, memory: &Memory) -> Result<Option<Step>, Failure> {
    if work.wanted.mappings.is_empty() {
        return Ok(None);
    }
    let changes = look(work).map_err(|failure| memory.clone().keep(failure))?;
    let first = changes.into_iter().find(|change| !matches!(change, Change::Remove(_)));
    first.map(|change| step(work, memory.clone(), &change)).transpose()
}

/// Removes one of ours that nothing needs any more. Nothing: none is left.
///
/// # Errors
/// A refusal.
pub fn tidy(work: Work<'_>, memory: &Memory) -> Result<Option<Step>, Failure> {
    let changes = look(work).map_err(|failure| memory.clone().keep(failure))?;
    let first = changes.into_iter().find(|change| matches!(change, Change::Remove(_)));
    first.map(|change| step(work, memory.clone(), &change)).transpose()
}

fn step(work: Work<'_>, mut memory: Memory, change: &Change) -> Result<Step, Failure> {
    let node = work.owner.node;
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let (what, reason, done) = match change {
        Change::Make(wish) => {
            let text = format!("{} : made by emhost, and removed with the node", mark(work.owner.cluster, node));
            let form = vec![pair("id", &wish.id), pair("map", &wish.map), pair("description", &text)];
            let what = format!("make mapping {} for {node}", wish.id);
            memory.ask(&what)?;
            (what, "its device is mapped", work.api.make_mapping(&form))
        }
        Change::Correct(wish) => {
            let what = format!("correct mapping {} of {node}", wish.id);
            memory.ask(&what)?;
            (what, "the mapping of its device is true again", work.api.set_mapping(&wish.id, &vec![pair("map", &wish.map)]))
        }
        Change::Remove(id) => {
            let what = format!("remove mapping {id} of {node}");
            memory.ask(&what)?;
            (what, "the mapping of its device was removed", work.api.remove_mapping(id))
        }
    };
    match done {
        Ok(()) => memory.next(reason, Vec::new()),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=14";

    fn wish() -> Wish {
        Wish { id: "emhost-c0ffee-pve1-0000-01-00-0".to_owned(), map: MAP.to_owned() }
    }

    fn there(description: &str, map: &str) -> Mapping {
        Mapping { id: wish().id, description: description.to_owned(), map: vec![map.to_owned()] }
    }

    fn of(wishes: &[Wish], known: &[Mapping]) -> Vec<Change> {
        changes("c0ffee", "dev-gpu-1", wishes, known).expect("no conflict")
    }

    #[test]
    fn ours_are_made_corrected_and_removed() {
        let ours = "emhost cluster=c0ffee node=dev-gpu-1 : made by emhost, and removed with the node";
        assert_eq!(of(&[wish()], &[]), [Change::Make(wish())]);
        assert_eq!(of(&[wish()], &[there(ours, "id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00.0")]), []);
        assert_eq!(of(&[wish()], &[there(ours, "node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=20")]), [Change::Correct(wish())]);
        assert_eq!(of(&[], &[there(ours, MAP)]), [Change::Remove(wish().id)]);
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        for description in ["", "emhost cluster=c0ffee node=dev-gpu-10", "emhost cluster=other node=dev-gpu-1", "by hand, for emhost"] {
            assert_eq!(of(&[], &[there(description, MAP)]), [], "{description}");
            assert!(changes("c0ffee", "dev-gpu-1", &[wish()], &[there(description, MAP)]).is_err(), "{description}");
        }
    }
}
