//! Every type of resource that Talos has, by the version it came with: what clients find by its names and print as a table.

mod block;
mod cluster;
mod kubernetes;
mod machine;
mod network;
mod secrets;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use emhost_talos_api::cosi;
use prost::Message;

/// The type of the definitions themselves.
pub(crate) const DEFINITIONS: &str = "ResourceDefinitions.meta.cosi.dev";
/// The type of namespaces.
pub(crate) const NAMESPACES: &str = "Namespaces.meta.cosi.dev";
/// Where both are.
pub(crate) const META: &str = "meta";

/// Namespaces, with the version that brought them.
const NAMESPACE_TABLE: [(&str, &str, u32); 17] = [
    ("cluster", "Cluster configuration and discovery resources.", 0),
    ("cluster-raw", "Cluster unmerged raw resources.", 0),
    ("config", "Talos node configuration.", 0),
    ("controlplane", "Kubernetes control plane resources.", 0),
    ("cri", "CRI Seccomp resources.", 0),
    ("etcd", "etcd resources.", 0),
    ("files", "Files and file-like resources.", 0),
    ("hardware", "Hardware resources.", 0),
    ("k8s", "Kubernetes all node types resources.", 0),
    ("kubespan", "KubeSpan resources.", 0),
    ("meta", "Metadata namespace which contains resource and namespace definitions.", 0),
    ("network", "Networking resources.", 0),
    ("network-config", "Networking configuration resources.", 0),
    ("perf", "Stats resources.", 0),
    ("runtime", "Talos v1alpha1 subsystems glue resources.", 0),
    ("secrets", "Resources with secret material.", 0),
    ("security", "Security resources.", 13),
];

/// A type of resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definition {
    kind: &'static str,
    singular: &'static str,
    namespace: &'static str,
    aliases: &'static [&'static str],
    columns: &'static [(&'static str, &'static str)],
    sensitive: bool,
    /// Without the aliases that follow from the name.
    plain: bool,
    since: u32,
    until: u32,
}

const fn row(kind: &'static str, singular: &'static str, namespace: &'static str) -> Definition {
    Definition { kind, singular, namespace, aliases: &[], columns: &[], sensitive: false, plain: false, since: 0, until: u32::MAX }
}

impl Definition {
    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn columns(mut self, columns: &'static [(&'static str, &'static str)]) -> Self {
        self.columns = columns;
        self
    }

    const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    const fn plain(mut self) -> Self {
        self.plain = true;
        self
    }

    const fn since(mut self, minor: u32) -> Self {
        self.since = minor;
        self
    }

    const fn until(mut self, minor: u32) -> Self {
        self.until = minor;
        self
    }

    /// Whether only admins may read it.
    pub(crate) fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// Names for people: those of the table, the singular, and the capitals of the name.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        if self.plain {
            return names;
        }
        names.push(self.singular.to_lowercase());
        let capitals: String = self.plural().chars().filter(char::is_ascii_uppercase).collect();
        if capitals.len() > 1 {
            names.push(capitals.to_lowercase());
            if !capitals.ends_with('S') {
                names.push(format!("{}s", capitals.to_lowercase()));
            }
        }
        names
    }

    /// Every name that means this type: the plural with more and more of its domain, then those for people.
    fn all_names(&self) -> Vec<String> {
        let mut all = Vec::new();
        if !self.plain {
            let pieces: Vec<_> = self.kind.split('.').collect();
            all.extend((1..pieces.len()).map(|end| pieces[..end].join(".").to_lowercase()));
        }
        all.extend(self.names());
        all
    }

    fn plural(&self) -> &'static str {
        self.kind.split('.').next().unwrap_or_default()
    }

    /// The columns of a version: some came later than their type.
    fn columns_of(&self, minor: u32) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let late: &[&str] = match self.kind {
            "LinkStatuses.net.talos.dev" if minor < 12 => &["Alias"],
            "SecurityStates.talos.dev" if minor < 12 => &["ModuleSignatureEnforced"],
            _ => &[],
        };
        self.columns.iter().filter(move |(name, _)| !late.contains(name))
    }

    fn message(&self, minor: u32) -> cosi::ResourceDefinitionSpec {
        let column = |(name, path): &(&str, &str)| cosi::PrintColumn { name: (*name).to_owned(), json_path: (*path).to_owned() };
        cosi::ResourceDefinitionSpec {
            resource_type: self.kind.to_owned(),
            display_type: self.singular.to_owned(),
            default_namespace: self.namespace.to_owned(),
            aliases: self.names(),
            all_aliases: self.all_names(),
            print_columns: self.columns_of(minor).map(column).collect(),
            sensitivity: i32::from(self.sensitive),
        }
    }

    fn yaml(&self, minor: u32) -> String {
        let mut text = format!("type: {}\ndisplayType: {}\ndefaultNamespace: {}\n", self.kind, self.singular, self.namespace);
        for (key, names) in [("aliases", self.names()), ("allAliases", self.all_names())] {
            text.push_str(key);
            text.push_str(":\n");
            for name in names {
                // Writing to a string does not fail.
                let _ = writeln!(text, "    - {name}");
            }
        }
        if self.plain {
            text.push_str("skipAutomaticAliases: true\n");
        }
        let columns: Vec<_> = self.columns_of(minor).collect();
        text.push_str(if columns.is_empty() { "printColumns: []\n" } else { "printColumns:\n" });
        for (name, path) in columns {
            let _ = writeln!(text, "    - name: {name}\n      jsonPath: '{}'", path.replace('\'', "''"));
        }
        if self.sensitive {
            text.push_str("sensitivity: sensitive\n");
        }
        text
    }
}

