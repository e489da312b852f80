//! Secrets and configurations against Talos's own generator, validator and client, one program per version.
#![allow(clippy::unwrap_used, reason = "what does not work fails the test")]

mod documents;
mod generated;
mod programs;
mod secrets;
