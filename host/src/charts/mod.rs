//! Helm charts without a helm binary: fetched and pinned by the host, rendered by real Helm in a sandbox.
//!
//! [`Charts::render`] is all that the rest of the host uses. The component comes from `helm/`; it sees the chart, the values and what
//! the cluster can do, and answers with objects. It has no network, no files and no cluster, so `lookup` finds nothing, and a standing
//! clock and dice of its own, so the same inputs give the same bytes.

mod answer;
mod component;
mod dice;
mod error;
mod fetch;
mod folder;
mod reference;
mod sandbox;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use ring::rand::SecureRandom as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::answer::About;
pub use self::component::Sources;
use self::component::digest;
use self::dice::Dice;
pub use self::error::ChartError;
use self::fetch::Shelf;
use self::reference::Reference;
use self::sandbox::{Fate, Renderer, Source};
pub use crate::bindings::exports::emhost::plugin::addon::Chart;
use crate::capabilities::events::{Event, Events, Source as Teller};
use crate::capabilities::{SecretStore, SecretValue};
use crate::plugins::lock::{Image, Lock};
use crate::plugins::{Limits, Runtime, Workshop};
use crate::redact::{Redactor, one_line};

/// The secret from which all randomness of charts comes.
pub const SEED: &str = "charts_seed";

/// What the cluster can do, as charts ask for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Its version, such as `v1.34.1`.
    pub kube_version: String,
    /// What it serves beside what Helm knows every Kubernetes serves, such as `monitoring.coreos.com/v1`.
    pub api_versions: Vec<String>,
}

/// What a chart makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The chart's name.
    pub chart: String,
    /// Its version.
    pub version: String,
    /// Its objects in the order in which they are installed: those of `crds/` first.
    pub manifests: Vec<Value>,
    /// Objects that belong to a moment, in the order in which Helm would have them within one.
    pub hooks: Vec<Hook>,
    /// What the chart tells whoever installs it.
    pub notes: Option<String>,
    /// Everything as `helm template --include-crds` prints it.
    pub text: String,
}

/// An object that belongs to a moment and not to the release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// The object.
    pub object: Value,
    /// When it is made.
    pub events: Vec<Moment>,
    /// Lower ones come first.
    pub weight: i64,
    /// When it goes again: `before-hook-creation`, `hook-succeeded`, `hook-failed`.
    pub delete_policies: Vec<String>,
}

/// When a hook is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Moment {
    PreInstall,
    PostInstall,
    PreDelete,
    PostDelete,
    PreUpgrade,
    PostUpgrade,
    PreRollback,
    PostRollback,
    Test,
}

/// What rendering is lent by whoever opened the cluster.
pub struct Lent {
    /// Where Helm's component is looked for.
    pub sources: Sources,
    /// The cluster's folder.
    pub folder: PathBuf,
    /// The charts that its lock file has.
    pub pins: BTreeMap<String, Image>,
    /// Whether nothing may be added to the lock file.
    pub locked: bool,
    /// Where the seed of all randomness is kept.
    pub secrets: Arc<dyn SecretStore>,
    /// What must never be seen.
    pub redactor: Redactor,
    /// Where it is told that something takes long.
    pub events: Arc<dyn Events>,
}

/// Renders charts.
pub struct Charts {
    workshop: Arc<Workshop>,
    lent: Lent,
    shelf: Shelf,
    limits: Limits,
    now: Option<Timestamp>,
    pins: Mutex<BTreeMap<String, Image>>,
    renderer: tokio::sync::OnceCell<Renderer>,
    /// What was rendered, by everything that went in. Whoever renders has it: one at a time is memory for one.
    rendered: tokio::sync::Mutex<BTreeMap<[u8; 32], Rendered>>,
}

