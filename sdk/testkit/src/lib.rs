//! Calls a plugin's roles from an ordinary test, without Proxmox, Talos or Kubernetes.
//!
//! The sandbox is the real one and so are the slots; what they lead to are servers of the test
//! ([`servers`]). Everything the plugin says, changes and asks is there to be looked at.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test kit fails by panicking")]

pub mod servers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use emhost;
use emhost::bindings::emhost::plugin::inventory::{InterfaceCard, NodeRole};
use emhost::capabilities::events::MemoryEvents;
use emhost::capabilities::journal::{Journal, MemoryJournal};
use emhost::capabilities::policy::{Grant, Policy};
use emhost::capabilities::record::Tape;
use emhost::capabilities::{Context, MemorySecrets, Slots};
use emhost::inventory::site::SlotConfig;
use emhost::inventory::{Cluster, Node};
use emhost::plugins::{Cache, Limits, LoadError, Plugin, Role, Runtime, lock};
use emhost::redact::Redactor;

/// The sandbox that all tests of a process share, with compiled code kept between processes.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("emhost-testkit-{}", std::process::id()));
        let folder = std::env::var_os("EMHOST_TEST_CACHE").map_or(folder, PathBuf::from);
        Runtime::new(Cache::open(&folder).ok()).expect("the sandbox can be set up")
    })
}

/// A cluster with one control-plane node `cp-1` at 127.0.0.1, to be changed as a test needs it.
pub fn cluster() -> Cluster {
    let mut node = Node::new("cp-1", NodeRole::ControlPlane);
    node.cards.push(InterfaceCard {
        name: "eth0".to_owned(),
        bridge: "vmbr0".to_owned(),
        vlan: None,
        mac: "02:00:00:00:00:01".to_owned(),
        address: Some("127.0.0.1/24".to_owned()),
        gateway: None,
        attributes: Vec::new(),
    });
    Cluster {
        name: "dev".to_owned(),
        id: "c0ffee".to_owned(),
        endpoint: "https://127.0.0.1:6443".to_owned(),
        vip: None,
        os_version: "v1.11.5".to_owned(),
        kubernetes_version: "v1.34.1".to_owned(),
        pod_subnets: vec!["10.244.0.0/16".to_owned()],
        service_subnets: vec!["10.96.0.0/12".to_owned()],
        resolvers: Vec::new(),
        time_servers: Vec::new(),
        nodes: vec![Arc::new(node)],
        attributes: Vec::new(),
    }
}

/// A plugin, and everything around it.
pub struct Kit {
    /// The plugin.
    pub plugin: Plugin,
    /// What it is lent. Change it between calls as the test needs.
    pub context: Context,
    /// What it said.
    pub events: Arc<MemoryEvents>,
    /// What it changed.
    pub journal: Arc<MemoryJournal>,
}

/// A kit in the making.
pub struct Builder {
    bytes: Vec<u8>,
    cluster: Cluster,
    settings: serde_json::Value,
    secrets: MemorySecrets,
    slots: BTreeMap<String, SlotConfig>,
    grants: Option<Vec<Grant>>,
    roles: Option<Vec<Role>>,
    limits: Limits,
    files: BTreeMap<String, Vec<u8>>,
    journal: Option<Arc<dyn Journal>>,
    renew_after: Option<std::time::Duration>,
    recording: bool,
}

impl Kit {
    /// Begins with the component in this file.
    pub fn file(path: impl AsRef<Path>) -> Builder {
        let path = path.as_ref();
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic_missing(path, &error));
        Self::bytes(bytes)
    }

    /// Begins with these bytes.
    pub fn bytes(bytes: Vec<u8>) -> Builder {
        Builder {
            bytes,
            cluster: cluster(),
            settings: serde_json::json!({}),
            secrets: MemorySecrets::default(),
            slots: BTreeMap::new(),
            grants: None,
            roles: None,
            limits: Limits::default(),
            files: BTreeMap::new(),
            journal: None,
            renew_after: None,
            recording: false,
        }
    }

    /// The node that calls are about.
    pub fn node(&self) -> Node {
        self.context.cluster.nodes.first().map(|node| Node::clone(node)).expect("the cluster has a node")
    }
}

