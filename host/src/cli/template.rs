//! `emhost template`: templates that machines are cloned from.

use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use emhost::bindings::emhost::plugin::inventory::{InterfaceCard, NodeRole};
use emhost::capabilities::Slots;
use emhost::inventory::{Cluster, Loaded, Node};
use emhost::pipeline::apply::Stop;
use emhost::pipeline::crew::{self, Lent, Now, Wanted};
use emhost::pipeline::templates::Workshop;
use emhost::plugins::Limits;
use emhost::plugins::lock::Lock;
use serde_json::json;

use super::opening::{self, exit_of};
use super::plan::stopped;
use super::{Exit, Failed, Session, sim};

#[derive(clap::Subcommand)]
pub enum Command {
    Build(Arguments),
}

/// Make a template from an image of the Image Factory
///
/// It is called `talos-VERSION-base` and has the version, the extensions and the kernel arguments of cluster.yaml; `boot: template` clones it.
/// What was cut off is taken up by running it again.
#[derive(clap::Args)]
pub struct Arguments {
    /// The host to make it on; the first of the inventory otherwise
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Its number; a free one from 9000 on otherwise
    #[arg(long, value_name = "NUMBER")]
    vmid: Option<u32>,
}

pub fn run(session: &Session<'_>, command: &Command) -> Result<(), Failed> {
    match command {
        Command::Build(arguments) => build(session, arguments),
    }
}

fn build(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let mut loaded = opening::inventory(session)?;
    let Some(cluster) = loaded.cluster.take() else {
        return Err(Failed::new(Exit::Bug, "host/bug", "the inventory has no error and no cluster"));
    };
    if !loaded.site.slots.contains_key("pve") {
        let help = "add `slots: {pve: {url: \"https://PROXMOX:8006\", …}}` to site.yaml, or `url: \"sim:\"` to try it";
        return Err(Failed::new(Exit::Input, "site/slots", "no site.yaml binds slot `pve`, so nothing says where Proxmox is").help(help));
    }
    let node = stand_in(&cluster, &loaded, arguments)?;
    let lock = Lock::load(&session.folder)?;
    let secrets = opening::secrets(session)?;
    let behind = sim::Behind::bind(session, &mut loaded)?;
    let lent_secrets = behind.as_ref().map_or_else(|| Arc::clone(&secrets) as _, |site| site.secrets(Arc::clone(&secrets) as _));
    let folder = Dir::open_ambient_dir(&session.folder, ambient_authority())
        .map_err(|error| Failed::new(Exit::Input, "folder/open", format!("cannot open {}: {error}", session.folder.display())))?;
    let read_file = |name: &str| behind.as_ref().and_then(|site| site.file(name)).map_or_else(|| folder.read(name), Ok);
    let redactor = session.ui.redactor();
    let slots = Slots::bind(&loaded.site.slots, lent_secrets, redactor.clone(), &read_file)
        .map_err(|error| Failed::new(Exit::Input, "site/slots", error.to_string()))?
        .simulated(behind.as_ref().map(sim::Behind::network));
    let slots = Arc::new(slots);
    let watch = session.ui.watch("template build");
    let lent = Lent {
        slots: Arc::clone(&slots),
        secrets: Arc::clone(&secrets) as _,
        redactor,
        watch: Arc::clone(&watch) as _,
        limits: Limits::default(),
    };
    let now = Now::new(Cluster { nodes: vec![Arc::new(node.clone())], ..cluster });
    let runtime = session.runtime()?;
    let wanted =
        Wanted { folder: &session.folder, site: &loaded.site, boot: &std::collections::BTreeSet::new(), gpu: false, addons: false };
    let worker = |name: &str| {
        let loaded = crew::worker(&runtime, &wanted, &lock, &lent, &now, name);
        loaded.map_err(|diagnostics| Failed { exit: exit_of(&diagnostics), diagnostics })
    };
    let workshop = Workshop {
        source: worker("image-factory")?,
        maker: worker("template")?,
        slots,
        folder: session.folder.clone(),
        images: lock.images.clone(),
        watch: Arc::clone(&watch) as _,
    };
    let mut stop = session.interrupts.claim();
    let made = session.tokio.block_on(async {
        tokio::select! {
            made = workshop.make(&node) => made.map_err(|diagnostics| Failed { exit: exit_of(&diagnostics), diagnostics }),
            _ = stop.wait_for(|stop| *stop > Stop::No) => Err(stopped("stopped; run `emhost template build` again to go on")),
        }
    });
    watch.end();
    let made = made?;
    session.ui.event("template", json!({ "name": node.name, "vmid": made.id, "host": made.host }));
    session.ui.success(&format!("template {} is there: machine {} on {}", node.name, made.id, made.host));
    session.ui.next("write `boot: template` into cluster.yaml to clone it");
    Ok(())
}

/// A node that stands for the template: the shape of the first one, without anything that is about one node only.
fn stand_in(cluster: &Cluster, loaded: &Loaded, arguments: &Arguments) -> Result<Node, Failed> {
    let Some(first) = cluster.nodes.first() else {
        return Err(Failed::new(Exit::Input, "inventory/nodes", "the inventory names no node").help("add one to nodes.yaml"));
    };
    let mut node = Node::new(format!("talos-{}-base", cluster.os_version), NodeRole::Worker);
    node.disks = first.disks.iter().filter(|disk| disk.system).cloned().collect();
    node.cards = first.cards.iter().take(1).map(|card| InterfaceCard { address: None, gateway: None, ..card.clone() }).collect();
    node.placement = arguments.host.clone().or_else(|| loaded.options.hosts.first().cloned());
    node.machine_number = arguments.vmid;
    node.contribution.extensions.clone_from(&loaded.options.extensions);
    node.contribution.kernel_args.clone_from(&loaded.options.kernel_args);
    Ok(node)
}
