//! The etcd of one cluster: who its members are, who leads it, and whether it
//! can still decide anything.
//!
//! This is only the state. Which members run is told to it by the fleet, and
//! what it holds is Kubernetes' business.

mod bolt;
pub(crate) mod snapshot;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Why etcd did not do what it was asked for, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Less than half of the members run.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// No member with that id.
    #[error("etcdserver: member not found")]
    NotFound,
    /// Without this member too few would be left.
    #[error("etcdserver: re-configuration failed due to not enough started members")]
    NotEnoughStarted,
    /// The others are not in touch well enough.
    #[error("etcdserver: unhealthy cluster")]
    Unhealthy,
    /// Another learner has not been promoted yet.
    #[error("etcdserver: too many learner members in cluster")]
    TooManyLearners,
    /// There is nobody to hand the lead to.
    #[error("cannot forfeit leadership, only one member")]
    OnlyMember,
}

/// What a member raises when something is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Alarm {
    /// The database is full.
    NoSpace,
    /// The data differ from the others'.
    Corrupt,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub id: u64,
    /// Empty until it has started for the first time.
    pub name: String,
    /// The address it is reached at, without scheme and port.
    pub address: String,
    pub learner: bool,
}

impl Member {
    pub fn peer_url(&self) -> String {
        format!("https://{}:2380", self.address)
    }

    /// A member tells its client URL when it starts.
    pub fn client_urls(&self) -> Vec<String> {
        if self.name.is_empty() { Vec::new() } else { vec![format!("https://{}:2379", self.address)] }
    }
}

/// One etcd cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Etcd {
    /// Its own id. Two bootstraps of one Talos cluster make two of them.
    pub id: String,
    /// The Talos cluster it belongs to.
    pub cluster: String,
    pub members: Vec<Member>,
    pub term: u64,
    pub index: u64,
    /// Who leads; nobody without a quorum.
    #[serde(skip)]
    pub leader: Option<u64>,
    #[serde(default)]
    pub alarms: Vec<(u64, Alarm)>,
    /// Members whose node is up and whose service runs.
    #[serde(skip)]
    running: BTreeSet<u64>,
}

impl Etcd {
    /// The first member of a new cluster.
    pub fn bootstrap(id: String, cluster: String, first: Member) -> Self {
        let running = BTreeSet::from([first.id]);
        let leader = Some(first.id);
        Self { id, cluster, members: vec![first], term: 2, index: 8, leader, alarms: Vec::new(), running }
    }

