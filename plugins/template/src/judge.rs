//! Whether there is such a template, and whether it is the right one. Pure.

use emhost_factory_client::{Image, Version, Wanted, nearest};
use emhost_sdk::{Diagnostic, Failure};

use crate::site::Machine;

const BUILD: &str = "make one with `emhost template build`";

/// The templates of this name or number: one, or one on each of several hosts.
pub(crate) fn find<'a>(machines: &'a [Machine], wanted: &str) -> Result<Vec<&'a Machine>, Failure> {
    let number: Option<u32> = wanted.parse().ok();
    let called = |machine: &&Machine| number.map_or(machine.name == wanted, |number| machine.vmid == number);
    let (templates, others): (Vec<&Machine>, Vec<&Machine>) = machines.iter().filter(called).partition(|machine| machine.is_template());
    if templates.is_empty() {
        return Err(others.first().map_or_else(|| missing(machines, wanted), |machine| unfinished(machine)));
    }
    let twin = |(index, one): (usize, &&Machine)| templates[..index].iter().any(|other| other.node == one.node);
    if templates.iter().enumerate().any(twin) {
        let places: Vec<String> = templates.iter().map(|machine| format!("{} on {}", machine.vmid, machine.node)).collect();
        let summary = format!("{} templates are called `{wanted}`: {}", templates.len(), places.join(", "));
        let help = "name the one to clone by its number in `templates` of cluster.yaml";
        return Err(Failure::invalid("template/several", summary).pointer("/template").help(help));
    }
    Ok(templates)
}

fn missing(machines: &[Machine], wanted: &str) -> Failure {
    let templates: Vec<&Machine> = machines.iter().filter(|machine| machine.is_template()).collect();
    let near = nearest(wanted, templates.iter().map(|machine| machine.name.as_str()));
    let mut names: Vec<String> = templates.iter().map(|machine| format!("{} ({})", machine.name, machine.vmid)).collect();
    names.sort();
    let detail = if names.is_empty() {
        "there is no template at all that the credential may see".to_owned()
    } else {
        format!("templates that are there: {}", names.join(", "))
    };
    let help = match near {
        Some(near) => format!("did you mean `{near}`? Correct `template` or `templates`, or {BUILD}"),
        None => format!("{BUILD}, name another in `templates` of cluster.yaml, or let the credential of slot `pve` see it (VM.Audit)"),
    };
    Failure::invalid("template/missing", format!("there is no template `{wanted}` at this Proxmox"))
        .pointer("/template")
        .detail(detail)
        .help(help)
}

fn unfinished(machine: &Machine) -> Failure {
    let Machine { vmid, name, node, lock, .. } = machine;
    let summary = format!("virtual machine {vmid} (`{name}`) on {node} is to be cloned, and is not a template");
    match lock.as_deref().filter(|lock| !lock.is_empty()) {
        Some(lock) => Failure::unavailable("template/unfinished", format!("{summary} yet: it is being worked on (lock `{lock}`)"))
            .pointer("/template")
            .help("wait until that is done, and try again"),
        None => Failure::invalid("template/unfinished", summary)
            .pointer("/template")
            .help(format!("shut it down and run `qm template {vmid}` on {node}, or name another in `templates` of cluster.yaml")),
    }
}

/// Whether a template holds what the node is to run, as far as its name and description say. What cannot be told comes back.
pub(crate) fn fits(template: &Machine, description: &str, wanted: &Wanted, image: &Image) -> Result<Vec<Diagnostic>, Failure> {
    let Machine { vmid, name, .. } = template;
    let Some(version) = version_of(name).or_else(|| described(description, "version").and_then(|text| version_of(&text))) else {
        let summary = format!("nothing says which version of Talos template {vmid} (`{name}`) holds");
        let help = format!("call it `talos-{}-base`, or write `version={}` into its notes", wanted.version, wanted.version);
        return Ok(vec![Diagnostic::warning("template/version", summary).pointer("/template").help(help)]);
    };
    if version != wanted.version {
        let summary = format!("template {vmid} (`{name}`) holds Talos {version}, and node {} is to run {}", wanted.node, wanted.version);
        let help = format!("{BUILD}, and name it in `templates` of cluster.yaml; or set `talos_version` to {version}");
        return Err(Failure::invalid("template/version", summary).pointer("/template").help(help));
    }
    let ours = image.schematic.id();
    match described(description, "schematic") {
        Some(theirs) if theirs != ours => {
            let summary =
                format!("template {vmid} (`{name}`) was made with other extensions or kernel arguments than node {} asks for", wanted.node);
            let detail = format!("its schematic is {theirs}, and the node's is {ours}:\n{}", image.schematic.canonical().trim_end());
            let help = format!("{BUILD}, or change `extensions` and `kernel_args`");
            Err(Failure::invalid("template/schematic", summary).pointer("/template").detail(detail).help(help))
        }
        _ => Ok(Vec::new()),
    }
}

