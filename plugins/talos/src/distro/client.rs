//! Reaches nodes: as a client of this cluster, or as nobody where a machine has no configuration yet.

use std::cell::OnceCell;

use emhost_sdk::grpc::Channel;
use emhost_sdk::keys::{self, ClientRequest};
use emhost_sdk::secrets::{self, Secret};
use emhost_sdk::{Cluster, Failure, FailureKind, Node, NodeRole};

use super::api::Api;
use super::refusal::{self, code, said};

const SLOT: &str = "talos";
/// The authority of the nodes' API.
pub const AUTHORITY: &str = "talos_os_ca";
/// The role of a client that may do everything.
pub const ADMIN: &str = "os:admin";
/// How long a client certificate for one call is good.
const MINUTES: u32 = 15 * 60;

/// How a node answers.
pub enum Answer {
    /// As a member of this cluster; with its release.
    Configured(Api, String),
    /// As a machine without configuration.
    Maintenance(Api),
    /// As a machine that has a configuration of somebody else.
    Foreign(String),
    /// Not at all.
    Silent(String),
}

/// A client of this cluster. One for each call of the plugin, so that its certificate never lives long.
pub struct Client<'a> {
    cluster: &'a Cluster,
    identity: OnceCell<Option<Secret>>,
}

/// Why a node could not be reached.
struct Unreached {
    why: String,
    how: Trouble,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// Nobody listens there.
    Deaf,
    /// Somebody listens who is not known as a node of this cluster.
    Stranger,
    /// A node of this cluster listens, and its answer is lost.
    Lost,
}

impl Unreached {
    fn new(why: String) -> Self {
        let deaf = ["connection refused", "no answer in time", "has no address"].iter().any(|words| why.contains(words));
        Self { why, how: if deaf { Trouble::Deaf } else { Trouble::Stranger } }
    }

    /// A failure on the way is an answer of its own; everything else is a failure.
    fn of(failure: Failure) -> Result<Self, Failure> {
        if failure.kind != FailureKind::Unavailable {
            return Err(failure);
        }
        let summary = failure.diagnostics.first().map(|first| first.summary.as_str()).unwrap_or_default();
        // Which slot on which node was to be opened is clear where this is shown.
        Ok(Self::new(summary.rsplit_once("open: ").map_or(summary, |(_, why)| why).to_owned()))
    }
}

