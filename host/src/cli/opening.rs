//! What every command that works on a cluster begins with: inventory, secrets, state and plugins.

use std::collections::BTreeMap;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use emhost::bindings::emhost::plugin::types::Attribute;
use emhost::capabilities::{SecretStore, Slots};
use emhost::charts::{self, Charts};
use emhost::diagnostic::{Diagnostic, Severity};
use emhost::inventory::site::SlotConfig;
use emhost::inventory::{Cluster, Loaded};
use emhost::pipeline::addons::Pins;
use emhost::pipeline::crew::{self, Crew, Lent, Now, Wanted};
use emhost::pipeline::images::Images;
use emhost::pipeline::rendering::Scribes;
use emhost::pipeline::{Options, Run, Watch};
use emhost::plugins::Limits;
use emhost::plugins::lock::{Lock, Mark};
use emhost::secrets;
use emhost::state::{self, Opened, Store};
use emhost_sim::Network;

use super::{Exit, Failed, Session};

/// A cluster that is ready to be planned.
pub struct Opening {
    /// Everything a run works with.
    pub run: Arc<Run>,
    /// What the store of secrets made in this run.
    pub secrets: Arc<secrets::Store>,
    /// What should be known before anything is done.
    pub notes: Vec<Diagnostic>,
    /// Whether nodes get their addresses by DHCP.
    pub dhcp: bool,
    /// The simulated site that is worked on, if it is one.
    behind: Option<super::sim::Behind>,
}

/// How state is opened.
pub enum Access {
    /// For changing it: under the lock.
    Locked {
        /// The command that holds it.
        command: &'static str,
    },
    /// For looking at it only.
    View,
}

/// The inventory, with everything that is wrong with it said.
pub fn inventory(session: &Session<'_>) -> Result<Loaded, Failed> {
    let loaded = emhost::inventory::load(&session.folder);
    let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        loaded.findings.iter().cloned().partition(|finding| finding.severity == Severity::Error);
    for finding in &others {
        session.ui.diagnostic(finding);
    }
    if !errors.is_empty() {
        return Err(Failed { exit: Exit::Input, diagnostics: errors });
    }
    Ok(loaded)
}

/// The secrets of the cluster, and of the environment.
pub fn secrets(session: &Session<'_>) -> Result<Arc<secrets::Store>, Failed> {
    let fail = |error: &secrets::SecretsError| Failed::new(Exit::Refused, "secrets/open", error.to_string());
    let store = secrets::Store::open(&session.folder, secrets::Environment::from_variables(std::env::vars_os()), session.ui.redactor());
    Ok(Arc::new(store.map_err(|error| fail(&error))?))
}

/// Every credential that the site names has to be somewhere, or its slot would only fail later.
fn credentials(loaded: &Loaded, secrets: &dyn SecretStore) -> Result<(), Failed> {
    let mut diagnostics = Vec::new();
    for (slot, config) in &loaded.site.slots {
        let Some(name) = &config.credential else { continue };
        let found = secrets.get(name).map_err(|error| Failed::new(Exit::Refused, "secrets/read", error.to_string()))?;
        if found.is_none() {
            let summary = format!("slot `{slot}` needs secret `{name}`, and there is none");
            let help = format!("set EMHOST_SECRET_{}, or add `{name}` with `sops edit secrets.sops.yaml`", name.to_ascii_uppercase());
            diagnostics.push(Diagnostic::error("site/credential", summary).help(Some(help)));
        }
    }
    if diagnostics.is_empty() { Ok(()) } else { Err(Failed { exit: Exit::Refused, diagnostics }) }
}

/// Opens everything.
pub fn open(session: &Session<'_>, access: &Access, options: Options, watch: Arc<dyn Watch>) -> Result<Opening, Failed> {
    let loaded = inventory(session)?;
    open_loaded(session, loaded, access, options, watch)
}

