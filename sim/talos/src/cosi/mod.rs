//! The resources of a node, and the service that reads and watches them.

pub(crate) mod definitions;
mod presentation;
mod query;
mod resources;
mod service;
mod watch;

pub(crate) use resources::{Key, Meta, Resources, View};
pub(crate) use service::answer;
