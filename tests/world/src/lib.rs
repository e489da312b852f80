//! A small world for plugins to work on: a hypervisor, an image store and an operating system that count every change they receive, and
//! can lose any request and any reply.
//!
//! It judges whoever drives it. [`World::twice`] lists changes that were made although an earlier one had done it already, and
//! [`World::violations`] what must never happen at all: two creates at once on one storage, a second bootstrap, a lost quorum. A test
//! kills the driver wherever it likes ([`World::on_change`], [`World::after_change`]), lets it run again, and asks the world.
//!
//! Time passes by polls, never by the clock, so that nothing sleeps and every run can be repeated.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test kit fails by panicking")]

mod folder;
mod kube;
mod os;
mod proto;
mod serve;
mod state;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emhost::inventory::site::SlotConfig;
use serde::Serialize;
use serde_json::{Value, json};

pub use folder::{PLUGINS, component, lay};
pub use kube::Pod;
pub use os::digest;
pub use state::{Dials, Machine, Medium, Power, Stage};

use state::{NewMachine, State};

/// What becomes of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is processed and answered.
    Answer,
    /// The connection is closed before it is processed.
    LoseRequest,
    /// It is processed, and the connection is closed without an answer.
    LoseReply,
    /// It is not processed, and answered with this HTTP status (or gRPC code) and text.
    Refuse(u16, String),
    /// There is never an answer. Before a change it is not processed, after a change it was.
    Hang,
}

/// How a change ended in this world, whatever its sender heard of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is being processed.
    Pending,
    /// It happened.
    Applied,
    /// It did not, for this reason.
    Refused(String),
    /// It never arrived.
    Lost,
}

/// A changing request, as the world saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Counted from 1, in the order of arrival.
    pub number: u64,
    /// `create`, `update`, `start`, `stop`, `delete`, `image`, `delete-image`, `configure`, `reset`, `bootstrap`, `evict`, `cordon`,
    /// `evict-pod` or `forget-node`.
    pub what: String,
    /// The machine's, node's or image's name.
    pub key: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// Losses by chance. What happens to a request depends on the seed, on the request and on how often it was made, not on what else is under
/// way, so a run can be repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lossy {
    /// Another seed is another run of luck.
    pub seed: u64,
    /// The part of all requests, reads included, that is lost.
    pub requests: f64,
    /// The part of all replies that is lost.
    pub replies: f64,
}

type Hook = Arc<dyn Fn(u64, &Change) -> Fate + Send + Sync>;

