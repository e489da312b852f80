//! Makes the machines of the small world.
//!
//! Every step looks before it changes anything, changes one thing at most, and holds a storage only for a create. The identity of a new
//! machine is in the state before the create goes out, so that a lost reply is answered by looking for it.

use emhost_sdk::provisioner::{FirstBoot, Machine, Power};
use emhost_sdk::types::{Again, BootBase};
use emhost_sdk::{
    Action, Artifact, Attribute, Change, Diagnostic, Disruption, Failure, FieldChange, Intent, Lifecycle, Proposal, Provisioner, Site,
    State, Step, Unit,
};
use guests::fixture::{Hypervisor, NewVm, Settings, Vm, VmUpdate, Volume, digest, next, random, remembered};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

struct Fixture;

impl Lifecycle for Fixture {}

/// What is remembered of one machine.
#[derive(Clone, Serialize, Deserialize)]
struct Memory {
    /// Made for one creation.
    identity: String,
    /// Known once the hypervisor has the machine. From then on the identity is used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    /// What makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<u32>,
    /// The update that was made and answered, so that one which does not take is not made for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<String>,
}

impl Memory {
    fn new() -> Self {
        Self { identity: random(), id: None, task: None, updated: None }
    }

    fn of(vm: &Vm) -> Self {
        Self { identity: vm.identity.clone(), id: Some(vm.id), task: vm.task, updated: None }
    }

    /// A failure that loses nothing of this.
    fn kept(&self, failure: Failure) -> Failure {
        match State::of(1, self) {
            Ok(state) => failure.state(state),
            Err(worse) => worse,
        }
    }
}

/// What the inventory wants of a machine.
struct Wanted {
    cores: u32,
    memory: u64,
    disk: u32,
    storage: String,
}

impl Wanted {
    fn of(unit: Unit<'_>) -> Result<Self, Failure> {
        let node = unit.node;
        let Some(disk) = node.disks().into_iter().find(|disk| disk.system) else {
            return Err(Failure::invalid("fixture/disk", format!("{} has no system disk", node.name())).pointer("/disk"));
        };
        Ok(Self { cores: node.cores(), memory: node.memory_mib(), disk: disk.size_gib, storage: disk.storage })
    }

    fn holds(&self) -> Vec<String> {
        vec![format!("storage:{}", self.storage)]
    }

    /// What is to be done about a machine that is there, and how a person reads it. Media go once nothing boots from them any more.
    fn differences(&self, vm: &Vm, first_boot: Option<&FirstBoot>) -> Result<(VmUpdate, Vec<FieldChange>), Failure> {
        let (mut update, mut fields) = (VmUpdate::default(), Vec::new());
        if vm.cores != self.cores {
            update.cores = Some(self.cores);
            fields.push(field("/cores", Some(json!(vm.cores)), json!(self.cores)));
        }
        if vm.memory != self.memory {
            update.memory = Some(self.memory);
            fields.push(field("/memory-mib", Some(json!(vm.memory)), json!(self.memory)));
        }
        if vm.disk > self.disk {
            let summary = format!("the disk of {} has {} GiB and cannot shrink to {}", vm.name, vm.disk, self.disk);
            return Err(Failure::invalid("fixture/shrink", summary).pointer("/disk").help("give it the size it has, or replace the node"));
        }
        if vm.disk < self.disk {
            update.disk = Some(self.disk);
            fields.push(field("/disks/0/size-gib", Some(json!(vm.disk)), json!(self.disk)));
        }
        if first_boot.is_none() && !vm.media.is_empty() {
            update.media = Some(Vec::new());
            fields.push(field("/media", Some(labels(&vm.media)), json!([])));
        }
        Ok((update, fields))
    }
}

fn field(pointer: &str, before: Option<Value>, after: Value) -> FieldChange {
    FieldChange {
        pointer: pointer.to_owned(),
        before: before.map(|value| value.to_string()),
        after: Some(after.to_string()),
        sensitive: false,
    }
}

fn labels(media: &[Volume]) -> Value {
    media.iter().map(|volume| volume.label.as_str()).collect()
}

