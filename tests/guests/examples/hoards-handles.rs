//! Takes handles and never lets go: of nodes, header fields or clocks, as its settings say.

use emhost_sdk::{Failure, Unit};
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::types::Fields;

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let kind: String = unit.operation.read_settings()?;
    for _ in 0..10_000 {
        match kind.as_str() {
            "nodes" => std::mem::forget(unit.cluster.nodes()),
            "fields" => std::mem::forget(Fields::new()),
            _ => std::mem::forget(subscribe_duration(1_000_000_000)),
        }
    }
    Ok("has them all".to_owned())
}

guests::provisioner!(act);