    pub fn member(&self, id: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    pub fn runs(&self, id: u64) -> bool {
        self.running.contains(&id)
    }

    /// Whether enough voting members run to decide anything.
    pub fn quorum(&self) -> bool {
        let voters = self.members.iter().filter(|member| !member.learner).count();
        let running = self.members.iter().filter(|member| !member.learner && self.runs(member.id)).count();
        voters > 0 && running > voters / 2
    }

    /// Says which members run now; elects a leader where that is needed and possible.
    pub fn set_running(&mut self, running: BTreeSet<u64>) -> bool {
        let before = (self.running.clone(), self.leader, self.term);
        self.running = running;
        self.elect();
        before != (self.running.clone(), self.leader, self.term)
    }

    fn elect(&mut self) {
        if !self.quorum() {
            self.leader = None;
            return;
        }
        let leads = self.leader.is_some_and(|id| self.runs(id) && self.member(id).is_some_and(|member| !member.learner));
        if !leads {
            self.leader = self.members.iter().find(|member| !member.learner && self.runs(member.id)).map(|member| member.id);
            self.term += 1;
            self.index += 1;
        }
    }

    fn decide(&mut self) -> Result<(), Refusal> {
        if !self.quorum() {
            return Err(Refusal::NoLeader);
        }
        self.index += 1;
        Ok(())
    }

    /// A node without data joins, as a learner. A member of the same name is thrown out first:
    /// it can only be what the node was before its data were lost.
    pub fn join(&mut self, id: u64, name: &str, address: &str) -> Result<(), Refusal> {
        self.decide()?;
        if self.members.iter().any(|member| member.learner && self.runs(member.id)) {
            return Err(Refusal::TooManyLearners);
        }
        if let Some(stale) = self.members.iter().find(|member| member.name == name).map(|member| member.id) {
            self.remove(stale)?;
        }
        self.members.push(Member { id, name: name.to_owned(), address: address.to_owned(), learner: true });
        Ok(())
    }

    /// A learner has caught up.
    pub fn promote(&mut self, id: u64) -> Result<(), Refusal> {
        self.decide()?;
        let member = self.members.iter_mut().find(|member| member.id == id).ok_or(Refusal::NotFound)?;
        member.learner = false;
        Ok(())
    }

    /// Takes a member out.
    pub fn remove(&mut self, id: u64) -> Result<(), Refusal> {
        self.decide()?;
        let learner = self.member(id).ok_or(Refusal::NotFound)?.learner;
        if !learner {
            let left: Vec<u64> = self.members.iter().filter(|member| !member.learner && member.id != id).map(|member| member.id).collect();
            let running = left.iter().filter(|id| self.runs(**id)).count();
            if left.is_empty() {
                return Err(Refusal::NotEnoughStarted);
            }
            if running <= left.len() / 2 {
                return Err(if self.runs(id) { Refusal::Unhealthy } else { Refusal::NotEnoughStarted });
            }
        }
        self.members.retain(|member| member.id != id);
        self.alarms.retain(|(member, _)| *member != id);
        self.running.remove(&id);
        self.elect();
        Ok(())
    }

    /// Hands the lead to another member and says to whom; to nobody where this one does not lead.
    pub fn forfeit(&mut self, id: u64) -> Result<String, Refusal> {
        if self.members.len() == 1 {
            return Err(Refusal::OnlyMember);
        }
        self.decide()?;
        if self.leader != Some(id) {
            return Ok(String::new());
        }
        let next =
            self.members.iter().find(|member| member.id != id && !member.learner && self.runs(member.id)).ok_or(Refusal::Unhealthy)?;
        let (next, name) = (next.id, next.name.clone());
        self.leader = Some(next);
        self.term += 1;
        Ok(name)
    }

    /// What stands against upgrading one of the members, in Talos' words.
    pub fn hindrance(&self) -> Option<String> {
        if !self.quorum() {
            return Some(Refusal::NoLeader.to_string());
        }
        if self.members.len() == 2 {
            return Some("etcd member count(2) is insufficient to maintain quorum if upgrade commences".to_owned());
        }
        self.members.iter().find_map(|member| {
            if member.name.is_empty() {
                Some(format!("etcd member {:016x} is not started, all members must be running to perform an upgrade", member.id))
            } else if self.runs(member.id) {
                None
            } else {
                let id = member.id;
                Some(format!(
                    "etcd member {id:016x} is not healthy; all members must be healthy to perform an upgrade: context deadline exceeded"
                ))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn three() -> Etcd {
        let first = Member { id: 1, name: "a".to_owned(), address: "10.0.0.1".to_owned(), learner: false };
        let mut etcd = Etcd::bootstrap("e".to_owned(), "c".to_owned(), first);
        for (id, name) in [(2, "b"), (3, "c")] {
            etcd.join(id, name, "10.0.0.9").unwrap();
            etcd.set_running((1..=id).collect());
            etcd.promote(id).unwrap();
        }
        etcd
    }

    #[test]
    fn one_of_three_may_fail_and_the_lead_moves() {
        let mut etcd = three();
        assert_eq!(etcd.leader, Some(1));
        let term = etcd.term;
        etcd.set_running(BTreeSet::from([2, 3]));
        assert_eq!((etcd.leader, etcd.quorum()), (Some(2), true));
        assert_eq!(etcd.term, term + 1);
        etcd.set_running(BTreeSet::from([3]));
        assert_eq!((etcd.leader, etcd.quorum()), (None, false));
        assert_eq!(etcd.remove(1), Err(Refusal::NoLeader));
        etcd.set_running(BTreeSet::from([1, 2, 3]));
        assert!(etcd.leader.is_some());
    }

    #[test]
    fn a_member_is_only_taken_out_while_enough_are_left() {
        let mut etcd = three();
        assert_eq!(etcd.remove(9), Err(Refusal::NotFound));
        etcd.set_running(BTreeSet::from([1, 2]));
        assert_eq!(etcd.remove(2), Err(Refusal::Unhealthy), "one of two left would run");
        etcd.remove(3).unwrap();
        etcd.remove(1).unwrap();
        assert_eq!(etcd.leader, Some(2));
        assert_eq!(etcd.remove(2), Err(Refusal::NotEnoughStarted), "the last one stays");
    }

    #[test]
    fn a_node_that_lost_its_data_takes_the_place_of_its_former_self() {
        let mut etcd = three();
        etcd.set_running(BTreeSet::from([1, 2]));
        etcd.join(4, "c", "10.0.0.9").unwrap();
        assert!(etcd.member(3).is_none());
        assert!(etcd.member(4).unwrap().learner);
        etcd.set_running(BTreeSet::from([1, 2, 4]));
        assert_eq!(etcd.join(5, "d", "10.0.0.9"), Err(Refusal::TooManyLearners));
        etcd.promote(4).unwrap();
        assert_eq!(etcd.members.len(), 3);
    }

    #[test]
    fn the_lead_is_only_given_away_by_who_has_it() {
        let mut etcd = three();
        assert_eq!(etcd.forfeit(2).unwrap(), "");
        assert_eq!(etcd.forfeit(1).unwrap(), "b");
        assert_eq!(etcd.leader, Some(2));
    }

    #[test]
    fn an_upgrade_needs_every_member_and_not_just_two() {
        let mut etcd = three();
        assert_eq!(etcd.hindrance(), None);
        etcd.set_running(BTreeSet::from([1, 2]));
        assert!(etcd.hindrance().unwrap().contains("0000000000000003 is not healthy"));
        etcd.remove(3).unwrap();
        assert!(etcd.hindrance().unwrap().contains("count(2)"));
    }
}