/// Opens everything around an inventory whose findings were told.
pub fn open_loaded(
    session: &Session<'_>,
    mut loaded: Loaded,
    access: &Access,
    options: Options,
    watch: Arc<dyn Watch>,
) -> Result<Opening, Failed> {
    if loaded.site.slots.is_empty() {
        return Err(Failed::new(Exit::Input, "site/slots", "no site.yaml binds a slot, so nothing says where Proxmox is").help(
            "add this to site.yaml in the cluster's folder or the one above it:\n\nslots:\n  pve: {url: \"https://PROXMOX:8006\", fingerprint: \"sha256:…\", credential: pve_token}\n\nand keep the token as EMHOST_SECRET_PVE_TOKEN or in secrets.sops.yaml.\nTo try emhost without a Proxmox:\n\nslots:\n  pve: {url: \"sim:\"}",
        ));
    }
    let Some(mut cluster) = loaded.cluster.take() else {
        return Err(Failed::new(Exit::Bug, "host/bug", "the inventory has no error and no cluster"));
    };
    let mut lock = Lock::load(&session.folder)?;
    let secrets = secrets(session)?;
    let behind = super::sim::Behind::bind(session, &mut loaded)?;
    loaded.site.bind_defaults();
    let lent_secrets = behind.as_ref().map_or_else(|| Arc::clone(&secrets) as _, |site| site.secrets(Arc::clone(&secrets) as _));
    credentials(&loaded, &*lent_secrets)?;
    let mut notes = Vec::new();
    let store = match access {
        Access::Locked { command } => lock_state(session, command, &loaded, &cluster.name, &mut lock, &mut notes)?,
        Access::View => Store::view(&session.folder, &cluster.name)?,
    };
    cluster.id = store.id();
    if let Some(mark) = lock.cluster.as_ref().filter(|_| cluster.id.is_empty()) {
        cluster.id.clone_from(&mark.id);
    }

    let redactor = session.ui.redactor();
    let folder = folder(session)?;
    let read_file = |name: &str| behind.as_ref().and_then(|site| site.file(name)).map_or_else(|| folder.read(name), Ok);
    let slots = Slots::bind(&loaded.site.slots, lent_secrets, redactor.clone(), &read_file)
        .map_err(|error| Failed::new(Exit::Input, "site/slots", error.to_string()))?
        .simulated(behind.as_ref().map(super::sim::Behind::network));
    let kinds = slots.credentials().into_iter();
    cluster.attributes.extend(kinds.map(|(slot, kind)| Attribute { key: format!("slot.{slot}.credential"), value: format!("\"{kind}\"") }));
    let users = slots.users().into_iter();
    let quoted = |text: String| serde_json::Value::from(text).to_string();
    cluster.attributes.extend(users.map(|(slot, user)| Attribute { key: format!("slot.{slot}.user"), value: quoted(user) }));
    let lent =
        Lent { slots: Arc::new(slots), secrets: Arc::clone(&secrets) as _, redactor, watch: Arc::clone(&watch), limits: Limits::default() };
    let boot_of = boots(&loaded, &cluster);
    let boot = boot_of.values().cloned().collect();
    let gpu = cluster.nodes.iter().any(|node| !node.gpus.is_empty());
    let wanted = Wanted { folder: &session.folder, site: &loaded.site, boot: &boot, gpu, addons: loaded.options.has_addons() };
    let now = Now::new(cluster);
    let runtime = session.runtime()?;
    let crew =
        Crew::assemble(&runtime, &wanted, &lock, &lent, &now).map_err(|diagnostics| Failed { exit: exit_of(&diagnostics), diagnostics })?;
    let locked = options.locked;
    let charts = charts::Lent {
        sources: charts::Sources::from_variables(std::env::vars_os()),
        folder: session.folder.clone(),
        pins: std::mem::take(&mut lock.charts),
        locked,
        secrets: Arc::clone(&lent.secrets),
        redactor: lent.redactor.clone(),
        events: crew::voice(&watch),
    };
    let mut run = Run::new(crew, Arc::new(store), now, watch, options);
    run.slots = Arc::clone(&lent.slots);
    run.images = Images::new(session.folder.clone(), std::mem::take(&mut lock.images), locked);
    run.pins = Pins::new(session.folder.clone(), std::mem::take(&mut lock.manifests), locked);
    run.charts = Some(Charts::new(&runtime, charts));
    run.networking = loaded.options.has_own_network();
    (run.sources, run.inventory, run.boot_of) = (loaded.sources, loaded.digest, boot_of);
    Ok(Opening { run: Arc::new(run), secrets, notes, dhcp: loaded.options.dhcp, behind })
}

