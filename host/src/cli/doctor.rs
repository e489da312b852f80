//! `emhost doctor`: everything that would be in the way of an apply, found beforehand and changed by nobody.

mod addresses;
mod neighbours;

use std::collections::BTreeSet;
use std::sync::Arc;

use emhost::bindings::emhost::plugin::types::Attribute;
use emhost::capabilities::Slots;
use emhost::diagnostic::{Diagnostic, Severity};
use emhost::pipeline::crew::Crew;
use emhost::pipeline::looking::{Seen, accelerators, look};
use emhost::pipeline::{Options, Run};
use serde_json::json;

use super::opening::{self, Access, Opening};
use super::{Exit, Failed, Session, reservations};
use crate::ui::Style;

/// Look for everything that would be in the way of an apply
///
/// Slots and credentials, GPUs, rights and room at the hypervisor, versions, addresses that are taken. Changes nothing; each finding comes with its fix.
/// Ends with code 1 if something is in the way, and with 4 if a credential is refused.
#[derive(clap::Args)]
pub struct Arguments {}

/// The slot without which everything but versions can still be looked at.
const FACTORY: &str = "image-factory";
/// What is bound where the site does not say otherwise.
const DEFAULT: [&str; 2] = [FACTORY, "talos"];

/// What was found so far.
struct Findings<'a> {
    session: &'a Session<'a>,
    errors: usize,
    warnings: usize,
    refused: bool,
}

impl Findings<'_> {
    fn group(&mut self, title: &str, fine: &[String], findings: &[Diagnostic]) {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        self.errors += count(Severity::Error);
        self.warnings += count(Severity::Warning);
        self.refused |= findings.iter().any(|finding| is_refusal(&finding.code));
        self.session.ui.findings(title, fine, findings);
    }

    fn end(self) -> Result<(), Failed> {
        self.session.ui.found(self.errors, self.warnings);
        match self {
            Self { errors: 0, .. } => Ok(()),
            Self { refused: true, .. } => Err(Failed { exit: Exit::Refused, diagnostics: Vec::new() }),
            _ => Err(Failed { exit: Exit::Unit, diagnostics: Vec::new() }),
        }
    }
}

/// Whether somebody does not take what was shown to him, or it cannot be read.
fn is_refusal(code: &str) -> bool {
    code.ends_with("/credential") || code.starts_with("secrets/")
}

pub fn run(session: &Session<'_>, _: &Arguments) -> Result<(), Failed> {
    let mut findings = Findings { session, errors: 0, warnings: 0, refused: false };
    let loaded = emhost::inventory::load(&session.folder);
    let Some(cluster) = &loaded.cluster else {
        return Err(Failed { exit: Exit::Input, diagnostics: loaded.findings });
    };
    let fine = format!("cluster {}: {}", cluster.name, super::validate::nodes(cluster));
    let mut told = loaded.findings.clone();
    told.extend(neighbours::clashes(&session.folder, cluster));
    findings.group("inventory", &[fine], &told);

    let watch = session.ui.watch("doctor");
    let opening = match opening::open_loaded(session, loaded, &Access::View, Options::default(), Arc::clone(&watch) as _) {
        Ok(opening) => opening,
        Err(failed) => {
            watch.end();
            findings.group("site", &[], &failed.diagnostics);
            let ended = findings.end().err().map_or(Exit::Unit, |ended| ended.exit);
            let exit = if failed.exit == Exit::Unit { ended } else { failed.exit };
            return Err(Failed { exit, diagnostics: Vec::new() });
        }
    };
    watch.end();
    findings.group("secrets", &["secrets.sops.yaml and every credential can be read".to_owned()], &opening.secrets.take_notes());
    let run = &opening.run;
    let slots = Arc::clone(&run.slots);
    let silent = slots_answer(session, &mut findings, &slots, &run.crew);
    if silent.iter().any(|name| name != FACTORY) {
        let skipped =
            Diagnostic::warning("doctor/skipped", "rights, room, versions and addresses were not looked at: a slot does not work");
        findings.group("hypervisor", &[], &[skipped.help(Some("mend the slot, then run `emhost doctor` again"))]);
        return findings.end();
    }
    gpus(session, &mut findings, run);
    hypervisor(session, &mut findings, run);
    if silent.is_empty() {
        versions(session, &mut findings, run);
    }
    machines(session, &mut findings, &opening);
    let reserved = reservations::of(&run.now.get(), opening.dhcp);
    if !reserved.is_empty() {
        session.ui.event("reservations", json!({ "reservations": reserved }));
        let note = Diagnostic::note("network/reservations", "reserve these addresses at your DHCP server");
        findings.group("reservations", &[], &[note]);
        let cells = reserved.into_iter().map(|one| [one.node, one.mac, one.address.unwrap_or_else(|| "any".to_owned())]);
        let rows: Vec<_> = cells.map(|cells| cells.map(|text| (Style::Plain, text)).to_vec()).collect();
        session.ui.table(&["node", "mac", "address"], &rows);
    }
    findings.end()
}

