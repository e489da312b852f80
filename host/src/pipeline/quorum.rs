//! The quorum rule: what may happen to a control plane's members, and when. Pure.
//!
//! It binds once the cluster is bootstrapped. With one or two voting members every restart is an
//! outage that no order can avoid, so the plan states it instead of refusing.

use serde::{Deserialize, Serialize};

use crate::bindings::exports::emhost::plugin::distro::Member;

/// The voting members of the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// Every voting member by node, and whether it is healthy.
    pub members: Vec<(String, bool)>,
}

/// What a unit does to its node's membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// The member is away for a while.
    Away,
    /// The member leaves for good.
    Leaves,
}

/// Whether it may happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The node has no vote.
    Free,
    /// A majority stays healthy.
    Fine(String),
    /// There is no order that avoids an outage, so it may happen.
    Outage(String),
    /// Not now: a majority would be lost.
    Wait(String),
}

impl Quorum {
    /// From what the distribution says. A member that belongs to no node still votes.
    pub fn new(members: &[Member]) -> Self {
        let voting = members.iter().filter(|member| member.voting);
        Self { members: voting.map(|member| (member.node.clone().unwrap_or_default(), member.healthy)).collect() }
    }

    /// Members that have to be healthy for the control plane to work.
    pub fn majority(&self) -> usize {
        self.members.len() / 2 + 1
    }

    /// Members that are healthy.
    pub fn healthy(&self) -> usize {
        self.members.iter().filter(|(_, healthy)| *healthy).count()
    }

    /// Whether every member is healthy.
    pub fn is_whole(&self) -> bool {
        self.healthy() == self.members.len()
    }

    /// Judges a unit that costs this node's member.
    pub fn judge(&self, node: &str, cost: Cost) -> Verdict {
        let Some((_, healthy_itself)) = self.members.iter().find(|(name, _)| name == node) else { return Verdict::Free };
        let total = self.members.len();
        let others = self.healthy() - usize::from(*healthy_itself);
        let (before, majority) = (self.healthy(), self.majority());
        let words = |during: &str| format!("{before} of {total} members healthy before, {others} {during}, {majority} needed");
        match cost {
            Cost::Away if total <= 2 => Verdict::Outage(format!(
                "the API is away meanwhile: {total} control-plane member{} cannot spare one",
                if total == 1 { "" } else { "s" }
            )),
            Cost::Away if others >= majority => Verdict::Fine(words("during")),
            Cost::Away => Verdict::Wait(words("during")),
            Cost::Leaves if total == 1 => Verdict::Outage("it is the last control-plane member".to_owned()),
            // The member is taken out of the count first, which the members there have to agree on.
            Cost::Leaves if before >= majority && others > (total - 1) / 2 => {
                Verdict::Fine(format!("{before} of {total} members healthy before, {others} of {} after", total - 1))
            }
            Cost::Leaves => Verdict::Wait(format!("{before} of {total} members healthy before, {others} of {} after", total - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quorum(healthy: &[bool]) -> Quorum {
        Quorum { members: healthy.iter().enumerate().map(|(index, healthy)| (format!("cp-{}", index + 1), *healthy)).collect() }
    }

    /// `f`ine, `o`utage, `w`ait or free (`-`) for cp-1.
    fn verdict(healthy: &[bool], cost: Cost) -> char {
        match quorum(healthy).judge("cp-1", cost) {
            Verdict::Free => '-',
            Verdict::Fine(_) => 'f',
            Verdict::Outage(_) => 'o',
            Verdict::Wait(_) => 'w',
        }
    }

    #[test]
    fn a_majority_stays_healthy_or_it_waits() {
        let cases: [(&[bool], char, char); 12] = [
            (&[true], 'o', 'o'),
            (&[true, true], 'o', 'f'),
            (&[true, false], 'o', 'w'),
            (&[true, true, true], 'f', 'f'),
            (&[true, true, false], 'w', 'w'),
            (&[false, true, true], 'f', 'f'),
            (&[false, true, false], 'w', 'w'),
            (&[true, true, true, true], 'f', 'f'),
            (&[true, true, true, false], 'w', 'f'),
            (&[true, true, true, true, true], 'f', 'f'),
            (&[true, true, true, true, false], 'f', 'f'),
            (&[true, true, true, false, false], 'w', 'w'),
        ];
        for (healthy, away, leaves) in cases {
            assert_eq!(verdict(healthy, Cost::Away), away, "{healthy:?} away");
            assert_eq!(verdict(healthy, Cost::Leaves), leaves, "{healthy:?} leaves");
        }
    }

    #[test]
    fn a_worker_is_free() {
        assert_eq!(quorum(&[true, true, true]).judge("wk-1", Cost::Away), Verdict::Free);
    }
}