/// What renders configuration, and where everything comes from.
pub struct Drafting {
    /// The plugins.
    pub scribes: Arc<Scribes>,
    /// Which boot source each node uses.
    pub boot_of: BTreeMap<String, String>,
    /// What the store of secrets made in this run.
    pub secrets: Arc<secrets::Store>,
    /// What is remembered, under the lock.
    pub store: Store,
    /// What should be known.
    pub notes: Vec<Diagnostic>,
}

/// Opens what it takes to render configuration: no slot has to lead anywhere.
pub fn draft(session: &Session<'_>, command: &'static str, watch: Arc<dyn Watch>) -> Result<Drafting, Failed> {
    let mut loaded = inventory(session)?;
    let Some(mut cluster) = loaded.cluster.take() else {
        return Err(Failed::new(Exit::Bug, "host/bug", "the inventory has no error and no cluster"));
    };
    let mut lock = Lock::load(&session.folder)?;
    let secrets = secrets(session)?;
    let mut notes = Vec::new();
    let store = lock_state(session, command, &loaded, &cluster.name, &mut lock, &mut notes)?;
    cluster.id = store.id();
    let redactor = session.ui.redactor();
    let folder = folder(session)?;
    // A boot source may read through slots; where one leads to the simulator there is nothing to read.
    let simulated = |config: &SlotConfig| config.url.as_deref().is_some_and(|url| url.starts_with("sim:"));
    let slots = loaded.site.slots.iter().filter(|(_, config)| !simulated(config)).map(|(name, config)| (name.clone(), config.clone()));
    let slots = Slots::bind(&slots.collect(), Arc::clone(&secrets) as _, redactor.clone(), &|name| folder.read(name))
        .map_err(|error| Failed::new(Exit::Input, "site/slots", error.to_string()))?;
    let lent = Lent { slots: Arc::new(slots), secrets: Arc::clone(&secrets) as _, redactor, watch, limits: Limits::default() };
    let boot_of = boots(&loaded, &cluster);
    let boot = boot_of.values().cloned().collect();
    let gpu = cluster.nodes.iter().any(|node| !node.gpus.is_empty());
    let wanted = Wanted { folder: &session.folder, site: &loaded.site, boot: &boot, gpu, addons: loaded.options.has_addons() };
    let runtime = session.runtime()?;
    let scribes = Scribes::assemble(&runtime, &wanted, &lock, &lent, &Now::new(cluster))
        .map_err(|diagnostics| Failed { exit: exit_of(&diagnostics), diagnostics })?;
    Ok(Drafting { scribes: Arc::new(scribes), boot_of, secrets, store, notes })
}

/// The boot source of each node.
fn boots(loaded: &Loaded, cluster: &Cluster) -> BTreeMap<String, String> {
    cluster.nodes.iter().map(|node| (node.name.clone(), loaded.options.boot_of(&node.name).to_owned())).collect()
}

fn folder(session: &Session<'_>) -> Result<Dir, Failed> {
    Dir::open_ambient_dir(&session.folder, ambient_authority())
        .map_err(|error| Failed::new(Exit::Input, "folder/open", format!("cannot open {}: {error}", session.folder.display())))
}

