//! `emhost talosconfig`: access to the nodes, made anew.

use super::access::{self, Kind};
use super::{Failed, Session};

/// Write a talosconfig with a freshly made certificate
///
/// It goes to `talosconfig` in the cluster's folder. Nothing has to be renewed before it expires: this command makes another.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    access: access::Wishes,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    access::run(session, &arguments.access, Kind::Talos)
}
