//! What a document is called.

use super::Problem;
use crate::tree::{Entries, Node, get};

/// By what documents of a configuration and of a patch are paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// None for the document with `machine` and `cluster`.
    pub kind: Option<String>,
    name: Option<String>,
}

impl Identity {
    pub(super) fn of(document: &Node) -> Result<Self, Problem> {
        let Node::Map(entries) = document else {
            return Err(Problem::whole(format!("a document must be a map, not {}", document.kind())));
        };
        let kind = document.text_of("kind").map(str::to_owned);
        if kind.is_none() && !is_main(entries) {
            return Err(Problem::whole("it says no `kind`, and has no `machine` or `cluster`"));
        }
        // Only documents with a kind have names.
        let name = kind.as_ref().and(document.text_of("name")).map(str::to_owned);
        Ok(Self { kind, name })
    }

    /// The beginning of pointers into the document.
    pub(super) fn prefix(&self) -> String {
        crate::pointer::pointer(&self.parts())
    }

    /// The kind and the name, of those that are there.
    pub(crate) fn parts(&self) -> Vec<String> {
        self.kind.iter().chain(&self.name).cloned().collect()
    }
}

fn is_main(entries: &Entries) -> bool {
    ["machine", "cluster", "debug", "persist"].iter().any(|key| entries.iter().any(|(known, _)| known == key))
        || get(entries, "version").and_then(Node::as_text) == Some("v1alpha1")
}

/// The identities of documents, of which no two may be the same.
pub(super) fn identities(documents: &[Node]) -> Result<Vec<Identity>, Problem> {
    let mut known = Vec::new();
    for document in documents {
        let identity = Identity::of(document)?;
        if known.contains(&identity) {
            return Err(Problem::whole("a document is there twice").inside(&identity.prefix()));
        }
        known.push(identity);
    }
    Ok(known)
}
