//! One node with its configuration: the first one, and every change of it.

use emhost_sdk::{Action, Boot, Change, Disruption, Document, Failure, FieldChange, NodeRole, Proposal, State, Step, Unit};
use emhost_talos_api::machine::ApplyConfigurationRequestMode;
use serde_json::Value;

use super::api::Api;
use super::change::{self, changes};
use super::client::{Answer, Client};
use super::configuration::{self, Wanted, live, same_version};
use super::identity;
use super::memory::{self, NodeMemory, Sending, patience};
use super::refusal::{self, code, said};

/// How often a node may answer as somebody else's before that is believed: its certificate changes while it boots.
const DOUBT: u32 = 5;

fn subject(unit: Unit<'_>) -> String {
    format!("operating system of {}", unit.node.name())
}

fn propose(change: Change, subject: String, disruption: Disruption, reason: String, fields: Vec<FieldChange>) -> Proposal {
    let action = Action { change, subject, disruption, reason, fields, attributes: Vec::new() };
    Proposal { actions: vec![action], holds: Vec::new() }
}

/// The same whether or not the machine exists yet.
fn first(unit: Unit<'_>) -> Proposal {
    let field = |pointer: &str, value: String| FieldChange {
        pointer: pointer.to_owned(),
        before: None,
        after: Some(Value::from(value).to_string()),
        sensitive: false,
    };
    let fields = vec![field("/talos_version", unit.cluster.os_version()), field("/kubernetes_version", unit.cluster.kubernetes_version())];
    propose(Change::Create, subject(unit), Disruption::None, "it has no configuration yet".to_owned(), fields)
}

/// Says what `apply` would do.
pub fn plan(unit: Unit<'_>, config: Vec<Document>, boot: Option<&Boot>, state: Option<&State>) -> Result<Proposal, Failure> {
    let wanted = Wanted::of(config)?;
    let memory: NodeMemory = memory::read(state)?;
    // Whatever has the address of a machine that is not there yet is not that machine.
    let Some(identity) = unit.node.machine_identity() else { return Ok(first(unit)) };
    let client = Client::new(unit.cluster);
    let mut answer = client.reach(unit.node)?;
    if matches!(answer, Answer::Foreign(_)) {
        answer = client.reach(unit.node)?;
    }
    match answer {
        Answer::Configured(api, version) => {
            let live = live(&api)?;
            versions(unit, boot, &api, &version, &live)?;
            update(unit, &live, &wanted)
        }
        Answer::Maintenance(_) => Ok(first(unit)),
        Answer::Foreign(why) => Err(foreign(unit, &why)),
        Answer::Silent(_) if memory.identity != identity => Ok(first(unit)),
        Answer::Silent(_) if memory.digest == wanted.digest => Ok(Proposal::nothing()),
        Answer::Silent(_) => {
            let digests = FieldChange {
                pointer: "/config".to_owned(),
                before: Some(Value::from(memory.digest).to_string()),
                after: Some(Value::from(wanted.digest).to_string()),
                sensitive: false,
            };
            let reason = "its configuration changed; it does not answer, so what changes cannot be told".to_owned();
            Ok(propose(Change::Update, subject(unit), Disruption::Reboot, reason, vec![digests]))
        }
    }
}

fn update(unit: Unit<'_>, live: &str, wanted: &Wanted) -> Result<Proposal, Failure> {
    let changes = changes(&unit.node.name(), live, &wanted.text)?;
    if changes.is_empty() {
        return Ok(Proposal::nothing());
    }
    let disruption = change::disruption(&changes, unit.node.role() == NodeRole::ControlPlane);
    let reason = match disruption {
        Disruption::Reboot => "its configuration changed, in a part that is read at boot",
        Disruption::Restart => "its configuration changed, and parts of the control plane start again",
        _ => "its configuration changed",
    };
    Ok(propose(Change::Update, subject(unit), disruption, reason.to_owned(), change::fields(&changes)))
}