/// Tries every slot, but for those that are bound by default and that no plugin here uses; those that do not work come back.
fn slots_answer(session: &Session<'_>, findings: &mut Findings<'_>, slots: &Arc<Slots>, crew: &Crew) -> Vec<String> {
    let everyone = crew.everyone();
    let asked: BTreeSet<&str> = everyone
        .iter()
        .flat_map(|worker| &worker.plugin.inspection().manifest.asks)
        .filter_map(|ask| ask.grant.strip_prefix("http:").or_else(|| ask.grant.strip_prefix("grpc:")))
        .collect();
    let names: Vec<String> = slots.names().filter(|name| asked.contains(name) || !DEFAULT.contains(name)).map(str::to_owned).collect();
    let tried = session.tokio.block_on(async {
        let tries = names.iter().map(|name| {
            let (slots, name) = (Arc::clone(slots), name.clone());
            tokio::spawn(async move { slots.try_out(&name).await })
        });
        futures::future::join_all(tries).await
    });
    let (mut fine, mut wrong, mut silent) = (Vec::new(), Vec::new(), Vec::new());
    for (name, answer) in names.into_iter().zip(tried) {
        match answer.ok().flatten() {
            Some(Ok(text)) => fine.push(text),
            Some(Err(diagnostic)) => {
                wrong.push(diagnostic);
                silent.push(name);
            }
            None => {}
        }
    }
    findings.group("slots", &fine, &wrong);
    silent
}

/// Whether the devices that nodes ask for are there and can be handed over.
fn gpus(session: &Session<'_>, findings: &mut Findings<'_>, run: &Arc<Run>) {
    let Some(said) = session.tokio.block_on(accelerators(run)) else { return };
    let (fine, wrong) = apart(said);
    findings.group("accelerators", &fine, &wrong);
}

/// What a plugin only notes is how things are.
fn apart(said: Vec<Diagnostic>) -> (Vec<String>, Vec<Diagnostic>) {
    let (fine, wrong): (Vec<Diagnostic>, Vec<Diagnostic>) =
        said.into_iter().partition(|said| said.severity == Severity::Note && said.help.is_none() && said.detail.is_none());
    (fine.into_iter().map(|said| said.summary).collect(), wrong)
}