#[expect(clippy::panic, reason = "a test kit fails by panicking")]
fn panic_missing(path: &Path, error: &std::io::Error) -> Vec<u8> {
    panic!("{}: {error}; build it first (`cargo xtask test` does)", path.display())
}

impl Builder {
    /// The plugin's settings.
    #[must_use]
    pub fn settings(mut self, settings: serde_json::Value) -> Self {
        self.settings = settings;
        self
    }

    /// A secret of the site.
    #[must_use]
    pub fn secret(mut self, name: &str, value: &[u8]) -> Self {
        self.secrets = self.secrets.with(name, value);
        self
    }

    /// What a slot leads to, as `site.yaml` would say it.
    #[must_use]
    pub fn slot(mut self, name: &str, config: SlotConfig) -> Self {
        self.slots.insert(name.to_owned(), config);
        self
    }

    /// A slot that leads to a plain server without credential.
    #[must_use]
    pub fn url(self, name: &str, url: &str) -> Self {
        self.slot(name, SlotConfig { url: Some(url.to_owned()), ..SlotConfig::default() })
    }

    /// A file of the cluster's folder, for `ca:`.
    #[must_use]
    pub fn with_file(mut self, name: &str, bytes: &[u8]) -> Self {
        self.files.insert(name.to_owned(), bytes.to_vec());
        self
    }

    /// Grants only these; otherwise all that the plugin asks for.
    #[must_use]
    pub fn grants(mut self, grants: &[&str]) -> Self {
        self.grants = Some(grants.iter().map(|grant| grant.parse().expect("a grant")).collect());
        self
    }

    /// Gives only these roles; otherwise all that the plugin fills.
    #[must_use]
    pub fn roles(mut self, roles: &[Role]) -> Self {
        self.roles = Some(roles.to_vec());
        self
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Another cluster.
    #[must_use]
    pub fn cluster(mut self, change: impl FnOnce(&mut Cluster)) -> Self {
        change(&mut self.cluster);
        self
    }

    /// Another journal.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Renews tickets at this age.
    #[must_use]
    pub fn renewing_after(mut self, age: std::time::Duration) -> Self {
        self.renew_after = Some(age);
        self
    }

    /// Records host calls.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.recording = true;
        self
    }

    /// Loads the plugin.
    ///
    /// # Errors
    /// Why it cannot be loaded.
    pub fn build(self) -> Result<Kit, LoadError> {
        let plugin = runtime().load(&self.bytes)?;
        let asked = lock::asked(plugin.inspection()).expect("a manifest that asks for grants");
        let granted = self.grants.unwrap_or_else(|| asked.clone());
        let roles = self.roles.unwrap_or_else(|| plugin.inspection().shape.roles.clone());
        let redactor = Redactor::new();
        let secrets = Arc::new(self.secrets);
        let files = self.files;
        let read = |name: &str| files.get(name).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into());
        let mut slots = Slots::bind(&self.slots, secrets.clone(), redactor.clone(), &read).expect("slots that make sense");
        if let Some(age) = self.renew_after {
            slots = slots.renewing_after(age);
        }
        let events = Arc::new(MemoryEvents::default());
        let journal = Arc::new(MemoryJournal::default());
        let tape = if self.recording { Tape::recording(plugin.name(), &self.settings, &self.cluster, &redactor) } else { Tape::off() };
        let context = Context {
            cluster: Arc::new(self.cluster),
            settings: self.settings,
            policy: Policy::new(plugin.name(), roles, asked, granted),
            limits: self.limits,
            slots: Arc::new(slots),
            secrets,
            redactor,
            events: events.clone(),
            journal: self.journal.unwrap_or_else(|| journal.clone()),
            tape,
        };
        Ok(Kit { plugin, context, events, journal })
    }

    /// Loads a plugin that has to load.
    pub fn load(self) -> Kit {
        self.build().unwrap_or_else(|error| {
            #[expect(clippy::panic, reason = "a test kit fails by panicking")]
            {
                panic!("{error}")
            }
        })
    }
}
