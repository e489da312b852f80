//! The cluster as its inventory describes it: the model every plugin reads.

mod model;
pub mod site;

pub use model::{Cluster, Node};
