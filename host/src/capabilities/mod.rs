//! What plugins can do beyond computing: one file per ability, all rights decided in [`policy`].

pub(crate) mod archive;
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
pub mod record;
pub(crate) mod secrets;
pub(crate) mod slots;
mod tls;

pub use archive::{Archive, MemoryArchive};
pub use call::{Call, Context, Guest};
pub(crate) use call::{Exceeded, Stopped};
pub use grpc::RawCodec;
pub(crate) use http::Outgoing;
pub(crate) use log::Lines;
pub(crate) use record::Differs;
pub use secrets::{MemorySecrets, SecretStore, Value as SecretValue};
pub use slots::{DOMAIN, SlotError, Slots};
