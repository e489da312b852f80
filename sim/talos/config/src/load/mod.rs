//! From the bytes of a configuration to its documents, as strictly as a node of that version.

mod decode;
mod unknown;

use std::collections::{HashMap, HashSet};

use super::schema::{MAIN, Shape, Table};
use super::yaml::{self, Content, Node};
use super::{Config, Document, Version};

/// Why a configuration is not loaded, in the words of Talos.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

/// Reads a configuration of one or several documents.
///
/// # Errors
/// With what a node of that version answers: keys and kinds it does not know, values of the wrong kind, documents twice.
pub fn load(text: &[u8], version: Version) -> Result<Config, LoadError> {
    let Ok(words) = std::str::from_utf8(text) else {
        return Err(LoadError("decode error: yaml: invalid leading UTF-8 octet".to_owned()));
    };
    let stream = yaml::parse(words);
    let mut documents = Vec::new();
    let mut known = HashSet::new();
    for root in stream.documents {
        if let Some(document) = document(root, version, &mut known).map_err(LoadError)? {
            documents.push(document);
        }
    }
    if let Some(fault) = stream.fault {
        return Err(LoadError(format!("decode error: yaml: {fault}")));
    }
    if documents.is_empty() {
        return Err(LoadError("config not found".to_owned()));
    }
    together(&documents, version).map_err(LoadError)?;
    Ok(Config { text: text.to_vec(), version, documents })
}

/// One document; nothing for one that is empty.
fn document(mut root: Node, version: Version, known: &mut HashSet<[String; 3]>) -> Result<Option<Document>, String> {
    let late = version.since(1, 13);
    if !matches!(root.content, Content::Map(_)) {
        return match (late, root.is_null()) {
            (true, true) => Ok(None),
            (true, false) => Err(format!("expected a YAML document at line {}", root.line)),
            (false, _) => Err("recovered: expected a mapping node".to_owned()),
        };
    }
    let value =
        |key: &str| root.entries().iter().find(|(name, _)| name.raw() == Some(key)).and_then(|(_, value)| value.raw()).unwrap_or_default();
    let kind = match value("kind") {
        "" => "v1alpha1",
        kind => kind,
    };
    let id = [value("apiVersion").to_owned(), kind.to_owned(), value("name").to_owned()];
    let shown = id.join("/");
    let line = if late { format!(" (line {})", root.line) } else { String::new() };
    if !known.insert(id) {
        return Err(format!("duplicate document {shown} is not allowed{line}"));
    }
    let (kind, name, type_name) =
        typed(&root, version).map_err(|why| if late { format!("error decoding document {shown}{line}: {why}") } else { why })?;
    decode::without_nulls(&mut root, &Shape::Struct(type_name), version);
    Ok(Some(Document { kind, name, root }))
}

/// Finds the struct of a document and checks the document against it.
fn typed(root: &Node, version: Version) -> Result<(String, Option<String>, &'static str), String> {
    let table = Table::get();
    let text = |key: &str, what: &str| match root.get(key) {
        None => Ok(String::new()),
        Some(node) => {
            let verb = decode::verb(version);
            let wrong = || format!("{what} decode: yaml: {verb} errors:\n  line {}: cannot {verb} {} into string", node.line, node.tag());
            node.text().map(str::to_owned).ok_or_else(wrong)
        }
    };
    let kind = text("kind", "kind")?;
    let mut api = text("apiVersion", "version")?;
    if ["machine", "cluster", "debug", "persist"].iter().any(|key| root.entries().iter().any(|(name, _)| name.raw() == Some(key))) {
        "v1alpha1".clone_into(&mut api);
    }
    let main = kind == "v1alpha1" || api == "v1alpha1" && kind.is_empty();
    let name = if main {
        MAIN
    } else if kind.is_empty() {
        return Err("missing kind".to_owned());
    } else if api.is_empty() && version.since(1, 13) {
        return Err("missing apiVersion".to_owned());
    } else {
        let known = table.kind(&kind, version).filter(|_| api == "v1alpha1");
        known.ok_or_else(|| format!("{kind:?} {api:?}: not registered"))?
    };
    decode::check(root, name, version).map_err(|why| format!("error decoding {kind} to *{name}: {why}"))?;
    unknown::check(root, name, version)?;
    if main {
        return Ok(("v1alpha1".to_owned(), None, name));
    }
    let named = table.key(name, "name", version).map(|_| root.get("name").and_then(Node::text).unwrap_or_default().to_owned());
    Ok((kind, named, name))
}

/// The kinds that describe one link each, so that one link has one of them.
const LINKS: [&str; 7] = ["BondConfig", "BridgeConfig", "DummyLinkConfig", "LinkConfig", "VLANConfig", "VRFConfig", "WireguardConfig"];

fn rivals(kind: &str) -> Vec<&'static str> {
    match kind {
        "UserVolumeConfig" => vec!["ExistingVolumeConfig"],
        "ExistingVolumeConfig" => vec!["UserVolumeConfig"],
        "Layer2VIPConfig" => vec!["HCloudVIPConfig"],
        "HCloudVIPConfig" => vec!["Layer2VIPConfig"],
        kind if LINKS.contains(&kind) => LINKS.iter().filter(|other| **other != kind).copied().collect(),
        _ => Vec::new(),
    }
}

/// What documents may not be together.
fn together(documents: &[Document], version: Version) -> Result<(), String> {
    let mut seen = HashSet::new();
    let mut conflicts: HashMap<String, String> = HashMap::new();
    let mut main = false;
    for document in documents {
        if document.is_main() {
            if main {
                return Err("duplicate v1alpha1.Config".to_owned());
            }
            main = true;
            continue;
        }
        let name = document.name.as_deref().unwrap_or_default();
        let id = format!("{}/{name}", document.kind);
        if !seen.insert(id.clone()) {
            return Err(format!("duplicate document: {id}"));
        }
        if !version.since(1, 11) {
            continue;
        }
        if let Some(other) = conflicts.get(&id) {
            return Err(format!("conflicting documents: {other} and {id}"));
        }
        for rival in rivals(&document.kind) {
            let rival = format!("{rival}/{name}");
            if seen.contains(&rival) {
                return Err(format!("conflicting documents: {rival} and {id}"));
            }
            conflicts.insert(rival, id.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
