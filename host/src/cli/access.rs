//! Client configurations for people: `emhost kubeconfig`, `emhost talosconfig`, and both at the end of an apply.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use emhost::access::{leads_to, mapped, readdressed};
use emhost::bindings::emhost::plugin::inventory::NodeRole;
use emhost::diagnostic::{Diagnostic, Severity};
use emhost::inventory::Cluster;
use emhost::pipeline::Options;
use emhost::pipeline::run::Turn;
use serde_json::json;

use super::files::Folder;
use super::opening::{self, Opening};
use super::{Exit, Failed, Session};

/// How long a client configuration is good for where nobody says.
const VALID: Duration = Duration::from_hours(24);

#[derive(clap::Args)]
pub struct Wishes {
    /// Write it there; `-` is standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How long it is good for, for example 8h or 30d
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = lifetime)]
    valid: Duration,
    /// What its holder may do, in the words of the distribution; the administrator's role where absent
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let valid = super::apply::duration(text)?;
    if valid < Duration::from_mins(1) {
        return Err("a minute is the least: clocks differ".to_owned());
    }
    if u32::try_from(valid.as_secs()).is_err() {
        return Err("100 years is the most".to_owned());
    }
    Ok(valid)
}

/// What access is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Kubernetes,
    Talos,
}

impl Kind {
    /// As the contract calls it.
    fn word(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Talos => "talos",
        }
    }

    /// The file, and the command that makes it.
    fn file(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubeconfig",
            Self::Talos => "talosconfig",
        }
    }

    /// A first command with it.
    fn next(self, file: &str) -> String {
        match self {
            Self::Kubernetes => format!("kubectl --kubeconfig {file} get nodes"),
            Self::Talos => format!("talosctl --talosconfig {file} version"),
        }
    }
}

/// A client configuration, as the person's programs reach the cluster.
fn make(session: &Session<'_>, opening: &Opening, kind: Kind, roles: &[String], valid: Duration) -> Result<String, Failed> {
    let run = &opening.run;
    let distro = &run.crew.distro;
    let seconds = u32::try_from(valid.as_secs()).unwrap_or(u32::MAX);
    let made = session.tokio.block_on(run.look(Turn::Take, || async {
        let mut context = distro.looks(None);
        context.redactor = context.redactor.apart();
        distro.plugin.access(&context, kind.word(), roles, seconds).await
    }));
    let made = made.map_err(|error| {
        let diagnostics = error.diagnostics();
        Failed { exit: opening::exit_of(&diagnostics), diagnostics }
    })?;
    let unreadable = |why: String| {
        Failed::new(Exit::Unit, "access/text", format!("plugin `{}` made a {} that cannot be read: {why}", distro.name(), kind.file()))
    };
    let text = std::str::from_utf8(&made).map_err(|error| unreadable(error.to_string()))?;
    match opening.network() {
        Some(network) => readdressed(text, |address| network.dial(address)).map_err(|error| unreadable(error.to_string())),
        None => Ok(text.to_owned()),
    }
}

pub fn run(session: &Session<'_>, wishes: &Wishes, kind: Kind) -> Result<(), Failed> {
    let watch = session.ui.watch(kind.file());
    let opening = opening::open(session, &opening::Access::View, Options::default(), Arc::clone(&watch) as _)?;
    remember(&opening);
    let text = make(session, &opening, kind, &wishes.roles, wishes.valid)?;
    watch.end();
    if !opening.run.store.bootstrapped() {
        let summary = format!("nothing is remembered of a bootstrap of this cluster, so this {} may lead nowhere yet", kind.file());
        session.ui.diagnostic(&Diagnostic::warning("access/early", summary).help(Some("bring the cluster up with `emhost apply`")));
    }
    let at = match wishes.out.as_deref() {
        Some(path) if path == Path::new("-") => {
            session.ui.secret(&text);
            return Ok(());
        }
        Some(path) => {
            let nameless = || Failed::new(Exit::Input, "access/out", format!("{} is no name of a file", path.display()));
            let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(nameless)?;
            let folder = Folder::named(path.parent().unwrap_or(Path::new("")))?;
            folder.keep(name, text.as_bytes())?;
            folder.shown(name)
        }
        None => {
            let folder = Folder::of_cluster(session)?;
            folder.ignore(session, kind.file())?;
            folder.keep(kind.file(), text.as_bytes())?;
            folder.shown(kind.file())
        }
    };
    let leads = leads_to(&text).unwrap_or_default();
    session.ui.success(&format!("{at} written (0600), good for {}", until(wishes.valid)));
    session.ui.event("access", json!({ "kind": kind.word(), "file": at, "endpoints": leads, "valid_seconds": wishes.valid.as_secs() }));
    session.ui.field("leads to", &leads.join(", "));
    session.ui.next(&kind.next(&at));
    only_while_it_runs(session, &opening);
    Ok(())
}