/// The state, for changing it.
fn lock_state(
    session: &Session<'_>,
    command: &'static str,
    loaded: &Loaded,
    name: &str,
    lock: &mut Lock,
    notes: &mut Vec<Diagnostic>,
) -> Result<Store, Failed> {
    let keep = state::Options { backups: loaded.site.state.backups, ..state::Options::default() };
    same_cluster(lock, name)?;
    let id = lock.cluster.as_ref().map(|mark| mark.id.as_str());
    let opened = Store::open_as(&session.folder, name, id, super::state::holder(command), keep)?;
    mark(session, lock, name, &opened, notes)?;
    notes.extend(opened.notes);
    notes.extend(opened.open.iter().map(cut_off));
    Ok(opened.store)
}

impl Opening {
    /// The addresses of a simulated site.
    pub fn network(&self) -> Option<Network> {
        self.behind.as_ref().map(super::sim::Behind::network)
    }

    /// Whether this process runs the site.
    pub fn runs_site(&self) -> bool {
        self.behind.as_ref().is_some_and(super::sim::Behind::is_here)
    }

    /// Ends in good order: what is known is kept, and the lock let go.
    pub fn close(&self) -> Result<(), Failed> {
        Ok(self.run.store.close()?)
    }
}

/// A folder that was copied for another cluster must not take the first one's machines for its own.
fn same_cluster(lock: &Lock, name: &str) -> Result<(), Failed> {
    match &lock.cluster {
        Some(mark) if mark.name != name => Err(Failed::new(
            Exit::Input,
            "lock/other-cluster",
            format!("emhost.lock is of cluster `{}`, and cluster.yaml says `{name}`", mark.name),
        )
        .help("a cluster is not renamed; for another one in a copied folder, remove the `cluster:` lines from emhost.lock and the folder .emhost")),
        _ => Ok(()),
    }
}

/// Keeps the cluster's id where every clone of the folder has it, and refuses two ids for one cluster.
fn mark(session: &Session<'_>, lock: &mut Lock, name: &str, opened: &Opened, notes: &mut Vec<Diagnostic>) -> Result<(), Failed> {
    let id = opened.store.id();
    match &lock.cluster {
        Some(known) if known.id != id => Err(Failed::new(
            Exit::Input,
            "state/other-id",
            format!("emhost.lock says that the machines of this cluster are marked {}, and the state says {id}", known.id),
        )
        .help("one of the two is of another cluster: bring the right one back (from version control, or .emhost/state.json.backup.…)")),
        Some(_) if opened.fresh => {
            let summary = "nothing is remembered of this cluster here; its machines are recognised by the id in emhost.lock";
            notes.push(
                Diagnostic::warning("state/fresh", summary).help(Some(
                    "look at the plan before you apply; if somebody else has the folder .emhost, it is better to work with that",
                )),
            );
            Ok(())
        }
        Some(_) => Ok(()),
        None => {
            lock.cluster = Some(Mark { name: name.to_owned(), id });
            Ok(lock.save(&session.folder)?)
        }
    }
}

fn cut_off(open: &state::Open) -> Diagnostic {
    let changes: Vec<&str> = open.changes.iter().map(|change| change.request.as_str()).collect();
    let note = Diagnostic::note("state/cut-off", format!("the last run was cut off in a step of {}: it is looked at again", open.unit));
    if changes.is_empty() { note } else { note.detail(format!("no answer came to this, so it may have happened:\n{}", changes.join("\n"))) }
}

/// The exit code for what kept a plan from being made.
pub fn exit_of(diagnostics: &[Diagnostic]) -> Exit {
    let code = diagnostics.first().map_or("", |first| first.code.as_str());
    // What points at a line of the inventory is wrong with the inventory.
    let placed = diagnostics.first().is_some_and(|first| first.place.is_some());
    let denied = diagnostics.first().is_some_and(|first| first.denied);
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| code.starts_with(prefix));
    if is(&["host/bug"]) {
        Exit::Bug
    } else if is(&["plugin/lock", "plugin/role", "host/refused", "lock/image", "lock/manifest"]) || code.ends_with("/denied") || denied {
        Exit::Refused
    } else if placed
        || is(&["inventory/", "site/", "addon/", "contribution/", "plugin/settings", "plugin/locate", "plugin/load", "plugin/inspect"])
    {
        Exit::Input
    } else {
        Exit::Unit
    }
}
