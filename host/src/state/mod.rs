//! What is remembered between runs: state, journal and the lock on them.

pub mod model;

pub use model::{Answer, Applied, Entry, Open, State, UnitState};
