//! What a node shows of itself: versioned resources by namespace, type and id.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use emhost_talos_api::cosi::{self, EventType};
use tokio::sync::watch;

use super::definitions::{self, DEFINITIONS, META, NAMESPACES};
use super::presentation::present;

/// How many changes of one type are kept for those who ask for the last ones.
const HISTORY: usize = 64;

/// Namespace and type.
type Kind = (String, String);

/// The resources of one node. A copy is the same resources.
#[derive(Clone)]
pub(crate) struct Resources {
    shared: Arc<Shared>,
}

struct Shared {
    minor: u32,
    /// Distinguishes bookmarks of this run from those of an earlier one.
    cookie: u64,
    collections: Mutex<HashMap<Kind, Collection>>,
}

/// Where a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Such as `Members.cluster.talos.dev`.
    pub(crate) kind: String,
    /// Such as `cluster`.
    pub(crate) namespace: String,
    pub(crate) id: String,
}

impl Key {
    pub(crate) fn new(kind: &str, namespace: &str, id: &str) -> Self {
        Self { kind: kind.to_owned(), namespace: namespace.to_owned(), id: id.to_owned() }
    }
}

/// What a resource says beside its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The controller that made it.
    pub(crate) owner: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) finalizers: Vec<String>,
    /// Whether it is about to go.
    pub(crate) tearing_down: bool,
}

/// A change.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) kind: EventType,
    pub(crate) resource: Arc<cosi::Resource>,
    pub(crate) old: Option<Arc<cosi::Resource>>,
    /// Counted from 0 within the namespace and type.
    pub(crate) position: i64,
}

/// The resources of one namespace and type.
struct Collection {
    items: BTreeMap<String, Arc<cosi::Resource>>,
    recent: VecDeque<Change>,
    written: watch::Sender<i64>,
}

impl Collection {
    fn new() -> Self {
        Self { items: BTreeMap::new(), recent: VecDeque::new(), written: watch::Sender::new(0) }
    }

    fn publish(&mut self, kind: EventType, resource: Arc<cosi::Resource>, old: Option<Arc<cosi::Resource>>) {
        let position = *self.written.borrow();
        self.recent.push_back(Change { kind, resource, old, position });
        if self.recent.len() > HISTORY {
            self.recent.pop_front();
        }
        self.written.send_replace(position + 1);
    }
}

/// What somebody who watches gets: everything there is, and where to go on from.
pub(crate) struct View {
    pub(crate) items: Vec<Arc<cosi::Resource>>,
    pub(crate) recent: VecDeque<Change>,
    pub(crate) written: watch::Receiver<i64>,
}

impl Resources {
    /// None yet, on a node of this version, such as `v1.11.5`.
    pub(crate) fn new(version: &str) -> Self {
        let minor = version.split('.').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
        Self { shared: Arc::new(Shared { minor, cookie: rand::random(), collections: Mutex::default() }) }
    }

    /// 11 of `v1.11.5`.
    pub(crate) fn minor(&self) -> u32 {
        self.shared.minor
    }

