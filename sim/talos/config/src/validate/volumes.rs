//! Documents about disks and volumes.

use std::collections::BTreeSet;

use super::super::cel::{Environment, Expression, Type};
use super::super::values::{self, quoted};
use super::super::yaml::Node;
use super::super::{Config, Document, Version};
use super::Findings;

/// Letters a volume's name may have: what is left of a partition's label.
const LONGEST: usize = 34;

/// Looks at a document about volumes; says whether it is one.
pub(super) fn check(document: &Document, version: Version, findings: &mut Findings) -> bool {
    let root = &document.root;
    let name = document.name.as_deref().unwrap_or_default();
    match document.kind.as_str() {
        "VolumeConfig" => system(root, name, version, findings),
        "UserVolumeConfig" => {
            self::name(name, true, findings);
            user(root, findings);
        }
        "RawVolumeConfig" | "SwapVolumeConfig" => {
            self::name(name, true, findings);
            provisioning(root, true, true, findings);
            encryption(root, findings);
        }
        "ExistingVolumeConfig" => {
            self::name(name, false, findings);
            match root.at(&["discovery", "volumeSelector", "match"]).and_then(Node::text).filter(|source| !source.is_empty()) {
                None => findings.problem("volume selector is required"),
                Some(source) => {
                    if let Err(why) = Expression::read(source, Environment::Volume, &Type::Bool) {
                        findings.problem(format!("volume selector is invalid: {why}"));
                    }
                }
            }
        }
        "ExternalVolumeConfig" => {
            self::name(name, true, findings);
            let filesystem = word(root, &["filesystemType"], "none");
            if filesystem != "virtiofs" {
                findings.problem(format!("invalid filesystem type: {filesystem}"));
            } else if let Some(mount) = root.at(&["mount", "virtiofs"]) {
                findings.problem_if(mount.get("tag").is_none_or(|tag| tag.raw() == Some("")), "virtiofs tag is required");
            } else {
                findings.problem("virtiofs mount spec is required");
            }
        }
        "ZswapConfig" => {
            let percent = root.get("maxPoolPercent").and_then(Node::number);
            findings.problem_if(percent.is_some_and(|percent| !(0..=100).contains(&percent)), "maxPoolPercent must be between 0 and 100");
        }
        _ => return false,
    }
    true
}

fn word(root: &Node, way: &[&str], otherwise: &str) -> String {
    root.at(way).and_then(Node::text).unwrap_or(otherwise).to_lowercase()
}

fn name(name: &str, limited: bool, findings: &mut Findings) {
    findings.problem_if(name.is_empty(), "name is required");
    findings.problem_if(limited && !(1..=LONGEST).contains(&name.len()), "name must be between 1 and 34 characters long");
    let sound = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    findings.problem_if(!sound, "name can only contain lowercase and uppercase ASCII letters, digits, and hyphens");
}

fn system(root: &Node, name: &str, version: Version, findings: &mut Findings) {
    let allowed: &[&str] = match version.minor {
        ..=8 => &["EPHEMERAL"],
        9 | 10 => &["EPHEMERAL", "IMAGECACHE"],
        _ => &["STATE", "EPHEMERAL", "IMAGECACHE"],
    };
    if !allowed.contains(&name) {
        let shown: Vec<_> = allowed.iter().map(|name| quoted(name)).collect();
        findings.problem(if allowed.len() == 1 {
            "only EPHEMERAL volumes are supported".to_owned()
        } else {
            format!("only [{}] volumes are supported", shown.join(" "))
        });
        return;
    }
    if name == "STATE" {
        findings.problem_if(is_provisioned(root), "provisioning config is not allowed for the \"STATE\" volume");
        for key in root.at(&["encryption", "keys"]).map(Node::items).unwrap_or_default() {
            findings.problem_if(
                key.get("lockToState").and_then(Node::truth) == Some(true),
                "state-locked key is not allowed for the \"STATE\" volume",
            );
        }
    }
    provisioning(root, false, true, findings);
    encryption(root, findings);
}

fn user(root: &Node, findings: &mut Findings) {
    match word(root, &["volumeType"], "partition").as_str() {
        "directory" => {
            findings.problem_if(is_provisioned(root), "provisioning spec is invalid for volumeType directory");
            findings.problem_if(is_encrypted(root), "encryption spec is invalid for volumeType directory");
            let filesystem =
                word(root, &["filesystem", "type"], "none") != "none" || root.at(&["filesystem", "projectQuotaSupport"]).is_some();
            findings.problem_if(filesystem, "filesystem spec is invalid for volumeType directory");
            let mount = ["disableAccessTime", "secure"].iter().any(|key| root.at(&["mount", key]).is_some());
            findings.problem_if(mount, "mount spec is invalid for volumeType directory");
        }
        kind @ ("disk" | "partition") => {
            provisioning(root, true, kind == "partition", findings);
            filesystem(root, findings);
            encryption(root, findings);
        }
        kind => findings.problem(format!("unsupported volume type {}", quoted(kind))),
    }
}

