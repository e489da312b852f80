//! `emhost sim`: the simulated site, for people who have no Proxmox at hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use emhost::capabilities::{SecretStore, SecretValue};

use emhost::inventory::site::SlotConfig;
use emhost::inventory::{Loaded, Simulated};
use emhost::pipeline::apply::Stop;
use emhost_sim::{Access, Network, Site, SiteError, StoreError};
use serde_json::json;
use zeroize::Zeroizing;

use super::{Exit, Failed, Session};

/// The secret under which the host finds the site's token.
const TOKEN: &str = "sim_pve_token";
/// The file name under which the host finds the site's authority.
const AUTHORITY: &str = "sim:authority";
/// How often the machines are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// The port of Talos's API.
const TALOS: u16 = 50000;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Run the simulated site that site.yaml binds with `sim:`, until Ctrl-C
    ///
    /// Commands that work on the cluster find it. Without it, each of them runs the site itself while it works.
    Run {
        /// Make the machines of the inventory and start them, each waiting for its configuration
        #[arg(long)]
        machines: bool,
    },
    /// Forget the simulated site: its machines, disks and images
    Reset {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub fn run(session: &Session<'_>, command: &Command) -> Result<(), Failed> {
    let loaded = super::opening::inventory(session)?;
    let Some(simulated) = &loaded.simulated else {
        return Err(Failed::new(Exit::Input, "sim/slot", "no slot of this site leads to the simulator")
            .help("bind it in site.yaml, in the cluster's folder or the one above it:\n\nslots:\n  pve: {url: \"sim:\"}"));
    };
    match command {
        Command::Run { machines } => {
            let name = loaded.cluster.as_ref().map_or("sim", |cluster| cluster.name.as_str());
            serve(session, name, simulated, *machines)
        }
        Command::Reset { yes } => reset(session, simulated, *yes),
    }
}

/// Where the site is kept: beside the `site.yaml` that binds it.
fn folder(session: &Session<'_>, simulated: &Simulated) -> PathBuf {
    let beside = if simulated.above { session.folder.join("..") } else { session.folder.clone() };
    let beside = beside.strip_prefix(".").map_or(beside.clone(), Path::to_owned);
    beside.join(".emhost/sim").join(&simulated.name)
}

/// What all sites of this user share.
fn claims() -> PathBuf {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let state = state.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")));
    state.unwrap_or_else(std::env::temp_dir).join("emhost/sim")
}

fn failed(error: &SiteError) -> Failed {
    match error {
        SiteError::Store(StoreError::Busy(_)) => Failed::new(Exit::Locked, "sim/busy", error.to_string())
            .help("one process serves every cluster of a site, and other commands find it; to run it here, or with what this cluster names, end that one first"),
        _ => Failed::new(Exit::Input, "sim/start", format!("the simulated site cannot run: {error}")),
    }
}

fn start(session: &Session<'_>, simulated: &Simulated) -> Result<Site, Failed> {
    let folder = folder(session, simulated);
    let kept = |error: std::io::Error| Failed::new(Exit::Input, "sim/start", format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(kept)?;
    if let Some(above) = folder.parent() {
        // Nobody wants to commit machines.
        std::fs::write(above.join(".gitignore"), "*\n").map_err(kept)?;
    }
    session.tokio.block_on(Site::start(&folder, &claims(), simulated.plan.clone())).map_err(|error| failed(&error))
}

fn serve(session: &Session<'_>, name: &str, simulated: &Simulated, machines: bool) -> Result<(), Failed> {
    let site = start(session, simulated)?;
    let access = site.access();
    let at = folder(session, simulated);
    let mut stop = session.interrupts.claim();
    session.ui.event(
        "sim",
        json!({ "name": simulated.name, "folder": at, "pve": access.pve, "fingerprint": access.fingerprint, "factory": access.factory,
            "network": format!("127.{}.0.0/16", access.network), "hosts": access.hosts }),
    );
    for line in introduction(name, simulated, access, &at) {
        session.ui.line(&line);
    }
    session.ui.line("");
    let stopped = session.tokio.block_on(async {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop > Stop::No) => Ok(()),
            error = attend(session, simulated, &site, machines) => Err(error),
        }
    });
    drop(site);
    session.ui.line("stopped; everything is kept, and comes back with the next `emhost sim run`");
    stopped
}

