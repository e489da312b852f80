//! Units: the things that are planned, applied and remembered, each by one plugin.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The phases, in their order, as `--until` takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Phase {
    Config,
    Boot,
    Machines,
    Os,
    Cluster,
    Addons,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 6] = [Self::Config, Self::Boot, Self::Machines, Self::Os, Self::Cluster, Self::Addons];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Boot => "boot",
            Self::Machines => "machines",
            Self::Os => "os",
            Self::Cluster => "cluster",
            Self::Addons => "addons",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|phase| phase.as_str() == text).ok_or_else(|| format!("`{text}` is no phase; there are {}", words()))
    }
}

/// One thing that is planned and applied. Written `machine/dev-cp-1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UnitId {
    /// What nodes boot from can be had; several nodes may share it.
    Boot(String),
    /// A node's machine exists.
    Machine(String),
    /// A node's operating system is configured.
    Os(String),
    /// The control plane is bootstrapped.
    Cluster,
    /// What a node needed for its first boot only is gone.
    Media(String),
    /// The cluster answers, so that addons can go in.
    Ready,
    /// An addon is in the cluster.
    Addon(String),
    /// The cluster is healthy with its addons.
    Health,
    /// A machine that carries the cluster's mark and belongs to no node.
    Orphan(String),
    /// The pods of a node that goes are elsewhere.
    Drain(String),
    /// A node that went is no node of Kubernetes any more.
    Node(String),
    /// An image that machines were made from is gone from the hypervisor.
    Image(String),
}

impl UnitId {
    /// The phase it belongs to.
    pub fn phase(&self) -> Phase {
        match self {
            Self::Boot(_) => Phase::Boot,
            Self::Machine(_) | Self::Orphan(_) | Self::Image(_) => Phase::Machines,
            Self::Os(_) | Self::Drain(_) => Phase::Os,
            Self::Cluster | Self::Media(_) | Self::Ready | Self::Node(_) => Phase::Cluster,
            Self::Addon(_) | Self::Health => Phase::Addons,
        }
    }

    /// The node it is about.
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::Machine(node) | Self::Os(node) | Self::Media(node) | Self::Drain(node) | Self::Node(node) => Some(node),
            Self::Boot(_) | Self::Cluster | Self::Ready | Self::Addon(_) | Self::Health | Self::Orphan(_) | Self::Image(_) => None,
        }
    }

    /// The first part of its name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Boot(_) => "boot",
            Self::Machine(_) => "machine",
            Self::Os(_) => "os",
            Self::Cluster => "cluster",
            Self::Media(_) => "media",
            Self::Ready => "ready",
            Self::Addon(_) => "addon",
            Self::Health => "health",
            Self::Orphan(_) => "orphan",
            Self::Drain(_) => "drain",
            Self::Node(_) => "node",
            Self::Image(_) => "image",
        }
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boot(of)
            | Self::Machine(of)
            | Self::Os(of)
            | Self::Media(of)
            | Self::Addon(of)
            | Self::Orphan(of)
            | Self::Drain(of)
            | Self::Node(of)
            | Self::Image(of) => write!(f, "{}/{of}", self.kind()),
            Self::Cluster | Self::Ready | Self::Health => f.write_str(self.kind()),
        }
    }
}

impl FromStr for UnitId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, of) = text.split_once('/').map_or((text, None), |(kind, of)| (kind, Some(of.to_owned())));
        match (kind, of) {
            ("boot", Some(of)) => Ok(Self::Boot(of)),
            ("machine", Some(of)) => Ok(Self::Machine(of)),
            ("os", Some(of)) => Ok(Self::Os(of)),
            ("media", Some(of)) => Ok(Self::Media(of)),
            ("addon", Some(of)) => Ok(Self::Addon(of)),
            ("orphan", Some(of)) => Ok(Self::Orphan(of)),
            ("drain", Some(of)) => Ok(Self::Drain(of)),
            ("node", Some(of)) => Ok(Self::Node(of)),
            ("image", Some(of)) => Ok(Self::Image(of)),
            ("cluster", None) => Ok(Self::Cluster),
            ("ready", None) => Ok(Self::Ready),
            ("health", None) => Ok(Self::Health),
            _ => Err(format!("`{text}` names no unit; write for example `machine/dev-cp-1`")),
        }
    }
}

impl TryFrom<String> for UnitId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<UnitId> for String {
    fn from(unit: UnitId) -> Self {
        unit.to_string()
    }
}
