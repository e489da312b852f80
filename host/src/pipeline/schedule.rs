//! Which unit may begin: what is done frees what needs it, what failed takes it along. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::unit::UnitId;

struct Waiting<J> {
    left: BTreeSet<UnitId>,
    job: J,
}

/// The units that have not begun, by what each needs first.
pub(super) struct Schedule<J> {
    ready: Vec<J>,
    waiting: BTreeMap<UnitId, Waiting<J>>,
    needed_by: BTreeMap<UnitId, Vec<UnitId>>,
}

impl<J> Schedule<J> {
    /// Each with what has to be done before it.
    pub fn new(jobs: impl IntoIterator<Item = (UnitId, Vec<UnitId>, J)>) -> Self {
        let mut schedule = Self { ready: Vec::new(), waiting: BTreeMap::new(), needed_by: BTreeMap::new() };
        for (unit, after, job) in jobs {
            if after.is_empty() {
                schedule.ready.push(job);
                continue;
            }
            for other in &after {
                schedule.needed_by.entry(other.clone()).or_default().push(unit.clone());
            }
            schedule.waiting.insert(unit, Waiting { left: after.into_iter().collect(), job });
        }
        schedule
    }

    /// Takes what may begin now.
    pub fn ready(&mut self) -> Vec<J> {
        std::mem::take(&mut self.ready)
    }

    /// A unit is done.
    pub fn done(&mut self, unit: &UnitId) {
        for next in self.needed_by.remove(unit).unwrap_or_default() {
            let Some(waits) = self.waiting.get_mut(&next) else { continue };
            waits.left.remove(unit);
            if waits.left.is_empty() {
                self.ready.extend(self.waiting.remove(&next).map(|waits| waits.job));
            }
        }
    }

    /// A unit failed: what depends on it, and on that, never begins.
    pub fn failed(&mut self, unit: &UnitId) -> Vec<UnitId> {
        let (mut queue, mut skipped) = (vec![unit.clone()], Vec::new());
        while let Some(unit) = queue.pop() {
            for next in self.needed_by.remove(&unit).unwrap_or_default() {
                if self.waiting.remove(&next).is_some() {
                    skipped.push(next.clone());
                    queue.push(next);
                }
            }
        }
        skipped
    }

    /// Whatever never began.
    pub fn left(self) -> impl Iterator<Item = UnitId> {
        self.waiting.into_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> UnitId {
        UnitId::Machine(name.to_owned())
    }

    fn schedule(jobs: &[(&str, &[&str])]) -> Schedule<String> {
        Schedule::new(jobs.iter().map(|(name, after)| (unit(name), after.iter().map(|other| unit(other)).collect(), (*name).to_owned())))
    }

    #[test]
    fn what_is_done_frees_what_needs_it() {
        let mut schedule = schedule(&[("a", &[]), ("b", &[]), ("c", &["a", "b"]), ("d", &["c"])]);
        assert_eq!(schedule.ready(), ["a", "b"]);
        schedule.done(&unit("a"));
        assert!(schedule.ready().is_empty());
        schedule.done(&unit("b"));
        assert_eq!(schedule.ready(), ["c"]);
        assert_eq!(schedule.left().collect::<Vec<_>>(), [unit("d")]);
    }

    #[test]
    fn what_failed_takes_along_what_needs_it_and_nothing_else() {
        let mut schedule = schedule(&[("a", &[]), ("b", &[]), ("c", &["a", "b"]), ("d", &["c"]), ("e", &["b"])]);
        assert_eq!(schedule.failed(&unit("a")), [unit("c"), unit("d")]);
        schedule.done(&unit("b"));
        assert_eq!(schedule.ready(), ["a", "b", "e"]);
        assert_eq!(schedule.left().count(), 0);
    }
}