/// What the provisioner says would keep a plan from working.
fn hypervisor(session: &Session<'_>, findings: &mut Findings<'_>, run: &Run) {
    let provisioner = &run.crew.provisioner;
    let mut context = provisioner.looks(None);
    // What a node boots from decides what a storage must hold, and the site may have said it.
    let cluster = Arc::make_mut(&mut context.cluster);
    for node in &mut cluster.nodes {
        if let Some(boot) = run.boot_of.get(&node.name).filter(|_| !node.attributes.iter().any(|known| known.key == "boot")) {
            Arc::make_mut(node).attributes.push(Attribute { key: "boot".to_owned(), value: json!(boot).to_string() });
        }
    }
    let checked = session.tokio.block_on(provisioner.plugin.check_site(&context));
    let said = match checked {
        Ok(said) => said.iter().map(|said| Diagnostic::from_plugin(said, &context.redactor)).collect(),
        Err(error) => error.diagnostics(),
    };
    let (mut fine, wrong) = apart(said);
    if fine.is_empty() && wrong.is_empty() {
        fine.push(format!("plugin `{}` finds nothing in the way", provisioner.name()));
    }
    findings.group("hypervisor", &fine, &wrong);
}

/// Whether what nodes boot from comes in the version that the inventory wants.
fn versions(session: &Session<'_>, findings: &mut Findings<'_>, run: &Run) {
    let wanted = run.now.get().os_version.clone();
    let (mut fine, mut wrong) = (Vec::new(), Vec::new());
    for (name, source) in &run.crew.boot {
        let context = source.looks(None);
        match session.tokio.block_on(source.plugin.versions(&context)) {
            // One that cannot tell, such as one that clones templates, is believed when it is asked for a node.
            Ok(known) if known.is_empty() => {}
            Ok(known) if known.contains(&wanted) => fine.push(format!("`{name}` has {wanted}")),
            Ok(known) => {
                let near = nearest(&known, &wanted);
                let summary = format!("boot source `{name}` does not have version {wanted}");
                let help = format!("set `talos_version` in cluster.yaml to one it has, such as {near}");
                let place = run.sources.cluster("/talos_version");
                wrong.push(Diagnostic::error("boot/version", summary).help(Some(help)).at(place));
            }
            Err(error) => wrong.extend(error.diagnostics()),
        }
    }
    findings.group("versions", &fine, &wrong);
}

/// The versions that a person may have meant: the newest ones of the same release, else the newest of all.
fn nearest(known: &[String], wanted: &str) -> String {
    let order = |text: &str| semver::Version::parse(text.trim_start_matches('v')).ok();
    let series = |text: &str| order(text).map(|version| (version.major, version.minor));
    let mut all: Vec<&String> = known.iter().filter(|text| order(text).is_some_and(|version| version.pre.is_empty())).collect();
    all.sort_by_key(|text| order(text));
    all.reverse();
    let like: Vec<&String> = all.iter().copied().filter(|text| series(text) == series(wanted)).collect();
    let best = if like.is_empty() { all } else { like };
    best.into_iter().take(3).cloned().collect::<Vec<_>>().join(", ")
}

/// Looks at the machines that are there, and at the addresses of those that are not.
fn machines(session: &Session<'_>, findings: &mut Findings<'_>, opening: &Opening) {
    let watch = session.ui.watch("doctor");
    let status = session.tokio.block_on(look(&opening.run));
    watch.end();
    let troubled = |seen: &Seen| seen.trouble.clone().map(|why| Diagnostic::warning("doctor/machine", why));
    let mut wrong: Vec<Diagnostic> = status.nodes.iter().filter_map(troubled).collect();
    wrong.dedup_by(|one, other| one.summary == other.summary);
    let there = status.nodes.iter().filter(|seen| seen.machine.is_some()).count();
    let mut fine = Vec::new();
    if there > 0 {
        fine.push(format!("{there} of {} machines are there", status.nodes.len()));
    }
    let missing: Vec<&str> =
        status.nodes.iter().filter(|seen| seen.machine.is_none() && seen.trouble.is_none()).map(|seen| seen.node.as_str()).collect();
    let (free, taken) = session.tokio.block_on(addresses::taken(&opening.run.now.get(), &missing, opening.network()));
    fine.extend(free);
    wrong.extend(taken);
    findings.group("machines and addresses", &fine, &wrong);
}