fn volumes(first_boot: &FirstBoot) -> Vec<Volume> {
    let volume = |medium: &emhost_sdk::Medium| {
        let content: Vec<u8> = medium.files.iter().flat_map(|file| [file.path.as_bytes(), b"\0", &file.body, b"\0"].concat()).collect();
        Volume { label: medium.label.clone(), digest: digest(&content) }
    };
    first_boot.media.iter().map(volume).collect()
}

fn image(first_boot: &FirstBoot) -> Result<&Artifact, Failure> {
    match &first_boot.boot.base {
        BootBase::DiskImage(image) => Ok(image),
        _ => Err(Failure::invalid("fixture/boot", "this hypervisor makes machines from disk images only")),
    }
}

fn nothing_to_boot(unit: Unit<'_>) -> Failure {
    Failure::conflict("fixture/gone", format!("{} has no machine, and nothing says what a new one boots from", unit.node.name()))
        .help("plan again")
}

/// The machine that the state remembers, or else the one with the cluster's mark and the node's name. A number alone proves nothing.
fn find(hypervisor: &Hypervisor, unit: Unit<'_>, memory: Option<&Memory>) -> Result<Option<Vm>, Failure> {
    if let Some(Memory { id: Some(id), identity, .. }) = memory
        && let Some(vm) = hypervisor.machine(*id)?.filter(|vm| vm.identity == *identity)
    {
        return Ok(Some(vm));
    }
    hypervisor.named(&unit.cluster.id(), &unit.node.name())
}

fn described(vm: &Vm, node: Option<String>, addresses: Vec<String>) -> Machine {
    let running = vm.status == "running";
    Machine {
        id: vm.id.to_string(),
        identity: vm.identity.clone(),
        node,
        host: "world".to_owned(),
        power: if running { Power::On } else { Power::Off },
        addresses: if running { addresses } else { Vec::new() },
        attributes: vec![Attribute { key: "status".to_owned(), value: vm.status.clone() }],
    }
}

fn present(unit: Unit<'_>, settings: &Settings, first_boot: Option<&FirstBoot>, memory: Option<Memory>) -> Result<Step, Failure> {
    let hypervisor = Hypervisor::default();
    let wanted = Wanted::of(unit)?;
    let Some(vm) = find(&hypervisor, unit, memory.as_ref())? else {
        let first_boot = first_boot.ok_or_else(|| nothing_to_boot(unit))?;
        return match memory.filter(|memory| memory.id.is_none()) {
            Some(memory) => create(&hypervisor, unit, settings, &wanted, first_boot, memory),
            // Either there was none, or its machine is gone: an identity is for one creation.
            None => next("an identity was made for it", &Memory::new(), wanted.holds()),
        };
    };
    let mut memory = memory.filter(|memory| memory.identity == vm.identity).unwrap_or_else(|| Memory::of(&vm));
    memory.id = Some(vm.id);
    if vm.status == "creating" {
        return made(&hypervisor, settings, &vm, memory);
    }
    let (update, fields) = wanted.differences(&vm, first_boot)?;
    let update_id = digest(serde_json::to_string(&update).unwrap_or_default().as_bytes());
    if !fields.is_empty() && memory.updated.as_ref() != Some(&update_id) {
        hypervisor.update(vm.id, &update).map_err(|failure| memory.kept(failure))?;
        memory.updated = Some(update_id);
        return next("changed", &memory, Vec::new());
    }
    if vm.status == "stopped" {
        hypervisor.start(vm.id).map_err(|failure| memory.kept(failure))?;
        return next("started", &memory, Vec::new());
    }
    Ok(Step::done(State::of(1, &Memory { task: None, updated: None, ..memory })?))
}

fn create(
    hypervisor: &Hypervisor,
    unit: Unit<'_>,
    settings: &Settings,
    wanted: &Wanted,
    first_boot: &FirstBoot,
    mut memory: Memory,
) -> Result<Step, Failure> {
    let image = image(first_boot)?;
    let new = NewVm {
        name: unit.node.name(),
        identity: memory.identity.clone(),
        cluster: unit.cluster.id(),
        cores: wanted.cores,
        memory: wanted.memory,
        disk: wanted.disk,
        storage: wanted.storage.clone(),
        image: image.name.clone(),
        url: image.url.clone(),
        digest: image.digest.clone(),
        media: volumes(first_boot),
    };
    match hypervisor.create(&new).map_err(|failure| memory.kept(failure))? {
        Some(created) => {
            (memory.id, memory.task) = (Some(created.id), Some(created.task));
            settings.wait("being made", &memory)
        }
        None => next("the hypervisor had a machine with this identity", &Memory::new(), wanted.holds()),
    }
}

