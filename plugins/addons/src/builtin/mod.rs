//! The addons that emhost knows by name, one file each.

mod argocd;
mod cert_manager;
mod cilium;
mod flux;
mod kube_vip;
mod local_path;
mod metrics_server;
mod nvidia;
mod traefik;

use emhost_sdk::addon::{Chart, Stage};
use emhost_sdk::{Attribute, Contribution, Diagnostic, Document, Failure, nothing};
use serde_json::Value;

use crate::entry::Entry;
use crate::manifest;
use crate::settings::Settings;
use crate::site::{Machine, Site};
use crate::values::merged;

/// Every addon that is known by name.
pub static ALL: [&dyn Builtin; 9] = [
    &cilium::Cilium,
    &kube_vip::KubeVip,
    &metrics_server::MetricsServer,
    &local_path::LocalPath,
    &traefik::Traefik,
    &cert_manager::CertManager,
    &nvidia::Nvidia,
    &flux::Flux,
    &argocd::Argocd,
];

/// When an addon is installed. What is alike keeps the order of cluster.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Pods have no addresses before it.
    Network,
    /// The address of the API.
    Address,
    /// Whenever.
    Any,
    /// It goes on with the rest by itself.
    Gitops,
}

/// An addon that is known by name.
pub trait Builtin: Sync {
    /// How it is called in cluster.yaml.
    fn name(&self) -> &'static str;

    /// When it is installed.
    fn turn(&self) -> Turn {
        Turn::Any
    }

    /// Where its chart is and of which version, unless the site says otherwise; none: it is made of manifests of ours.
    fn chart(&self, _: &Site) -> Option<Source> {
        None
    }

    /// What keeps it from being installed here.
    fn check(&self, _: &Asked<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// What a person should know about it.
    fn remark(&self, _: &Asked<'_>) -> Option<Diagnostic> {
        None
    }

    /// What it needs of a node.
    fn contribute(&self, _: &Asked<'_>, _: &Machine) -> Wish {
        Wish::default()
    }

    /// What is applied, in order. Only asked after [`Self::check`].
    fn render(&self, asked: &Asked<'_>) -> Vec<Stage>;
}

/// A chart where its project publishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub reference: &'static str,
    pub version: &'static str,
}

/// An addon as it is asked for.
pub struct Asked<'a> {
    pub entry: &'a Entry,
    pub site: &'a Site,
    pub settings: &'a Settings,
}

impl Asked<'_> {
    /// Our values with those of the site on top.
    pub fn values(&self, ours: Value) -> Value {
        merged(ours, &self.entry.values)
    }

    /// The chart, from where the site has it or else from where it is published.
    pub fn chart(&self, source: Source, release: &str, namespace: &str, values: &Value) -> Chart {
        let reference = self.entry.chart.as_deref().unwrap_or(source.reference);
        manifest::chart(release, namespace, reference, self.version(source.version), values)
    }

    /// The version that the site names, else this one.
    pub fn version<'a>(&'a self, ours: &'a str) -> &'a str {
        self.entry.version.as_deref().unwrap_or(ours)
    }

    /// A refusal that points at the entry.
    pub fn refused(&self, code: &str, summary: String) -> Failure {
        Failure::invalid(code, summary).pointer(self.entry.place())
    }
}

/// What an addon needs of a node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// Pieces of the machine configuration, by a name for people.
    pub patches: Vec<(&'static str, Value)>,
    pub labels: Vec<(&'static str, &'static str)>,
}

impl Wish {
    /// A piece of the machine configuration, and nothing else.
    pub fn patch(name: &'static str, patch: Value) -> Self {
        Self { patches: vec![(name, patch)], labels: Vec::new() }
    }

    /// Both.
    pub fn and(mut self, other: Self) -> Self {
        self.patches.extend(other.patches);
        self.labels.extend(other.labels);
        self
    }

    /// As the contract has it.
    pub fn contribution(self) -> Contribution {
        let patch = |(name, patch): (&str, Value)| Document {
            name: format!("{name}.yaml"),
            media_type: "application/yaml".to_owned(),
            body: patch.to_string(),
            sensitive: false,
        };
        Contribution {
            patches: self.patches.into_iter().map(patch).collect(),
            labels: self.labels.into_iter().map(|(key, value)| Attribute { key: key.to_owned(), value: value.to_owned() }).collect(),
            ..nothing()
        }
    }
}
