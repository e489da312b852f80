//! The role `distro`: drives Talos on the machines, over its own API.
//!
//! Every call looks at the world first; what is remembered only says what was tried, so that nothing is tried twice.

mod access;
mod api;
mod bootstrap;
mod change;
mod client;
mod configuration;
mod health;
mod identity;
mod leave;
mod members;
mod memory;
mod node;
mod observe;
mod refusal;

use emhost_sdk::distro::{Member, NodeStatus};
use emhost_sdk::secrets::Secret;
use emhost_sdk::{Boot, Distro, Document, Failure, Intent, Proposal, Site, State, Step, Unit};

use crate::Talos;

impl Distro for Talos {
    fn observe(unit: Unit<'_>, _: Option<State>) -> Result<NodeStatus, Failure> {
        observe::observe(unit)
    }

    fn plan(unit: Unit<'_>, config: Vec<Document>, boot: Option<Boot>, intent: Intent, state: Option<State>) -> Result<Proposal, Failure> {
        match intent {
            Intent::Present => node::plan(unit, config, boot.as_ref(), state.as_ref()),
            Intent::Absent => leave::plan(unit, state.as_ref()),
        }
    }

    fn apply(unit: Unit<'_>, config: Vec<Document>, boot: Option<Boot>, intent: Intent, state: Option<State>) -> Result<Step, Failure> {
        match intent {
            Intent::Present => node::apply(unit, config, boot.as_ref(), state.as_ref()),
            Intent::Absent => leave::apply(unit, state.as_ref()),
        }
    }

    fn plan_cluster(site: Site<'_>, state: Option<State>) -> Result<Proposal, Failure> {
        bootstrap::plan(site, state.as_ref())
    }

    fn apply_cluster(site: Site<'_>, state: Option<State>) -> Result<Step, Failure> {
        bootstrap::apply(site, state.as_ref())
    }

    fn members(site: Site<'_>) -> Result<Vec<Member>, Failure> {
        members::members(site)
    }

    fn health(site: Site<'_>, networking: bool) -> Result<Step, Failure> {
        health::health(site, networking)
    }

    fn access(site: Site<'_>, kind: String, roles: Vec<String>, valid_seconds: u32) -> Result<Secret, Failure> {
        access::access(site, &kind, roles, valid_seconds)
    }
}
