//! `HealthCheck`: what `talosctl health` asks a control plane to find out about
//! its whole cluster, check after check, waiting for each.

mod checks;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use emhost_talos_api::cluster;
use futures::StreamExt;
use prost::Message;
use tokio::sync::mpsc;

use crate::fleet::{Client, Fleet};
use crate::node::Node;
use crate::node::settings::Settings;
use crate::seam::Reply;
use crate::wire::{Code, Status};

/// How long one check may take.
const EACH: Duration = Duration::from_mins(5);
/// How often a check is tried again while nothing tells that something changed.
const AGAIN: Duration = Duration::from_millis(500);

/// A node as the check knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Where it is called at.
    pub address: Ipv4Addr,
    /// All of its addresses.
    pub addresses: Vec<Ipv4Addr>,
}

/// What is checked.
pub(crate) struct Scene {
    pub fleet: Arc<Fleet>,
    pub asked: Arc<Node>,
    pub settings: Arc<Settings>,
    pub control_planes: Vec<Found>,
    pub workers: Vec<Found>,
    pub client: Option<Client>,
}

impl Scene {
    pub fn all(&self) -> Vec<Found> {
        self.control_planes.iter().chain(&self.workers).cloned().collect()
    }

    /// The node that answers at an address.
    pub fn node(&self, found: &Found) -> Result<Arc<Node>, String> {
        let dialled = self.fleet.parts.network.dial(found.address);
        let node = self.fleet.all().into_iter().find(|node| node.state().serving.contains_key(&dialled));
        node.ok_or_else(|| {
            format!(
                "1 error occurred:\n\t* {0}: rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp {0}:50000: connect: connection refused\"\n\n",
                found.address
            )
        })
    }
}

/// How a check ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    Ok,
    Skipped,
}

/// Answers `HealthCheck`.
pub(crate) fn check(node: &Node, request: &cluster::HealthCheckRequest) -> Result<Reply, Status> {
    let settings = node.control_plane("health check")?;
    let (fleet, asked) = node.fleet().zip(node.me()).ok_or_else(|| Status::unavailable("the machine is shutting down"))?;
    let info = request.cluster_info.clone().unwrap_or_default();
    let (control_planes, workers) = if info.control_plane_nodes.is_empty() && info.worker_nodes.is_empty() {
        discovered(&fleet, &settings)
    } else {
        (named(&info.control_plane_nodes)?, named(&info.worker_nodes)?)
    };
    let client = Client::new(&settings);
    let scene = Scene { fleet, asked, settings, control_planes, workers, client };
    let limit: Duration = request.wait_timeout.map(Into::into).unwrap_or_default();
    let (sender, receiver) = mpsc::unbounded_channel();
    let stream = futures::stream::unfold(receiver, |mut receiver: mpsc::UnboundedReceiver<_>| async move {
        receiver.recv().await.map(|item| (item, receiver))
    });
    node.spawn(async move {
        let run = run(&scene, &sender);
        let result = tokio::select! {
            result = tokio::time::timeout(limit, run) => result.unwrap_or_else(|_| Err(late())),
            // Whoever asked has gone.
            () = sender.closed() => return,
        };
        if let Err(status) = result {
            let _ = sender.send(Err(status));
        }
    });
    Ok(Reply::Stream(stream.boxed()))
}

fn late() -> Status {
    Status::new(Code::DeadlineExceeded, "context deadline exceeded")
}

/// The members of the cluster, as discovery knows them.
fn discovered(fleet: &Fleet, settings: &Settings) -> (Vec<Found>, Vec<Found>) {
    let (mut planes, mut workers) = (Vec::new(), Vec::new());
    for node in fleet.all() {
        let Some(own) = node.settings().filter(|own| own.cluster_id == settings.cluster_id) else { continue };
        let addresses = node.addresses();
        let Some(first) = addresses.first() else { continue };
        let both = addresses.iter().map(|address| fleet.parts.network.dial(*address)).chain(addresses.iter().copied());
        let found = Found { address: fleet.parts.network.dial(*first), addresses: both.collect() };
        if own.control_plane { planes.push(found) } else { workers.push(found) }
    }
    (planes, workers)
}

fn named(texts: &[String]) -> Result<Vec<Found>, Status> {
    let read = |text: &String| {
        let address: Ipv4Addr = text.parse().map_err(|_| Status::unknown(format!("ParseAddr({text:?}): unable to parse IP")))?;
        Ok(Found { address, addresses: vec![address] })
    };
    texts.iter().map(read).collect()
}

type Sender = mpsc::UnboundedSender<Result<Bytes, Status>>;

fn say(sender: &Sender, text: &str) {
    let progress = cluster::HealthCheckProgress { metadata: None, message: text.trim().to_owned() };
    // Nobody listening any more is noticed elsewhere.
    let _ = sender.send(Ok(Bytes::from(progress.encode_to_vec())));
}

async fn run(scene: &Scene, sender: &Sender) -> Result<(), Status> {
    let addresses: Vec<String> = scene.all().iter().map(|found| format!("{:?}", found.address.to_string())).collect();
    say(sender, &format!("discovered nodes: [{}]", addresses.join(" ")));
    for check in checks::Check::ALL {
        let waited = tokio::time::timeout(EACH, wait(scene, sender, check)).await;
        waited.map_err(|_| late())?;
    }
    Ok(())
}

/// Waits until a check passes, and tells each new reason why it does not.
async fn wait(scene: &Scene, sender: &Sender, check: checks::Check) {
    let mut changes = scene.fleet.changes();
    let mut last = String::new();
    let mut tell = |state: &str| {
        let line = format!("waiting for {}: {state}", check.name());
        if line != last {
            say(sender, &line);
            last = line;
        }
    };
    tell("...");
    loop {
        match check.run(scene).await {
            Ok(Passed::Ok) => return tell("OK"),
            Ok(Passed::Skipped) => return tell("SKIP"),
            Err(why) => tell(&why),
        }
        // Either something changed or it is time; both mean to look again.
        let _ = tokio::time::timeout(AGAIN, changes.changed()).await;
    }
}