impl Charts {
    /// Nothing is looked for, fetched or compiled before the first chart.
    pub fn new(runtime: &Runtime, mut lent: Lent) -> Self {
        let limits = Limits { cpu: Duration::from_secs(30), wall: Duration::from_mins(2), crossing: 64 << 20, ..Limits::default() };
        Self {
            workshop: Arc::new(runtime.workshop()),
            shelf: Shelf(lent.sources.cache.clone()),
            pins: Mutex::new(std::mem::take(&mut lent.pins)),
            lent,
            limits,
            now: None,
            renderer: tokio::sync::OnceCell::new(),
            rendered: tokio::sync::Mutex::default(),
        }
    }

    /// With other limits, so that tests need not wait.
    #[must_use]
    pub fn limited(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// As if it were this moment.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        self.now = Some(now);
        self
    }

    /// Fetches the chart where that is needed, and renders it.
    ///
    /// # Errors
    /// Why there are no objects.
    pub async fn render(&self, chart: &Chart, capabilities: &Capabilities) -> Result<Rendered, ChartError> {
        let reference = Reference::parse(&chart.reference, &chart.version)?;
        let source = self.source(chart, &reference).await?;
        let values: Value = if chart.values.trim().is_empty() { json!({}) } else { values(chart)? };
        let request = json!({
            "release": chart.release,
            "namespace": chart.namespace,
            "values": values,
            "kubeVersion": capabilities.kube_version,
            "apiVersions": capabilities.api_versions,
        })
        .to_string();
        let renderer = self.renderer.get_or_try_init(|| self.start()).await?;
        let (seed, now) = (self.seed()?, dice::quarter(self.now.unwrap_or_else(Timestamp::now)));
        let about = About {
            reference: &chart.reference,
            version: &chart.version,
            release: &chart.release,
            source: &source,
            redactor: &self.lent.redactor,
        };
        let key = key(&source, &request, now);
        let mut all = self.rendered.lock().await;
        if let Some(known) = all.get(&key) {
            return Ok(known.clone());
        }
        let fate = Fate { dice: Dice::new(&seed, &chart.namespace, &chart.release), now };
        let answer = renderer.render(&source, &request, fate, &self.limits).await.map_err(|stopped| about.stopped(&stopped))?;
        let made = about.rendered(&answer.map_err(|said| about.failed(&said))?)?;
        all.insert(key, made.clone());
        Ok(made)
    }

    /// The chart's bytes: read, taken from the shelf, or fetched; and pinned.
    async fn source(&self, chart: &Chart, reference: &Reference) -> Result<Source, ChartError> {
        let Some(key) = reference.key() else {
            if chart.digest.is_some() {
                let summary = format!("chart {} is a folder, and a digest is given for it", one_line(&chart.reference, 200));
                return Err(ChartError::new(
                    "chart/digest",
                    summary,
                    "leave the digest out: a folder is kept beside emhost.lock, and changes when you change it",
                ));
            }
            return Ok(Source::Folder(folder::read(&self.lent.folder, &chart.reference)?));
        };
        let pinned = self.pins().get(&key).map(|pin| pin.digest.clone());
        let wanted = pinned.as_ref().or(chart.digest.as_ref());
        if pinned.is_none() && self.lent.locked {
            let summary = format!("chart {key} is not in emhost.lock, and nothing may be added to it");
            return Err(ChartError::new("chart/lock", summary, "run the command once without --locked, and commit emhost.lock"));
        }
        let bytes = if let Some(bytes) = wanted.and_then(|wanted| self.shelf.find(wanted)) {
            bytes
        } else {
            self.tell(format!("fetches chart {key}"));
            fetch::fetch(reference).await?
        };
        let is = digest(&bytes);
        if let Some(wanted) = chart.digest.as_ref().filter(|wanted| **wanted != is) {
            let help = "check the digest that the addon names; `sha256sum` of the .tgz is the one that is meant";
            let error = ChartError::new("chart/digest", format!("chart {key} is not the one that the addon names"), help);
            return Err(error.detail(format!("  - digest: {}\n  + digest: {is}", one_line(wanted, 100))));
        }
        self.pin(&key, Image { digest: is.clone(), size: bytes.len() as u64 })?;
        self.shelf.keep(&is, &bytes);
        Ok(Source::Archive(bytes))
    }

