//! The messages of the Talos API, as far as emhost and the simulated nodes speak it.
//!
//! Everything of Talos 1.8 to 1.13 is here at once: what a release does not
//! know it skips, and methods it does not have answer `unimplemented`. A
//! nested message carries the name of the one around it, so
//! `machine.SequenceEvent.Action` is [`machine::SequenceEventAction`].
//!
//! There is no code that writes these types at build time, so the crate builds
//! for components as well.

#![allow(missing_docs, reason = "a field is what the protocol's field of that name is")]
#![allow(clippy::struct_excessive_bools, reason = "the protocol's choice")]
#![allow(clippy::doc_markdown, reason = "names of the protocol")]

pub mod cluster;
pub mod common;
pub mod cosi;
pub mod definitions;
pub mod google;
pub mod inspect;
pub mod machine;
pub mod methods;
pub mod storage;
pub mod time;

pub use prost::Message;
