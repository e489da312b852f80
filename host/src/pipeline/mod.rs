//! From inventory to plan, and from plan to durable work.
//!
//! [`crew`] loads the site's plugins; [`planning`] looks and asks them what they would do; [`apply`]
//! carries out what was approved, a step at a time.

mod accelerators;
pub mod addons;
pub mod apply;
mod configuration;
pub mod contributions;
pub mod crew;
pub mod events;
pub mod graph;
pub mod holds;
pub mod images;
pub mod job;
mod kubernetes;
mod leaving;
pub mod looking;
mod order;
pub mod plan;
pub mod planning;
pub mod quorum;
pub mod rendering;
pub mod run;
mod schedule;
pub mod templates;
pub mod unit;
mod work;

pub use events::{Event, Progress, Report, Wait, Watch};
pub use plan::Plan;
pub use run::{Options, Run};
pub use unit::{Phase, UnitId};