    fn pins(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Image>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pin(&self, key: &str, image: Image) -> Result<(), ChartError> {
        // One at a time: each reads the file, adds to it, and writes it.
        let mut pins = self.pins();
        if pins.get(key).is_some_and(|known| known.digest == image.digest) {
            return Ok(());
        }
        Lock::pin_chart(&self.lent.folder, key, &image).map_err(|error| {
            let text = error.to_string();
            let mut lines = text.lines();
            let summary = lines.next().unwrap_or_default();
            let mut rest: Vec<&str> = lines.collect();
            let help = rest.pop().unwrap_or("see to it that emhost.lock can be read and written, then try again");
            ChartError::new("chart/lock", summary, help).detail(rest.join("\n"))
        })?;
        pins.insert(key.to_owned(), image);
        Ok(())
    }

    /// Finds, compiles and links Helm.
    async fn start(&self) -> Result<Renderer, ChartError> {
        let found = self.lent.sources.find()?;
        let workshop = Arc::clone(&self.workshop);
        let cached = workshop.find(&found.digest);
        if cached.is_none() {
            self.tell("compiles Helm for this machine, once: about half a minute".to_owned());
        }
        let fail = |why: String| {
            ChartError::new("chart/helm", format!("Helm's component cannot be used: {why}"), "build it again with `cargo xtask helm`")
        };
        let made = tokio::task::spawn_blocking(move || {
            let component = match cached {
                Some(component) => component,
                None => workshop.compile(&found.digest, &found.unpacked()?)?,
            };
            Renderer::new(&workshop.engine, &component)
        });
        match made.await {
            Ok(Ok(renderer)) => Ok(renderer),
            Ok(Err(error)) => Err(fail(one_line(&format!("{error:#}"), 500))),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// The seed of all randomness, made where there is none.
    fn seed(&self) -> Result<SecretValue, ChartError> {
        let fail = |why: String| {
            let summary = format!("what charts make at random comes from secret `{SEED}`, which cannot be had: {why}");
            ChartError::new("chart/seed", summary, "see to it that secrets.sops.yaml can be read and written, then try again")
        };
        let secrets = &self.lent.secrets;
        let kept = secrets.get(SEED).map_err(|error| fail(error.to_string()))?;
        let seed = if let Some(seed) = kept {
            seed
        } else {
            let mut seed = [0; 32];
            ring::rand::SystemRandom::new().fill(&mut seed).map_err(|_| fail("this system has no randomness".to_owned()))?;
            secrets.put_if_absent(SEED, crate::plugins::hex(&seed).as_bytes()).map_err(|error| fail(error.to_string()))?
        };
        // Whoever could guess it could make every key that a chart makes.
        if seed.len() < 32 { Err(fail("it is shorter than 32 bytes".to_owned())) } else { Ok(seed) }
    }

    fn tell(&self, activity: String) {
        let source = Teller { plugin: "emhost".to_owned(), call: "charts", unit: None };
        self.lent.events.event(Event::Progress { source, activity, percent: None });
    }
}

fn values(chart: &Chart) -> Result<Value, ChartError> {
    let wrong = |why: &str| {
        let summary = format!("the values of chart {} are {why}", one_line(&chart.reference, 200));
        ChartError::new("chart/values", summary, "values are a map, as in the chart's values.yaml")
    };
    match serde_json::from_str(&chart.values) {
        Ok(Value::Null) => Ok(json!({})),
        Ok(values @ Value::Object(_)) => Ok(values),
        Ok(_) => Err(wrong("no map")),
        Err(error) => Err(wrong(&format!("no JSON: {error}"))),
    }
}

/// Everything that decides about what is rendered, but for the seed, which is one for all.
fn key(source: &Source, request: &str, now: Duration) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    add(request.as_bytes());
    add(&now.as_secs().to_be_bytes());
    match source {
        Source::Archive(bytes) => add(bytes),
        Source::Folder(files) => files.iter().for_each(|(name, bytes)| {
            add(name.as_bytes());
            add(bytes);
        }),
    }
    hash.finalize().into()
}