/// Addresses that only an earlier run saw.
fn remember(opening: &Opening) {
    let run = &opening.run;
    run.now.change(|cluster| {
        for node in &mut cluster.nodes {
            if let Some(applied) = run.store.node(&node.name).filter(|applied| applied.node.addresses != node.addresses) {
                Arc::make_mut(node).addresses = applied.node.addresses;
            }
        }
    });
}

/// Both files, and where the cluster is. The cluster is up by now, so what fails here is only told.
pub fn after_apply(session: &Session<'_>, opening: &Opening) {
    let cluster = opening.run.now.get();
    let mut written: Vec<(Kind, String)> = Vec::new();
    for kind in [Kind::Kubernetes, Kind::Talos] {
        let kept = Folder::of_cluster(session).and_then(|folder| {
            let text = make(session, opening, kind, &[], VALID)?;
            folder.ignore(session, kind.file())?;
            folder.keep(kind.file(), text.as_bytes())?;
            Ok(folder.shown(kind.file()))
        });
        match kept {
            Ok(file) => written.push((kind, file)),
            Err(failed) => {
                for mut told in failed.diagnostics {
                    if told.severity == Severity::Error {
                        told.severity = Severity::Warning;
                        told.summary = format!("no {} was written: {}", kind.file(), told.summary);
                        told.help = told.help.or_else(|| Some(format!("the cluster is up; try `emhost {}`", kind.file())));
                    }
                    session.ui.diagnostic(&told);
                }
            }
        }
    }
    let files: Vec<&str> = written.iter().map(|(_, file)| file.as_str()).collect();
    if !files.is_empty() {
        session.ui.success(&format!("{} written (0600), good for {}", files.join(" and "), until(VALID)));
    }
    let (kubernetes, talos) = endpoints(opening, &cluster);
    session.ui.event("access", json!({ "files": files, "kubernetes": kubernetes, "nodes": talos, "valid_seconds": VALID.as_secs() }));
    session.ui.field("kubernetes", &kubernetes);
    session.ui.field("nodes", &talos.join(", "));
    let next: Vec<String> =
        written.iter().map(|(kind, file)| kind.next(file)).chain([format!("emhost{} status", at_folder(session))]).collect();
    session.ui.next(&next.join("\n      "));
    only_while_it_runs(session, opening);
}

/// Whether an earlier run left both files.
pub fn is_there(session: &Session<'_>) -> bool {
    let has = |folder: Folder| [Kind::Kubernetes, Kind::Talos].iter().all(|kind| folder.has(kind.file()));
    Folder::of_cluster(session).is_ok_and(has)
}

/// Where Kubernetes and the control planes are, as they are dialled from here.
fn endpoints(opening: &Opening, cluster: &Cluster) -> (String, Vec<String>) {
    let dialled = |text: &str| {
        let network = opening.network();
        network.and_then(|network| mapped(text, |address| network.dial(address))).unwrap_or_else(|| text.to_owned())
    };
    let planes = cluster.nodes.iter().filter(|node| node.role == NodeRole::ControlPlane);
    (dialled(&cluster.endpoint), planes.filter_map(|node| node.address()).map(dialled).collect())
}

/// A site that this very command runs is gone when it ends.
fn only_while_it_runs(session: &Session<'_>, opening: &Opening) {
    if opening.runs_site() {
        let note = Diagnostic::note("sim/ends", "the simulated site runs only while a command works on it");
        let help = format!("keep it running with `emhost{} sim run` in another terminal", at_folder(session));
        session.ui.diagnostic(&note.help(Some(help)));
    }
}

/// What a command line needs to mean this folder.
pub fn at_folder(session: &Session<'_>) -> String {
    let folder = session.folder.display().to_string();
    if folder == "." { String::new() } else { format!(" -C {folder}") }
}

/// A lifetime in words.
fn until(valid: Duration) -> String {
    let hours = valid.as_secs() / 3600;
    match (hours, hours % 24) {
        (0, _) => format!("{} minutes", valid.as_secs() / 60),
        (1, _) => "an hour".to_owned(),
        (48.., 0) => format!("{} days", hours / 24),
        _ => format!("{hours} hours"),
    }
}
