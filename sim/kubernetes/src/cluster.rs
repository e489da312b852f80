//! A cluster, as the rest of the site uses it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use emhost_sim_kit::{Audit, Dials, Store};
use serde_json::json;

use crate::builtin;
use crate::controllers::nodes;
use crate::document::{list, put, remove, text};
use crate::failure::Outcome;
use crate::objects::Key;
use crate::report::{Builtin, Node};
use crate::serve::{self, Serving};
use crate::verbs::{Asked, subresources};
use crate::world::{Kubelet, World};

/// What a cluster is called and which addresses it hands out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// The cluster's name.
    pub name: String,
    /// Such as `v1.34.1`.
    pub version: String,
    /// Such as `10.244.0.0/16`.
    pub pod_cidrs: Vec<String>,
    /// Such as `10.96.0.0/12`.
    pub service_cidrs: Vec<String>,
    /// Such as `cluster.local`.
    pub dns_domain: String,
}

/// One Kubernetes cluster. Clones are the same cluster.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    world: Mutex<World>,
    audit: Arc<Audit>,
    dials: Arc<Dials>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cluster").field("name", &self.settings().name).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Opens the cluster kept under `key`, and makes it with its default objects where it is not there.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn open(store: Arc<Store>, key: &str, settings: Settings, audit: Arc<Audit>, dials: Arc<Dials>) -> io::Result<Self> {
        let mut world = World::open(store, key, settings, dials.clone())?;
        builtin::defaults(&mut world)?;
        let cluster = Self { inner: Arc::new(Inner { world: Mutex::new(world), audit, dials }) };
        Ok(cluster)
    }

    /// Answers on this listener until the result is dropped. A client certificate's common name is the user, its
    /// organizations are the groups.
    #[allow(clippy::unused_async)] // Callers need not know that nothing has to be waited for today.
    pub async fn serve(&self, listener: tokio::net::TcpListener, tls: Arc<rustls::ServerConfig>) -> Serving {
        serve::start(self.clone(), listener, tls)
    }

    /// What the kubelets report now. A node that is no longer in the list becomes `NotReady`; its object stays.
    pub fn set_nodes(&self, nodes: Vec<Node>) {
        self.write(|world| {
            let first = !std::mem::replace(&mut world.heard, true);
            let mut before = std::mem::take(&mut world.kubelets);
            for node in nodes {
                let former = before.remove(&node.name);
                if former.as_ref().is_some_and(|one| one.node == node) {
                    world.kubelets.extend(former.map(|one| (node.name, one)));
                    continue;
                }
                // A kubelet registers when it starts, not when somebody has deleted its node.
                let goes_on = former.is_some_and(|one| one.registered && one.node.boot_id == node.boot_id && one.node.kubelet_running);
                world.enqueue(Key::new("nodes", "", &node.name));
                world.kubelets.insert(node.name.clone(), Kubelet { registered: goes_on && node.kubelet_running, node });
            }
            for name in before.into_keys() {
                world.enqueue(Key::new("nodes", "", &name));
            }
            world.enqueue(Key::new("services", "default", "kubernetes"));
            if first {
                world.look_at_all();
            }
            world.settle();
        });
    }

    /// What Talos puts into the cluster. Objects are made where they are missing, and never changed.
    pub fn set_builtin(&self, builtin: Builtin) {
        self.write(|world| {
            if world.builtin.authority != builtin.authority {
                for name in world.objects.list("namespaces", None).map(|one| text(one, "/metadata/name").to_owned()).collect::<Vec<_>>() {
                    world.enqueue(Key::new("namespaces", "", &name));
                }
            }
            world.builtin = builtin;
            world.unplaced = true;
            place(world);
        });
    }

    /// Lets no more pods onto a node.
    pub fn cordon(&self, node: &str) {
        self.write(|world| {
            if world.writable {
                world.edit(&Key::new("nodes", "", node), |node| put(node, "/spec/unschedulable", true));
                world.settle();
            }
        });
    }

    /// Lets pods onto a node again.
    pub fn uncordon(&self, node: &str) {
        self.write(|world| {
            if world.writable {
                world.edit(&Key::new("nodes", "", node), |node| drop(remove(node, "/spec/unschedulable")));
                world.settle();
            }
        });
    }

    /// Evicts the pods of a node, those of daemon sets and static ones left aside, and waits until they are gone.
    /// A budget that forbids it makes it wait as well, so callers set a time limit.
    pub async fn drain(&self, node: &str) {
        let mut wake = self.read(|world| world.objects.latest());
        loop {
            wake.borrow_and_update();
            let left = self.write(|world| evict_all(world, node));
            if !left {
                return;
            }
            if wake.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether etcd has a quorum. Without one every request fails as it does with a real server.
    pub fn set_writable(&self, writable: bool) {
        self.write(|world| {
            world.writable = writable;
            place(world);
        });
    }

    /// The version the API tells.
    pub fn set_version(&self, version: &str) {
        self.write(|world| version.clone_into(&mut world.settings.version));
    }

    /// What the cluster is called and which addresses it hands out.
    pub fn settings(&self) -> Settings {
        self.read(|world| world.settings.clone())
    }

    /// Whether a node is ready, for those who wait without the API.
    pub fn ready(&self, node: &str) -> bool {
        self.read(|world| world.objects.find("nodes", "", node).is_some_and(|node| nodes::is_ready(node)))
    }

    pub(crate) fn audit(&self) -> &Audit {
        &self.inner.audit
    }

    pub(crate) fn dials(&self) -> &Dials {
        &self.inner.dials
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.inner.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.world())
    }

    /// Changes the world, and sets the alarms that the change asks for.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let (result, alarms) = {
            let mut world = self.world();
            let result = change(&mut world);
            (result, std::mem::take(&mut world.alarms))
        };
        self.set(alarms);
        result
    }

    /// Without a runtime there is no time either; the next request looks again.
    fn set(&self, alarms: Vec<(Duration, Key)>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for (after, key) in alarms {
            let inner = Arc::downgrade(&self.inner);
            runtime.spawn(async move {
                tokio::time::sleep(after).await;
                if let Some(inner) = inner.upgrade() {
                    Self { inner }.ring(key);
                }
            });
        }
    }

    fn ring(&self, key: Key) {
        self.write(|world| {
            world.enqueue(key);
            world.settle();
        });
    }
}

/// Nothing can be put anywhere without a quorum; it is done when there is one.
fn place(world: &mut World) {
    if world.writable && std::mem::take(&mut world.unplaced) {
        builtin::place(world);
    }
    world.settle();
}

/// Evicts what may go from a node; says whether anything is left.
fn evict_all(world: &mut World, node: &str) -> bool {
    let Some(resource) = world.kinds.by_sort("pods").filter(|_| world.writable) else { return !world.writable };
    let stays = |pod: &serde_json::Value| {
        list(pod, "/metadata/ownerReferences").iter().any(|owner| matches!(text(owner, "/kind"), "DaemonSet" | "Node"))
    };
    let pods: Vec<Key> = world.usage.on(node).filter(|key| world.objects.get(key).is_some_and(|pod| !stays(pod))).cloned().collect();
    for pod in &pods {
        let asked = Asked {
            resource: resource.clone(),
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            subresource: "eviction".to_owned(),
            query: std::collections::HashMap::new(),
            user: crate::access::User::default(),
            agent: "talos".to_owned(),
        };
        let evicted: Outcome<_> = subresources::evict(world, &asked, &json!({}));
        // A budget may allow it later, when another pod is ready somewhere else.
        drop(evicted);
    }
    pods.iter().any(|pod| world.objects.get(pod).is_some())
}