/// The types that a version (1.`minor`) has.
pub(crate) fn all(minor: u32) -> impl Iterator<Item = &'static Definition> {
    [block::TABLE, cluster::TABLE, kubernetes::TABLE, machine::TABLE, network::TABLE, secrets::TABLE]
        .into_iter()
        .flatten()
        .filter(move |definition| (definition.since..=definition.until).contains(&minor))
}

/// The definition of a type, whatever the case of its letters.
pub(crate) fn find(minor: u32, kind: &str) -> Option<&'static Definition> {
    all(minor).find(|definition| definition.kind.eq_ignore_ascii_case(kind))
}

/// Whether a version has a namespace.
pub(crate) fn has_namespace(minor: u32, name: &str) -> bool {
    NAMESPACE_TABLE.iter().any(|(known, _, since)| *known == name && *since <= minor)
}

/// The definitions and namespaces of a version as resources, which all nodes of a site share.
pub(crate) fn resources(minor: u32, kind: &str) -> Arc<BTreeMap<String, Arc<cosi::Resource>>> {
    type Made = Arc<BTreeMap<String, Arc<cosi::Resource>>>;
    static MADE: LazyLock<std::sync::Mutex<BTreeMap<(u32, bool), Made>>> = LazyLock::new(Default::default);
    let definitions = kind == DEFINITIONS;
    let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let new = || Arc::new(if definitions { definition_resources(minor) } else { namespace_resources(minor) });
    made.entry((minor, definitions)).or_insert_with(new).clone()
}

fn definition_resources(minor: u32) -> BTreeMap<String, Arc<cosi::Resource>> {
    let one = |definition: &Definition| {
        let id = definition.kind.to_lowercase();
        let spec = cosi::Spec { proto_spec: definition.message(minor).encode_to_vec(), yaml_spec: definition.yaml(minor) };
        (id.clone(), resource(DEFINITIONS, &id, spec))
    };
    all(minor).map(one).collect()
}

fn namespace_resources(minor: u32) -> BTreeMap<String, Arc<cosi::Resource>> {
    let known = NAMESPACE_TABLE.iter().filter(|(_, _, since)| *since <= minor);
    let one = |(name, description, _): &(&str, &str, u32)| {
        let message = cosi::NamespaceSpec { description: (*description).to_owned() };
        let spec = cosi::Spec { proto_spec: message.encode_to_vec(), yaml_spec: format!("description: {description}\n") };
        ((*name).to_owned(), resource(NAMESPACES, name, spec))
    };
    known.map(one).collect()
}

fn resource(kind: &str, id: &str, spec: cosi::Spec) -> Arc<cosi::Resource> {
    let now = SystemTime::now().into();
    let metadata = cosi::Metadata {
        namespace: META.to_owned(),
        r#type: kind.to_owned(),
        id: id.to_owned(),
        version: "1".to_owned(),
        owner: META.to_owned(),
        phase: "running".to_owned(),
        created: Some(now),
        updated: Some(now),
        ..cosi::Metadata::default()
    };
    Arc::new(cosi::Resource { metadata: Some(metadata), spec: Some(spec) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_from_the_type() {
        let disks = find(11, "disks.block.talos.dev").unwrap();
        assert_eq!(disks.all_names()[..3], ["disks", "disks.block", "disks.block.talos"]);
        let status = find(11, "MachineStatuses.runtime.talos.dev").unwrap();
        assert_eq!(status.names(), ["machinestatus", "ms"]);
        let mounts = find(11, "MountStatuses.runtime.talos.dev").unwrap();
        assert_eq!(mounts.all_names(), ["mounts"]);
    }

    #[test]
    fn types_are_there_once_and_in_a_namespace_of_the_version() {
        for minor in 8..=13 {
            let kinds: Vec<_> = all(minor).map(|definition| definition.kind).collect();
            assert_eq!(kinds.iter().collect::<BTreeSet<_>>().len(), kinds.len());
            assert!(all(minor).all(|definition| has_namespace(minor, definition.namespace)));
        }
        assert!(find(11, "OOMActions.talos.dev").is_none() && find(12, "OOMActions.talos.dev").is_some());
        assert!(find(11, "MachineConfigs.config.talos.dev").unwrap().is_sensitive());
    }
}
