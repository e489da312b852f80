//! Queues by name: a step says what it may not share (`storage:local-lvm`), and waits its turn.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

#[derive(Default)]
struct Queue {
    held: BTreeSet<String>,
    waiting: VecDeque<(Vec<String>, oneshot::Sender<Held>)>,
}

/// Every name that is held now, and who waits for which.
#[derive(Clone, Default)]
pub struct Holds(Arc<Mutex<Queue>>);

/// Names that are held while this lives.
pub struct Held {
    names: Vec<String>,
    of: Holds,
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all names at once if nobody holds or waits for one of them.
    pub fn try_take(&self, names: &[String]) -> Option<Held> {
        let mut queue = self.lock();
        let wanted = |name: &String| queue.held.contains(name) || queue.waiting.iter().any(|(names, _)| names.contains(name));
        if names.iter().any(wanted) && !crate::state::faults::broken("no-holds") {
            return None;
        }
        queue.held.extend(names.iter().cloned());
        drop(queue);
        Some(Held { names: names.to_vec(), of: self.clone() })
    }

    /// Takes all names at once, in the order of asking. Never some of them: two that want two
    /// names in another order cannot block each other.
    pub async fn take(&self, names: &[String]) -> Held {
        loop {
            if let Some(held) = self.try_take(names) {
                return held;
            }
            let turn = {
                let (give, turn) = oneshot::channel();
                self.lock().waiting.push_back((names.to_vec(), give));
                turn
            };
            // Between the two locks somebody may have let go.
            self.wake();
            if let Ok(held) = turn.await {
                return held;
            }
        }
    }

    /// Hands free names to those who wait, first come first served.
    fn wake(&self) {
        let mut queue = self.lock();
        let mut reserved: BTreeSet<String> = BTreeSet::new();
        let mut still = VecDeque::new();
        let mut unclaimed = Vec::new();
        while let Some((names, give)) = queue.waiting.pop_front() {
            if give.is_closed() {
                continue;
            }
            let free = !names.iter().any(|name| queue.held.contains(name) || reserved.contains(name));
            if free {
                queue.held.extend(names.iter().cloned());
                // Whoever goes away in this very moment, or before it looks, lets go of them again.
                unclaimed.extend(give.send(Held { names, of: self.clone() }).err());
            } else {
                reserved.extend(names.iter().cloned());
                still.push_back((names, give));
            }
        }
        queue.waiting = still;
        drop(queue);
        drop(unclaimed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        {
            let mut queue = self.of.lock();
            for name in &self.names {
                queue.held.remove(name);
            }
        }
        if !self.names.is_empty() {
            self.of.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[tokio::test]
    async fn one_at_a_time_by_name_and_in_order() {
        let holds = Holds::default();
        let first = holds.take(&names(&["a", "b"])).await;
        let other = holds.try_take(&names(&["c"])).expect("free");
        assert!(holds.try_take(&names(&["b", "d"])).is_none());
        let (later, order) = (holds.clone(), Arc::new(Mutex::new(Vec::new())));
        let waits: Vec<_> = (0..10)
            .map(|number| {
                let (holds, order) = (later.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    let _held = holds.take(&names(&["b"])).await;
                    order.lock().expect("no panic").push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(first);
        for wait in waits {
            wait.await.expect("no panic");
        }
        assert_eq!(*order.lock().expect("no panic"), (0..10).collect::<Vec<_>>());
        drop(other);
        assert!(holds.try_take(&names(&["a", "b", "c"])).is_some());
    }

    #[tokio::test]
    async fn one_that_gave_up_waiting_blocks_nobody() {
        let holds = Holds::default();
        let first = holds.take(&names(&["a"])).await;
        let waiting = holds.clone();
        let waiting = tokio::spawn(async move { waiting.take(&names(&["a"])).await });
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(waiting.await.is_err());
        drop(first);
        drop(holds.take(&names(&["a"])).await);
    }

    #[tokio::test]
    async fn nothing_is_shared_by_everybody() {
        let holds = Holds::default();
        let (one, two) = (holds.take(&[]).await, holds.take(&[]).await);
        drop((one, two));
    }
}
