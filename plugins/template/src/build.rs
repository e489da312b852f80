//! Makes a template: the host fetches the image, a machine is made of it that is never started, and becomes a template.
//!
//! Each step looks first, so one that was cut off is taken up where it was: the image is known by its name, the
//! machine by its name and its description.

mod next;
mod wanted;

use emhost_sdk::provisioner::{FirstBoot, Machine, Power};
use emhost_sdk::types::{Action, Change, Disruption};
use emhost_sdk::{Failure, Intent, Proposal, State, Step, Unit};
use serde::{Deserialize, Serialize};

use crate::site;
use next::{Next, Seen, next};
use wanted::Wanted;

/// What is remembered between steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Memory {
    /// The number that was chosen for it.
    vmid: Option<u32>,
    /// The task that is under way, and what it does.
    task: Option<(String, String)>,
    /// How often was waited for the same thing.
    waits: u32,
}

impl Memory {
    const LAYOUT: u32 = 1;

    fn again(&self, reason: impl Into<String>) -> Result<Step, Failure> {
        // Soon where nothing takes time, and without noise where much does.
        let pause = (50u32 << self.waits.min(5)).min(1000);
        Ok(Step::again(pause, reason, State::of(Self::LAYOUT, self)?))
    }

    fn wait(self, reason: impl Into<String>) -> Result<Step, Failure> {
        Self { waits: self.waits + 1, ..self }.again(reason)
    }

    fn started(self, upid: String, what: String) -> Result<Step, Failure> {
        let reason = what.clone();
        Self { task: Some((upid, what)), waits: 0, ..self }.again(reason)
    }
}

/// The template, or the machine that is to become it.
pub(crate) fn observe(unit: Unit<'_>) -> Result<Option<Machine>, Failure> {
    let name = unit.node.name();
    let found = site::machines(unit.node.placement().as_deref())?.into_iter().find(|machine| machine.name == name);
    Ok(found.map(|machine| Machine {
        id: machine.vmid.to_string(),
        // Nobody removes a template by this, so its name is all there is to prove.
        identity: name.clone(),
        node: Some(name),
        host: machine.node.clone(),
        power: Power::Off,
        addresses: Vec::new(),
        attributes: vec![emhost_sdk::Attribute { key: "template".to_owned(), value: machine.is_template().to_string() }],
    }))
}

/// What would be done.
pub(crate) fn plan(unit: Unit<'_>, intent: Intent) -> Result<Proposal, Failure> {
    let name = unit.node.name();
    if intent == Intent::Absent {
        return Err(stays(&name));
    }
    if site::machines(unit.node.placement().as_deref())?.iter().any(|machine| machine.name == name && machine.is_template()) {
        return Ok(Proposal::nothing());
    }
    let action = Action {
        change: Change::Create,
        subject: format!("template {name}"),
        disruption: Disruption::None,
        reason: "machines are cloned from it".to_owned(),
        fields: Vec::new(),
        attributes: Vec::new(),
    };
    Ok(Proposal { actions: vec![action], holds: Vec::new() })
}

fn stays(name: &str) -> Failure {
    Failure::invalid("template/removal", format!("template {name} is not emhost's to remove: other clusters may use it"))
        .help("remove it at Proxmox, once nothing is cloned from it any more")
}

/// One step.
pub(crate) fn apply(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<&State>) -> Result<Step, Failure> {
    if intent == Intent::Absent {
        return Err(stays(&unit.node.name()));
    }
    let Some(first_boot) = first_boot else {
        return Err(Failure::internal("template/image", "a template is made from an image, and none was given"));
    };
    let wanted = Wanted::of(unit, &first_boot.boot)?;
    let mut memory: Memory = state.map(State::read).transpose()?.unwrap_or_default();
    if let Some((upid, what)) = memory.task.clone() {
        let task = site::task(&upid)?;
        if task.status == "running" {
            return memory.wait(what);
        }
        memory = Memory { task: None, waits: 0, ..memory };
        let cleared = State::of(Memory::LAYOUT, &memory)?;
        next::ended(&task, &what).map_err(|failure| failure.state(cleared))?;
    }
    // What is under way is asked for before what is there: something that ends in between is then seen as there.
    let at_work = |kind: &str| site::at_work(&wanted.host, kind);
    let (downloads, making, converting) = (at_work("download")?, at_work("qmcreate")?, at_work("qmtemplate")?);
    let machines = site::machines(Some(&wanted.host))?;
    let own = machines.iter().find(|machine| machine.name == wanted.name);
    let seen = Seen {
        machines: &machines,
        description: own.map(site::description).transpose()?.unwrap_or_default(),
        image: own.is_some() || site::has_image(&wanted.host, &wanted.images, &wanted.volume())?,
        downloading: downloads.contains(&wanted.file),
        making: making.into_iter().next(),
        converting: own.is_some_and(|machine| converting.contains(&machine.vmid.to_string())),
    };
    let (host, name) = (&wanted.host, &wanted.name);
    match next(&wanted, &seen, memory.vmid)? {
        Next::Done => Ok(Step::finished()),
        Next::Wait(reason) => memory.wait(reason),
        Next::Number(vmid) => Memory { vmid: Some(vmid), ..memory }.again(format!("template {name} is to be machine {vmid}")),
        Next::Download => {
            let what = format!("download image {} to storage {} of {host}", wanted.file, wanted.images);
            let path = format!("/nodes/{host}/storage/{}/download-url", emhost_sdk::http::encode(&wanted.images));
            memory.started(site::start(&path, &wanted.download(), &what)?, what)
        }
        Next::Create(vmid) => {
            let what = format!("make machine {vmid} ({name}) on {host}");
            memory.started(site::start(&format!("/nodes/{host}/qemu"), &wanted.create(vmid), &what)?, what)
        }
        Next::Convert { vmid, node } => {
            let what = format!("make a template of machine {vmid} ({name}) on {node}");
            memory.started(site::start(&format!("/nodes/{node}/qemu/{vmid}/template"), &[], &what)?, what)
        }
    }
}