/// Makes the machines where they are wanted, and tells what becomes of all of them: a site has no screen to look at. Ends only by failing.
async fn attend(session: &Session<'_>, simulated: &Simulated, site: &Site, machines: bool) -> Failed {
    let told = Told::default();
    let made = async {
        if machines {
            let made = site.make(&simulated.machines).await.map_err(|error| failed(&error))?;
            let there = simulated.machines.len() - made;
            let others = if there == 0 { String::new() } else { format!(", {there} were there") };
            session.ui.line(&format!("{made} machines made and started{others}"));
        }
        Ok(())
    };
    let watch = async {
        let mut told = told;
        loop {
            told.tell(session, site);
            tokio::time::sleep(LOOK).await;
        }
    };
    let made = async {
        match made.await {
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::select! {
        error = made => error,
        () = watch => Failed::new(Exit::Bug, "host/bug", "the watch over the machines ended"),
    }
}

/// What was said of each machine.
#[derive(Default)]
struct Told(BTreeMap<u32, String>);

impl Told {
    fn tell(&mut self, session: &Session<'_>, site: &Site) {
        let network = Network::new(site.access().network);
        let mut now: BTreeMap<u32, String> = site.silent().into_iter().map(|(id, why)| (id, format!("does not boot: {why}"))).collect();
        for node in site.nodes() {
            let at: Vec<String> = node.addresses.iter().map(|address| network.dial(*address).to_string()).collect();
            let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
            let why: Vec<String> = node.unreachable.iter().map(|why| format!(", not reachable: {why}")).collect();
            now.insert(node.id, status(&node, &at, &why.concat()));
        }
        for (id, text) in &now {
            if self.0.get(id) != Some(text) {
                session.ui.event("machine", json!({ "vmid": id, "text": text }));
                session.ui.line(&format!("  {id}: {text}"));
            }
        }
        for id in self.0.keys().filter(|id| !now.contains_key(id)) {
            session.ui.event("machine", json!({ "vmid": id, "text": "off" }));
            session.ui.line(&format!("  {id}: is off, or boots"));
        }
        self.0 = now;
    }
}

/// What a newcomer needs to know to look around.
fn introduction(name: &str, simulated: &Simulated, access: &Access, folder: &Path) -> Vec<String> {
    let Access { network, pve, factory, root_password, .. } = access;
    let ca = folder.strip_prefix(".").unwrap_or(folder).join("ca.pem");
    let mut lines = vec![
        format!("simulated site `{}` with Proxmox VE {} ({})", simulated.name, release(simulated), access.hosts.join(", ")),
        String::new(),
        format!("  Proxmox VE     {pve}  as root@pam, password {root_password}"),
        format!("  Image Factory  {factory}"),
        format!("  authority      {}", ca.display()),
        format!("  nodes          a.b.c.d is 127.{network}.c.d here, such as 10.0.10.11 at 127.{network}.10.11"),
        String::new(),
        "in another terminal, in this folder:".to_owned(),
        format!("  curl --cacert {} -d username=root@pam -d password={root_password} {pve}/api2/json/access/ticket", ca.display()),
    ];
    let dial = |machine: &emhost_sim::Wanted| machine.address.map(|address| Network::new(*network).dial(address));
    let (planes, workers): (Vec<_>, Vec<_>) = simulated.machines.iter().partition(|machine| machine.control_plane);
    if let Some(first) = planes.first().and_then(|machine| dial(machine)) {
        let talosctl = format!("talosctl --talosconfig talosconfig -e {first} -n {first}");
        lines.push(String::new());
        lines.push("a cluster by hand, once machines are there (`emhost sim run --machines` makes those of the inventory):".to_owned());
        lines.push(format!("  talosctl gen config {name} https://{first}:6443"));
        let mut all = Vec::new();
        for (machines, file) in [(planes, "controlplane.yaml"), (workers, "worker.yaml")] {
            let addresses: Vec<String> = machines.into_iter().filter_map(dial).map(|address| address.to_string()).collect();
            lines.extend(addresses.iter().map(|address| format!("  talosctl apply-config --insecure -n {address} -f {file}")));
            all.push(addresses.join(","));
        }
        lines.push(format!("  {talosctl} bootstrap     # again, if the node is not back yet"));
        // With the nodes named, because those that have not joined yet would not be looked for.
        let workers = if all[1].is_empty() { String::new() } else { format!(" --worker-nodes {}", all[1]) };
        lines.push(format!("  {talosctl} health --control-plane-nodes {}{workers}", all[0]));
        lines.push(format!("  {talosctl} kubeconfig kubeconfig"));
        lines.push("  kubectl --kubeconfig kubeconfig get nodes".to_owned());
    }
    lines.push(String::new());
    lines.push("Ctrl-C stops it and keeps everything; `emhost sim reset` forgets it".to_owned());
    lines
}

/// What one node does.
fn status(node: &emhost_sim::NodeView, at: &str, why: &str) -> String {
    let does = match node.stage.as_str() {
        "maintenance" => "waits for its configuration",
        "running" if node.ready => "runs and is ready",
        "running" => "runs",
        "booting" => "boots",
        "installing" => "installs itself",
        "upgrading" => "is being upgraded",
        "rebooting" => "reboots",
        "shutting down" => "shuts down",
        "resetting" => "is being reset",
        other => other,
    };
    let name = if node.hostname.is_empty() { String::new() } else { format!("{}, ", node.hostname) };
    format!("{name}Talos {}, {does}{at}{why}", node.version)
}

fn release(simulated: &Simulated) -> &'static str {
    match simulated.plan.release {
        emhost_sim::Release::V8 => "8.4",
        emhost_sim::Release::V9 => "9",
    }
}

fn reset(session: &Session<'_>, simulated: &Simulated, yes: bool) -> Result<(), Failed> {
    let folder = folder(session, simulated);
    let unreadable = |error: std::io::Error| Failed::new(Exit::Input, "sim/reset", format!("{}: {error}", folder.display()));
    if !folder.exists() {
        session.ui.line(&format!("there is no simulated site in {}", folder.display()));
        return Ok(());
    }
    if let Some(access) = Access::find(&folder).map_err(unreadable)? {
        return Err(Failed::new(Exit::Locked, "sim/busy", format!("process {} runs this site", access.pid)).help("stop it first"));
    }
    let question = format!("Forget the simulated site in {} with all its machines, disks and images?", folder.display());
    if !yes {
        match session.ask(&question)? {
            Some(true) => {}
            Some(false) => return Err(Failed::new(Exit::Stopped, "sim/reset", "nothing was forgotten")),
            None => {
                return Err(
                    Failed::new(Exit::Stopped, "sim/reset", "nothing was forgotten: there is no terminal to ask at").help("add --yes")
                );
            }
        }
    }
    std::fs::remove_dir_all(&folder).map_err(unreadable)?;
    session.ui.event("reset", json!({ "folder": folder }));
    session.ui.line(&format!("forgotten: {}", folder.display()));
    Ok(())
}

/// The simulated site behind a cluster's slots: run by this process, or by another one.
pub struct Behind {
    access: Access,
    site: Option<Site>,
}

impl Behind {
    /// Finds the site or starts it, and binds the slots to it.
    pub fn bind(session: &Session<'_>, loaded: &mut Loaded) -> Result<Option<Self>, Failed> {
        let Some(simulated) = &loaded.simulated else { return Ok(None) };
        let folder = folder(session, simulated);
        let unreadable = |error: std::io::Error| Failed::new(Exit::Input, "sim/find", format!("{}: {error}", folder.display()));
        let (access, site) = if let Some(access) = Access::find(&folder).map_err(unreadable)? {
            if let Some(host) = simulated.plan.hosts.iter().find(|host| !access.hosts.contains(host)) {
                let summary = format!("the simulated site that runs (process {}) has no host `{host}`", access.pid);
                return Err(Failed::new(Exit::Input, "sim/host", summary).help("stop `emhost sim run` and start it again"));
            }
            (access, None)
        } else {
            let site = start(session, simulated)?;
            (site.access().clone(), Some(site))
        };
        let slot = |url: &str, credential: Option<&str>| SlotConfig {
            url: Some(url.to_owned()),
            ca: Some(AUTHORITY.to_owned()),
            credential: credential.map(str::to_owned),
            ..SlotConfig::default()
        };
        let slots = &mut loaded.site.slots;
        slots.insert("pve".to_owned(), slot(&access.pve, Some(TOKEN)));
        slots.insert("image-factory".to_owned(), slot(&access.factory, None));
        slots.insert("talos".to_owned(), SlotConfig { port: Some(TALOS), maintenance: true, ..SlotConfig::default() });
        Ok(Some(Self { access, site }))
    }

    /// Whether this very process runs the site, which ends with it.
    pub fn is_here(&self) -> bool {
        self.site.is_some()
    }

    /// The addresses of the site.
    pub fn network(&self) -> Network {
        Network::new(self.access.network)
    }

    /// The authority, for whoever asks for a file under its name.
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        (name == AUTHORITY).then(|| self.access.authority.clone().into_bytes())
    }

    /// The cluster's secrets with the site's token among them.
    pub fn secrets(&self, secrets: Arc<dyn SecretStore>) -> Arc<dyn SecretStore> {
        Arc::new(WithToken { token: Arc::new(Zeroizing::new(self.access.token.clone().into_bytes())), secrets })
    }
}

struct WithToken {
    token: SecretValue,
    secrets: Arc<dyn SecretStore>,
}

impl SecretStore for WithToken {
    fn get(&self, name: &str) -> std::io::Result<Option<SecretValue>> {
        if name == TOKEN { Ok(Some(Arc::clone(&self.token))) } else { self.secrets.get(name) }
    }

    fn put_if_absent(&self, name: &str, value: &[u8]) -> std::io::Result<SecretValue> {
        self.secrets.put_if_absent(name, value)
    }
}
