//! The plugins of a site at their posts: loaded, allowed, and lent what each may use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::events::{Event, Watch};
use super::plan::Answering;
use super::unit::UnitId;
use crate::bindings::emhost::plugin::types::FailureKind;
use crate::capabilities::events::{Event as Said, Events};
use crate::capabilities::journal::{Journal, MemoryJournal};
use crate::capabilities::policy::{Need, Refusal, Verb};
use crate::capabilities::record::Tape;
use crate::capabilities::{Context, SecretStore, SecretValue, Slots};
use crate::diagnostic::Diagnostic;
use crate::inventory::Cluster;
use crate::inventory::site::Site;
use crate::plugins::locate::Reference;
use crate::plugins::lock::Lock;
use crate::plugins::{CallError, Cause, Limits, Plugin, Role, Runtime};
use crate::redact::Redactor;

/// What every plugin of a run is lent alike.
#[derive(Clone)]
pub struct Lent {
    /// Where slots lead.
    pub slots: Arc<Slots>,
    /// Where secrets are kept.
    pub secrets: Arc<dyn SecretStore>,
    /// What must never be seen.
    pub redactor: Redactor,
    /// Who watches.
    pub watch: Arc<dyn Watch>,
    /// How much one call may use.
    pub limits: Limits,
}

/// The cluster as it is known at the moment: addresses and machines become known as it grows.
#[derive(Clone)]
pub struct Now(Arc<RwLock<Arc<Cluster>>>);

impl Now {
    /// Begins with this.
    pub fn new(cluster: Cluster) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(cluster))))
    }

    /// As it is now.
    pub fn get(&self) -> Arc<Cluster> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it for whoever looks next.
    pub fn change(&self, change: impl FnOnce(&mut Cluster)) {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut now));
    }
}

/// One plugin at its post.
#[derive(Clone)]
pub struct Worker {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    context: Arc<Context>,
    watch: Arc<dyn Watch>,
    now: Now,
}

/// Passes on what a plugin says, with the unit it is about.
struct Voice {
    unit: Option<UnitId>,
    watch: Arc<dyn Watch>,
}

/// What is said about no unit, for whoever watches.
pub fn voice(watch: &Arc<dyn Watch>) -> Arc<dyn Events> {
    Arc::new(Voice { unit: None, watch: Arc::clone(watch) })
}

impl Events for Voice {
    fn event(&self, said: Said) {
        self.watch.event(Event::Plugin { unit: self.unit.clone(), said });
    }
}

impl Worker {
    /// The plugin's name.
    pub fn name(&self) -> &str {
        self.plugin.name()
    }

    /// Whether the plugin itself could read from this slot.
    ///
    /// # Errors
    /// Why not, and the lines that would allow it.
    pub(super) fn may_read(&self, slot: &str) -> Result<(), Refusal> {
        self.context.policy.check(Verb::Resolve, &Need::Http { slot, change: false })
    }

    /// What must never be seen.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.context.redactor
    }

    /// The values of secrets that the plugin names in what it renders, if it may use them. It does not get to see them.
    ///
    /// # Errors
    /// Those it may not use, and those that there are not.
    pub(super) fn named_secrets(&self, addon: &str, names: BTreeSet<String>) -> Result<BTreeMap<String, SecretValue>, Vec<Diagnostic>> {
        let (mut values, mut problems) = (BTreeMap::new(), Vec::new());
        for name in names {
            if let Err(refusal) = self.context.policy.check(Verb::RenderAddon, &Need::Get(&name)) {
                problems.push(Diagnostic::error("host/refused", format!("addon {addon}: {}", refusal.summary)).help(refusal.help));
                continue;
            }
            match self.context.secrets.get(&name) {
                Ok(Some(value)) => {
                    self.context.redactor.learn(&name, &value);
                    values.insert(name, value);
                }
                Ok(None) => {
                    let help =
                        format!("set EMHOST_SECRET_{}, or add `{name}` with `sops edit secrets.sops.yaml`", name.to_ascii_uppercase());
                    let summary = format!("addon {addon} needs secret `{name}`, and there is none");
                    problems.push(Diagnostic::error("site/secret", summary).help(Some(help)));
                }
                Err(error) => problems.push(Diagnostic::error("site/secret", format!("secret `{name}` cannot be read: {error}"))),
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }

    /// An answer that was given and cannot be used.
    pub(super) fn misanswered(&self, verb: Verb, unit: &UnitId, why: Vec<Diagnostic>) -> CallError {
        let cause = Cause::Failed { kind: FailureKind::Invalid, diagnostics: why, retry_after: None, state: None };
        let (plugin, unit) = (self.name().to_owned(), Some(unit.to_string()));
        CallError { plugin, verb, unit, cause, remarks: Vec::new(), last_words: None }
    }

    /// What a call that changes nothing is lent.
    pub fn looks(&self, unit: Option<&UnitId>) -> Context {
        let mut context = self.acts(unit, Arc::new(MemoryJournal::default()));
        // Whoever only looks is told soon that nobody answers.
        context.limits.wall = context.limits.wall.min(Duration::from_secs(20));
        context
    }

    /// What a call that makes secrets is lent. It asks nobody, and keys take their time on a machine that is busy.
    pub fn prepares(&self) -> Context {
        self.acts(None, Arc::new(MemoryJournal::default()))
    }

    /// What a call that may make a change is lent: the journal it is written down in comes with it.
    pub fn acts(&self, unit: Option<&UnitId>, journal: Arc<dyn Journal>) -> Context {
        Context {
            cluster: self.now.get(),
            journal,
            events: Arc::new(Voice { unit: unit.cloned(), watch: Arc::clone(&self.watch) }),
            ..Context::clone(&self.context)
        }
    }
}

/// Every plugin of a site by what it answers for.
pub struct Crew {
    /// Renders configuration.
    pub configurator: Worker,
    /// Decide what machines boot from, by the name that the inventory uses.
    pub boot: BTreeMap<String, Worker>,
    /// Gives out accelerators, where nodes ask for some.
    pub gpu: Option<Worker>,
    /// Makes machines.
    pub provisioner: Worker,
    /// Drives the operating system.
    pub distro: Worker,
    /// Render what runs in the cluster.
    pub addons: Vec<Worker>,
    /// Which plugin answers for which role.
    pub answering: Vec<Answering>,
}

/// What a crew is assembled for.
pub struct Wanted<'a> {
    /// The cluster's folder, which paths of plugins are relative to.
    pub folder: &'a Path,
    /// The site, defaults filled in.
    pub site: &'a Site,
    /// Every boot source that a node of the inventory names, beside the site's.
    pub boot: &'a BTreeSet<String>,
    /// Whether a node asks for an accelerator.
    pub gpu: bool,
    /// Whether the inventory asks for addons.
    pub addons: bool,
}

