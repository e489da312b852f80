//! Everything a cluster is, behind one lock: objects, kinds, what kubelets
//! reported, and the work that controllers still have to do.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use emhost_sim_kit::{Dials, Store};
use serde_json::Value;

use crate::cluster::Settings;
use crate::controllers::scheduling::Usage;
use crate::document::{list, put, text};
use crate::kinds::{Registry, Sort, custom_resources};
use crate::objects::{Key, Objects};
use crate::report::{Builtin, Node};

/// A kubelet as it was last heard of.
#[derive(Debug, Clone)]
pub(crate) struct Kubelet {
    pub(crate) node: Node,
    /// Whether it has registered its node since it started. A running kubelet does so once.
    pub(crate) registered: bool,
}

/// One cluster's state.
#[allow(clippy::struct_excessive_bools)] // Each of them is a fact of its own.
pub(crate) struct World {
    pub(crate) objects: Objects,
    pub(crate) kinds: Registry,
    pub(crate) settings: Settings,
    pub(crate) kubelets: BTreeMap<String, Kubelet>,
    pub(crate) builtin: Builtin,
    pub(crate) writable: bool,
    pub(crate) dials: Arc<Dials>,
    /// Work that is due later.
    pub(crate) alarms: Vec<(Duration, Key)>,
    /// Whether kubelets have been heard of since this cluster was opened; before that nothing is known about nodes.
    pub(crate) heard: bool,
    /// Whether what Talos puts into the cluster is still to be put there.
    pub(crate) unplaced: bool,
    /// Until when something takes, by UID and what it is.
    pub(crate) lasting: HashMap<String, Instant>,
    /// Pods without a node.
    pub(crate) waiting: HashSet<Key>,
    /// What pods ask of each node.
    pub(crate) usage: Usage,
    /// Events from the oldest to the newest.
    pub(crate) told: VecDeque<Key>,
    /// The boot of each node during which its network was set up.
    pub(crate) networked: HashMap<String, String>,
    queue: VecDeque<Key>,
    queued: HashSet<Key>,
    settling: bool,
}

impl World {
    pub(crate) fn open(store: Arc<Store>, key: &str, settings: Settings, dials: Arc<Dials>) -> io::Result<Self> {
        let objects = Objects::open(store, key)?;
        let mut world = Self {
            objects,
            kinds: Registry::new(),
            settings,
            kubelets: BTreeMap::new(),
            builtin: Builtin::default(),
            writable: true,
            dials,
            alarms: Vec::new(),
            heard: false,
            unplaced: false,
            lasting: HashMap::new(),
            waiting: HashSet::new(),
            usage: Usage::default(),
            told: VecDeque::new(),
            networked: HashMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            settling: false,
        };
        let definitions: Vec<Arc<Value>> = world.objects.list("customresourcedefinitions.apiextensions.k8s.io", None).cloned().collect();
        for definition in definitions {
            world.kinds.set_custom(text(&definition, "/metadata/name"), custom_resources(&definition));
        }
        let pods: Vec<Arc<Value>> = world.objects.list("pods", None).cloned().collect();
        for pod in pods {
            let key = Key::of(&"pods".into(), &pod);
            world.usage.moved(&key, None, Some(&pod));
            if text(&pod, "/status/phase") == "Pending" {
                world.waiting.insert(key);
            }
        }
        let mut events: Vec<Arc<Value>> = world.objects.list("events", None).cloned().collect();
        events.sort_by_key(|event| text(event, "/lastTimestamp").to_owned());
        world.told = events.iter().map(|event| Key::of(&"events".into(), event)).collect();
        Ok(world)
    }

    /// Keeps an object and lets the controllers know.
    pub(crate) fn put(&mut self, sort: &Sort, object: Value) -> io::Result<Arc<Value>> {
        let key = Key::of(sort, &object);
        let before = self.objects.get(&key).cloned();
        let after = self.objects.put(sort, object)?;
        self.touched(&key, before.as_deref(), Some(&after));
        Ok(after)
    }

    /// Forgets an object and lets the controllers know.
    pub(crate) fn remove(&mut self, key: &Key) -> io::Result<Option<Arc<Value>>> {
        let before = self.objects.get(key).cloned();
        let last = self.objects.remove(key)?;
        if last.is_some() {
            self.touched(key, before.as_deref(), None);
        }
        Ok(last)
    }

    /// Changes an object where the change changes anything. Controllers write so; a disk that refuses has been told to
    /// whoever wrote last, and comes back with the next request.
    pub(crate) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let Some(object) = self.objects.get(key).cloned() else { return };
        let mut after = (*object).clone();
        change(&mut after);
        if after != *object {
            let spec = |value: &Value| value.get("spec").cloned();
            if spec(&after) != spec(&object) && object.pointer("/metadata/generation").is_some() {
                let generation = object["metadata"]["generation"].as_i64().unwrap_or(1);
                put(&mut after, "/metadata/generation", generation + 1);
            }
            let _ = self.put(&key.sort, after);
        }
    }

    /// Makes an object for a controller: with a UID and a time, and nothing asked.
    pub(crate) fn make(&mut self, sort: &str, mut object: Value) -> Option<Arc<Value>> {
        let sort: Sort = sort.into();
        put(&mut object, "/metadata/uid", crate::document::uid());
        put(&mut object, "/metadata/creationTimestamp", crate::document::now());
        if object.get("spec").is_some() && !matches!(&*sort, "pods" | "nodes" | "namespaces" | "services" | "persistentvolumes") {
            put(&mut object, "/metadata/generation", 1);
        }
        if let Some(resource) = self.kinds.by_sort(&sort) {
            crate::rules::defaults::fill(self, &resource, &mut object);
        }
        self.put(&sort, object).ok()
    }

    pub(crate) fn enqueue(&mut self, key: Key) {
        if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    /// Asks to look at something again later.
    pub(crate) fn again(&mut self, after: Duration, key: Key) {
        self.alarms.push((after, key));
    }

    /// Lets the controllers work until nothing is left to do.
    pub(crate) fn settle(&mut self) {
        if self.settling || !self.writable {
            return;
        }
        self.settling = true;
        while let Some(key) = self.queue.pop_front() {
            self.queued.remove(&key);
            crate::controllers::look(self, &key);
        }
        self.settling = false;
    }

    /// Everything is looked at, as controllers do when they start.
    pub(crate) fn look_at_all(&mut self) {
        let sorts: Vec<Sort> = self.kinds.all().map(|one| one.sort.clone()).collect();
        for sort in sorts {
            let keys: Vec<Key> = self.objects.list(&sort, None).map(|object| Key::of(&sort, object)).collect();
            for key in keys {
                self.enqueue(key);
            }
        }
    }

    /// The object that controls this one.
    pub(crate) fn controller(&self, object: &Value) -> Option<Key> {
        let owner = list(object, "/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true)?;
        self.owner_key(owner, text(object, "/metadata/namespace"))
    }

    /// Where an owner is.
    pub(crate) fn owner_key(&self, owner: &Value, namespace: &str) -> Option<Key> {
        let (group, version) = text(owner, "/apiVersion").split_once('/').unwrap_or(("", text(owner, "/apiVersion")));
        let resource = self.kinds.by_kind(group, version, text(owner, "/kind"))?;
        Some(Key::new(&resource.sort, if resource.namespaced { namespace } else { "" }, text(owner, "/name")))
    }

    fn touched(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        crate::controllers::touched(self, key, before, after);
    }
}