fn filesystem(root: &Node, findings: &mut Findings) {
    let kind = word(root, &["filesystem", "type"], "none");
    if !["none", "xfs", "ext4"].contains(&kind.as_str()) {
        findings.problem(format!("unsupported filesystem type: {kind}"));
        return;
    }
    let quota = root.at(&["filesystem", "projectQuotaSupport"]).and_then(Node::truth) == Some(true);
    // Nothing said means xfs.
    findings.problem_if(quota && kind == "ext4", "project quota support is only available for xfs filesystem");
}

/// A size that is there, and whether it is negative; none for per cent.
fn size(root: &Node, key: &str) -> Option<(Option<u64>, bool)> {
    let text = root.at(&["provisioning", key])?.text().filter(|text| !text.is_empty())?;
    let (negative, bare) = text.strip_prefix('-').map_or((false, text), |bare| (true, bare));
    Some((values::bytes(bare).ok(), negative))
}

fn provisioning(root: &Node, required: bool, sized: bool, findings: &mut Findings) {
    match root.at(&["provisioning", "diskSelector", "match"]).and_then(Node::text).filter(|source| !source.is_empty()) {
        None => findings.problem_if(required, "disk selector is required"),
        Some(source) => {
            if let Err(why) = Expression::read(source, Environment::Disk, &Type::Bool) {
                findings.problem(format!("disk selector is invalid: {why}"));
            }
        }
    }
    let (least, most) = (size(root, "minSize"), size(root, "maxSize"));
    if !sized {
        let any = least.is_some() || most.is_some() || root.at(&["provisioning", "grow"]).is_some();
        findings.problem_if(any, "min size, max size and grow are not supported");
        return;
    }
    match (least, most) {
        (Some((Some(least), _)), Some((Some(most), false))) => findings.problem_if(least > most, "min size is greater than max size"),
        (None, None) => findings.problem_if(required, "min size or max size is required"),
        _ => {}
    }
    findings.problem_if(least.is_some_and(|(_, negative)| negative), "min size cannot be negative");
}

fn is_provisioned(root: &Node) -> bool {
    let there = |way: &[&str]| root.at(&[&["provisioning"], way].concat()).is_some_and(|node| node.raw() != Some(""));
    there(&["grow"]) || there(&["minSize"]) || there(&["maxSize"]) || there(&["diskSelector", "match"])
}

fn is_encrypted(root: &Node) -> bool {
    word(root, &["encryption", "provider"], "none") != "none"
        || root.at(&["encryption", "keys"]).is_some_and(|keys| !keys.items().is_empty())
}

fn encryption(root: &Node, findings: &mut Findings) {
    if !is_encrypted(root) {
        return;
    }
    let provider = word(root, &["encryption", "provider"], "none");
    if provider != "luks2" {
        findings.problem(format!("unsupported encryption provider: {provider}"));
    }
    let keys = root.at(&["encryption", "keys"]).map(Node::items).unwrap_or_default();
    findings.problem_if(keys.is_empty(), "encryption keys are required");
    let mut slots = BTreeSet::new();
    for key in keys.iter().filter(|key| !key.is_null()) {
        let slot = key.get("slot").and_then(Node::number).unwrap_or(0);
        if !slots.insert(slot) {
            findings.problem(format!("duplicate key slot {slot}"));
        }
        if ["static", "nodeID", "kms", "tpm"].iter().all(|method| key.get(method).is_none()) {
            findings.problem(format!("at least one encryption key type must be specified for slot {slot}"));
        }
        for register in key.at(&["tpm", "options", "pcrs"]).map(Node::items).unwrap_or_default() {
            if let Some(register) = register.number().filter(|register| !(0..=23).contains(register)) {
                findings.problem(format!("TPM PCR {register} is out of range (0-23)"));
            }
        }
    }
}

/// Encryption that is configured in the document and in the machine's section.
pub(super) fn conflict(document: &Document, config: &Config) -> Option<String> {
    let name = document.name.as_deref()?;
    let section = match name {
        "STATE" => "state",
        "EPHEMERAL" => "ephemeral",
        _ => return None,
    };
    let encrypted = word(&document.root, &["encryption", "provider"], "none") != "none";
    let both = encrypted && config.at(&["machine", "systemDiskEncryption", section]).is_some();
    both.then(|| format!("system disk encryption for {} is configured in both v1alpha1.Config and VolumeConfig", quoted(name)))
}