impl Crew {
    /// Every plugin once, whatever it answers for.
    pub fn everyone(&self) -> Vec<&Worker> {
        let one = [&self.configurator, &self.provisioner, &self.distro].into_iter();
        let mut all: Vec<&Worker> = Vec::new();
        for worker in one.chain(self.boot.values()).chain(&self.gpu).chain(&self.addons) {
            if !all.iter().any(|other| Arc::ptr_eq(&other.plugin, &worker.plugin)) {
                all.push(worker);
            }
        }
        all
    }

    /// Loads every plugin the site names and checks that it may do its work here.
    ///
    /// # Errors
    /// Everything that keeps plugins from working, all at once.
    pub fn assemble(runtime: &Runtime, wanted: &Wanted<'_>, lock: &Lock, lent: &Lent, now: &Now) -> Result<Self, Vec<Diagnostic>> {
        let roles = wanted.site.plugins.clone().with_defaults();
        let mut posts: Vec<(Role, String)> = Vec::new();
        for (role, reference) in roles.references() {
            let needed = match role {
                Role::Gpu => wanted.gpu,
                Role::Addon => wanted.addons || !wanted.site.plugins.addons.is_empty(),
                // What nodes name is what is loaded.
                Role::BootSource => false,
                _ => true,
            };
            if needed {
                posts.push((role, reference.to_owned()));
            }
        }
        posts.extend(wanted.boot.iter().map(|name| (Role::BootSource, name.clone())));

        let texts: BTreeSet<&String> = posts.iter().map(|(_, text)| text).collect();
        // Compiling for the first time takes a while, so all of them at once.
        let loaded: BTreeMap<&String, Result<Worker, Vec<Diagnostic>>> = std::thread::scope(|scope| {
            let each = texts.iter().map(|text| (*text, scope.spawn(|| worker(runtime, wanted, lock, lent, now, text))));
            let running: Vec<_> = each.collect();
            let panicked = || vec![Diagnostic::error("host/bug", "loading a plugin panicked: this is a bug of emhost")];
            running.into_iter().map(|(text, thread)| (text, thread.join().unwrap_or_else(|_| Err(panicked())))).collect()
        });
        let mut problems: Vec<Diagnostic> = loaded.values().filter_map(|each| each.as_ref().err()).flatten().cloned().collect();
        let mut filled: BTreeMap<&str, Vec<(&str, Worker)>> = BTreeMap::new();
        for (role, text) in &posts {
            let Some(Ok(worker)) = loaded.get(text) else { continue };
            if worker.plugin.inspection().shape.roles.contains(role) {
                filled.entry(role.as_str()).or_default().push((text, worker.clone()));
            } else {
                let does: Vec<&str> = worker.plugin.inspection().shape.roles.iter().map(|role| role.as_str()).collect();
                let summary = format!("plugin `{}` ({text}) does not fill the role {role}; it fills {}", worker.name(), does.join(", "));
                problems.push(
                    Diagnostic::error("plugin/role", summary).help(Some(format!("name a plugin that is a {role} in site.yaml `plugins`"))),
                );
            }
        }
        problems.extend(unused_settings(wanted.site, &loaded));
        if !problems.is_empty() {
            return Err(problems);
        }
        let answering = posts.iter().filter_map(|(role, text)| {
            let worker = loaded.get(text)?.as_ref().ok()?;
            let inspection = worker.plugin.inspection();
            Some(Answering {
                role: role.as_str().to_owned(),
                plugin: worker.name().to_owned(),
                version: inspection.manifest.version.to_string(),
                digest: inspection.digest.clone(),
            })
        });
        let answering = answering.collect();
        let mut one = |role: Role| filled.remove(role.as_str()).unwrap_or_default().into_iter().next().map(|(_, worker)| worker);
        let missing = |role: Role| vec![Diagnostic::error("plugin/role", format!("no plugin fills the role {role} at this site"))];
        let configurator = one(Role::Configurator).ok_or_else(|| missing(Role::Configurator))?;
        let provisioner = one(Role::Provisioner).ok_or_else(|| missing(Role::Provisioner))?;
        let distro = one(Role::Distro).ok_or_else(|| missing(Role::Distro))?;
        let gpu = one(Role::Gpu);
        let addons = filled.remove(Role::Addon.as_str()).unwrap_or_default().into_iter().map(|(_, worker)| worker).collect();
        let boot = filled.remove(Role::BootSource.as_str()).unwrap_or_default();
        let boot = boot.into_iter().map(|(text, worker)| (text.to_owned(), worker)).collect();
        Ok(Self { configurator, boot, gpu, provisioner, distro, addons, answering })
    }
}

