//! What a node answers instead of OK, as a failure that says what to do.

use emhost_sdk::Failure;
use emhost_sdk::grpc::Status;

/// The numbers of the gRPC specification, as far as they mean something here.
pub mod code {
    pub const CANCELLED: u32 = 1;
    pub const UNKNOWN: u32 = 2;
    pub const INVALID: u32 = 3;
    pub const DEADLINE: u32 = 4;
    pub const NOT_FOUND: u32 = 5;
    pub const EXISTS: u32 = 6;
    pub const DENIED: u32 = 7;
    pub const EXHAUSTED: u32 = 8;
    pub const PRECONDITION: u32 = 9;
    pub const ABORTED: u32 = 10;
    pub const RANGE: u32 = 11;
    pub const UNIMPLEMENTED: u32 = 12;
    pub const UNAVAILABLE: u32 = 14;
    pub const UNAUTHENTICATED: u32 = 16;
}

/// Whether the request may have arrived all the same, or may be taken later.
pub fn is_passing(status: &Status) -> bool {
    matches!(status.code, code::CANCELLED | code::DEADLINE | code::EXHAUSTED | code::ABORTED | code::UNAVAILABLE)
}

/// A status as the failure it is. `tried` says what was wanted, for example `read its configuration`.
pub fn failure(node: &str, tried: &str, status: &Status) -> Failure {
    let summary = format!("could not {tried} on {node}: {}", said(status));
    match status.code {
        _ if is_passing(status) => {
            Failure::unavailable("talos/unavailable", summary).help(format!("see whether {node} runs and is reachable, then apply again"))
        }
        code::DENIED | code::UNAUTHENTICATED => {
            Failure::denied("talos/denied", summary).help("check that the secret `talos_os_ca` is the authority this cluster was made with")
        }
        code::INVALID | code::RANGE | code::UNIMPLEMENTED => {
            Failure::invalid("talos/refused", summary).help("check that the Talos release on the machine is the one in cluster.yaml")
        }
        code::NOT_FOUND | code::EXISTS | code::PRECONDITION => {
            Failure::conflict("talos/conflict", summary).help("look at a new plan with `emhost plan`, then apply that")
        }
        _ => {
            Failure::conflict("talos/failed", summary).help(format!("look at the console or `talosctl dmesg` of {node}, then apply again"))
        }
    }
}

/// The node's own words, or the number where it has none.
pub fn said(status: &Status) -> String {
    if status.message.is_empty() { format!("gRPC status {}", status.code) } else { status.message.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emhost_sdk::FailureKind::{Conflict, Denied, Invalid, Unavailable};

    #[test]
    fn a_refusal_says_what_was_tried_and_what_was_answered() {
        for (number, kind) in [(14, Unavailable), (4, Unavailable), (7, Denied), (12, Invalid), (9, Conflict), (2, Conflict)] {
            let failure = failure("cp-1", "bootstrap etcd", &Status { code: number, message: "no".to_owned(), details: Vec::new() });
            assert_eq!(failure.kind, kind, "{number}");
            assert_eq!(failure.diagnostics[0].summary, "could not bootstrap etcd on cp-1: no");
            assert!(failure.diagnostics[0].help.is_some(), "{number}");
        }
        let silent = failure("cp-1", "ask", &Status { code: 13, message: String::new(), details: Vec::new() });
        assert_eq!(silent.diagnostics[0].summary, "could not ask on cp-1: gRPC status 13");
    }
}
