//! The messages of `world.Os`.
//!
//! Written down a second time in `tests/guests/src/fixture.rs`, on purpose: what judges a client shares no code with it.

use prost::Message;

/// One node of one cluster.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Node {
    /// The cluster's id.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// The node's name.
    #[prost(string, tag = "2")]
    pub node: String,
}

/// How a node is.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Status {
    /// `maintenance`, `installing` or `running`; one that does anything else does not answer.
    #[prost(string, tag = "1")]
    pub stage: String,
    /// Digest of the configuration it has.
    #[prost(string, optional, tag = "2")]
    pub digest: Option<String>,
    /// Identity of the machine it runs on.
    #[prost(string, tag = "3")]
    pub identity: String,
}

/// A configuration for a node.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Configure {
    /// The cluster's id.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// The node's name.
    #[prost(string, tag = "2")]
    pub node: String,
    /// Identity of the machine that is meant.
    #[prost(string, tag = "3")]
    pub identity: String,
    /// `sha256:` and the digest of `config`.
    #[prost(string, tag = "4")]
    pub digest: String,
    /// JSON with the node's name under `node`.
    #[prost(string, tag = "5")]
    pub config: String,
    /// Whether the node is to be a member of the consensus.
    #[prost(bool, tag = "6")]
    pub control_plane: bool,
}

/// A cluster, and how many nodes it is to have.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Cluster {
    /// The cluster's id.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// How many nodes have to run before it is healthy.
    #[prost(uint32, tag = "2")]
    pub nodes: u32,
}

/// One member of the consensus.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Member {
    /// The node's name.
    #[prost(string, tag = "1")]
    pub node: String,
    /// Whether it answers.
    #[prost(bool, tag = "2")]
    pub healthy: bool,
}

/// All of them.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Members {
    /// By name.
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<Member>,
}

/// Whether a cluster works.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Health {
    /// Empty when it does.
    #[prost(string, tag = "1")]
    pub waits_for: String,
}

/// Nothing to say.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Done {}