/// Loads one plugin and checks that it may do its work here.
///
/// # Errors
/// Everything that keeps it from working.
pub fn worker(runtime: &Runtime, wanted: &Wanted<'_>, lock: &Lock, lent: &Lent, now: &Now, text: &str) -> Result<Worker, Vec<Diagnostic>> {
    let fail = |code: &str, why: String| {
        // The first line is what, the last one what to do, and between them is the story.
        let (first, rest) = why.split_once('\n').unwrap_or((why.as_str(), ""));
        let (story, help) = rest.rsplit_once('\n').map_or((None, rest), |(story, help)| (Some(story.to_owned()), help));
        let mut diagnostic = Diagnostic::error(code, first).help((!help.is_empty()).then_some(help));
        diagnostic.detail = story;
        vec![diagnostic]
    };
    let reference: Reference = text.parse().map_err(|error| fail("plugin/locate", format!("{error}")))?;
    let bytes = reference.read(wanted.folder).map_err(|error| {
        let mut all = fail("plugin/locate", error.to_string());
        if let (Reference::Builtin(_), Some(first)) = (&reference, all.first_mut()) {
            let help = "this emhost comes without it: name a component in site.yaml, for example\n`plugins: {provisioner: ./mine.wasm}`, and allow it with `emhost plugin add ./mine.wasm`";
            first.help = Some(help.to_owned());
        }
        all
    })?;
    let plugin = runtime.load(&bytes).map_err(|error| fail("plugin/load", format!("{text}: {error}")))?;
    let policy = lock.policy(&reference, plugin.inspection()).map_err(|error| fail("plugin/lock", error.to_string()))?;
    let name = plugin.name().to_owned();
    let settings = wanted.site.settings.get(&name).cloned().unwrap_or_else(|| serde_json::json!({}));
    let problems = plugin.inspection().manifest.check_settings(&settings);
    if !problems.is_empty() {
        let each = problems.into_iter().map(|problem| Diagnostic {
            pointer: Some(format!("site.yaml settings.{name}{}", problem.pointer)),
            ..Diagnostic::error("plugin/settings", format!("the settings of plugin `{name}` are not what it takes: {}", problem.message))
        });
        return Err(each.collect());
    }
    let context = Context {
        cluster: now.get(),
        settings,
        policy,
        limits: lent.limits.clone(),
        slots: Arc::clone(&lent.slots),
        secrets: Arc::clone(&lent.secrets),
        redactor: lent.redactor.clone(),
        events: Arc::new(Voice { unit: None, watch: Arc::clone(&lent.watch) }),
        journal: Arc::new(MemoryJournal::default()),
        tape: Tape::off(),
    };
    Ok(Worker { plugin: Arc::new(plugin), context: Arc::new(context), watch: Arc::clone(&lent.watch), now: now.clone() })
}

/// Settings that nobody reads are a typing error, or left over from a plugin that was swapped out.
fn unused_settings(site: &Site, loaded: &BTreeMap<&String, Result<Worker, Vec<Diagnostic>>>) -> Vec<Diagnostic> {
    let names: BTreeSet<&str> = loaded.values().filter_map(|each| each.as_ref().ok()).map(Worker::name).collect();
    if names.len() < loaded.len() {
        // Which plugin was meant cannot be told while some do not load.
        return Vec::new();
    }
    let unused = site.settings.keys().filter(|name| !names.contains(name.as_str()));
    let say = |name: &String| {
        let have: Vec<&str> = names.iter().copied().collect();
        let help = format!("remove `settings.{name}` from site.yaml, or rename it: the plugins here are {}", have.join(", "));
        Diagnostic::error("site/settings", format!("site.yaml has settings for `{name}`, and no plugin of that name works here"))
            .help(Some(help))
    };
    unused.map(say).collect()
}
