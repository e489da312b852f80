//! Inventories made from the files of other tools: a `terraform.tfvars`, a `nodes.json`.
//!
//! What is found becomes the files of an inventory; secrets are kept apart from them. Nothing is taken over without a word: what had no
//! place and what had to be assumed is listed.

#![expect(clippy::result_large_err, reason = "one finding ends an import, and it happens once")]

mod hcl;
mod nodes_json;
mod tfvars;
mod writing;

use zeroize::Zeroizing;

use super::files::Files;
use super::values::{dns_label, release};
use crate::diagnostic::{Diagnostic, Place};

pub use nodes_json::nodes_json;
pub use tfvars::tfvars;

/// What the person says beside the file; it wins over what the file says.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The cluster's name.
    pub cluster_name: Option<String>,
    /// The version of Talos Linux.
    pub talos_version: Option<String>,
    /// The version of Kubernetes.
    pub kubernetes_version: Option<String>,
    /// The host at Proxmox VE.
    pub proxmox_node: Option<String>,
}

/// A value that must not stand in a file that everybody reads.
pub struct Secret {
    /// The name it is kept under.
    pub name: &'static str,
    /// The value.
    pub value: Zeroizing<String>,
}

/// An inventory that was made from another file.
#[derive(Default)]
pub struct Imported {
    /// Its files, by name.
    pub files: Vec<(&'static str, String)>,
    /// What belongs into the cluster's secrets.
    pub secrets: Vec<Secret>,
    /// What was not taken over, and why.
    pub left: Vec<String>,
    /// What the file does not say and was chosen.
    pub assumed: Vec<String>,
}

impl Imported {
    /// The inventory, to be read.
    pub fn inventory(&self) -> Files {
        self.files.iter().fold(Files::default(), |files, (name, text)| files.with(*name, text.clone()))
    }
}

/// Why a file cannot be imported, and where in it.
fn wrong(file: &str, at: Option<(u32, u32)>, summary: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    let place = at.map(|(line, column)| Place { file: file.to_owned(), line, column, text: None });
    Diagnostic::error("import/file", summary).help(Some(help)).at(place)
}

/// The newest Kubernetes that a release of Talos was made with, for people who do not say one.
fn kubernetes_for(talos: &str) -> &'static str {
    match release(talos).map(|version| version.minor) {
        Some(..=8) => "v1.31.4",
        Some(9) => "v1.32.3",
        Some(10) => "v1.33.1",
        Some(11) => "v1.34.1",
        _ => "v1.35.0",
    }
}

/// A name as a cluster's, if it can be one.
fn checked_name(name: &str) -> Result<String, Diagnostic> {
    // The longest suffix of a node's name is `-gpu-100`.
    if dns_label(name) && name.len() <= 50 {
        return Ok(name.to_owned());
    }
    let summary = format!("`{}` cannot be a cluster's name", crate::redact::one_line(name, 80));
    Err(Diagnostic::error("import/name", summary).help(Some("choose lower-case letters, digits and `-` with --cluster-name")))
}
