//! What plugins can do beyond computing: one file per ability, all rights decided in [`policy`].

pub(crate) mod archive;
pub mod artifacts;
mod call;
mod credentials;
pub mod events;
pub(crate) mod grpc;
mod http;
pub(crate) mod inventory;
pub mod journal;
mod keys;
mod log;
pub(crate) mod operation;
pub mod policy;
mod probe;
pub mod record;
pub(crate) mod secrets;
pub(crate) mod slots;
mod tls;

/// What the host's own clients, of Kubernetes and of charts, share with slots.
pub(crate) mod trust {
    pub(crate) use super::artifacts::follower;
    pub(crate) use super::credentials::certificate;
    pub(crate) use super::slots::join;
    pub(crate) use super::tls::{Trust, client, reason};
}

pub use archive::{Archive, MemoryArchive};
pub use call::{Call, Context, Guest};
pub(crate) use call::{Exceeded, Stopped};
pub use grpc::RawCodec;
pub(crate) use http::Outgoing;
pub(crate) use log::Lines;
pub(crate) use record::Differs;
pub use secrets::{MemorySecrets, SecretStore, Value as SecretValue};
pub use slots::{DOMAIN, SlotError, Slots};
