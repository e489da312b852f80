//! gRPC through a slot, for messages made with prost.

use prost::Message;

use crate::Failure;
use crate::bindings::host::emhost::plugin::grpc;
pub use crate::bindings::host::emhost::plugin::grpc::{Metadata, Status};
use crate::secrets::Secret;

/// An open channel to one server of a slot.
pub struct Channel {
    inner: grpc::Channel,
    headers: Vec<Metadata>,
    to: String,
}

impl Channel {
    /// Opens the slot, on one node if it leads to nodes. Without an identity the host allows only
    /// what the site marked as reachable before enrolment.
    ///
    /// # Errors
    /// No channel.
    pub fn open(slot: &str, node: Option<&str>, identity: Option<&Secret>) -> Result<Self, Failure> {
        let to = node.map_or_else(|| slot.to_owned(), |node| format!("{slot} on {node}"));
        let channel = grpc::Channel::open(slot, node, identity).map_err(|status| failure(&to, "open", &status))?;
        Ok(Self { inner: channel, headers: Vec::new(), to })
    }

    /// Sends this metadata with every call.
    #[must_use]
    pub fn with_header(mut self, key: &str, value: &str) -> Self {
        self.headers.push(Metadata { key: key.to_owned(), value: value.as_bytes().to_vec() });
        self
    }

    /// One request, one answer. `method` is a full path such as `/machine.MachineService/Version`.
    ///
    /// # Errors
    /// A status that is not OK, as it came.
    pub fn try_call<A: Message + Default>(&self, method: &str, request: &impl Message) -> Result<A, Status> {
        let reply = self.inner.unary(method, &self.headers, &request.encode_to_vec())?;
        A::decode(reply.message.as_slice()).map_err(|error| unreadable(&error))
    }

    /// One request, one answer.
    ///
    /// # Errors
    /// A status that is not OK, as the kind of failure it is.
    pub fn call<A: Message + Default>(&self, method: &str, request: &impl Message) -> Result<A, Failure> {
        self.try_call(method, request).map_err(|status| failure(&self.to, method, &status))
    }

    /// One request, many answers.
    ///
    /// # Errors
    /// A status that is not OK.
    pub fn stream<A: Message + Default>(&self, method: &str, request: &impl Message) -> Result<Answers<A>, Failure> {
        let inbound = self
            .inner
            .server_stream(method, &self.headers, &request.encode_to_vec())
            .map_err(|status| failure(&self.to, method, &status))?;
        Ok(Answers { inbound, to: self.to.clone(), method: method.to_owned(), of: std::marker::PhantomData })
    }
}

/// The answers to one streaming call.
pub struct Answers<A> {
    inbound: grpc::Inbound,
    to: String,
    method: String,
    of: std::marker::PhantomData<A>,
}

impl<A: Message + Default> Iterator for Answers<A> {
    type Item = Result<A, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self
            .inbound
            .next()
            .and_then(|message| message.map(|bytes| A::decode(bytes.as_slice()).map_err(|error| unreadable(&error))).transpose());
        next.map_err(|status| failure(&self.to, &self.method, &status)).transpose()
    }
}

fn unreadable(error: &prost::DecodeError) -> Status {
    Status { code: 13, message: format!("the answer cannot be read: {error}"), details: Vec::new() }
}

/// A status as the kind of failure it is.
fn failure(to: &str, method: &str, status: &Status) -> Failure {
    let summary = format!("{to}: {method}: {}", status.message);
    match status.code {
        // not found, already exists, failed precondition, aborted
        5 | 6 | 9 | 10 => Failure::conflict("grpc/conflict", summary),
        // permission denied, unauthenticated
        7 | 16 => Failure::denied("grpc/denied", summary),
        // invalid argument, out of range, unimplemented
        3 | 11 | 12 => Failure::invalid("grpc/invalid", summary),
        // deadline exceeded, resource exhausted, unavailable
        4 | 8 | 14 => Failure::unavailable("grpc/unavailable", summary),
        _ => Failure::internal("grpc/failed", summary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureKind::{Conflict, Denied, Internal, Invalid, Unavailable};

    #[test]
    fn a_status_is_the_kind_of_failure_it_is() {
        for (code, kind) in [(6, Conflict), (7, Denied), (16, Denied), (12, Invalid), (14, Unavailable), (4, Unavailable), (2, Internal)] {
            let status = Status { code, message: "x".to_owned(), details: Vec::new() };
            assert_eq!(failure("talos on cp-1", "/a.B/C", &status).kind, kind, "{code}");
        }
    }
}
