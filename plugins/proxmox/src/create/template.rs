//! Cloning a template.

use emhost_sdk::{Failure, Step};

use super::{claim, taken};
use crate::api::Meaning;
use crate::api::answers::Listed;
use crate::find::described;
use crate::machine::parameters;
use crate::memory::Memory;
use crate::work::Work;

/// The template of this name or number, wherever it is; one on the host itself before others.
///
/// # Errors
/// There is none, or what is called so is no template.
pub fn named<'a>(all: &'a [Listed], name: &str, host: &str, node: &str) -> Result<&'a Listed, Failure> {
    let number = name.parse::<u32>().ok();
    let called = |listed: &&Listed| listed.kind == "qemu" && (number == Some(listed.vmid) || listed.name.as_deref() == Some(name));
    let mut found: Vec<&Listed> = all.iter().filter(called).collect();
    let pointer = "/template";
    if found.is_empty() {
        let summary = format!("there is no template `{name}` for {node}");
        let help = "make it (`emhost template build`, or `qm template`), or correct `templates` in cluster.yaml; names are case-sensitive";
        return Err(Failure::invalid("proxmox/template", summary).pointer(pointer).help(help));
    }
    if let Some(machine) = found.first().filter(|_| !found.iter().any(|listed| listed.template)) {
        let summary = format!("`{name}`, which {node} is to be a copy of, is no template: {}", described(machine));
        let help = format!("convert it with `qm template {}` on {}, or name a template", machine.vmid, machine.node);
        return Err(Failure::invalid("proxmox/template", summary).pointer(pointer).help(help));
    }
    found.retain(|listed| listed.template);
    let near: Vec<&Listed> = found.iter().copied().filter(|listed| listed.node == host).collect();
    match (&near[..], &found[..]) {
        ([one], _) | ([], [one]) => Ok(one),
        _ => {
            let list: Vec<String> = found.iter().map(|listed| described(listed)).collect();
            let summary = format!("several templates are called `{name}`: {}", list.join(", "));
            Err(Failure::invalid("proxmox/template", summary).pointer(pointer).help("name the template of this node by its number"))
        }
    }
}

/// Asks for the copy.
pub fn clone(work: Work<'_>, mut memory: Memory, name: &str, all: &[Listed]) -> Result<Step, Failure> {
    let node = &work.wanted.node;
    let template = named(all, name, &memory.host, node)?;
    let what = format!("clone template {} ({name}) on {} to VM {} for {node}", template.vmid, template.node, memory.vmid);
    let form = parameters::clone(work.wanted, memory.vmid, &claim(work, &memory), &template.node);
    memory.ask(&what)?;
    match work.api.clone_machine(&template.node, template.vmid, &form) {
        Ok(upid) => memory.wait_for(upid, what, "is being cloned"),
        Err(trouble) if trouble.meaning() == Some(Meaning::Taken) => taken(memory),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(vmid: u32, name: &str, node: &str, template: bool) -> Listed {
        Listed { kind: "qemu".to_owned(), vmid, node: node.to_owned(), name: Some(name.to_owned()), template, ..Listed::default() }
    }

    #[test]
    fn a_template_is_found_by_name_or_number_and_near_ones_first() {
        let all = [listed(9000, "talos", "pve1", true), listed(9001, "talos", "pve2", true), listed(9002, "other", "pve2", true)];
        let number = |name: &str, host: &str| named(&all, name, host, "dev-cp-1").map(|listed| listed.vmid);
        assert_eq!(number("talos", "pve2").expect("near"), 9001);
        assert_eq!(number("9000", "pve3").expect("by number"), 9000);
        assert_eq!(number("other", "pve1").expect("far"), 9002);
        assert!(number("talos", "pve3").is_err());
        assert!(number("Talos", "pve1").is_err());
    }

    #[test]
    fn a_machine_is_no_template() {
        let all = [listed(9000, "talos", "pve1", false)];
        let failure = named(&all, "talos", "pve1", "dev-cp-1").expect_err("no template");
        assert_eq!(failure.diagnostics[0].help.as_deref(), Some("convert it with `qm template 9000` on pve1, or name a template"));
    }
}
