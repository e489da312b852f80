//! Labels, annotations and taints of the Kubernetes node.

use super::super::Config;
use super::super::values::quoted;
use super::{Findings, many};

/// Annotations Talos itself keeps.
const RESERVED: [&str; 3] = ["talos.dev/owned-annotations", "talos.dev/owned-labels", "talos.dev/owned-taints"];
/// Bytes all annotations may have together.
const MOST: usize = 256 * 1024;

pub(super) fn check(config: &Config, findings: &mut Findings) {
    let mut problems = Vec::new();
    for (key, value) in config.node_labels() {
        problems.extend(name(&key).err());
        problems.extend(self::value(&value).err());
    }
    report("labels", &problems, findings);

    let mut problems = Vec::new();
    let annotations = config.node_annotations();
    for key in annotations.keys() {
        problems.extend(name(key).err());
        if RESERVED.contains(&key.as_str()) {
            problems.push(format!("annotation {} is reserved", quoted(key)));
        }
    }
    if annotations.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > MOST {
        problems.push(format!("total annotation size exceeds limit of {MOST} bytes"));
    }
    report("annotations", &problems, findings);

    let mut problems = Vec::new();
    for (key, text, effect) in config.node_taints() {
        if let Err(problem) = name(&key) {
            problems.push(problem);
        } else if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect.as_str()) {
            problems.push(format!("invalid taint effect: {}", quoted(&effect)));
        } else {
            problems.extend(value(&text).err());
        }
    }
    report("taints", &problems, findings);
}

fn report(what: &str, problems: &[String], findings: &mut Findings) {
    if !problems.is_empty() {
        findings.problem(format!("invalid machine node {what}: {}", many(problems)));
    }
}

fn edges(text: &str, inner: &str) -> bool {
    let sound = |character: char| character.is_ascii_alphanumeric() || inner.contains(character);
    text.chars().all(sound)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}

/// `example.com/name`, or a name alone.
fn name(text: &str) -> Result<(), String> {
    let parts: Vec<_> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                return Err(format!("prefix cannot be empty: {}", quoted(text)));
            }
            domain(prefix).map_err(|why| format!("prefix {} is invalid: {why}", quoted(prefix)))?;
            name
        }
        _ => return Err(format!("invalid format: too many slashes: {}", quoted(text))),
    };
    if name.is_empty() {
        Err(format!("name cannot be empty: {}", quoted(text)))
    } else if name.len() > 63 {
        Err(format!("name is too long: {} (limit is 63)", quoted(text)))
    } else if edges(name, "-_.") {
        Ok(())
    } else {
        Err(format!("name {} is invalid", quoted(name)))
    }
}

fn domain(text: &str) -> Result<(), String> {
    if text.len() > 253 {
        return Err(format!("domain name length exceeds limit of 253: {}", quoted(text)));
    }
    let sound = text.split('.').all(|label| edges(label, "-") && !label.contains(|character: char| character.is_ascii_uppercase()));
    if sound { Ok(()) } else { Err(format!("domain doesn't match required format: {}", quoted(text))) }
}

fn value(text: &str) -> Result<(), String> {
    if text.len() > 63 {
        Err(format!("label value length exceeds limit of 63: {}", quoted(text)))
    } else if text.is_empty() || edges(text, "-_.") {
        Ok(())
    } else {
        Err(format!("label value {} is invalid", quoted(text)))
    }
}
