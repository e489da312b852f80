//! Everything that a cluster asks for, in the order in which it is installed.

use std::collections::BTreeMap;

use emhost_sdk::addon::Stage;
use emhost_sdk::{Diagnostic, Document, Failure};
use serde_json::Value;

use crate::builtin::{ALL, Asked, Builtin, Turn, Wish};
use crate::entry::Entry;
use crate::free;
use crate::settings::Settings;
use crate::site::{Cni, Machine, Site};

/// Everything that a cluster asks for, checked.
pub struct Plan {
    site: Site,
    settings: Settings,
    wanted: Vec<(Entry, Option<&'static dyn Builtin>)>,
}

impl Plan {
    /// Looks at every entry of the inventory.
    ///
    /// # Errors
    /// Every entry that cannot be installed here.
    pub fn of(site: Site, mut entries: Vec<Entry>, settings: Settings) -> Result<Self, Failure> {
        // Whom the inventory gives the network or the shared address to is an addon, whether or not it is listed among them.
        let implied = [("cilium", site.cni == Cni::Cilium), ("kube-vip", site.by_kube_vip && site.vip.is_some())];
        for (name, _) in implied.into_iter().filter(|(_, is)| *is) {
            if !entries.iter().any(|entry| entry.name == name) {
                entries.push(Entry::named(name));
            }
        }
        entries.sort_by_key(|entry| turn(&entry.name));
        let with = |entry: Entry| {
            let known = known(&entry, &site);
            (entry, known)
        };
        let wanted = entries.into_iter().map(with).collect();
        let plan = Self { site, settings, wanted };
        let refused = plan.wanted.iter().filter_map(|(entry, known)| plan.check(entry, *known).err());
        let together = |mut first: Failure, next: Failure| {
            first.diagnostics.extend(next.diagnostics);
            first
        };
        refused.reduce(together).map_or(Ok(()), Err)?;
        Ok(plan)
    }

    fn check(&self, entry: &Entry, known: Option<&dyn Builtin>) -> Result<(), Failure> {
        let Some(known) = known else { return free::check(entry) };
        let asked = self.asked(entry);
        if entry.namespace.is_some() || entry.privileged {
            let summary = format!("addon {} has a namespace of its own", entry.name);
            return Err(asked.refused("addons/namespace", summary).help("leave `namespace` and `privileged` out"));
        }
        if known.chart(&self.site).is_none() && !entry.values.is_empty() {
            let summary = format!("addon {} is not made of a chart, so it takes no values", entry.name);
            let help = format!("leave `values` out; what can be chosen is in site.yaml at `settings: {{addons: {{{}: …}}}}`", entry.name);
            return Err(asked.refused("addons/values", summary).help(help));
        }
        known.check(&asked)
    }

    fn asked<'a>(&'a self, entry: &'a Entry) -> Asked<'a> {
        Asked { entry, site: &self.site, settings: &self.settings }
    }

    fn known(&self) -> impl Iterator<Item = (Asked<'_>, &'static dyn Builtin)> {
        self.wanted.iter().filter_map(|(entry, known)| Some((self.asked(entry), (*known)?)))
    }

    /// What all of them need of a node.
    pub fn contribute(&self, machine: &Machine) -> Wish {
        self.known().map(|(asked, known)| known.contribute(&asked, machine)).fold(Wish::default(), Wish::and)
    }

    /// What a person should know.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        self.known().filter_map(|(asked, known)| known.remark(&asked)).collect()
    }

    /// What is applied, in order.
    ///
    /// # Errors
    /// Two that are called the same.
    pub fn render(&self) -> Result<Vec<Stage>, Failure> {
        let stages = self.wanted.iter().flat_map(|(entry, known)| match known {
            Some(known) => known.render(&self.asked(entry)),
            None => vec![free::render(entry)],
        });
        let mut stages: Vec<Stage> = stages.collect();
        let mut seen: Vec<&str> = Vec::new();
        for stage in &stages {
            if seen.contains(&stage.name.as_str()) {
                let summary = format!("{} is the name of two parts of addons", stage.name);
                let help = "rename the addon of yours that is called so, or take the one out that emhost brings";
                return Err(Failure::invalid("addons/twice", summary).pointer("cluster.yaml addons").help(help));
            }
            seen.push(&stage.name);
        }
        one_namespace_each(&mut stages);
        Ok(stages)
    }
}

/// The addon that is known by this name, where the entry does not say that it is something else.
fn known(entry: &Entry, site: &Site) -> Option<&'static dyn Builtin> {
    let known = ALL.iter().copied().find(|known| known.name() == entry.name)?;
    let own = entry.manifests.is_some() || (entry.chart.is_some() && known.chart(site).is_none());
    (!own).then_some(known)
}

/// When an addon of this name is installed, whoever renders it.
fn turn(name: &str) -> Turn {
    ALL.iter().find(|known| known.name() == name).map_or(Turn::Any, |known| known.turn())
}

/// An object belongs to one stage: a namespace that several share is made by the first of them, with labels if one asks for some.
fn one_namespace_each(stages: &mut [Stage]) {
    let mut shared: BTreeMap<String, Value> = BTreeMap::new();
    for (name, object) in stages.iter().flat_map(|stage| &stage.manifests).filter_map(namespace) {
        let kept = shared.entry(name).or_insert_with(|| object.clone());
        if kept["metadata"].get("labels").is_none() {
            *kept = object;
        }
    }
    for stage in stages {
        stage.manifests.retain_mut(|document| match namespace(document) {
            None => true,
            Some((name, _)) => shared.remove(&name).map(|object| document.body = object.to_string()).is_some(),
        });
    }
}

/// The name of a namespace, and the object.
fn namespace(document: &Document) -> Option<(String, Value)> {
    let object: Value = serde_json::from_str(&document.body).ok()?;
    let name = object["metadata"]["name"].as_str().filter(|_| object["kind"] == "Namespace")?.to_owned();
    Some((name, object))
}
