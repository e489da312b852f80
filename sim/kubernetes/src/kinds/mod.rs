//! Which kinds of objects a cluster knows: the everyday ones, and those that
//! custom resource definitions add.

mod builtin;
mod custom;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use custom::{Custom, resources as custom_resources};

/// Names the place where objects are kept, such as `deployments.apps`; the same for every version.
pub(crate) type Sort = Arc<str>;

/// How a kind is scaled.
#[derive(Debug, Clone)]
pub(crate) struct ScalePaths {
    pub(crate) wanted: String,
    pub(crate) actual: String,
    pub(crate) selector: Option<String>,
}

/// One kind in one version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) sort: Sort,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) short: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) subresources: Vec<String>,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) only_create: bool,
    pub(crate) custom: Option<Arc<Custom>>,
}

impl Resource {
    /// `apps/v1`, or `v1` for the core group.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`, or `pods` for the core group.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(crate) fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|one| one == subresource)
    }

    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.only_create { &["create"] } else { &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] }
    }
}

/// Every kind of a cluster.
#[derive(Debug)]
pub(crate) struct Registry {
    builtin: Vec<Arc<Resource>>,
    custom: BTreeMap<String, Vec<Arc<Resource>>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self { builtin: builtin::resources(), custom: BTreeMap::new() }
    }

    /// Every kind, in the order of discovery.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.builtin.iter().chain(self.custom.values().flatten())
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.all().find(|one| one.group == group && one.version == version && one.plural == plural).cloned()
    }

    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.all().find(|one| one.group == group && one.version == version && one.kind == kind).cloned()
    }

    /// Any version of what is kept there; the first one is preferred.
    pub(crate) fn by_sort(&self, sort: &str) -> Option<Arc<Resource>> {
        self.all().find(|one| &*one.sort == sort).cloned()
    }

    /// The kinds that one definition adds; none takes them away.
    pub(crate) fn set_custom(&mut self, definition: &str, resources: Vec<Arc<Resource>>) {
        if resources.is_empty() {
            self.custom.remove(definition);
        } else {
            self.custom.insert(definition.to_owned(), resources);
        }
    }

    /// Groups with their versions in order of preference, core first.
    pub(crate) fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for resource in self.all() {
            let at = groups.iter().position(|(group, _)| *group == resource.group).unwrap_or_else(|| {
                groups.push((resource.group.clone(), Vec::new()));
                groups.len() - 1
            });
            if !groups[at].1.contains(&resource.version) {
                groups[at].1.push(resource.version.clone());
            }
        }
        groups
    }
}