/// Refuses what would be an upgrade: a configuration alone does not make one.
fn versions(unit: Unit<'_>, boot: Option<&Boot>, api: &Api, running: &str, live: &str) -> Result<(), Failure> {
    let name = unit.node.name();
    let refuse = |what: &str, running: &str, wanted: &str, pointer: &str, how: String| {
        let summary = format!("{name} runs {what} {running}, and the inventory asks for {wanted}: upgrades are not possible here yet");
        Err(Failure::invalid("talos/upgrade", summary).pointer(pointer).help(how))
    };
    let wanted = unit.cluster.os_version();
    let installer = boot.map(|boot| boot.installer.clone()).filter(|installer| !installer.is_empty());
    let upgrade = |image: &str| format!("run `talosctl upgrade --nodes {name} --image {image}` for every node, or set the value back");
    if !same_version(running, &wanted) {
        let image = installer.unwrap_or_else(|| format!("INSTALLER:{wanted}"));
        return refuse("Talos", running, &wanted, "/talos_version", upgrade(&image));
    }
    if let Some(kubernetes) = configuration::kubernetes_version(live) {
        let wanted = unit.cluster.kubernetes_version();
        if !same_version(&kubernetes, &wanted) {
            let how = format!("run `talosctl upgrade-k8s --to {}`, or set the value back", wanted.trim_start_matches('v'));
            return refuse("Kubernetes", &kubernetes, &wanted, "/kubernetes_version", how);
        }
    }
    let schematic = boot.and_then(|boot| boot.attributes.iter().find(|attribute| attribute.key == "schematic"));
    if let (Some(schematic), Some(installer)) = (schematic.map(|attribute| &attribute.value), installer)
        && let Some(running) = configuration::schematic(api)?.filter(|running| running != schematic)
    {
        return refuse("an image with schematic", &running, schematic, "/extensions", upgrade(&installer));
    }
    Ok(())
}

fn foreign(unit: Unit<'_>, why: &str) -> Failure {
    let name = unit.node.name();
    Failure::conflict("talos/foreign", format!("what answers as {name} has a configuration that is not of this cluster: {why}")).help(format!(
        "if its disk is from another cluster, make it anew with `emhost replace {name}`; if the secrets of this cluster were replaced, put the old ones back"
    ))
}

/// One step.
pub fn apply(unit: Unit<'_>, config: Vec<Document>, boot: Option<&Boot>, state: Option<&State>) -> Result<Step, Failure> {
    let wanted = Wanted::of(config)?;
    let mut memory: NodeMemory = memory::read(state)?;
    let name = unit.node.name();
    if memory.sending.as_ref().is_some_and(|sending| sending.digest != wanted.digest) {
        memory.sending = None;
    }
    memory.looks = memory.looks.saturating_add(1);
    let answer = Client::new(unit.cluster).reach(unit.node)?;
    memory.strange = if matches!(answer, Answer::Foreign(_)) { memory.strange + 1 } else { 0 };
    match answer {
        Answer::Silent(why) => memory::wait(memory.looks, format!("waiting for {name} to answer ({why})"), &memory),
        Answer::Foreign(why) if memory.strange > DOUBT => Err(foreign(unit, &why)),
        Answer::Foreign(why) => memory::wait(memory.looks, format!("waiting for {name} to take its configuration ({why})"), &memory),
        Answer::Maintenance(api) => configure(unit, &api, &wanted, memory),
        Answer::Configured(api, version) => {
            identity::prove(&api, unit.node)?;
            let live = live(&api)?;
            versions(unit, boot, &api, &version, &live)?;
            if changes(&name, &live, &wanted.text)?.is_empty() {
                settle(unit, &api, &wanted, &memory)
            } else {
                change(&api, &wanted, memory)
            }
        }
    }
}

