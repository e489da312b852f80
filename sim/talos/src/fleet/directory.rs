//! Where nodes find each other, and where their calls are written down.

use std::net::Ipv4Addr;
use std::sync::{Arc, Weak};

use emhost_sim_kit::Fault;
use emhost_sim_kit::audit::Entry;
use emhost_talos_api::methods::{image, lifecycle, machine, storage};

use super::Fleet;
use crate::seam::{self, Answered, Machined};
use crate::wire::Code;

/// The fleet as the API of a node sees it. It does not keep the fleet alive.
pub(super) struct Directory(pub Weak<Fleet>);

/// Calls after which something is different.
const CHANGING: [&str; 24] = [
    machine::APPLY_CONFIGURATION,
    machine::BOOTSTRAP,
    machine::ETCD_ALARM_DISARM,
    machine::ETCD_DEFRAGMENT,
    machine::ETCD_DOWNGRADE_ENABLE,
    machine::ETCD_FORFEIT_LEADERSHIP,
    machine::ETCD_LEAVE_CLUSTER,
    machine::ETCD_RECOVER,
    machine::ETCD_REMOVE_MEMBER_BY_ID,
    machine::IMAGE_PULL,
    machine::META_DELETE,
    machine::META_WRITE,
    machine::REBOOT,
    machine::RESET,
    machine::RESTART,
    machine::ROLLBACK,
    machine::SERVICE_RESTART,
    machine::SERVICE_START,
    machine::SERVICE_STOP,
    machine::SHUTDOWN,
    machine::UPGRADE,
    lifecycle::UPGRADE,
    image::PULL,
    storage::BLOCK_DEVICE_WIPE,
];

impl seam::Fleet for Directory {
    fn at(&self, address: Ipv4Addr) -> Option<Arc<dyn Machined>> {
        let fleet = self.0.upgrade()?;
        let dialled = fleet.parts.network.dial(address);
        let found = fleet.all().into_iter().find(|node| {
            let state = node.state();
            state.alive && state.serving.contains_key(&dialled)
        })?;
        Some(found)
    }

    fn resolve(&self, hostname: &str) -> Option<Ipv4Addr> {
        let fleet = self.0.upgrade()?;
        let node = fleet.all().into_iter().find(|node| node.hostname() == hostname)?;
        node.addresses().first().copied()
    }

    fn fault(&self, node: Ipv4Addr, method: &str) -> Option<Fault> {
        let fleet = self.0.upgrade()?;
        fleet.parts.dials.fault(&format!("{node} {method}"), &[Fault::RequestLost, Fault::ReplyLost, Fault::ServerError])
    }

    fn answered(&self, call: Answered<'_>) {
        let Some(fleet) = self.0.upgrade() else { return };
        let targets = if call.targets.is_empty() { call.node.to_string() } else { call.targets.join(",") };
        let changed = call.code == Code::Ok && CHANGING.contains(&call.method);
        fleet.parts.audit.record(Entry {
            part: "talos".to_owned(),
            who: call.who.to_owned(),
            request: format!("{} {targets}", call.method),
            status: u16::from(call.code as u8),
            changed: if changed {
                vec![format!("node {targets}: {}", call.method.rsplit('/').next().unwrap_or_default())]
            } else {
                Vec::new()
            },
            fault: call.fault,
            ..Entry::default()
        });
    }
}
