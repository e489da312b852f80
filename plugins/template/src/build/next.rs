//! What to do next for a template, given what is there. Pure.

use emhost_sdk::Failure;

use super::wanted::Wanted;
use crate::site::{Machine, Task};

/// Numbers of templates begin here, where machines rarely are.
const FIRST: u32 = 9000;
const LAST: u32 = 999_999_999;

/// What is there.
pub(super) struct Seen<'a> {
    pub(super) machines: &'a [Machine],
    /// Of the machine with the template's name.
    pub(super) description: String,
    /// Whether the image is on its storage.
    pub(super) image: bool,
    /// Whether it is on its way.
    pub(super) downloading: bool,
    /// The number of a machine that its host is making.
    pub(super) making: Option<String>,
    /// Whether its machine is becoming a template.
    pub(super) converting: bool,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is there.
    Done,
    /// Somebody is at it.
    Wait(String),
    /// Have the host fetch the image.
    Download,
    /// Remember this number.
    Number(u32),
    /// Make the machine.
    Create(u32),
    /// Make a template of it.
    Convert { vmid: u32, node: String },
}

/// Decides. `chosen` is the number that is remembered.
pub(super) fn next(wanted: &Wanted, seen: &Seen<'_>, chosen: Option<u32>) -> Result<Next, Failure> {
    let name = &wanted.name;
    let mut own = seen.machines.iter().filter(|machine| machine.name == *name);
    if let Some(machine) = own.next() {
        let Machine { vmid, node, .. } = machine;
        let ours = seen.description.trim() == wanted.description;
        if ours && machine.is_template() && !seen.converting {
            return Ok(Next::Done);
        }
        if !ours || own.next().is_some() || machine.status == "running" {
            let summary = format!("machine {vmid} on {node} is called {name} too, and is not one that emhost began to make a template of");
            let help = format!("rename or remove it, or use it as it is: `qm template {vmid}` on {node} makes a template of it");
            return Err(Failure::conflict("template/name", summary).help(help));
        }
        if let Some(lock) = machine.lock.as_deref().filter(|lock| !lock.is_empty()) {
            return Ok(Next::Wait(format!("machine {vmid} ({name}) on {node} is being worked on (lock `{lock}`)")));
        }
        if seen.converting {
            return Ok(Next::Wait(format!("machine {vmid} ({name}) on {node} is becoming a template")));
        }
        return Ok(Next::Convert { vmid: *vmid, node: node.clone() });
    }
    if seen.downloading {
        return Ok(Next::Wait(format!("image {} is being downloaded by {}", wanted.file, wanted.host)));
    }
    if !seen.image {
        return Ok(Next::Download);
    }
    // A machine has no name until it is made, so this may be the one that was begun before.
    if let Some(vmid) = &seen.making {
        return Ok(Next::Wait(format!("machine {vmid} is being made on {}, which may be this template", wanted.host)));
    }
    let taken = |vmid: u32| seen.machines.iter().find(|machine| machine.vmid == vmid);
    match (chosen.filter(|vmid| taken(*vmid).is_none()), wanted.vmid.and_then(taken)) {
        (Some(vmid), _) => Ok(Next::Create(vmid)),
        (None, Some(other)) => {
            let summary = format!("template {name} is to be machine {}, and that is `{}` on {}", other.vmid, other.name, other.node);
            Err(Failure::conflict("template/number", summary).help("choose another number, or let emhost choose one"))
        }
        (None, None) => {
            let free = || (FIRST..=LAST).find(|vmid| taken(*vmid).is_none());
            let none =
                || Failure::conflict("template/number", "no number is free for a template").help("remove machines that nobody needs");
            wanted.vmid.or_else(free).map(Next::Number).ok_or_else(none)
        }
    }
}