/// Waits for the task that makes a machine.
fn made(hypervisor: &Hypervisor, settings: &Settings, vm: &Vm, mut memory: Memory) -> Result<Step, Failure> {
    memory.task = vm.task.or(memory.task);
    match memory.task {
        Some(task) if hypervisor.is_done(task).map_err(|failure| memory.kept(failure))? => next("made", &memory, Vec::new()),
        _ => settings.wait("being made", &memory),
    }
}

/// The steps that remove a machine whose identity was proved a moment ago.
fn remove(hypervisor: &Hypervisor, settings: &Settings, vm: &Vm) -> Result<Step, Failure> {
    let memory = Memory::of(vm);
    match vm.status.as_str() {
        "creating" => made(hypervisor, settings, vm, memory),
        "running" => {
            hypervisor.stop(vm.id).map_err(|failure| memory.kept(failure))?;
            next("stopped", &memory, Vec::new())
        }
        _ => {
            hypervisor.delete(vm.id, &vm.identity).map_err(|failure| memory.kept(failure))?;
            next("deleted", &memory, Vec::new())
        }
    }
}

fn absent(unit: Unit<'_>, settings: &Settings, memory: Option<&Memory>) -> Result<Step, Failure> {
    let hypervisor = Hypervisor::default();
    let Some(vm) = find(&hypervisor, unit, memory)? else { return Ok(Step::finished()) };
    // What was remembered, or else what was seen when the removal was approved.
    let proof = memory.map(|memory| memory.identity.clone()).or_else(|| unit.node.machine_identity());
    if proof.as_ref() != Some(&vm.identity) {
        let summary = format!("machine {} is called {}, and is not the one that was made for it", vm.id, vm.name);
        return Err(Failure::conflict("fixture/identity", summary).help("look at it, and remove it by hand if it is not needed"));
    }
    remove(&hypervisor, settings, &vm)
}

impl Provisioner for Fixture {
    fn check(site: Site<'_>) -> Result<Vec<Diagnostic>, Failure> {
        let mut found = vec![Diagnostic::note("fixture/fine", "the small world has room")];
        let in_the_way = Settings::of(site.operation)?.in_the_way;
        found.extend(in_the_way.map(|what| Diagnostic::error("fixture/in-the-way", what).help("take it away")));
        Ok(found)
    }

    fn observe(unit: Unit<'_>, state: Option<State>) -> Result<Option<Machine>, Failure> {
        let memory = remembered(state.as_ref())?;
        let addresses = unit.node.cards().into_iter().filter_map(|card| card.address);
        let addresses = addresses.map(|address| address.split('/').next().unwrap_or_default().to_owned()).collect();
        let vm = find(&Hypervisor::default(), unit, memory.as_ref())?;
        Ok(vm.map(|vm| described(&vm, Some(unit.node.name()), addresses)))
    }

