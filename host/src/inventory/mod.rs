//! The cluster as its inventory describes it: the model every plugin reads, and how it is read from files.
//!
//! A file becomes a tree with places (`yaml`), the tree is read by the schema of the file's type (`shape`, `schema`,
//! `written`), the result is checked across files (`checks`) and turned into the model (`machines`). Nothing stops at the
//! first mistake: [`load`] gives all findings at once.

mod checks;
mod files;
mod findings;
mod flaws;
mod formats;
pub mod import;
mod machines;
mod model;
mod options;
mod schema;
mod shape;
mod simulated;
pub mod site;
mod sources;
mod starter;
mod values;
mod words;
mod written;
mod yaml;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use files::Files;
pub use model::{Cluster, Node, nothing};
pub use options::Options;
pub use schema::{NAMES as SCHEMAS, schema};
pub use site::Site;
pub use sources::Sources;
pub use starter::{IGNORED, Starter};
pub use written::{Cni, VipBy};

use crate::diagnostic::{Diagnostic, Severity};
use findings::Findings;
use sources::Document;
use written::{ClusterFile, NodesFile};

/// An inventory as it was read.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The cluster, with an empty `id`: the state knows it. None if the inventory has errors.
    pub cluster: Option<Cluster>,
    /// The site: its own `site.yaml` over the one above.
    pub site: Site,
    /// What the pipeline needs and plugins do not.
    pub options: Options,
    /// The simulated site, if the slot `pve` leads to one.
    pub simulated: Option<Simulated>,
    /// Where everything is written.
    pub sources: Sources,
    /// Everything that is wrong or should be known, file by file and line by line.
    pub findings: Vec<Diagnostic>,
    /// SHA-256 over all files that were read, in hexadecimal.
    pub digest: String,
}

/// A simulated site, as an inventory needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// Its name.
    pub name: String,
    /// Whether the `site.yaml` above the cluster's folder binds it, which other clusters share.
    pub above: bool,
    /// What there has to be.
    pub plan: emhost_sim::Plan,
    /// The machines of the inventory, for whoever wants them without an apply.
    pub machines: Vec<emhost_sim::Wanted>,
}

impl Loaded {
    /// Whether the inventory cannot be used.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// Reads the inventory of a cluster's folder.
pub fn load(folder: &Path) -> Loaded {
    read(&Files::of(folder))
}

/// Reads an inventory from memory.
pub fn read(files: &Files) -> Loaded {
    let mut findings = Findings::default();
    for (file, message) in &files.unreadable {
        let finding = if file == "." {
            let help = "name the cluster's folder with -C, or make one with `emhost -C DIR init`";
            Diagnostic::error("inventory/unreadable", format!("cannot read the cluster's folder {message}")).help(Some(help))
        } else {
            Diagnostic::error("inventory/unreadable", format!("cannot read {file}: {message}"))
        };
        findings.push(finding);
    }
    let mut sources = Sources::default();
    let (cluster, document): (ClusterFile, _) = file(files, "cluster", &mut findings);
    sources.documents.insert("cluster.yaml".to_owned(), document);
    let (nodes, document): (NodesFile, _) = file(files, "nodes", &mut findings);
    sources.documents.insert("nodes.yaml".to_owned(), document);
    let site = site(files, &mut sources, &mut findings);

    let mut machines = machines::of(&cluster, &nodes, &mut sources, &mut findings);
    let options = Options::of(&cluster, &machines, &site);
    machines::name_templates(&cluster, &mut machines, &options);
    checks::all(
        &checks::Context {
            cluster: &cluster,
            machines: &machines,
            options: &options,
            simulated: site.simulator().is_some(),
            sources: &sources,
        },
        &mut findings,
    );
    let patches = machines::patches(files, &machines, &mut findings);
    let built = machines::cluster(&cluster, &machines, &patches);
    let simulated = site.simulator().zip(simulated::plan(&cluster, &machines, &site)).map(|(name, plan)| Simulated {
        name: name.to_owned(),
        above: !sources.written("site.yaml", "/slots/pve"),
        plan,
        machines: built.as_ref().map(|built| simulated::machines(built, options.vmid_range)).unwrap_or_default(),
    });
    let cluster = if findings.has_errors() { None } else { built };
    Loaded { cluster, site, options, simulated, sources, findings: findings.into_vec(), digest: files.digest() }
}

/// Reads `cluster.yaml` or `nodes.yaml`; what cannot be read is as if it were not there.
fn file<T: DeserializeOwned + Default>(files: &Files, name: &str, findings: &mut Findings) -> (T, Document) {
    let file = format!("{name}.yaml");
    let Some(bytes) = files.texts.get(&file) else {
        if !files.unreadable.iter().any(|(unreadable, _)| *unreadable == file || unreadable == ".") {
            let finding = Diagnostic::error("inventory/no-file", format!("there is no {file} in the cluster's folder"));
            findings.push(finding.help(Some("name the folder with -C, or write a first inventory with `emhost init`")));
        }
        return (T::default(), Document::new(&file, &[]));
    };
    let mut document = Document::new(&file, bytes);
    let (tree, flaws) = yaml::parse(bytes);
    let readable = flaws.is_empty();
    flaws::tell(&document, flaws, findings);
    let tree = match tree {
        Some(tree) if !matches!(tree.value, yaml::Value::Null) => tree,
        _ => {
            if readable {
                let finding = Diagnostic::error("inventory/empty", format!("{file} is empty"));
                let help = "look at what `emhost init` writes in an empty folder";
                findings.push(finding.help(Some(help)).at(Some(document.place(yaml::START))));
            }
            return (T::default(), document);
        }
    };
    let schema = schema(name).unwrap_or(&Value::Null);
    let json = shape::read(&mut document, schema, &tree, findings);
    (typed(json, &document, findings), document)
}

/// What a file says, as its type.
fn typed<T: DeserializeOwned + Default>(json: Option<Value>, document: &Document, findings: &mut Findings) -> T {
    let Some(json) = json else { return T::default() };
    serde_json::from_value(json).unwrap_or_else(|error| {
        // The schema comes from the type, so this is a value that only the type refuses, such as a number too large for it.
        let finding = Diagnostic::error("inventory/value", format!("{} cannot be read: {error}", document.file));
        findings.push(finding);
        T::default()
    })
}

fn site(files: &Files, sources: &mut Sources, findings: &mut Findings) -> Site {
    let mut read = |name: &str| {
        let Some(bytes) = files.texts.get(name) else { return Site::default() };
        let (site, document) = Site::read(name, bytes, findings);
        sources.documents.insert(name.to_owned(), document);
        site
    };
    read("site.yaml").over(read("../site.yaml"))
}

/// What is wrong with a YAML file, and where; whoever shows it says that it is an error.
pub(crate) fn yaml_error(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}
