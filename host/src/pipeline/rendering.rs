//! The configuration of every node and nothing else: what `emhost generate` writes. No machine is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contributions::{Asked, merge};
use super::crew::{Lent, Now, Wanted, Worker, worker};
use super::planning::{Problems, each, problems};
use crate::bindings::emhost::plugin::types::{Boot, Contribution, Document};
use crate::diagnostic::Diagnostic;
use crate::inventory::Node;
use crate::plugins::lock::Lock;
use crate::plugins::{Role, Runtime};

/// The plugins that it takes to render configuration.
pub struct Scribes {
    configurator: Worker,
    boot: BTreeMap<String, Worker>,
    addons: Vec<Worker>,
    now: Now,
    /// What should be known of those who could not be asked.
    pub notes: Vec<Diagnostic>,
}

/// What a node starts from, and its configuration.
pub struct Rendered {
    /// The node.
    pub node: Arc<Node>,
    /// What it boots from.
    pub boot: Boot,
    /// Its configuration.
    pub documents: Vec<Document>,
}

impl Scribes {
    /// Loads the configurator and the boot sources. An addon that cannot be loaded is only told.
    ///
    /// # Errors
    /// Everything that keeps the configurator or a boot source from working.
    pub fn assemble(runtime: &Runtime, wanted: &Wanted<'_>, lock: &Lock, lent: &Lent, now: &Now) -> Result<Self, Problems> {
        let roles = wanted.site.plugins.clone().with_defaults();
        let mut found = Problems::new();
        let mut load = |text: &str, role: Role| match worker(runtime, wanted, lock, lent, now, text) {
            Ok(worker) if worker.plugin.inspection().shape.roles.contains(&role) => Some(worker),
            Ok(worker) => {
                let summary = format!("plugin `{}` ({text}) does not fill the role {role}", worker.name());
                let help = format!("name a plugin that is a {role} in site.yaml `plugins`");
                found.push(Diagnostic::error("plugin/role", summary).help(Some(help)));
                None
            }
            Err(problems) => {
                found.extend(problems);
                None
            }
        };
        let configurator = load(roles.configurator.as_deref().unwrap_or_default(), Role::Configurator);
        let boot: BTreeMap<String, Worker> =
            wanted.boot.iter().filter_map(|name| Some((name.clone(), load(name, Role::BootSource)?))).collect();
        let Some(configurator) = configurator.filter(|_| found.is_empty()) else { return Err(found) };
        let mut notes = Vec::new();
        let mut addons = Vec::new();
        if wanted.addons || !wanted.site.plugins.addons.is_empty() {
            for text in roles.addons.iter().collect::<BTreeSet<_>>() {
                match worker(runtime, wanted, lock, lent, now, text) {
                    Ok(worker) => addons.push(worker),
                    Err(problems) => {
                        let why = problems.first().map_or_else(String::new, |first| format!(": {}", first.summary));
                        notes.push(Diagnostic::warning("generate/addons", format!("what addons ask of nodes is not in it{why}")));
                    }
                }
            }
        }
        if wanted.gpu {
            let summary = "what the GPU plugin would ask of nodes with a GPU is not in it: that takes a look at the hosts";
            let help = "`emhost plan` and `emhost apply` do look; add what Terraform must know to patches/NODE.yaml and `extensions`";
            notes.push(Diagnostic::warning("generate/gpu", summary).help(Some(help)));
        }
        Ok(Self { configurator, boot, addons, now: now.clone(), notes })
    }

    /// Makes missing secrets, then renders every node.
    ///
    /// # Errors
    /// Everything that keeps a node from being rendered.
    pub async fn render(self: Arc<Self>, boot_of: &BTreeMap<String, String>) -> Result<Vec<Rendered>, Problems> {
        self.configurator.plugin.prepare(&self.configurator.prepares()).await.map_err(|error| problems(&error))?;
        let nodes = self.now.get().nodes.clone();
        let merged = each(nodes.iter().cloned(), |node| {
            let scribes = Arc::clone(&self);
            async move { Ok((node.name.clone(), scribes.contribution(&node).await?)) }
        });
        let merged: BTreeMap<String, Contribution> = merged.await?.into_iter().collect();
        self.now.change(|cluster| {
            for node in &mut cluster.nodes {
                if let Some(contribution) = merged.get(&node.name) {
                    Arc::make_mut(node).contribution = contribution.clone();
                }
            }
        });
        each(self.now.get().nodes.iter().cloned(), |node| {
            let scribes = Arc::clone(&self);
            let source = boot_of.get(&node.name).cloned().unwrap_or_default();
            async move { scribes.node(node, &source).await }
        })
        .await
    }

    async fn contribution(&self, node: &Node) -> Result<Contribution, Problems> {
        let mut asked = vec![("the inventory".to_owned(), node.contribution.clone())];
        for addon in &self.addons {
            let said = addon.plugin.contribute_addon(&addon.looks(None), node).await.map_err(|error| problems(&error))?;
            asked.push((format!("plugin {}", addon.name()), said));
        }
        let asked: Vec<Asked<'_>> = asked.iter().map(|(by, contribution)| Asked { by, contribution: contribution.clone() }).collect();
        merge(&node.name, &asked)
    }

    async fn node(&self, node: Arc<Node>, source: &str) -> Result<Rendered, Problems> {
        let missing = || vec![Diagnostic::error("boot/source", format!("node {} boots from `{source}`, and it is not loaded", node.name))];
        let source = self.boot.get(source).ok_or_else(missing)?;
        let boot = source.plugin.resolve(&source.looks(None), &node).await.map_err(|error| problems(&error))?;
        let documents = self.configurator.plugin.render_config(&self.configurator.looks(None), &node, &boot).await;
        let documents = documents.map_err(|error| problems(&error))?;
        Ok(Rendered { node, boot, documents })
    }
}
