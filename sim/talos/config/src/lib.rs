//! The machine configuration of a Talos node: what it is, what a version of Talos takes and refuses, and what it says.

pub mod at_once;
mod canonical;
mod cel;
mod diff;
mod load;
mod schema;
mod scope;
mod validate;
mod values;
mod version;
mod view;
pub mod yaml;

#[cfg(test)]
mod oracle;

pub use diff::{diff, dry_run};
pub use load::{LoadError, load};
pub use schema::rows;
pub use scope::{Scope, scope};
pub use validate::{Invalid, Mode, Running, runtime_validate, validate};
pub use version::{NotAVersion, Version};
pub use view::kubernetes_range;
pub use view::{
    AutoHostname, Cni, Component, DiskFacts, DiskSelector, ExtensionService, Features, InlineManifest, Install, Link, LinkFacts, LinkKind,
    LinkMatch, MachineType, Mirror, Pem, Route, UserVolume,
};

use yaml::Node;

/// A configuration that was loaded: every document is of a kind, and every key of a type, that its version knows.
#[derive(Clone, Debug)]
pub struct Config {
    text: Vec<u8>,
    version: Version,
    documents: Vec<Document>,
}

/// One document of a configuration.
#[derive(Clone, Debug)]
pub struct Document {
    kind: String,
    name: Option<String>,
    root: Node,
}

impl Document {
    /// The kind; `v1alpha1` for the document that has none.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name, for kinds of which there may be several.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether this is the document of the machine and its cluster.
    pub fn is_main(&self) -> bool {
        self.kind == "v1alpha1"
    }

    /// Its tree: nulls in lists that cannot hold any are gone.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// How refusals call the document.
    pub fn id(&self) -> String {
        match &self.name {
            Some(name) => format!("{}/{name}", self.kind),
            None => self.kind.clone(),
        }
    }
}

impl Config {
    /// The bytes that were loaded, as they are stored.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The version it was loaded for.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Every document, in the order of the text.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Whether a node can boot with it; documents alone leave it in maintenance.
    pub fn is_complete(&self) -> bool {
        self.main().is_some()
    }

    fn main(&self) -> Option<&Node> {
        self.documents.iter().find(|document| document.is_main()).map(|document| &document.root)
    }

    /// A value of the document of the machine and its cluster.
    fn at(&self, way: &[&str]) -> Option<&Node> {
        self.main()?.at(way)
    }

    /// The documents of one kind.
    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Document> {
        self.documents.iter().filter(move |document| document.kind == kind)
    }
}