#[derive(Default)]
struct Faults {
    before: Option<Hook>,
    after: Option<Hook>,
    lossy: Option<Lossy>,
    /// How often each request was made.
    made: HashMap<String, u64>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changes: Mutex<Vec<Change>>,
    faults: Mutex<Faults>,
    requests: AtomicU64,
    strangers: AtomicU64,
    /// Numbers of changes go on when the records are emptied.
    numbers: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running world. Clones are the same world, which ends with the last of them.
#[derive(Clone)]
pub struct World {
    inner: Arc<Inner>,
    address: SocketAddr,
    _running: Arc<Running>,
}

/// The threads it runs on: its own, so that neither a test nor a hook can hold it up.
struct Running(Option<tokio::runtime::Runtime>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl World {
    /// Starts one on any port of loopback.
    pub fn start() -> Self {
        Self::start_at(0).expect("a port on loopback")
    }

    /// Starts one on this port of loopback.
    ///
    /// # Errors
    /// Why the port cannot be had.
    pub fn start_at(port: u16) -> std::io::Result<Self> {
        let inner = Arc::new(Inner::default());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("world").enable_all().build()?;
        let listener = runtime.block_on_elsewhere(tokio::net::TcpListener::bind(("127.0.0.1", port)))?;
        let address = listener.local_addr()?;
        runtime.spawn(serve::accept(listener, Arc::clone(&inner)));
        Ok(Self { inner, address, _running: Arc::new(Running(Some(runtime))) })
    }

    /// Another world, in which everything is as it is here and nothing was counted yet. It goes its own way, without hooks and losses.
    #[must_use]
    pub fn fork(&self) -> Self {
        let world = Self::start();
        *lock(&world.inner.state) = lock(&self.inner.state).clone();
        world.forget();
        world
    }

    /// Where it listens, for HTTP and gRPC alike.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the slots `hypervisor`, `images`, `os` and `kubernetes` lead to.
    pub fn slots(&self) -> BTreeMap<String, SlotConfig> {
        let slot = |name: &str, maintenance| (name.to_owned(), SlotConfig { url: Some(self.url()), maintenance, ..SlotConfig::default() });
        // Without it the host would want a client certificate for gRPC.
        let mut slots: BTreeMap<String, SlotConfig> = [slot("hypervisor", false), slot("images", false), slot("os", true)].into();
        slots.insert("kubernetes".to_owned(), SlotConfig { url: Some(format!("{}/kube", self.url())), ..SlotConfig::default() });
        slots
    }

    /// The text of a `site.yaml` with this world behind its slots and the fixtures in its roles.
    pub fn site_yaml(&self) -> String {
        folder::site_yaml(&self.url())
    }

    // ---- how it behaves -------------------------------------------------------------------

    /// Turns the dials.
    pub fn dial(&self, change: impl FnOnce(&mut Dials)) {
        change(&mut lock(&self.inner.state).dials);
    }

    /// Loses requests and replies by chance, or no more.
    pub fn lossy(&self, lossy: Option<Lossy>) {
        let mut faults = lock(&self.inner.faults);
        faults.lossy = lossy;
        faults.made.clear();
    }

    /// Decides about each change before it is processed. May take its time and do anything, such as kill the sender.
    pub fn on_change(&self, hook: impl Fn(u64, &Change) -> Fate + Send + Sync + 'static) {
        lock(&self.inner.faults).before = Some(Arc::new(hook));
    }

    /// Decides about each answer after the change was processed.
    pub fn after_change(&self, hook: impl Fn(u64, &Change) -> Fate + Send + Sync + 'static) {
        lock(&self.inner.faults).after = Some(Arc::new(hook));
    }

    /// No hooks and no losses any more.
    pub fn calm(&self) {
        *lock(&self.inner.faults) = Faults::default();
    }

    /// Says that the whole cluster is meant to go, so that no quorum is kept.
    pub fn teardown(&self, meant: bool) {
        lock(&self.inner.state).teardown = meant;
    }

    // ---- what happened --------------------------------------------------------------------

    /// Every changing request so far.
    pub fn changes(&self) -> Vec<Change> {
        lock(&self.inner.changes).clone()
    }

    /// Changes that asked for what an earlier one had done already.
    pub fn twice(&self) -> Vec<String> {
        lock(&self.inner.state).twice.clone()
    }

    /// What must never happen.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.inner.state).violations.clone()
    }

    /// Quorum lost where there was none to keep: with one or two control planes.
    pub fn outages(&self) -> Vec<String> {
        lock(&self.inner.state).outages.clone()
    }

    /// How many requests came in, reads among them.
    pub fn requests(&self) -> u64 {
        self.inner.requests.load(Ordering::Relaxed)
    }

    /// Empties the records; what there is stays.
    pub fn forget(&self) {
        lock(&self.inner.changes).clear();
        let mut state = lock(&self.inner.state);
        state.twice.clear();
        state.violations.clear();
        state.outages.clear();
    }

    // ---- what there is --------------------------------------------------------------------

    /// Every machine, by number.
    pub fn machines(&self) -> Vec<Machine> {
        lock(&self.inner.state).machines.values().cloned().collect()
    }

    /// The first machine of this name.
    pub fn machine(&self, name: &str) -> Option<Machine> {
        lock(&self.inner.state).machines.values().find(|machine| machine.name == name).cloned()
    }

    /// The members of every cluster's consensus, and whether they are healthy.
    pub fn members(&self) -> Vec<(String, bool)> {
        let state = lock(&self.inner.state);
        state.clusters.values().flat_map(|cluster| cluster.members.iter().map(|(node, healthy)| (node.clone(), *healthy))).collect()
    }

    /// The node that the (first) cluster was bootstrapped on.
    pub fn bootstrapped(&self) -> Option<String> {
        lock(&self.inner.state).clusters.values().find_map(|cluster| cluster.bootstrapped.clone())
    }

    /// What there is, the same for two runs that end alike: without numbers, identities, digests and cluster ids, which are random.
    pub fn snapshot(&self) -> Value {
        let state = lock(&self.inner.state);
        let mut machines: Vec<&Machine> = state.machines.values().collect();
        machines.sort_by(|one, other| (&one.name, &one.identity).cmp(&(&other.name, &other.identity)));
        let mut clusters: Vec<&str> = Vec::new();
        let machines: Vec<Value> = machines
            .into_iter()
            .map(|machine| {
                let number = clusters.iter().position(|known| *known == machine.cluster).unwrap_or_else(|| {
                    clusters.push(&machine.cluster);
                    clusters.len() - 1
                });
                json!({
                    "name": machine.name, "cluster": number, "cores": machine.cores, "memory": machine.memory, "disk": machine.disk,
                    "storage": machine.storage, "image": machine.image, "status": machine.status, "stage": machine.stage,
                    "media": machine.media.iter().map(|medium| &medium.label).collect::<Vec<_>>(),
                    "configured": machine.digest.is_some(), "control-plane": machine.control_plane,
                })
            })
            .collect();
        let mut consensus: Vec<Value> = state.clusters.values().filter(|one| one.bootstrapped.is_some()).map(|one| json!(one)).collect();
        consensus.sort_by_key(ToString::to_string);
        json!({"machines": machines, "images": state.images.keys().collect::<Vec<_>>(), "clusters": consensus})
    }

    /// How often an image was read.
    pub fn image_reads(&self) -> u64 {
        lock(&self.inner.state).image_reads
    }

    /// From where the images of machines were to be fetched, in the order of their making.
    pub fn fetched(&self) -> Vec<String> {
        lock(&self.inner.state).fetched.clone()
    }

    /// Changes images behind everybody's back.
    pub fn edit_images(&self, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) {
        change(&mut lock(&self.inner.state).images);
    }

    /// The nodes that Kubernetes knows, as far as somebody asked.
    pub fn kubernetes_nodes(&self) -> Vec<String> {
        lock(&self.inner.state).kubernetes.nodes.keys().cloned().collect()
    }

    /// Changes the pods behind everybody's back.
    pub fn edit_pods<T>(&self, change: impl FnOnce(&mut Vec<Pod>) -> T) -> T {
        change(&mut lock(&self.inner.state).kubernetes.pods)
    }

    /// Everything as it is, for people.
    pub fn everything(&self) -> Value {
        let changes = self.changes();
        let state = lock(&self.inner.state);
        json!({
            "machines": state.machines.values().collect::<Vec<_>>(), "images": state.images.keys().collect::<Vec<_>>(),
            "clusters": state.clusters, "changes": changes, "twice": state.twice, "violations": state.violations,
            "outages": state.outages,
        })
    }

    // ---- interference ---------------------------------------------------------------------

    /// Changes machines behind everybody's back.
    pub fn edit<T>(&self, change: impl FnOnce(&mut BTreeMap<u32, Machine>) -> T) -> T {
        let mut state = lock(&self.inner.state);
        let answer = change(&mut state.machines);
        state.edited();
        answer
    }

    /// Adds a running machine of nobody.
    pub fn add_foreign(&self, name: &str) -> u32 {
        self.add("", name)
    }

    /// Adds a running machine with the mark of this cluster.
    pub fn add_owned_orphan(&self, cluster: &str, name: &str) -> u32 {
        self.add(cluster, name)
    }

    fn add(&self, cluster: &str, name: &str) -> u32 {
        let stranger = self.inner.strangers.fetch_add(1, Ordering::Relaxed);
        let new = NewMachine {
            name: name.to_owned(),
            identity: format!("stranger-{stranger}"),
            cluster: cluster.to_owned(),
            cores: 1,
            memory: 512,
            disk: 8,
            storage: "local-lvm".to_owned(),
            image: "elsewhere".to_owned(),
            url: None,
            digest: None,
            media: Vec::new(),
        };
        let mut state = lock(&self.inner.state);
        let id = state.insert(new, Power::Running, None);
        state.edited();
        id
    }
}

/// `block_on` that also works where a runtime runs already.
trait Elsewhere {
    fn block_on_elsewhere<T: Send>(&self, future: impl Future<Output = T> + Send) -> T;
}

impl Elsewhere for tokio::runtime::Runtime {
    fn block_on_elsewhere<T: Send>(&self, future: impl Future<Output = T> + Send) -> T {
        std::thread::scope(|scope| scope.spawn(|| self.block_on(future)).join().expect("it only waits"))
    }
}

impl Inner {
    fn record(&self, what: &str, key: String) -> Change {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst) + 1;
        let change = Change { number, what: what.to_owned(), key, outcome: Outcome::Pending };
        lock(&self.changes).push(change.clone());
        change
    }