/// Whether a task that ended did what it should.
pub(super) fn ended(task: &Task, what: &str) -> Result<(), Failure> {
    let said = task.exitstatus.as_deref().unwrap_or("nothing");
    // What Proxmox only warns of was done.
    if said == "OK" || said.starts_with("WARNINGS") {
        return Ok(());
    }
    let summary = format!("Proxmox tried to {what}, and ended with: {said}");
    if said.contains("timeout") {
        return Err(Failure::unavailable("template/task", summary).help("try again"));
    }
    Err(Failure::conflict("template/task", summary).help("look at the task's log at Proxmox, put right what it says, and run it again"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            name: "talos-v1.11.5-base".into(),
            host: "pve1".into(),
            vmid: None,
            images: "local".into(),
            file: "talos.qcow2".into(),
            url: "https://factory.talos.dev/x".into(),
            digest: Some("sha256:ab".into()),
            storage: "local-lvm".into(),
            bridge: "vmbr0".into(),
            chipset: "q35".into(),
            bios: "ovmf".into(),
            cpu: "host".into(),
            description: "emhost template version=v1.11.5 schematic=3765".into(),
        }
    }

    /// What is next where there are these machines.
    fn after(machines: serde_json::Value, description: &str, image: bool, chosen: Option<u32>) -> Result<Next, Failure> {
        let machines: Vec<Machine> = serde_json::from_value(machines).unwrap();
        next(
            &wanted(),
            &Seen { machines: &machines, description: description.to_owned(), image, downloading: false, making: None, converting: false },
            chosen,
        )
    }

    #[test]
    fn each_step_follows_from_what_is_there() {
        let other = json!({"vmid": 9000, "name": "other", "node": "pve1", "template": 1});
        assert_eq!(after(json!([other]), "", false, None).unwrap(), Next::Download);
        assert_eq!(after(json!([other]), "", true, None).unwrap(), Next::Number(9001), "remembered before it is asked for");
        assert_eq!(after(json!([other]), "", true, Some(9001)).unwrap(), Next::Create(9001));
        assert_eq!(after(json!([other]), "", true, Some(9000)).unwrap(), Next::Number(9001), "somebody else was faster");
        let description = wanted().description;
        let own = |more: serde_json::Value| {
            let mut own = json!({"vmid": 9001, "name": "talos-v1.11.5-base", "node": "pve2", "status": "stopped"});
            own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            after(json!([other, own]), &wanted().description, true, None)
        };
        assert!(matches!(own(json!({"lock": "create"})).unwrap(), Next::Wait(_)));
        assert_eq!(own(json!({})).unwrap(), Next::Convert { vmid: 9001, node: "pve2".into() });
        assert_eq!(own(json!({"template": 1})).unwrap(), Next::Done);
        assert!(own(json!({"status": "running"})).is_err(), "a machine that runs is somebody's");
        let made: Vec<Machine> =
            serde_json::from_value(json!([{"vmid": 9001, "name": "talos-v1.11.5-base", "node": "pve2", "template": 1}])).unwrap();
        let becoming = Seen { machines: &made, description, image: true, downloading: false, making: None, converting: true };
        assert!(matches!(next(&wanted(), &becoming, None).unwrap(), Next::Wait(_)), "not a second time");
        let nameless = Seen {
            machines: &[],
            description: String::new(),
            image: true,
            downloading: false,
            making: Some("9000".into()),
            converting: false,
        };
        assert!(matches!(next(&wanted(), &nameless, None).unwrap(), Next::Wait(_)), "it may be the one that was begun");
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        let own = json!([{"vmid": 9001, "name": "talos-v1.11.5-base", "node": "pve2", "status": "stopped"}]);
        let failure = after(own, "my own", true, None).unwrap_err();
        assert_eq!(failure.diagnostics[0].code, "template/name");
        let given = Wanted { vmid: Some(100), ..wanted() };
        let machines: Vec<Machine> = serde_json::from_value(json!([{"vmid": 100, "name": "db", "node": "pve1"}])).unwrap();
        let seen =
            Seen { machines: &machines, description: String::new(), image: true, downloading: false, making: None, converting: false };
        assert_eq!(next(&given, &seen, None).unwrap_err().diagnostics[0].code, "template/number");
    }

    #[test]
    fn a_task_that_failed_says_what_it_was_for() {
        let task = |said: &str| Task { status: "stopped".into(), exitstatus: Some(said.into()), ..Task::default() };
        assert!(ended(&task("OK"), "x").is_ok() && ended(&task("WARNINGS: 1"), "x").is_ok());
        let failure = ended(&task("checksum mismatch"), "download image a").unwrap_err();
        assert_eq!(failure.diagnostics[0].summary, "Proxmox tried to download image a, and ended with: checksum mismatch");
    }
}