    fn plan(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Result<Proposal, Failure> {
        let memory: Option<Memory> = remembered(state.as_ref())?;
        let vm = find(&Hypervisor::default(), unit, memory.as_ref())?;
        let name = unit.node.name();
        let act = |change, subject: String, disruption, reason: &str, fields| Action {
            change,
            subject,
            disruption,
            reason: reason.to_owned(),
            fields,
            attributes: Vec::new(),
        };
        let mut proposal = Proposal::nothing();
        match (intent, vm) {
            (Intent::Absent, None) => {}
            (Intent::Absent, Some(vm)) => {
                let (subject, reason) = (format!("machine {} ({name})", vm.id), "its node is to go");
                proposal.actions.push(act(Change::Destroy, subject, Disruption::DataLoss, reason, Vec::new()));
            }
            (Intent::Present, Some(vm)) if vm.status != "creating" => {
                let (update, mut fields) = Wanted::of(unit)?.differences(&vm, first_boot.as_ref())?;
                let running = vm.status == "running";
                if !running {
                    fields.push(field("/power", Some(json!("off")), json!("on")));
                }
                let reboots = running && (update.cores.is_some() || update.memory.is_some());
                let disruption = if reboots { Disruption::Reboot } else { Disruption::None };
                if !fields.is_empty() {
                    let (subject, reason) = (format!("machine {} ({name})", vm.id), "it is not as the inventory says");
                    proposal.actions.push(act(Change::Update, subject, disruption, reason, fields));
                }
            }
            // One that is still being made is planned like one that is not there, so that a run which was cut short goes on with
            // what was approved.
            (Intent::Present, _) => {
                let wanted = Wanted::of(unit)?;
                let first_boot = first_boot.ok_or_else(|| nothing_to_boot(unit))?;
                let fields = vec![
                    field("/cores", None, json!(wanted.cores)),
                    field("/memory-mib", None, json!(wanted.memory)),
                    field("/disks/0/size-gib", None, json!(wanted.disk)),
                    field("/image", None, json!(image(&first_boot)?.name)),
                    field("/media", None, labels(&volumes(&first_boot))),
                ];
                let (subject, reason) = (format!("machine {name}"), "it is in the inventory and not at the hypervisor");
                proposal.holds = wanted.holds();
                proposal.actions.push(act(Change::Create, subject, Disruption::None, reason, fields));
            }
        }
        if Settings::of(unit.operation)?.drift {
            let fields = vec![field("/drift", None, json!(random()))];
            proposal.actions.push(act(Change::Update, format!("machine {name}"), Disruption::None, "it drifts", fields));
        }
        Ok(proposal)
    }

    fn apply(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Result<Step, Failure> {
        let settings = Settings::of(unit.operation)?;
        let memory: Option<Memory> = remembered(state.as_ref())?;
        if settings.again_forever {
            return settings.wait("never done", &memory.unwrap_or_else(Memory::new));
        }
        match intent {
            Intent::Present => present(unit, &settings, first_boot.as_ref(), memory),
            Intent::Absent => absent(unit, &settings, memory.as_ref()),
        }
    }

    fn owned(site: Site<'_>) -> Result<Vec<Machine>, Failure> {
        let names: std::collections::BTreeSet<String> = site.cluster.nodes().iter().map(emhost_sdk::Node::name).collect();
        let hypervisor = Hypervisor::default();
        let owned = hypervisor.owned(&site.cluster.id())?;
        let mut owned: Vec<Machine> = owned.iter().map(|vm| described(vm, names.get(&vm.name).cloned(), Vec::new())).collect();
        if site.cluster.attributes().iter().any(|attribute| attribute.key == "destroy.images" && attribute.value == "true") {
            owned.extend(hypervisor.images()?.into_iter().map(|name| Machine {
                identity: name.clone(),
                id: name,
                node: None,
                host: "world".to_owned(),
                power: Power::Off,
                addresses: Vec::new(),
                attributes: vec![Attribute { key: "kind".to_owned(), value: "image".to_owned() }],
            }));
        }
        Ok(owned)
    }

    fn discard(site: Site<'_>, machine: Machine, _: Option<State>) -> Result<Step, Failure> {
        let hypervisor = Hypervisor::default();
        if machine.attributes.iter().any(|attribute| attribute.key == "kind" && attribute.value == "image") {
            if !hypervisor.images()?.contains(&machine.id) {
                return Ok(Step::finished());
            }
            hypervisor.delete_image(&machine.id)?;
            return Ok(Step::Again(Again { after_ms: 0, reason: "deleted".to_owned(), state: None, holds: Vec::new() }));
        }
        let id: u32 =
            machine.id.parse().map_err(|_| Failure::invalid("fixture/id", format!("{} is no number of a machine", machine.id)))?;
        // Gone, or gone and its number given to another.
        let Some(vm) = hypervisor.machine(id)?.filter(|vm| vm.identity == machine.identity) else { return Ok(Step::finished()) };
        if vm.cluster != site.cluster.id() {
            return Err(Failure::conflict("fixture/owner", format!("machine {id} belongs to another cluster")));
        }
        remove(&hypervisor, &Settings::of(site.operation)?, &vm)
    }
}

emhost_sdk::plugin!(
    Fixture: provisioner;
    text = concat!(r#"{
        "name": "fixture-provisioner",
        "description": "makes the machines of the small world",
        "settings": "#, guests::fixture_settings!(), r#",
        "asks": [{"grant": "http:hypervisor", "why": "makes, changes and removes machines"}]
    }"#)
);