    pub(crate) fn cookie(&self) -> u64 {
        self.shared.cookie
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Kind, Collection>> {
        self.shared.collections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes or changes a resource; one that is so already keeps its version.
    ///
    /// `yaml` is what the node prints of its contents, `proto` the message of
    /// [`emhost_talos_api::definitions`] for the type: clients read either.
    pub(crate) fn put(&self, kind: &str, namespace: &str, id: &str, yaml: String, proto: Vec<u8>) {
        self.put_with(&Key::new(kind, namespace, id), Meta::default(), yaml, proto);
    }

    /// Makes or changes a resource with its labels and such.
    pub(crate) fn put_with(&self, key: &Key, mut meta: Meta, yaml: String, proto: Vec<u8>) {
        let yaml = present(self.minor(), key, &mut meta, yaml);
        let now = SystemTime::now().into();
        let spec = Some(cosi::Spec { proto_spec: proto, yaml_spec: yaml });
        let mut metadata = cosi::Metadata {
            namespace: key.namespace.clone(),
            r#type: key.kind.clone(),
            id: key.id.clone(),
            version: "1".to_owned(),
            owner: meta.owner,
            phase: if meta.tearing_down { "tearingDown" } else { "running" }.to_owned(),
            created: Some(now),
            updated: Some(now),
            finalizers: meta.finalizers,
            labels: meta.labels,
            annotations: meta.annotations,
        };
        let mut collections = self.lock();
        let collection = collections.entry((key.namespace.clone(), key.kind.clone())).or_insert_with(Collection::new);
        let old = collection.items.get(&key.id).cloned();
        if let Some(current) = old.as_ref().and_then(|old| old.metadata.as_ref()) {
            let version = current.version.parse::<u64>().unwrap_or(1);
            metadata.created = current.created;
            let same = cosi::Metadata { version: current.version.clone(), updated: current.updated, ..metadata.clone() };
            if same == *current && old.as_ref().is_some_and(|old| old.spec == spec) {
                return;
            }
            metadata.version = (version + 1).to_string();
        }
        let resource = Arc::new(cosi::Resource { metadata: Some(metadata), spec });
        collection.items.insert(key.id.clone(), resource.clone());
        let event = if old.is_some() { EventType::Updated } else { EventType::Created };
        collection.publish(event, resource, old);
    }

    /// Takes a resource away; says whether it was there.
    pub(crate) fn remove(&self, kind: &str, namespace: &str, id: &str) -> bool {
        let mut collections = self.lock();
        let Some(collection) = collections.get_mut(&(namespace.to_owned(), kind.to_owned())) else { return false };
        let Some(gone) = collection.items.remove(id) else { return false };
        collection.publish(EventType::Destroyed, gone, None);
        true
    }

    /// Takes away all of a type but those with these ids.
    pub(crate) fn keep_only(&self, kind: &str, namespace: &str, ids: &[String]) {
        let mut collections = self.lock();
        let Some(collection) = collections.get_mut(&(namespace.to_owned(), kind.to_owned())) else { return };
        let gone: Vec<_> = collection.items.keys().filter(|id| !ids.contains(id)).cloned().collect();
        for id in gone {
            if let Some(resource) = collection.items.remove(&id) {
                collection.publish(EventType::Destroyed, resource, None);
            }
        }
    }

    /// One resource.
    pub(crate) fn get(&self, kind: &str, namespace: &str, id: &str) -> Option<Arc<cosi::Resource>> {
        if namespace == META && matches!(kind, DEFINITIONS | NAMESPACES) {
            return definitions::resources(self.minor(), kind).get(id).cloned();
        }
        let collections = self.lock();
        collections.get(&(namespace.to_owned(), kind.to_owned()))?.items.get(id).cloned()
    }

    /// All of a type, by id.
    pub(crate) fn list(&self, kind: &str, namespace: &str) -> Vec<Arc<cosi::Resource>> {
        if namespace == META && matches!(kind, DEFINITIONS | NAMESPACES) {
            return definitions::resources(self.minor(), kind).values().cloned().collect();
        }
        let collections = self.lock();
        collections.get(&(namespace.to_owned(), kind.to_owned())).map(|found| found.items.values().cloned().collect()).unwrap_or_default()
    }

    /// Everything there is of a type, and what changed since.
    pub(crate) fn view(&self, kind: &str, namespace: &str) -> View {
        if namespace == META && matches!(kind, DEFINITIONS | NAMESPACES) {
            let written = watch::Sender::new(0).subscribe();
            return View { items: self.list(kind, namespace), recent: VecDeque::new(), written };
        }
        let mut collections = self.lock();
        let collection = collections.entry((namespace.to_owned(), kind.to_owned())).or_insert_with(Collection::new);
        View {
            items: collection.items.values().cloned().collect(),
            recent: collection.recent.clone(),
            written: collection.written.subscribe(),
        }
    }

    /// The changes from this position on. None where some of them are not kept any more.
    pub(crate) fn since(&self, kind: &str, namespace: &str, position: i64) -> Option<Vec<Change>> {
        let collections = self.lock();
        let Some(collection) = collections.get(&(namespace.to_owned(), kind.to_owned())) else { return Some(Vec::new()) };
        let first = collection.recent.front().map_or(position, |change| change.position);
        (first <= position).then(|| collection.recent.iter().filter(|change| change.position >= position).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KIND: &str = "Members.cluster.talos.dev";

    fn version(resources: &Resources, id: &str) -> String {
        resources.get(KIND, "cluster", id).unwrap().metadata.clone().unwrap().version
    }

    #[test]
    fn the_version_counts_changes_only() {
        let resources = Resources::new("v1.11.5");
        resources.put(KIND, "cluster", "a", "x: 1\n".to_owned(), vec![1]);
        resources.put(KIND, "cluster", "a", "x: 1\n".to_owned(), vec![1]);
        assert_eq!(version(&resources, "a"), "1");
        resources.put(KIND, "cluster", "a", "x: 2\n".to_owned(), vec![2]);
        assert_eq!(version(&resources, "a"), "2");
        let meta = Meta { labels: BTreeMap::from([("l".to_owned(), "v".to_owned())]), ..Meta::default() };
        resources.put_with(&Key::new(KIND, "cluster", "a"), meta, "x: 2\n".to_owned(), vec![2]);
        assert_eq!(version(&resources, "a"), "3");
        let kinds: Vec<_> = resources.since(KIND, "cluster", 0).unwrap().iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [EventType::Created, EventType::Updated, EventType::Updated]);
    }

    #[test]
    fn what_is_not_kept_is_gone_and_history_has_an_end() {
        let resources = Resources::new("v1.11.5");
        for number in 0..100 {
            resources.put(KIND, "cluster", "a", number.to_string(), Vec::new());
        }
        assert!(resources.since(KIND, "cluster", 0).is_none());
        assert_eq!(resources.since(KIND, "cluster", 98).unwrap().len(), 2);
        resources.keep_only(KIND, "cluster", &[]);
        assert!(resources.get(KIND, "cluster", "a").is_none());
        assert!(!resources.remove(KIND, "cluster", "a"));
    }
}
