//! Whether a document has only keys that Talos knows, with values of their type.

use emhost_talos_schema::rows::Span;

use super::{ANYTHING, Release, Shape, Table};
use crate::patch::Problem;
use crate::tree::{Meaning, Node};

/// The first thing in a document that Talos would refuse to read.
pub(crate) fn check(document: &Node, release: Release) -> Result<(), Problem> {
    let table = Table::get();
    let Some(name) = table.document(document, release) else {
        if release.is_unknown() {
            return Ok(());
        }
        let kind = document.text_of("kind").unwrap_or_default();
        let problem = match table.kinds.get(kind) {
            Some((_, span)) => format!("documents of kind `{kind}` need {}", needed(*span)),
            None => {
                format!("there is no kind of document `{kind}`{}", near(kind, table.kinds.keys().copied()))
            }
        };
        return Err(Problem::at(&["kind"], problem));
    };
    if document.get("kind").is_some() && document.text_of("apiVersion") != Some("v1alpha1") {
        return Err(Problem::at(&["apiVersion"], "it must be `v1alpha1`"));
    }
    value(document, &Shape::Named(name), release, &mut Vec::new())
}

fn value(node: &Node, shape: &Shape, release: Release, path: &mut Vec<String>) -> Result<(), Problem> {
    if node.is_null() {
        return Ok(());
    }
    let wrong = |expected: &str, path: &[String]| Err(Problem::at(path, format!("it must be {expected}, not {}", node.kind())));
    match (shape, node) {
        (Shape::List(element, _), Node::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                value(item, element, release, path)?;
                path.pop();
            }
            Ok(())
        }
        (Shape::List(..), _) => wrong("a list", path),
        (Shape::Map(element, _), Node::Map(entries)) => {
            for (key, inner) in entries {
                path.push(key.clone());
                value(inner, element, release, path)?;
                path.pop();
            }
            Ok(())
        }
        (Shape::Map(..), _) => wrong("a map", path),
        (Shape::Named(name), Node::Map(entries)) if Table::get().is_struct(name) => {
            for (key, inner) in entries {
                path.push(key.clone());
                match Table::get().key(name, key, release) {
                    Some(known) => value(inner, &known.shape, release, path)?,
                    None if release.is_unknown() => {}
                    None => return Err(Problem::at(path, unknown(name, key, release))),
                }
                path.pop();
            }
            Ok(())
        }
        (Shape::Named(name), _) if Table::get().is_struct(name) => wrong("a map", path),
        (Shape::Named(name), node) => leaf(name, node).or_else(|expected| wrong(expected, path)),
    }
}

/// Whether a value fits a leaf, or what it should be.
fn leaf(name: &str, node: &Node) -> Result<(), &'static str> {
    let fits = |fits: bool, expected| if fits { Ok(()) } else { Err(expected) };
    match (name, node) {
        (ANYTHING, node) => fits(matches!(node, Node::Map(_)), "a map"),
        ("v1alpha1.ArgValue", node) => fits(!matches!(node, Node::Map(_)), "a text or a list of texts"),
        ("bool", Node::Scalar(scalar)) => fits(scalar.truth().is_some(), "true or false"),
        ("int" | "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "v1alpha1.FileMode", Node::Scalar(scalar)) => {
            fits(matches!(scalar.meaning(), Meaning::Int(_) | Meaning::Float(_)), "a number")
        }
        (_, Node::Scalar(_)) => Ok(()),
        ("bool", _) => Err("true or false"),
        _ => Err("a text"),
    }
}

fn unknown(name: &str, key: &str, release: Release) -> String {
    if key == "$patch" {
        return "`$patch` takes only `delete`".to_owned();
    }
    let table = Table::get();
    let other: Option<Span> = table.key(name, key, Release(None)).map(|known| known.span);
    match other {
        Some(span) => format!("the key `{key}` needs {}", needed(span)),
        None => format!("Talos knows no key `{key}` here{}", near(key, table.keys(name, release).map(|known| known.name))),
    }
}

/// Since when, or until when.
fn needed(span: Span) -> String {
    if span.to == u16::MAX { format!("Talos 1.{} or newer", span.from) } else { format!("Talos up to 1.{}", span.to) }
}

/// A word about the known name that looks most alike.
fn near<'name>(wrong: &str, known: impl Iterator<Item = &'name str>) -> String {
    let best = known.map(|name| (strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase()), name));
    best.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(one.1)))
        .filter(|(likeness, _)| *likeness > 0.8)
        .map(|(_, name)| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::parse;

    fn said(text: &str, minor: u16) -> String {
        let documents = parse(text).unwrap();
        documents
            .iter()
            .find_map(|document| check(document, Release(Some(minor))).err())
            .map_or(String::new(), |problem| problem.to_string())
    }

    #[test]
    fn what_talos_would_refuse_is_named() {
        for (text, expected) in [
            ("machine: {type: worker, sysctls: {a: 1}, kubelet: {extraConfig: {any: [1]}}}", ""),
            ("machine: {kubelett: {}}", "/machine/kubelett: Talos knows no key `kubelett` here; did you mean `kubelet`?"),
            ("machine: {certSANs: a}", "/machine/certSANs: it must be a list, not a text"),
            ("machine: {install: {wipe: maybe}}", "/machine/install/wipe: it must be true or false, not a text"),
            (
                "machine: {network: {interfaces: [{interface: e, mtu: big}]}}",
                "/machine/network/interfaces/0/mtu: it must be a number, not a text",
            ),
            ("machine: {env: {a: [1]}}", "/machine/env/a: it must be a text, not a list"),
            (
                "machine: {install: {grubUseUKICmdline: true}}",
                "/machine/install/grubUseUKICmdline: the key `grubUseUKICmdline` needs Talos 1.12 or newer",
            ),
            (
                "{apiVersion: v1alpha1, kind: HostnameConfig, hostname: a}",
                "/kind: documents of kind `HostnameConfig` need Talos 1.12 or newer",
            ),
            (
                "{apiVersion: v1alpha1, kind: VolumeConfg}",
                "/kind: there is no kind of document `VolumeConfg`; did you mean `VolumeConfig`?",
            ),
            ("{kind: VolumeConfig}", "/apiVersion: it must be `v1alpha1`"),
            ("machine: {time: {$patch: replace}}", "/machine/time/$patch: `$patch` takes only `delete`"),
        ] {
            assert_eq!(said(text, 11), expected, "{text}");
        }
    }

    #[test]
    fn what_a_newer_talos_may_know_is_let_through() {
        assert_eq!(said("{machine: {novelty: 1}}\n---\n{apiVersion: v1alpha1, kind: NoveltyConfig}", 14), "");
    }
}