/// The first configuration, over the network. That of a machine which finds it on a medium does not come by here.
fn configure(unit: Unit<'_>, api: &Api, wanted: &Wanted, mut memory: NodeMemory) -> Result<Step, Failure> {
    let name = &api.node;
    if memory.sending.as_ref().is_some_and(|sending| sending.sent && memory.looks < patience(sending.answered)) {
        return memory::wait(memory.looks, format!("waiting for {name} to take its configuration"), &memory);
    }
    // It holds the keys of the cluster, and whoever answers here proved nothing yet.
    identity::prove(api, unit.node)?;
    let sent = api.apply_configuration(&wanted.text);
    memory.sending = Some(Sending { digest: wanted.digest.clone(), sent: true, answered: sent.is_ok(), ..Sending::default() });
    memory.looks = 0;
    match sent {
        Ok(_) => memory::wait(0, format!("{name} takes its configuration"), &memory),
        Err(status) if refusal::is_passing(&status) => {
            memory::wait(0, format!("looking whether {name} took its configuration ({})", said(&status)), &memory)
        }
        Err(status) => Err(refused(api, &status)),
    }
}

/// Another configuration for a node that has one.
fn change(api: &Api, wanted: &Wanted, mut memory: NodeMemory) -> Result<Step, Failure> {
    let name = api.node.clone();
    let status = api.machine_status().map_err(api.failed("ask for the stage"))?;
    if status.leaves() {
        return memory::wait(memory.looks, format!("waiting for {name}, which is {}", status.stage), &memory);
    }
    let Some(sending) = &mut memory.sending else {
        // Whether it has restarted can be told only by what was before.
        let boot = api.boot_id()?;
        let sending = Sending { digest: wanted.digest.clone(), boot, running: status.stage == "running", ..Sending::default() };
        return memory::next(
            format!("{name} is about to get its configuration"),
            &NodeMemory { sending: Some(sending), looks: 0, ..memory },
        );
    };
    if sending.sent && memory.looks < patience(sending.answered) {
        return memory::wait(memory.looks, format!("waiting for {name} to take its configuration"), &memory);
    }
    memory.looks = 0;
    let answer = api.apply_configuration(&wanted.text);
    (sending.sent, sending.answered) = (true, answer.is_ok());
    match answer {
        Ok(answer) => {
            sending.restarts = answer.mode == ApplyConfigurationRequestMode::Reboot as i32;
            let what = if sending.restarts { "restarts with" } else { "takes" };
            memory::wait(0, format!("{name} {what} its configuration"), &memory)
        }
        // It takes nothing while it is about to restart.
        Err(status) if refusal::is_passing(&status) || status.code == code::PRECONDITION => {
            memory::wait(0, format!("looking whether {name} took its configuration ({})", said(&status)), &memory)
        }
        Err(status) => Err(refused(api, &status)),
    }
}

/// The configuration is in force; a node that restarts for it is waited for.
fn settle(unit: Unit<'_>, api: &Api, wanted: &Wanted, memory: &NodeMemory) -> Result<Step, Failure> {
    let name = &api.node;
    if let Some(sending) = memory.sending.as_ref().filter(|sending| sending.restarts && !sending.boot.is_empty())
        && api.boot_id()? == sending.boot
    {
        return memory::wait(memory.looks, format!("waiting for {name} to restart"), memory);
    }
    let status = api.machine_status().map_err(api.failed("ask for the stage"))?;
    // A control plane boots until there is etcd, so only one that was running before has to be so again.
    let was_running = memory.sending.as_ref().is_some_and(|sending| sending.running);
    if status.leaves() || status.stage == "installing" || was_running && status.stage != "running" {
        return memory::wait(memory.looks, format!("waiting for {name}, which is {}", status.stage), memory);
    }
    let identity = unit.node.machine_identity().unwrap_or_default();
    memory::done(&NodeMemory { identity, digest: wanted.digest.clone(), ..NodeMemory::default() })
}

/// A node that does not want its configuration says why.
fn refused(api: &Api, status: &emhost_sdk::grpc::Status) -> Failure {
    if !matches!(status.code, code::INVALID | code::UNKNOWN) {
        return refusal::failure(&api.node, "apply the configuration", status);
    }
    Failure::invalid("talos/config-refused", format!("{} does not take its configuration", api.node))
        .detail(said(status))
        .help("correct the patch or the value that it names; `emhost generate` writes the configuration to look at")
}
