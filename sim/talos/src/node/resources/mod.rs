//! What a node shows of itself as resources.

mod block;
mod cluster;
mod hardware;
mod kubernetes;
mod network;
pub(crate) mod yaml;

use emhost_sim_kit::{Image, Platform};
use emhost_talos_api::definitions::{runtime, v1alpha1};
use emhost_talos_api::machine;
use prost::Message;

use super::{Node, Stage};
use yaml::Fields;

pub(crate) use block::{layout, volumes};
pub(crate) use cluster::{MemberCard, members};
pub(crate) use hardware::{hardware, meta};
pub(crate) use kubernetes::{component_version, configuration, etcd_member, kubernetes, static_pods};
pub(crate) use network::network;

/// The kernel of a minor version.
pub(crate) fn kernel(minor: u16) -> &'static str {
    match minor {
        ..=8 => "6.6.64-talos",
        9 => "6.12.31-talos",
        10 => "6.12.58-talos",
        11 => "6.12.57-talos",
        12 => "6.18.5-talos",
        _ => "6.18.20-talos",
    }
}

/// The container runtime of a minor version.
pub(crate) fn runtime_version(minor: u16) -> &'static str {
    match minor {
        ..=8 => "containerd://2.0.1",
        9 => "containerd://2.0.5",
        10 => "containerd://2.0.7",
        11 => "containerd://2.1.5",
        12 => "containerd://2.1.6",
        _ => "containerd://2.2.2",
    }
}

/// The kernel's command line.
pub(crate) fn cmdline(image: &Image) -> String {
    let names = match image.platform {
        Platform::Nocloud => " console=tty1 console=ttyS0 net.ifnames=0",
        Platform::Metal => " console=tty0",
    };
    let own = if image.kernel_args.is_empty() { String::new() } else { format!(" {}", image.kernel_args.join(" ")) };
    format!(
        "talos.platform={}{names} init_on_alloc=1 slab_nomerge pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1{own}",
        image.platform.name()
    )
}

/// A process number that is always the same for the same name.
pub(crate) fn pid(name: &str) -> u32 {
    1500 + name.bytes().fold(7_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 1000)
}

/// What keeps the node from being ready, by name and reason.
pub(crate) fn unmet(node: &Node) -> Vec<(&'static str, String)> {
    let state = node.state();
    if !matches!(state.stage, Stage::Booting | Stage::Running) {
        return Vec::new();
    }
    let mut unmet = Vec::new();
    if state.links.iter().all(|link| link.addresses.is_empty()) {
        unmet.push(("network", "waiting on: address, connectivity".to_owned()));
    }
    let control_plane = state.settings.as_ref().is_some_and(|settings| settings.control_plane);
    let required: &[&str] =
        if control_plane { &["apid", "machined", "kubelet", "etcd", "trustd"] } else { &["apid", "machined", "kubelet"] };
    let mut problems = Vec::new();
    let ids = state.services.ids();
    for id in &ids {
        if !state.services.running(id) {
            problems.push(format!("{id} not running"));
        } else if !state.services.up(id) {
            problems.push(format!("{id} not healthy"));
        }
    }
    problems.extend(required.iter().filter(|id| !ids.iter().any(|known| known == *id)).map(|id| format!("{id} not running")));
    if !problems.is_empty() {
        unmet.push(("services", problems.join(", ")));
    }
    if let Some(settings) = state.settings.as_ref().filter(|settings| !settings.kubernetes.skip_registration) {
        let _ = settings;
        match state.kubernetes_ready {
            None => unmet.push(("nodeReady", format!("node {:?} status is not available yet", state.hostname))),
            Some(false) => unmet.push(("nodeReady", format!("node {:?} is not ready", state.hostname))),
            Some(true) => {}
        }
    }
    unmet
}

/// The stage and what is missing; tells of it where it is new.
pub(crate) fn machine_status(node: &Node) {
    let _telling = node.tell();
    let unmet = unmet(node);
    let stage = node.state().stage;
    let ready = unmet.is_empty();
    let conditions: Vec<Fields> =
        unmet.iter().map(|(name, reason)| Fields::default().with("name", *name).with("reason", reason.as_str())).collect();
    let status = Fields::default().with("ready", ready).with("unmetConditions", conditions);
    let text = Fields::default().with("stage", stage.name()).with("status", status).text();
    let known = node.resources.get("MachineStatuses.runtime.talos.dev", "runtime", "machine");
    let same = known.is_some_and(|known| known.spec.as_ref().is_some_and(|spec| spec.yaml_spec == text));
    if same {
        return;
    }
    let spec = runtime::MachineStatusSpec {
        stage: stage.number(),
        status: Some(runtime::MachineStatusStatus {
            ready,
            unmet_conditions: unmet
                .iter()
                .map(|(name, reason)| runtime::UnmetCondition { name: (*name).to_owned(), reason: reason.clone() })
                .collect(),
        }),
    };
    node.resources.put("MachineStatuses.runtime.talos.dev", "runtime", "machine", text, spec.encode_to_vec());
    let conditions =
        unmet.into_iter().map(|(name, reason)| machine::MachineStatusEventMachineStatusUnmetCondition { name: name.to_owned(), reason });
    let event = machine::MachineStatusEvent {
        stage: stage.number(),
        status: Some(machine::MachineStatusEventMachineStatus { ready, unmet_conditions: conditions.collect() }),
    };
    node.events.publish("", "machine.MachineStatusEvent", &event);
    if ready && stage == Stage::Running {
        node.journal.talos(
            "machine is running and ready {\"component\": \"controller-runtime\", \"controller\": \"runtime.MachineStatusController\"}",
        );
    }
}

/// One service.
pub(crate) fn service(node: &Node, id: &str) {
    let _telling = node.tell();
    let spec = {
        let state = node.state();
        let Some(service) = state.services.get(id) else { return };
        v1alpha1::ServiceSpec {
            running: state.services.running(id),
            healthy: service.healthy == Some(true),
            unknown: service.healthy.is_none(),
        }
    };
    let text = Fields::default().with("running", spec.running).with("healthy", spec.healthy).with("unknown", spec.unknown).text();
    if spec.running {
        node.resources.put("Services.v1alpha1.talos.dev", "runtime", id, text, spec.encode_to_vec());
    } else {
        node.resources.remove("Services.v1alpha1.talos.dev", "runtime", id);
    }
}