impl<'a> Client<'a> {
    /// A client of this cluster.
    pub fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, identity: OnceCell::new() }
    }

    /// The nodes of the control plane, in the order of the inventory.
    pub fn control_planes(&self) -> Vec<Node> {
        self.cluster.nodes().into_iter().filter(|node| node.role() == NodeRole::ControlPlane).collect()
    }

    fn identity(&self) -> Result<Option<&Secret>, Failure> {
        if self.identity.get().is_none() {
            let issued = match secrets::get(AUTHORITY)? {
                Some(authority) => Some(keys::issue_client(
                    &authority,
                    &ClientRequest { organizations: vec![ADMIN.to_owned()], common_name: None, valid_seconds: MINUTES },
                )?),
                None => None,
            };
            // Nobody else can have filled it: a call has one thread.
            let _ = self.identity.set(issued);
        }
        Ok(self.identity.get().and_then(Option::as_ref))
    }

    /// How a node answers.
    pub fn reach(&self, node: &Node) -> Result<Answer, Failure> {
        let name = node.name();
        let refused = match self.member(node)? {
            Ok((api, version)) => return Ok(Answer::Configured(api, version)),
            Err(Unreached { why, how: Trouble::Lost }) => return Err(lost(&name, &why)),
            Err(unreached) if unreached.how == Trouble::Deaf || !self.knows(&name) => return Ok(Answer::Silent(unreached.why)),
            Err(unreached) => unreached.why,
        };
        let anonymous = match Channel::open(SLOT, Some(&name), None) {
            Ok(channel) => Api::new(channel, name),
            Err(failure) => return Ok(Answer::Silent(Unreached::of(failure)?.why)),
        };
        // With TLS 1.3 a connection stands before the other side refuses it: only an answer proves something.
        match anonymous.machine_status() {
            Ok(_) => Ok(Answer::Maintenance(anonymous)),
            // Somebody is there who wants a certificate, and not ours.
            Err(status) if refusal::is_passing(&status) && said(&status).contains("client certificate") => {
                Ok(Answer::Foreign(format!("{refused}; without a certificate: {}", said(&status))))
            }
            // It was in maintenance when the connection was made, and is not any more.
            Err(status) if matches!(status.code, code::DENIED | code::UNAUTHENTICATED) => {
                Ok(Answer::Foreign(format!("{refused}; without a certificate: {}", said(&status))))
            }
            Err(status) if refusal::is_passing(&status) => Err(lost(&anonymous.node, &said(&status))),
            Err(status) => Err(refusal::failure(&anonymous.node, "ask for its stage", &status)),
        }
    }

    /// The node as a member of this cluster, if it is one and answers.
    pub fn configured(&self, node: &Node) -> Result<Result<(Api, String), String>, Failure> {
        Ok(self.member(node)?.map_err(|unreached| unreached.why))
    }

    fn knows(&self, name: &str) -> bool {
        self.cluster.nodes().iter().any(|node| node.name() == name)
    }

    fn member(&self, node: &Node) -> Result<Result<(Api, String), Unreached>, Failure> {
        let name = node.name();
        if self.knows(&name) {
            return self.direct(&name);
        }
        // The host dials nodes of the inventory only; one that is to leave is asked through a control plane.
        let Some(address) = address(node) else { return Ok(Err(Unreached::new(format!("{name} has no address")))) };
        let mut why = format!("no control plane answers that could ask {name}");
        for plane in self.control_planes() {
            match self.open(&plane.name())? {
                Err(unreached) => why = unreached.why,
                Ok(channel) => {
                    let api = Api::new(channel.with_header("node", &address), name.clone());
                    match greeted(api)? {
                        // The plane is there; the node behind it is not.
                        Err(unreached) => why = unreached.why,
                        reached => return Ok(reached),
                    }
                }
            }
        }
        Ok(Err(Unreached::new(why)))
    }

    fn direct(&self, name: &str) -> Result<Result<(Api, String), Unreached>, Failure> {
        match self.open(name)? {
            Ok(channel) => greeted(Api::new(channel, name.to_owned())),
            Err(unreached) => Ok(Err(unreached)),
        }
    }

    fn open(&self, name: &str) -> Result<Result<Channel, Unreached>, Failure> {
        let Some(identity) = self.identity()? else {
            return Ok(Err(Unreached { why: format!("there is no secret `{AUTHORITY}`"), how: Trouble::Stranger }));
        };
        match Channel::open(SLOT, Some(name), Some(identity)) {
            Ok(channel) => Ok(Ok(channel)),
            Err(failure) => Ok(Err(Unreached::of(failure)?)),
        }
    }
}

/// Asks for the release, because only an answer proves that somebody is there.
fn greeted(api: Api) -> Result<Result<(Api, String), Unreached>, Failure> {
    match api.version() {
        Ok(version) => Ok(Ok((api, version))),
        // The connection stands, so it is a node of this cluster.
        Err(status) if refusal::is_passing(&status) => Ok(Err(Unreached { why: said(&status), how: Trouble::Lost })),
        Err(status) => Err(refusal::failure(&api.node, "ask for its release", &status)),
    }
}

/// Somebody is there and cannot be understood at the moment: whoever asks again knows more.
fn lost(node: &str, why: &str) -> Failure {
    Failure::unavailable("talos/lost", format!("{node} listens, and its answer is lost: {why}"))
        .help(format!("see how {node} is with `emhost status`; if it stays so, look at its console"))
}

/// Where a node is: an observed address before the expected one.
pub fn address(node: &Node) -> Option<String> {
    let observed = node.addresses().into_iter().next();
    observed.or_else(|| {
        let address = node.cards().into_iter().next()?.address?;
        Some(address.split('/').next().unwrap_or_default().to_owned())
    })
}
