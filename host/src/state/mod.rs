//! What is remembered between runs: state, journal and the lock on them.
//!
//! A run that means to change something opens a [`Store`]; one that only looks calls [`Store::read`].

pub mod backups;
pub mod disk;
pub mod error;
pub mod faults;
pub mod journal;
pub mod lock;
pub mod model;
mod recover;
pub mod store;
pub mod timings;

#[cfg(test)]
mod tests;

pub use error::StateError;
pub use lock::{Holder, Lock, Seen};
pub use model::{Answer, Applied, Entry, Open, State, UnitState};
pub use store::{Opened, Options, Store, UnitJournal};
pub use timings::Timings;
