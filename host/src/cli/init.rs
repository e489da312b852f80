//! `emhost init`: a first inventory from a few answers.

use std::io::Write;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use emhost::diagnostic::Diagnostic;
use emhost::inventory::{IGNORED, Starter, read};
use emhost::pipeline::apply::Stop;
use serde_json::json;

use super::{Exit, Failed, Session};

/// Write a first inventory into the cluster's folder
///
/// Asks for names and addresses, and writes cluster.yaml, nodes.yaml, site.yaml and .gitignore. Never overwrites a file.
#[derive(clap::Args)]
pub struct Arguments {
    /// Ask nothing: one control plane and one worker, named after the folder
    #[arg(long)]
    yes: bool,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let cannot = |what: &str, error: &std::io::Error| Failed::new(Exit::Input, "init/write", format!("cannot {what}: {error}"));
    let shown = session.folder.display();
    std::fs::create_dir_all(&session.folder).map_err(|error| cannot(&format!("make {shown}"), &error))?;
    let folder = Dir::open_ambient_dir(&session.folder, ambient_authority()).map_err(|error| cannot(&format!("open {shown}"), &error))?;
    let there: Vec<&str> =
        ["cluster.yaml", "nodes.yaml", "site.yaml"].into_iter().filter(|name| folder.symlink_metadata(name).is_ok()).collect();
    if !there.is_empty() {
        let verb = if there.len() == 1 { "is" } else { "are" };
        let failed = Failed::new(Exit::Input, "init/exists", format!("{} {verb} in {shown} already", there.join(", ")));
        return Err(failed.help("choose an empty folder with -C; nothing was written"));
    }
    let name = session.folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let defaults = Starter::named(&name.unwrap_or_default());
    let starter = if arguments.yes { defaults } else { questions(session, defaults)? };
    let findings = read(&starter.inventory()).findings;
    if findings.iter().any(|finding| finding.severity == emhost::diagnostic::Severity::Error) {
        // The lines belong to files that are not there.
        let plain = |finding: Diagnostic| Diagnostic { place: None, ..finding };
        return Err(Failed { exit: Exit::Input, diagnostics: findings.into_iter().map(plain).collect() });
    }
    let shared = session.folder.join("../site.yaml").exists();
    let mut files: Vec<(&str, String)> = starter.files().into_iter().filter(|(name, _)| *name != "site.yaml" || !shared).collect();
    if folder.symlink_metadata(".gitignore").is_ok() {
        let lines = IGNORED.trim_end().replace('\n', ", ");
        session.ui.diagnostic(&Diagnostic::note("init/ignore", format!("keep these out of your commits: {lines}")));
    } else {
        files.push((".gitignore", IGNORED.to_owned()));
    }
    for (name, text) in files {
        // Somebody may have been faster since: a file that is there stays.
        let written =
            folder.open_with(name, OpenOptions::new().write(true).create_new(true)).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| cannot(&format!("write {name}"), &error))?;
        session.ui.success(&format!("{name} written"));
        session.ui.event("written", json!({ "file": name }));
    }
    session.ui.next("name your Proxmox VE in site.yaml, then run `emhost validate`");
    Ok(())
}

/// The answers of the person at the terminal.
fn questions(session: &Session<'_>, defaults: Starter) -> Result<Starter, Failed> {
    let name = prompt(session, "name of the cluster", &defaults.name)?;
    let control_planes = number(session, "control planes", defaults.control_planes)?;
    let workers = number(session, "workers", defaults.workers)?;
    let first = prompt(session, "address of the first node", &defaults.first.to_string())?;
    let first = first.parse().map_err(|_| wrong(&format!("`{first}` is not an IPv4 address")))?;
    let (gateway, prefix) = defaults.router.unwrap_or_default();
    let router = prompt(session, "gateway and prefix of its network, or `dhcp`", &format!("{gateway}/{prefix}"))?;
    let router = match router.split_once('/') {
        None if router == "dhcp" => None,
        None => Some((router, prefix)),
        Some((gateway, length)) => {
            Some((gateway.to_owned(), length.parse().map_err(|_| wrong(&format!("`{length}` is not the length of a prefix")))?))
        }
    };
    let host = prompt(session, "name of the Proxmox VE node", &defaults.host)?;
    Ok(Starter { name, control_planes, workers, first, router, host })
}

fn wrong(what: &str) -> Failed {
    Failed::new(Exit::Input, "init/answer", what)
}

fn number(session: &Session<'_>, question: &str, default: u32) -> Result<u32, Failed> {
    let answer = prompt(session, question, &default.to_string())?;
    answer.parse().ok().filter(|number| *number <= 200).ok_or_else(|| wrong(&format!("`{answer}` is not a number of nodes up to 200")))
}

/// Asks for a line. Ctrl-C ends the question and the command.
fn prompt(session: &Session<'_>, question: &str, default: &str) -> Result<String, Failed> {
    let (ui, question, default) = (session.ui.clone(), question.to_owned(), default.to_owned());
    let mut stop = session.interrupts.claim();
    let answer = session.tokio.block_on(async {
        let asked = tokio::task::spawn_blocking(move || ui.prompt(&question, &default));
        tokio::select! {
            answer = asked => Ok(answer.ok().flatten()),
            _ = stop.wait_for(|stop| *stop > Stop::No) => Err(super::plan::stopped("stopped at the question; nothing was written")),
        }
    })?;
    let nobody =
        || Failed::new(Exit::Refused, "init/nobody", "there is nobody to ask").help("run `emhost init --yes` to take the defaults");
    answer.ok_or_else(nobody)
}