    fn ended(&self, change: &mut Change, outcome: Outcome) {
        change.outcome = outcome;
        let mut changes = lock(&self.changes);
        // Late ones are near the end.
        if let Some(known) = changes.iter_mut().rev().find(|known| known.number == change.number) {
            known.outcome.clone_from(&change.outcome);
        }
    }

    /// Whether chance takes this request, and whether it takes its reply.
    fn chance(&self, request: &str) -> (bool, bool) {
        let mut faults = lock(&self.faults);
        let Some(lossy) = faults.lossy else { return (false, false) };
        let made = faults.made.entry(request.to_owned()).or_default();
        *made += 1;
        let draw = |of: &str| {
            let mut hasher = DefaultHasher::new();
            (lossy.seed, of, request, *made).hash(&mut hasher);
            #[expect(clippy::cast_precision_loss, reason = "a probability needs no more")]
            let drawn = (hasher.finish() >> 12) as f64 / (1u64 << 52) as f64;
            drawn
        };
        (draw("request") < lossy.requests, draw("reply") < lossy.replies)
    }

    async fn ask(hook: Option<Hook>, change: &Change) -> Fate {
        let Some(hook) = hook else { return Fate::Answer };
        let change = change.clone();
        // A hook that panics is a bug of the test, which fails where it looks for what the hook should have done.
        tokio::task::spawn_blocking(move || hook(change.number, &change)).await.unwrap_or(Fate::LoseRequest)
    }
}