/// The versions that templates are named after, each once.
pub(crate) fn versions(machines: &[Machine]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for version in machines.iter().filter(|machine| machine.is_template()).filter_map(|machine| version_of(&machine.name)) {
        let text = version.to_string();
        if version.is_supported() && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The version in a name such as `talos-v1.11.5-base` or `talos-v1.12.0-beta.1-base`.
fn version_of(text: &str) -> Option<Version> {
    let words: Vec<&str> = text.split(['-', '_', ' ']).collect();
    let early = |word: &&&str| ["alpha", "beta", "rc"].iter().any(|early| word.starts_with(early));
    let version = |(index, word): (usize, &&str)| {
        let early = words.get(index + 1).filter(early).and_then(|next| Version::parse(&format!("{word}-{next}")));
        early.or_else(|| Version::parse(word))
    };
    words.iter().enumerate().find_map(version)
}

/// The value of `key=` in a description.
fn described(description: &str, key: &str) -> Option<String> {
    description.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use emhost_factory_client::Settings;
    use emhost_factory_client::samples::wanted;
    use emhost_sdk::FailureKind;
    use serde_json::json;

    use super::*;
    use crate::choice::choose;

    fn machines() -> Vec<Machine> {
        serde_json::from_value(json!([
            {"vmid": 9000, "name": "talos-v1.11.5-base", "node": "pve1", "template": 1, "status": "stopped", "type": "qemu"},
            {"vmid": 9001, "name": "golden", "node": "pve2", "template": "1"},
            {"vmid": 9002, "name": "talos-v1.12.1-base", "node": "pve1", "template": 0},
            {"vmid": 9003, "name": "half", "node": "pve1", "lock": "create"},
            {"vmid": 9004, "name": "twice", "node": "pve1", "template": 1},
            {"vmid": 9005, "name": "twice", "node": "pve1", "template": 1},
            {"vmid": 9006, "name": "each", "node": "pve1", "template": 1},
            {"vmid": 9007, "name": "each", "node": "pve2", "template": 1},
            {"vmid": 100, "name": "golden", "node": "pve1", "template": 0},
        ]))
        .unwrap()
    }

    fn told(failure: &Failure) -> (FailureKind, &str, &str) {
        let first = &failure.diagnostics[0];
        assert_eq!(first.pointer.as_deref(), Some("/template"));
        (failure.kind, &first.summary, first.help.as_deref().unwrap())
    }

    #[test]
    fn a_template_is_found_by_name_or_number() {
        let machines = machines();
        let found = |wanted: &str| find(&machines, wanted).unwrap().iter().map(|machine| machine.vmid).collect::<Vec<_>>();
        assert_eq!((found("talos-v1.11.5-base"), found("9000"), found("golden")), (vec![9000], vec![9000], vec![9001]));
        assert_eq!((found("9005"), found("each")), (vec![9005], vec![9006, 9007]), "each host may have its own");
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is() {
        let failure = find(&machines(), "talos-v1.11.5-bas").unwrap_err();
        let (kind, summary, help) = told(&failure);
        assert_eq!((kind, summary), (FailureKind::Invalid, "there is no template `talos-v1.11.5-bas` at this Proxmox"));
        assert!(help.starts_with("did you mean `talos-v1.11.5-base`?"), "{help}");
        assert!(failure.diagnostics[0].detail.as_ref().unwrap().contains("golden (9001)"), "{failure:?}");
        assert!(told(&find(&[], "9999").unwrap_err()).2.contains("VM.Audit"));
    }

    #[test]
    fn one_that_is_not_finished_is_told_how_to_be() {
        let failure = find(&machines(), "talos-v1.12.1-base").unwrap_err();
        let (kind, summary, help) = told(&failure);
        assert_eq!(kind, FailureKind::Invalid);
        assert_eq!(summary, "virtual machine 9002 (`talos-v1.12.1-base`) on pve1 is to be cloned, and is not a template");
        assert!(help.contains("`qm template 9002` on pve1"), "{help}");
        let failure = find(&machines(), "half").unwrap_err();
        assert_eq!(told(&failure).0, FailureKind::Unavailable, "somebody is at it");
    }

    #[test]
    fn two_of_one_name_are_told_apart_by_number() {
        let failure = find(&machines(), "twice").unwrap_err();
        assert_eq!(told(&failure).1, "2 templates are called `twice`: 9004 on pve1, 9005 on pve1");
    }

    #[test]
    fn a_template_holds_what_its_name_or_description_says() {
        use super::fits as check;
        let choice = choose(&wanted(), None, &Settings::default());
        let fits = |index: usize, description: &str, version: &str| {
            let wanted = Wanted { version: Version::parse(version).unwrap(), ..wanted() };
            check(&machines()[index], description, &wanted, &choice.image)
        };
        assert_eq!(fits(0, "", "v1.11.5").unwrap(), []);
        assert_eq!(fits(1, "made by hand, version=v1.11.5", "v1.11.5").unwrap(), []);
        assert_eq!(fits(1, "my golden image", "v1.11.5").unwrap()[0].code, "template/version");
        for (index, description) in [(0, ""), (1, "version=v1.11.5")] {
            let failure = fits(index, description, "v1.12.1").unwrap_err();
            let (_, summary, help) = told(&failure);
            assert!(summary.contains("holds Talos v1.11.5, and node dev-cp-1 is to run v1.12.1"), "{summary}");
            assert!(help.contains("emhost template build"), "{help}");
        }
        let same = format!("emhost template version=v1.11.5 schematic={}", choice.image.schematic.id());
        assert_eq!(fits(0, &same, "v1.11.5").unwrap(), []);
        let failure = fits(0, "emhost template version=v1.11.5 schematic=ce4c", "v1.11.5").unwrap_err();
        assert!(told(&failure).1.contains("other extensions"), "{failure:?}");
    }

    #[test]
    fn versions_are_those_of_templates() {
        let named = |text: &str| version_of(text).map(|version| version.to_string());
        assert_eq!(named("talos-v1.12.0-beta.1-base").as_deref(), Some("v1.12.0-beta.1"));
        assert_eq!(named("talos-1.11.5").as_deref(), Some("v1.11.5"));
        assert_eq!(named("talos-base"), None);
        assert_eq!(versions(&machines()), ["v1.11.5"]);
    }
}
