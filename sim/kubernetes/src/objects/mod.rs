//! The objects of a cluster: in memory for reading, through to the site's
//! store on every change, with the latest changes kept for those who watch.

pub(crate) mod selectors;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use emhost_sim_kit::Store;
use serde_json::Value;
use tokio::sync::watch;

use crate::document::{list, put, text};
use crate::kinds::Sort;

/// Changes of one sort kept for watches that begin in the past.
const REMEMBERED: usize = 2000;
/// Revisions handed out before the store hears of them, so that no revision is used twice after a crash.
const RESERVED: u64 = 1000;

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) sort: Sort,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(sort: &str, namespace: &str, name: &str) -> Self {
        Self { sort: sort.into(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn of(sort: &Sort, object: &Value) -> Self {
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        Self { sort: sort.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Modified,
    Deleted,
}

/// One change. Objects are shared, never copied for a watch.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) sort: Sort,
    pub(crate) what: What,
    pub(crate) object: Arc<Value>,
    pub(crate) before: Option<Arc<Value>>,
}

/// The latest changes of one sort.
#[derive(Debug, Default)]
struct History {
    changes: VecDeque<Change>,
    /// The revision of the last change that is no longer here.
    forgotten: u64,
}

type Shelf = BTreeMap<String, BTreeMap<String, Arc<Value>>>;

/// Every object of a cluster.
#[derive(Debug)]
pub(crate) struct Objects {
    store: Arc<Store>,
    prefix: String,
    shelves: HashMap<Sort, Shelf>,
    revision: u64,
    reserved: u64,
    history: HashMap<Sort, History>,
    opened: u64,
    latest: watch::Sender<u64>,
    dependents: HashMap<String, BTreeSet<Key>>,
}

impl Objects {
    pub(crate) fn open(store: Arc<Store>, prefix: &str) -> io::Result<Self> {
        let prefix = format!("kube/{prefix}/");
        let reserved = store.get(&format!("{prefix}revision"))?.unwrap_or(0);
        let mut objects = Self {
            prefix,
            shelves: HashMap::new(),
            revision: reserved,
            reserved,
            history: HashMap::new(),
            opened: reserved,
            latest: watch::channel(reserved).0,
            dependents: HashMap::new(),
            store,
        };
        for (rest, object) in objects.store.all::<Value>(&format!("{}objects/", objects.prefix))? {
            let sort: Sort = rest.split('/').next().unwrap_or_default().into();
            objects.place(&Key::of(&sort, &object), &Arc::new(object));
        }
        Ok(objects)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.shelves.get(&key.sort)?.get(&key.namespace)?.get(&key.name)
    }

    pub(crate) fn find(&self, sort: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.shelves.get(sort)?.get(namespace)?.get(name)
    }

    /// In the order of namespace and name; no namespace means all of them.
    pub(crate) fn list<'a>(&'a self, sort: &str, namespace: Option<&'a str>) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let found = self.shelves.get(sort);
        let one = found.zip(namespace).and_then(|(shelf, namespace)| shelf.get(namespace)).into_iter();
        let all = found.filter(|_| namespace.is_none()).into_iter().flat_map(BTreeMap::values);
        one.chain(all).flat_map(BTreeMap::values)
    }

    /// What has this owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// What is kept in one namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Key> {
        let keys = self.shelves.iter().filter_map(|(sort, shelf)| Some((sort, shelf.get(namespace)?)));
        let keys = keys.flat_map(|(sort, objects)| objects.keys().map(|name| Key::new(sort, namespace, name)));
        if namespace.is_empty() { Vec::new() } else { keys.collect() }
    }

    /// Keeps an object and gives it the next revision.
    pub(crate) fn put(&mut self, sort: &Sort, mut object: Value) -> io::Result<Arc<Value>> {
        let key = Key::of(sort, &object);
        let revision = self.next()?;
        put(&mut object, "/metadata/resourceVersion", revision.to_string());
        self.store.put(&self.stored(&key), &object)?;
        let object = Arc::new(object);
        let before = self.place(&key, &object);
        let what = if before.is_some() { What::Modified } else { What::Added };
        self.log(Change { revision, sort: sort.clone(), what, object: object.clone(), before });
        Ok(object)
    }

    /// Forgets an object. Those who watch see it as it was, with the revision of its end.
    pub(crate) fn remove(&mut self, key: &Key) -> io::Result<Option<Arc<Value>>> {
        let Some(before) = self.get(key).cloned() else { return Ok(None) };
        let revision = self.next()?;
        self.store.remove(&self.stored(key))?;
        if let Some(shelf) = self.shelves.get_mut(&key.sort)
            && let Some(objects) = shelf.get_mut(&key.namespace)
        {
            objects.remove(&key.name);
            if objects.is_empty() {
                shelf.remove(&key.namespace);
            }
        }
        self.unlink(key, &before);
        let mut last = (*before).clone();
        put(&mut last, "/metadata/resourceVersion", revision.to_string());
        let object = Arc::new(last);
        self.log(Change { revision, sort: key.sort.clone(), what: What::Deleted, object: object.clone(), before: Some(before) });
        Ok(Some(object))
    }

    /// The changes of one sort after a revision, and the revision up to which that is complete.
    /// Nothing where changes since then have been forgotten.
    pub(crate) fn since(&self, sort: &str, revision: u64) -> Option<(Vec<Change>, u64)> {
        if revision < self.oldest(sort) {
            return None;
        }
        let Some(history) = self.history.get(sort) else { return Some((Vec::new(), self.revision)) };
        let start = history.changes.partition_point(|change| change.revision <= revision);
        Some((history.changes.range(start..).cloned().collect(), self.revision))
    }

    /// Wakes whenever something has changed.
    pub(crate) fn latest(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    /// The oldest revision a watch of this sort can begin at.
    pub(crate) fn oldest(&self, sort: &str) -> u64 {
        self.history.get(sort).map_or(self.opened, |history| history.forgotten.max(self.opened))
    }

    fn next(&mut self) -> io::Result<u64> {
        if self.revision + 1 >= self.reserved {
            let reserved = self.revision + RESERVED;
            self.store.put(&format!("{}revision", self.prefix), &reserved)?;
            self.reserved = reserved;
        }
        self.revision += 1;
        Ok(self.revision)
    }

    fn stored(&self, key: &Key) -> String {
        format!("{}objects/{}/{}/{}", self.prefix, key.sort, key.namespace, key.name)
    }

    fn place(&mut self, key: &Key, object: &Arc<Value>) -> Option<Arc<Value>> {
        for owner in list(object, "/metadata/ownerReferences") {
            self.dependents.entry(text(owner, "/uid").to_owned()).or_default().insert(key.clone());
        }
        let found = self.shelves.entry(key.sort.clone()).or_default();
        let before = found.entry(key.namespace.clone()).or_default().insert(key.name.clone(), object.clone());
        if let Some(before) = &before
            && before.pointer("/metadata/ownerReferences") != object.pointer("/metadata/ownerReferences")
        {
            let before = before.clone();
            self.unlink(key, &before);
            for owner in list(object, "/metadata/ownerReferences") {
                self.dependents.entry(text(owner, "/uid").to_owned()).or_default().insert(key.clone());
            }
        }
        before
    }

    fn unlink(&mut self, key: &Key, object: &Value) {
        for owner in list(object, "/metadata/ownerReferences") {
            if let Some(keys) = self.dependents.get_mut(text(owner, "/uid")) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(text(owner, "/uid"));
                }
            }
        }
    }

    fn log(&mut self, change: Change) {
        let revision = change.revision;
        let history = self.history.entry(change.sort.clone()).or_default();
        history.changes.push_back(change);
        if history.changes.len() > REMEMBERED
            && let Some(oldest) = history.changes.pop_front()
        {
            history.forgotten = oldest.revision;
        }
        self.latest.send_replace(revision);
    }
}
