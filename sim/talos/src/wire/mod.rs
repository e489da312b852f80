//! gRPC over TLS, as small as the nodes need it.

mod answer;
mod frames;
mod server;
mod status;

pub(crate) use server::{Call, Failure, Front, Serving, serve};
pub(crate) use status::{Code, Status};
